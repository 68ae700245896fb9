"""First drafts of studies: text that runs as it stands, for ``dse new``.

A draft is a function that returns the text of a study. :func:`example` needs nothing;
:func:`communication`, :func:`partition` and :func:`offload` take a program's profile, each for one
question; :func:`kernel` takes rows of catalogs. What a draft assumes stands in its comments.
"""

from objectives.drafts.blocks import partition
from objectives.drafts.example import example
from objectives.drafts.kernel import kernel
from objectives.drafts.program import communication, offload

__all__ = ["communication", "example", "kernel", "offload", "partition"]
