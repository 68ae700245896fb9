"""Studies: from a file to something that can be evaluated, with every problem told at once.

`study`
    A study that is read and resolved.
`reading`, `schema` (with `entry`, `shown`), `faults`
    The file: its tables, what may stand in them, and what is wrong with them in words.
`resolve`
    From tables to an evaluator, section by section.
`loading` (with `beside`, `reach`)
    Code that a study names: models and sections of the report, and what they import.
`kept`, `plain`, `urls`
    A study as it may be kept and shown; what scripts give as plain values.
`catalog`, `catalog_files`
    Rows of figures, and where their files are.
`listing`
    What there is to use.
`team`
    Who works on a study.
"""
