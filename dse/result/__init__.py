"""Results: tables and what is known of them, in memory and on the disk.

`record`
    A result: designs, front, certificate, notes.
`target`
    The answer of a front to a target.
`tables`
    The tables of a result, from the outcome of a search.
`folder`, `csv_files`, `copies`
    The run folder: its summary, its tables, its copy of the study.
`lease`, `status`
    Who runs in a folder, and how far the run is.
`checkpoint`
    The state of an unfinished search.
`database`, `storage`, `connection`, `run_storage`
    The trials: of a folder through `sqlite3`, of samplers and servers through Optuna.
`writing`
    Files that are written whole or not at all.
`compare`, `differences`
    Two results side by side.
`where`
    The designs that a filter names.
`refutation`
    A certificate put to the test.
"""
