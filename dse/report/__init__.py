"""The report: one file that explains a result in any browser, without a network.

* `axes`: colours, titles and ticks, and the place of infinity
* `front`: the designs in pictures, and the looks of each column
* `figures`: the front for scripts, by plotly
* `panels`: pictures and tables of a run, of a design and of sections
* `curve_plots`: curves and optimization regions
* `section_plot`: the pictures of sections that models write
* `payload`: the data of the page as JSON, and the study of a selection
* `shell`: style, scripts and policy of every page
* `page`: the page, with ``page.html`` and ``*.js``
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.result.files import write_text

if TYPE_CHECKING:
    from dse.evaluate.trace import Step
    from dse.explain.explanation import Explanation
    from dse.explain.recommendation import Answer
    from dse.model.section import Section
    from dse.result.record import Result


def write_report(
    result: Result,
    explanations: Sequence[Explanation],
    path: Path,
    study_text: str,
    sections: Sequence[Section] = (),
    model_graph: Sequence[Step] = (),
    answer: Answer | None = None,
) -> None:
    """Write the report of a result.

    Parameters
    ----------
    result : Result
        What a run found. ``provenance["seconds"]``, if given, is shown with the key figures.
    explanations : sequence of Explanation
        What limits some of the designs; the page shows them if such a design is chosen, and
        says for others how to get it.
    path : Path
        The file, in the run folder. A reader never sees half of it: it is written under another
        name first.
    study_text : str
        The study file, shown as it is.
    sections : sequence of Section
        What the study's models add.
    model_graph : ModelGraph
        What feeds what; see `dse.evaluate.trace.steps`.
    answer : Answer, optional
        What to build and why, in words; the page begins with it.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    from dse.report.page import page  # the page needs jinja2 and plotly, which are slow to import

    text = page(result, explanations, path.parent, study_text, sections, model_graph, answer)
    write_text(path, text)


__all__ = ["write_report"]
