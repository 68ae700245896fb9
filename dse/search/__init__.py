"""Search: the methods that choose designs, and the outcome that they keep.

`base`, `plan`, `cost`
    The protocol of every search and the table of methods; the method that a study gets.
`exhaustive`, `evolution`, `guided`, `samplers`, `bound`
    The methods: every design, vectorised NSGA-II, kriging around the front, Optuna's samplers by
    name, certificates by bounds (a package).
`selection`, `variation`, `drawing`, `codes`, `stall`
    Parts of evolution: parents, children, designs each once, a set of them, the end of growth.
`axes`, `expected`, `kriging`
    Parts of guided search: moves between designs, expected values, the regression behind them.
`asking`
    Optuna's samplers, asked for designs.
`judges`, `workers`, `cluster`, `versions`
    Evaluation of batches over threads, processes or a Dask cluster; the same code on all of them.
`outcome`, `tally`, `convergence`, `reproduction`
    The kept designs, counts over all designs, and the course of the search.
`diagnosis`, `inert_variables`
    Why designs have no value; variables that change nothing.
"""
