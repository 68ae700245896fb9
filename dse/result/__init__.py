"""Results: tables and certificates, in memory and on the disk.

`record`
    A result: its columns, certificate, front, designs by number or row, ties, and answer to a
    target.
`tables`
    Makes a result from the outcome of a search: its tables, with the cuts of constraints, and CSV
    files.
`folder`
    The run folder: its JSON files such as the summary, its copy of the study, and the checks of its
    tables and of damage.
`files`
    Files that are written whole or not at all, and the state of an unfinished search.
`lease`, `progress`
    The lease of a run folder, and the progress of a run.
`database`
    The front as trials in the database of a run folder, through `sqlite3`; which rows it gets.
`storage`
    The store of trials that samplers ask and storage URLs keep, through Optuna.
`compare`
    Two results next to each other.
"""
