"""What moves the objectives of a table, as a section of the report."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from dse.explain.regression import Regression
from dse.model.section import Section, Table

TITLE = "What moves the objectives"
_HOW = (
    "A straight line through the rows of the table, by least squares. A weight is how many "
    "standard deviations the objective moves as the variable moves by one of its own, the others "
    "as they are. The change is that from the tenth to the ninetieth percentile of the variable, "
    "or from the option with the least value to that with the greatest. It is no more than a "
    "trend of these rows: each line says how far off it is."
)


def trends(found: Sequence[Regression]) -> list[Section]:
    """Return the section that shows regressions; none if there are none."""
    if not found:
        return []
    words = [_HOW]
    if alike := found[0].alike:
        names = ", ".join(alike)
        words.append(
            f"The table does not tell apart what these do, for they move together: {names}."
        )
    return [Section(TITLE, "\n\n".join(words), [_table(each) for each in found])]


def _table(regression: Regression) -> Table:
    rows = [
        (e.variable, e.weight, e.error, e.low, e.high, regression.told(e.change))
        for e in regression.effects
    ]
    heads = ["variable", "weight", "standard error", "from", "to", "changes it by"]
    return Table(regression.objective, pd.DataFrame(rows, columns=heads), str(regression))
