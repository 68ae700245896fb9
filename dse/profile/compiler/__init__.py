"""``dse profile cc`` and ``c++``: compilers that leave in objects what profiles are made from.

``parts`` collects the parts of a program. ``driver`` is the compiler, ``arguments`` reads its command line, ``records`` is what it leaves in a
section of the files that it writes, and ``program`` is a linked program read again.
``mixed`` builds a program from sources, objects and archives with it.
"""
