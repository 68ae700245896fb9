"""``dse profile cc`` and ``c++``: compilers that add the IR for profiles to each object.

``parts`` collects the parts of a program. ``driver`` is the compiler, ``arguments`` reads its
command line, ``records`` is the section that it adds to the files that it writes, and ``program``
reads a linked program again. ``mixed`` builds a program from sources, objects and archives.
"""
