"""Portfolios: the proven front over all choices of one option per kernel.

`portfolio`
    The problem: options that add to sums, limits of sums, and objectives of sums.
`search`
    The search method ``merge`` for studies of systems.
`merging`
    The merges: a state, a step per kernel, the front and the numbers of its certificate.
`outer_sum`
    A step: the front of the sums of partial sums and options, without most of the sums.
`trees`
    Kernels that share an engine or pass data on: their front, as the options of one kernel.
`completions`
    Bounds on the completions of partial sums, from limits and from known combinations.
`tolerance_grid`
    Tolerances of sums, and their proof.
`dominance`
    A fast test of dominance, and points in blocks of neighbours.
"""
