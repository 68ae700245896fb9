"""What scripts hold, with what can be done with it.

`study`
    A study: evaluate, run, change inputs, sweep; `load`, `from_mapping`.
`result`
    What a run found: `StudyResult`, `Front`; `load_result`, `compare`.
`explanation`
    What limits a design: `Explanation`.
`sweep`
    Runs along one input.
`cluster`
    The connection to Dask's scheduler: `connected`.
`views`
    Studies and results in a line, and as HTML in notebooks.
"""

from dse.api.result import Front, StudyResult, compare, load_result
from dse.api.study import Study, from_mapping, load
from dse.api.sweep import Sweep
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
