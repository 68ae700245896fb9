"""Work and critical path of functions: a second run of the program, with a time for each value.

* ``weights``: the cycles of operations
* ``control``: control dependence, and variables that only count
* ``rewrite``: the text of a module whose functions keep times
* ``build``: the program with times, and the process that builds it
* ``measure``: its run, and the critical paths that result
"""
