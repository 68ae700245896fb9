"""Runs of the plain program: instructions of its libraries, and CPU time of its threads.

* ``attribution``: callgrind's costs, divided among the program's functions
* ``measure``: a run of the plain program under valgrind
* ``cpu_time``: a run with clocks, for the threads that were not profiled
"""
