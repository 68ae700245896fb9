"""A row of a catalog is a record: each figure is a quantity, in its unit and in its domain."""

from __future__ import annotations

from typing import Any

import pytest

from dse.model import Quantity, declared
from dse.model.units import UnitError, read
from dse.study.catalog import Row, load_catalog, shipped_catalogs
from dse.study.loading import shipped_models
from dse.study.schema import InputValue
from objectives.energy import Powers
from objectives.machine.engine import Elements, LaneArea, Stages
from objectives.partition.quantities import Architecture

CLOCK = 1e9  # Hz; times of devices become cycles
NO_MODEL = {  # what relations of studies and readers take
    "device_clock": Quantity("Hz", "clock of the device", above=0),
    "cores": Quantity("1", "cores of the host", low=1, integer=True),
    "compute_units": Quantity("1", "compute units of the device", low=1, integer=True),
    "peak_performance": Quantity("1/s", "operations a second of the device", above=0),
    "engines_per_core": Quantity("1", "engines that a core needs", low=0, high=1),
    "most_calls_in_flight": Quantity("1", "most calls in flight of a stream", low=1, integer=True),
    "level1_size": Quantity("B", "size of L1", above=0),
    "level2_size": Quantity("B", "size of L2", above=0),
}


def declarations() -> dict[str, list[Quantity]]:
    """Return every input of the shipped models by name, as each model declares it."""
    found: dict[str, list[Quantity]] = {name: [note] for name, note in NO_MODEL.items()}
    for model in shipped_models():
        for name, note in model.inputs.items():
            if isinstance(note, Quantity):
                assert name not in NO_MODEL, f"{model.name} takes '{name}'"
                found.setdefault(name, []).append(note)
    return found


DECLARED = declarations()
ROWS = [
    pytest.param(row, id=f"{catalog.name}:{row.name}")
    for catalog in map(load_catalog, shipped_catalogs())
    for row in catalog.rows.values()
]


def wrong(name: str, figure: InputValue) -> str:
    """Return what is wrong with a figure, empty if nothing is."""
    if name not in DECLARED:
        return f"no model takes '{name}'"
    for quantity in DECLARED[name]:
        try:
            value = read(figure.text, quantity.unit, CLOCK)
        except UnitError as error:
            return f"{name} = {figure.text}: {error}"
        if not quantity.contains_all(value):
            return f"{name} = {figure.text} is outside {quantity.domain()} {quantity.unit}"
    return ""


@pytest.mark.parametrize("row", ROWS)
def test_every_figure_of_a_row_is_a_quantity(row: Row) -> None:
    assert not [said for name, figure in row.values.items() if (said := wrong(name, figure))]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("overhaed", "1 cycle", "no model takes"),
        ("overhead", "1 LUT", "LUT"),
        ("overhead", "-1 cycle", "outside"),
        ("complexity", "4", "outside"),
    ],
)
def test_a_wrong_figure_is_found(name: str, text: str, told: str) -> None:
    assert told in wrong(name, InputValue(text, source="nowhere"))


@pytest.mark.parametrize(
    ("catalog", "records", "beside"),
    [
        ("engines", (Stages, LaneArea, Elements), set()),
        ("memory_organisations", (Architecture,), None),
        ("powers", (Powers,), set()),
    ],
)
def test_rows_fill_their_records(catalog: str, records: Any, beside: set[str] | None) -> None:
    filled = {name for record in records for name in declared(record)}
    path = next(path for path in shipped_catalogs() if path.stem == catalog)
    for row in load_catalog(path).rows.values():
        assert set(row.values) <= filled
        if beside is not None:
            assert filled == set(row.values) | beside
