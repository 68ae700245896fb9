"""Search by bounds: boxes of designs that cannot improve the front are dropped unevaluated.

`search`
    The branch and bound: its state, its steps, its certificate.
`boxes`, `cells`
    Boxes of designs, and the cells of each variable that make them.
`ranges`
    Bounds of objectives and constraints over boxes: through models, relations and tables.
`monotonicity`
    How quantities change along variables: best ends, and declarations that bounds lack.
`cover`
    The designs found so far, and the points that they cover.
`evidence`
    What a search has proven, and what that rests on.
`refutation`
    Evaluated designs compared with the bounds of their boxes, and the declaration that is wrong.
`cache`
    Models that are not run twice for equal inputs.
"""
