"""Runs of the plain program: instructions of its libraries, and CPU time of its threads.

* ``attribution``: callgrind's costs, divided among the program's functions
* ``plain``: the program without instrumentation, built in a process
* ``measure``: its machine instructions and misses in L1, by valgrind
* ``cpu_time``: a run with clocks, for the threads that were not profiled
"""
