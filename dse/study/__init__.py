"""Studies: from a file to an evaluator, with all problems of a stage at once.

`study`
    A study that is read or made, and resolved.
`schema`
    The tables of a study file, input values and their provenance.
`schema_errors`
    Content of studies and catalogs checked against the schema, with errors in words.
`findings`
    Places in a study file, with their problems and notes.
`resolve`
    The stages from tables to an evaluator.
`catalog`
    Catalogs: where they are, the tables of their files (values and rows), and their entries, also
    as data; all installed models and catalogs.
`catalog_table`
    Catalogs that are tables with one line per entry.
`catalog_filter`
    Entries of catalogs that satisfy a condition.
`design_table`
    Tables of designs, and of measurements.
`input_files`
    Files that are read: TOML, those of the study's folder, and inputs that a run does not copy.
`code_loading`
    The code that a study names: its loading, its files, and the models of packages.
`credentials`
    Database URLs, and texts without passwords.
`changes`
    Studies with other inputs, rows or limits, and the limits that may change.
`alternatives`
    Catalog entries that a study leaves out.
`draft`
    First drafts of studies.
`execution`
    The workers and the search method of a study.
"""
