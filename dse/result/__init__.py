"""Results: tables and certificates, in memory and on the disk.

`record`
    A result: designs, front, certificate, notes.
`target`
    The answer of a front to a target.
`tables`
    The tables of a result, from the outcome of a search.
`folder`, `csv_files`, `copies`
    The run folder: its summary, its tables, its copy of the study.
`lease`, `status`
    The lease of a run folder, and the progress of a run.
`checkpoint`
    The state of an unfinished search.
`database`, `storage`, `connection`, `run_storage`
    The trials: of a folder through `sqlite3`, of samplers and servers through Optuna.
`writing`
    Files that are written whole or not at all.
`compare`, `differences`
    Two results next to each other.
`where`
    The designs that satisfy a filter.
`refutation`
    The test of a certificate by independent evaluations.
"""
