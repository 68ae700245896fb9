"""Portfolios: the proven front over all choices of one option per kernel.

`portfolio`
    The problem: options that add to sums, limits of sums, and objectives of sums.
`search`
    The search method ``merge`` for studies of systems, and the sums of a system.
`merging`
    The merges: a state, a step per kernel, the portfolio's front and numbers of its certificate.
`outer_sum`
    A step: sums of a point and an option, their front without most of the sums, and tolerances of
    sums with their proof.
`trees`
    Kernels that share an engine or pass data on: their front, as the options of one kernel.
`completions`
    Bounds on the completions of partial sums, from limits and from known combinations.
`dominance`
    A fast test of dominance, and points in blocks of neighbours.
"""
