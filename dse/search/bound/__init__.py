"""Search by bounds: boxes of designs that cannot improve the front are dropped unevaluated.

`search`
    The branch and bound: its state, its steps, its certificate.
`cells`
    The values of one variable in ascending order, its cells, and extremes over cells; boxes and
    their bounds as arrays of rows.
`boxes`
    Operations on boxes: their sizes and middles, their designs by place and number, halving, and
    how much each variable changes the bounds.
`ranges`
    Bounds of objectives and constraints over boxes: through models, relations and tables.
`monotonicity`
    How quantities change along variables: best ends, and declarations that bounds lack.
`cover`
    The designs found so far, the points that they cover, and by which tolerance.
`evidence`
    The outcome of a search: the designs kept, the certificate, and its grounds.
`refutation`
    Evaluated designs compared with the bounds of their boxes, and the declaration that is wrong.
`cache`
    Models that are not run twice for equal inputs.
"""
