"""What uncertain inputs do to the front, as a section of the report."""

from __future__ import annotations

import pandas as pd

from dse.explain.robustness import Holding, Robustness
from dse.model.section import Bars, Section, Table
from dse.model.values import plural, worded

TITLE = "If the inputs are not what you think"
_ROWS = 12  # designs and inputs shown
_HOW = (
    "A design holds in a sample if it keeps every constraint there and no other design of the "
    "front or near it dominates it. The regret in an objective is by which share it is worse, in "
    "its worst sample, than a design that is no worse in any other objective."
)


def uncertain_section(found: Robustness, choice: int | None) -> list[Section]:
    """Return the section on uncertain inputs; none if there are none.

    Parameters
    ----------
    choice : int or None
        The design that is recommended, which must be one of those that were looked at.
    """
    if not found.designs:
        return []
    words, parts = [], []
    mine = None if choice is None else found.designs.get(choice)
    if mine is not None:
        words.append(" ".join(s for s in (mine.sentence("The choice"), mine.where()) if s))
        if mine.shares:
            parts.append(_bars(mine))
    words.append(_HOW)
    return [Section(TITLE, "\n\n".join(words), [*parts, _designs(found, choice)])]


def _bars(mine: Holding) -> Bars:
    some = dict(list(mine.shares.items())[:_ROWS])
    title = "What decides whether the choice holds"
    if mine.of != "whether it holds":
        title = f"What decides the {worded(mine.of)} of the choice"
    names = [worded(name) for name in some]
    values = [100.0 * share for share in some.values()]
    note = "Of each input alone; what is missing to 100 % comes of several together, or of chance."
    return Bars(title, names, [("share", values)], "share of the variance [%]", note=note)


def _designs(found: Robustness, choice: int | None) -> Table:
    ranked = sorted(found.designs.items(), key=lambda item: (item[0] != choice, -item[1].chance))
    interval = any(holding.interval for _, holding in ranked)
    rows = []
    for number, holding in ranked[:_ROWS]:
        row: dict[str, object] = {"design": number, "holds in [%]": round(100 * holding.chance, 1)}
        if interval:
            row["on the front"] = holding.verdict
        row |= {f"regret, {n} [%]": _share(share) for n, share in holding.regrets.items()}
        rows.append(row)
    more = len(ranked) - len(rows)
    note = (
        f"The choice first; {plural(more, 'more is', 'more are')} in summary.json."
        if more
        else "The choice first."
    )
    return Table("Designs that hold most often", pd.DataFrame(rows), note)


def _share(share: float) -> object:
    return round(100 * share, 1) if share < 1e6 else "fails"
