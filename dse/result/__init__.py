"""Results: tables and what is known of them, in memory and on the disk.

`record`
    A result: designs, front, certificate, notes.
`tables`
    From the outcome of a search to a result.
`folder`, `claim`, `csv_files`
    A run's folder: what is in it, who may use it, its tables as text.
`storage`
    Optuna's database: trials and fronts, in bulk.
`compare`
    Two results side by side.
"""
