"""Sources become an instrumented program.

In the order of the data's way: ``toolchain`` finds the compiler; ``frontend`` turns sources into
LLVM IR and links; ``build`` does the rest in a separate process: ``irtext`` reads the IR's text,
``analysis`` finds blocks, accesses and calls (``classes`` sorts instructions), ``counters`` places
the counters, ``hooks`` lists the hooks, ``instrument`` and ``rewrite`` insert them. ``elf`` reads
and writes sections. The runtime, in ``runtime/``, is compiled by ``runtime_options``; ``effects``
knows the library's functions.
"""
