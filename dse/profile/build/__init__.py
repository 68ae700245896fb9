"""Sources become an instrumented program.

In the order of the data's way: ``toolchain`` finds the compiler; ``frontend`` turns sources into
LLVM IR and links; ``build`` does the rest in a separate process: ``irtext`` reads the IR's text,
``analysis`` finds blocks, accesses and calls (``classes`` sorts instructions), ``counters`` places
the counters, ``hooks`` lists the hooks, ``instrument`` and ``rewrite`` insert them.
``cxx_library`` has the library of C++. ``resolvers`` keeps hooks out of code that runs before the
runtime can count.
``chains`` finds values that one iteration of a loop passes to the next. ``idle`` removes hooks
that the options do not need. ``threads`` has the functions for threads that are not profiled.
``elf`` reads and writes sections, ``kept`` keeps what was built.
The runtime, in ``runtime/``, is compiled by ``runtime_options``; ``effects`` knows the library's
functions, and ``library_io`` the ones that read and write files.
"""
