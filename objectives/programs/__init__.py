"""Programs that were profiled, read from files and folders: one loader for every model.

Modules:

* ``load``: :func:`load_program` and :func:`load_programs`, which find the form of a file (`FORMS`),
  read it and pass it to a model's conversion;
* ``counts``: :class:`Counts`, the content of other profiles than a
  :class:`~dse.profile.document.Profile`: functions, their calls and the bytes between them;
* ``callgrind``: counts from the output of callgrind;
* ``tables``: counts from CSV tables.

To support another form of profile, add a module with a reader, and a line in `FORMS`.
"""

from objectives.programs.counts import Calls, Counts
from objectives.programs.load import FORMS, Program, load_program, load_programs

__all__ = ["FORMS", "Calls", "Counts", "Program", "load_program", "load_programs"]
