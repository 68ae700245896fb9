"""``dse profile cc`` and ``c++``: compilers that add the IR for profiles to each object.

``driver`` is the compiler and its commands ``dse-cc`` and ``dse-c++``. ``arguments`` reads its
command line: inputs, flags, optimisation level, and the arguments of a link. ``records`` packs the
section that it adds to the files that it writes. ``program`` recognises a linked program and reads
it again. ``parts`` collects the parts of a program from sources or from such a program. ``mixed``
recognises and builds a program from sources together with objects and archives.
"""
