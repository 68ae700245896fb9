"""First drafts of studies: text that runs as it stands, for ``dse new``.

A draft is a function that returns the text of a study; comments in it name its assumptions.

Modules:

* ``program``: :func:`communication`, :func:`offload` and :func:`system`, drafts for the functions
  of a profiled program, and the ``Source`` of drafts: one program, its functions, their places;
* ``blocks``: :func:`partition`, a draft for the basic blocks of a profile, and sizes for them;
* ``kernel``: :func:`kernel`, a draft from entries of catalogs, and :func:`example`, without any;
* ``text``: the text of drafts: templates, quotes, lists, and comments on a profile: its origin,
  threads and gaps.
"""

from objectives.drafts.blocks import partition
from objectives.drafts.kernel import example, kernel
from objectives.drafts.program import communication, offload, system

__all__ = ["communication", "example", "kernel", "offload", "partition", "system"]
