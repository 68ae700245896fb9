"""Evaluation: designs as columns in, objectives and constraints as columns out.

`space`, `variables`
    Designs: what each variable may be, numbered and as points of the unit cube.
`table`
    Designs that were evaluated elsewhere: rows of a table.
`wiring`, `conflicts`
    Models joined by quantity name, and what cannot be joined.
`conditions`, `objective`, `constraint`, `requirements`
    What is asked of designs: quantities and relations, each under its own conditions, and what
    the models themselves require.
`trace`
    What feeds what, and which variable reaches which objective.
`evaluator`, `tabulate`
    All of it together; models run once for what repeats.
`repeatability`
    Designs evaluated again, in another way: they must give the same values.
`failures`
    Designs that a model raises for: found in their batch, named, or left without a value.
`audit`
    Models held to their contract on designs of the study, before a search.
`sobol`
    Points that cover the cube evenly.
`front`
    The designs that no other dominates.
"""
