"""Search: the methods that choose designs, and the outcome that they keep.

`base`, `method_choice`
    The settings and the protocol of every search, its trials with their state and the table of
    methods; the method of a study.
`exhaustive`, `evolution`, `guided`, `optuna_adapter`, `bound`
    The methods: every design in chunks, vectorised NSGA-II, kriging around the front, Optuna's
    samplers by name, certificates by bounds (a package).
`axes`, `surrogate`
    Parts of guided search: moves between designs, and the values that kriging expects of them.
`workers`, `cluster`
    Evaluation of batches over threads, processes or a Dask cluster with the same code everywhere.
`outcome`, `tally`, `convergence`, `verification`
    The kept designs, counts over all designs, the growth of the front, and its check.
`portfolio`
    The proven front over all choices of one option per kernel (a package).
`diagnosis`
    Why no design is feasible, has no value or was skipped.
`formulation`
    Objectives that compare hosts or are variables; variables and inputs that cost or change
    nothing.
"""
