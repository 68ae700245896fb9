"""Sources become an instrumented program.

In the order of the data's way:

* ``toolchain``: the compilers that are installed, and their commands
* ``frontend``: from sources to LLVM IR: languages, compiler flags, inline functions, and links
* ``build``: the job in a separate process that does the rest, and the modules that it refuses
* ``irtext``: the IR's text as functions, blocks and statements; names, quotes, types and sizes
* ``analysis``: blocks, edges, registers, accesses, calls, source lines and assembly of a module
* ``classes``: the class of an instruction
* ``chains``: values that one iteration of a loop passes to the next
* ``counters``: the fewest counters, and their places
* ``hooks``: the hooks to insert, and the names of library functions and of functions with hooks
* ``instrument``: the hooks and tables of a module, its attributes and static initializers
* ``rewrite``: the hooks of one function, and the addresses of its accesses
* ``resolvers``: indirect functions, which run before the runtime can count
* ``threads``: copies of functions for threads that are not profiled
* ``cxx_library``: the library of C++, and the command that links it
* ``constants``: texts and tables of one build, as an object file
* ``runtime_options``: the runtime of ``runtime/``: its settings, caches and compilation
* ``idle``: the removal of hooks that the options do not need
* ``elf``: sections, symbols and kinds of object files and archives, written without pages of zeros
* ``kept``: objects of the last programs and of runtimes, which are not built again
* ``effects``: library functions that are modelled, harmless, refused (threads of libraries and
  OpenMP too), or worth a warning or a remark
* ``library_io``: library functions that read and write files
"""
