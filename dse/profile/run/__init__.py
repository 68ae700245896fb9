"""Run an instrumented program, and turn its numbers into a profile.

``run`` starts and ends the program, and ``inputs`` keeps its input for further runs; ``result``
reads the file that it leaves; ``assembly`` joins the tables of the build with the numbers.
``names`` has names for readers, ``tree`` the call tree, ``lines`` the text of the lines that ran,
and ``crossings`` the data that crosses the caches.
"""
