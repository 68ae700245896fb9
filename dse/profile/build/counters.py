"""The fewest counters from which the executions of every block and edge follow exactly."""

from __future__ import annotations

from dataclasses import dataclass, field

from dse.profile.build.analysis import Analysis


@dataclass(slots=True)
class Counters:
    """Which counters make up the executions of each block and each edge."""

    size: int = 0
    blocks: list[list[int]] = field(default_factory=list)
    edges: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    shared: dict[int, dict[int, int]] = field(default_factory=dict)  # block: predecessor: counter


def place_counters(analysis: Analysis) -> Counters:
    """Choose the fewest counters from which every block's and every edge's count follows exactly.

    An edge has the count of its source if that goes nowhere else and cannot stop in its middle,
    and the count of its target if that comes from nowhere else. If neither holds, each edge
    into the target has a counter, and the target's count is their sum.
    """
    counters = Counters()
    predecessors: dict[int, list[int]] = {}
    for number, block in enumerate(analysis.blocks):
        for successor in block.successors:
            predecessors.setdefault(successor, []).append(number)
    entries = {function.entry for function in analysis.functions}
    for number in range(len(analysis.blocks)):
        sources = predecessors.get(number, [])
        known = len(sources) == 1 and number not in entries
        derived = known or all(
            len(analysis.blocks[s].successors) == 1 and not analysis.blocks[s].stops
            for s in sources
        )
        used = range(counters.size, counters.size + (1 if derived else len(sources)))
        counters.size = used.stop
        counters.blocks.append(list(used))
        if not derived:
            counters.shared[number] = dict(zip(sources, used, strict=True))
            counters.edges.update({(s, number): [c] for s, c in counters.shared[number].items()})
        elif known:
            counters.edges[sources[0], number] = list(used)
    for number, block in enumerate(analysis.blocks):
        for successor in block.successors:
            counters.edges.setdefault((number, successor), counters.blocks[number])
    return counters
