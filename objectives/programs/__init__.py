"""Programs that were profiled, read from files and folders: one loader for every model.

* :func:`load_program` and :func:`load_programs` find out which form a file has (`FORMS`), read it
  and hand it to a model's own conversion;
* :class:`~dse.profile.document.Profile` is what `dse profile` writes: all there is to know;
* :class:`Counts` is what other profilers tell: functions, their calls and the bytes between them.
  :mod:`~objectives.programs.callgrind` and :mod:`~objectives.programs.tables` read it.

Another form of profile is a module with a reader, and a line in `FORMS`.
"""

from objectives.programs.counts import Calls, Counts
from objectives.programs.load import FORMS, Program, load_program, load_programs

__all__ = ["FORMS", "Calls", "Counts", "Program", "load_program", "load_programs"]
