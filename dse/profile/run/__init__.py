"""An instrumented program runs, and its numbers become a profile.

``run`` starts and ends the program; ``result`` reads the file that it leaves; ``assembly`` puts the
tables of the build and the numbers together, with ``names`` for readers, the call ``tree``, the text of the ``lines`` that ran,
and the ``crossings`` of data through the caches.
"""
