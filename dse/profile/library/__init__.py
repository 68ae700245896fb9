"""Instructions of libraries that were not profiled, by the function that calls them.

* ``attribution``: callgrind's costs, divided among the program's functions
* ``measure``: a run of the plain program under valgrind
"""
