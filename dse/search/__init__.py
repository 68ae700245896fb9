"""Search: how designs are chosen, and what is kept of them.

`base`
    What every search is: settings, plan, progress; the table of methods.
`plan`
    Which method a study gets.
`exhaustive` (with `slabs`), `evolution` (with `variation`), `samplers`
    The methods: every design, vectorised NSGA-II, Optuna's samplers by name.
`bound`
    The search by bounds, a package.
`workers` (with `cluster`)
    Who does the work: threads, processes, a Dask cluster.
`outcome`, `tally`, `convergence`
    What came out: designs that are kept, counts over all of them, how it went.
"""
