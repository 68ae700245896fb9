"""The objects of scripts, with their methods.

`study`
    A study: evaluate, run, change inputs, sweep; `load`, `from_mapping`.
`result`
    The result of a run: `StudyResult`, `Front`; `load_result`, `compare`; `Sweep`.
`cluster`
    The connection to Dask's scheduler: `connected`.
`views`
    Studies and results in one line, and as HTML in notebooks.
"""

from dse.api.result import Front, StudyResult, Sweep, compare, load_result
from dse.api.study import Study, from_mapping, load
from dse.explain.explanation import Explanation

__all__ = [
    "Explanation",
    "Front",
    "Study",
    "StudyResult",
    "Sweep",
    "compare",
    "from_mapping",
    "load",
    "load_result",
]
