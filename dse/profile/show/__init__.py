"""A profile shown: on the terminal, and as a page.

* ``text``: the profile as text, and the values that the page shows too: the hot functions, other
  threads, work in libraries and blocks, parallelism, short names and the program's name
* ``page``: the page of HTML with its key numbers, call tree, heatmap, hot lines, functions and
  their control flow
* ``graph``: the drawing of any graph of blocks as SVG, with colours and layers
"""
