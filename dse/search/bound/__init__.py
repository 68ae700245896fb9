"""Search by bounds: boxes of designs that cannot improve the front are dropped unevaluated.

`search`
    The branch and bound: its state, its steps, its certificate.
`cells`
    The values of one variable in ascending order, and its cells; boxes and their bounds as arrays
    of rows; tables of an output with its extremes over all cells.
`boxes`
    Operations on boxes: new, random and halved ones, their sizes and middles, their designs by
    place and number, and how much each variable changes the bounds.
`ranges`
    The least and the greatest value of each quantity in boxes: a walk through the model graph,
    from the variables to objectives and constraints.
`monotonicity`
    The signs of change: in which direction a variable improves all, and missing declarations.
`cover`
    The designs found so far, the points that they cover, and by which tolerance.
`evidence`
    The outcome of a search: the designs kept, the certificate, and its grounds.
`refutation`
    Evaluated designs checked against bounds and declarations, and the declaration that is wrong.
`cache`
    Models that are not run twice for equal inputs.
"""
