"""What the tests of energy share: a design, the rows of powers, and the models wired by name."""

from __future__ import annotations

from typing import Any

from dse.model.units import read_value
from dse.study.catalog import find_catalog, load_catalog
from objectives import energy as models
from objectives.logca import offload

AES = {
    "overhead": 29_000.0,
    "latency": 1500.0,
    "latency_per_byte": 0.0,
    "computational_index": 90.0,
    "complexity": 1.01,
    "acceleration": 19.0,
}
UNITS = {name: "J/B" if name.endswith("per_byte") else "W" for name in models.Powers._fields}


def row(name: str) -> dict[str, float]:
    figures = load_catalog(find_catalog("powers")).rows[name].values
    return {key: read_value(figures[key].text, unit) for key, unit in UNITS.items()}


def everything(granularity: float, design: dict[str, float], **others: Any) -> dict[str, Any]:
    """Return what LogCA and the energy model say of an offload, wired by name."""
    found = vars(offload(granularity=granularity, **design))
    names = ("host_time", "accelerated_time", "speedup", *models.CallTimes._fields)
    taken = {name: found[name] for name in names}
    return found | vars(models.energy(granularity=granularity, **taken, **design, **others))
