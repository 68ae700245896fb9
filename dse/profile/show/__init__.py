"""A profile shown: on the terminal, and as a page.

* ``text``: the profile as text, and the values that the page shows too: the hot functions, other
  threads, work in libraries, parallelism, and short names
* ``page``: the page of HTML with its key numbers, call tree, heatmap, hot lines and functions
* ``graph``: the drawing of a graph of blocks as SVG, with colours and layers
"""
