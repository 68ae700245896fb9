"""Pictures of a program's dataflow, as data for a report; see `dse.model.section`.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks"
(2010), Figures 3, 4, 7, 8 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dse.model.section import Bars, Heatmap, SectionPart, Tree
from objectives.communication.analysis import PARTS, breakdown, busiest, communication_share
from objectives.communication.dataflow import Dataflow
from objectives.communication.law_text import law_text
from objectives.communication.laws import Law
from objectives.communication.scaling import Count, flow_tree
from objectives.communication.setting import Setting

_SHARE_SHOWN = 0.001


def growth_bars(name: str, runs: Mapping[int, Dataflow], setting: Setting) -> Bars:
    """Return the time's parts at each size."""
    top = top_functions(runs[max(runs)])
    shares = communication_share(runs, top, setting)
    shown = [column for column in shares.columns if shares[column].max() > _SHARE_SHOWN]
    return Bars(
        f"{name}: computation and communication at each n",
        [str(size) for size in runs],
        [(f"{column[0]}: {column[1]}", shares[column].to_numpy()) for column in shown],
        "share of the time",
        stacked=True,
    )


def top_functions(program: Dataflow) -> tuple[str, ...]:
    """Return the candidates that no candidate calls, not even through others."""
    tree = program.tree
    candidates = {program.position(name) for name in program.candidates}
    inside: list[bool] = []  # a node: whether it or what calls it is a candidate's
    below: set[int] = set()
    for parent, function in zip(tree.parent, tree.function, strict=True):
        under = parent >= 0 and inside[parent]
        if under:
            below.add(int(function))
        inside.append(under or int(function) in candidates)
    return tuple(n for n in program.candidates if program.position(n) not in below)


def heatmaps(program: Dataflow) -> list[SectionPart]:
    """Return who passes what to whom, and who computes, of the ten busiest functions."""
    hot = busiest(program)
    names = list(hot.computation.index)
    return [
        Heatmap(
            f"{program.program}: bytes from row to column",
            names,
            names,
            hot.transfers.to_numpy(),
            "B",
            log=True,
            note="The functions that compute most, the busiest first.",
        ),
        Heatmap(
            f"{program.program}: computation",
            ["computation"],
            names,
            hot.computation.to_numpy()[None, :],
            "instruction",
            log=True,
        ),
    ]


def flow_picture(title: str, program: Dataflow, text: Callable[[Count], str]) -> Tree:
    """Return the dataflow superimposed on the call tree."""
    tree = flow_tree(program, text)
    return Tree(
        f"{title}: dataflow on the call tree",
        tree.names,
        tree.parents,
        tree.values,
        [label.replace("\n", "; ") for label in tree.labels],
        "instruction",
        "The width is its computation with everything called; data that it reads, by writer.",
    )


def law_of(laws: dict[Count, Law], count: Count) -> str:
    """Write the law of a number."""
    return law_text(laws[count])


def bytes_of(program: Dataflow, count: Count) -> str:
    """Write how many bytes pass from one function to another."""
    source, target = (program.names.index(name) for name in (count.source, count.target))
    return f"{program.transfers[source, target]:,.0f} B"


def share_bars(program: Dataflow, setting: Setting) -> Bars:
    """Return the time of the top functions as computation, local and global communication."""
    times = breakdown(program, top_functions(program), setting)
    share = times / times.to_numpy().sum()
    share = share[share.sum(axis=1) > _SHARE_SHOWN]
    return Bars(
        f"{program.program}: computation and communication on the host",
        [str(name) for name in share.index],
        [(part, share[part].to_numpy()) for part in PARTS],
        "share of the time",
        stacked=True,
    )
