"""Facts of selected catalog entries that must agree: computation, models and clock of the host."""

from __future__ import annotations

from collections.abc import Container, Mapping

from dse.model.units import UnitError, read_value
from dse.model.values import show
from dse.study.catalog import HOST_CLOCK, KERNEL, NEEDS
from dse.study.findings import Findings, Place
from dse.study.resolve.inputs import Entries

_CLOCK_TOLERANCE = 0.05  # chosen: one part number has clocks that differ by a few percent


def check_agreement(
    entries: Mapping[Place, Entries],
    quantities: Container[str],
    clock: float | None,
    findings: Findings,
) -> None:
    """Warn about entries of different computations, of other models and of another host's clock."""
    computations = {
        place: {name: facts[KERNEL] for name, facts in taken.facts.items() if KERNEL in facts}
        for place, taken in entries.items()
    }
    places = [place for place, of_entries in computations.items() if of_entries]
    for i, place in enumerate(places):
        for other in places[:i]:
            _compare(place, computations[place], other, computations[other], findings)
    for place, taken in entries.items():
        for name, facts in taken.facts.items():
            if facts.get(NEEDS, "") and facts[NEEDS] not in quantities:
                text = (
                    f"{name} needs a model that takes {facts[NEEDS]}: see dse list {facts[NEEDS]}"
                )
                findings.warnings.append(f"{place}: {text}")
            if clock is None or HOST_CLOCK not in facts:
                continue
            try:
                own = read_value(facts[HOST_CLOCK], "Hz")
            except UnitError:  # a fact is a free text
                continue
            if abs(clock / own - 1) > _CLOCK_TOLERANCE:
                text = f"{name} has cycles of a host at {facts[HOST_CLOCK]}"
                findings.warnings.append(f"{place}: {text}, and clock is {show(clock, 'Hz')}")


def _compare(
    place: Place,
    of_entries: Mapping[str, str],
    other: Place,
    of_others: Mapping[str, str],
    findings: Findings,
) -> None:
    """Warn about each entry that computes something that no entry of the other place computes."""
    known = ", ".join(dict.fromkeys(of_others.values()))
    for name, computation in of_entries.items():
        if not any(_is_same(computation, each) for each in of_others.values()):
            text = f"{name} computes {computation}, and {other} computes {known}"
            findings.warnings.append(f"{place}: {text}")


def _is_same(computation: str, other: str) -> bool:
    """Return whether two texts name one computation, or one names a kind of the other.

    >>> _is_same("SHA", "SHA-256"), _is_same("AES", "FFT")
    (True, False)
    """
    short, long = sorted((computation.casefold(), other.casefold()), key=len)
    return long.startswith(short)
