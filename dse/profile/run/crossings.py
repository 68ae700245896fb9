"""Which blocks touched a line of a cache after its owner, from the counters of the runtime."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from dse.profile.document import Crossing
from dse.profile.run.result import Result

_OWNER = 1 << 31  # marks the item of a set that is twice its owner, plus one if the owner wrote

Stay = tuple[int, tuple[int, ...]]


def crossings(result: Result, caches: int) -> tuple[Crossing, ...]:
    """Return how often each set of blocks touched a line after its owner, by cache and level."""
    return tuple(
        Crossing(cache=k, level=level, source=owner, to=readers, dirty=dirty, clean=clean)
        for k in range(caches)
        for level in (1, 2)
        for (owner, readers), (clean, dirty) in sorted(_counts(result, f"stays{k} {level}").items())
    )


def _counts(result: Result, section: str) -> dict[Stay, list[int]]:
    """Return the stays that were clean and dirty, by owner and readers."""
    found: dict[Stay, list[int]] = defaultdict(lambda: [0, 0])
    for count, items in _sets(result.rows(section, 1).ravel().tolist()):
        if len(items) > 1:
            owner, written = divmod(items[-1] - _OWNER, 2)
            found[owner, items[:-1]][written] += count
    return found


def _sets(numbers: list[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield counts with their sets, each a sorted list."""
    at = 0
    while at < len(numbers):
        stop = at + 2 + numbers[at + 1]
        yield numbers[at], tuple(numbers[at + 2 : stop])
        at = stop
