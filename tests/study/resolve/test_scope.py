"""Numbers of a study that are probably given in a wrong unit are noted."""

from __future__ import annotations

from typing import Any

import pytest

import dse


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"clock": "1.16 Hz"}, "inputs.clock: clock = 1.16 Hz is unusual"),
        ({"overhead": 3.5e-5}, "overhead = 3.5×10⁻⁵ cycle is unusual; typical: 10 cycle to"),
        ({"latency": "1.3 ms"}, "latency = 1,508,000 cycle is unusual"),
        ({"latency": 0}, ""),
        ({"latency": {"value": "1.3 ms", "provenance": "measured", "source": "a log"}}, ""),
    ],
)
def test_implausible_magnitudes_are_noted_once(inputs: dict[str, Any], words: str) -> None:
    given = {"clock": "1.16 GHz", "computational_index": 90, "overhead": "25 us", "latency": 1500}
    study = dse.from_mapping(
        {
            "study": {"name": "magnitudes", "models": ["objectives.logca:offload"]},
            "inputs": given | inputs,
            "space": {"acceleration": {"values": [2, 4]}},
            "objective": [{"maximize": "speedup", "at": {"granularity": 4096}}],
        }
    )
    notes = [note for note in study.notes if "unusual" in note]
    assert len(notes) == bool(words)
    assert words in "".join(notes)
