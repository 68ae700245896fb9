"""`dse list` shows models by their quantities, whether they take records and give dataclasses."""

from __future__ import annotations

import inspect
import re

from dse.study.listing import catalogs, models, near


def test_records_are_listed_by_their_quantities() -> None:
    found = {each.model.name: each.model for each in models()}
    speedup, offload = found["objectives.logca:speedup"], found["objectives.logca:offload"]
    flat = ["overhead", "latency", "latency_per_byte", "computational_index", "complexity"]
    assert list(speedup.inputs) == ["granularity", *flat, "acceleration"]
    assert speedup.defaults == {"latency": 0.0, "latency_per_byte": 0.0, "complexity": 1.0}
    assert list(offload.inputs) == [*speedup.inputs, "target_speedup"]
    # outputs that join parts, inherited: in the order of the parts
    assert list(offload.outputs) == [name for part in offload.leaves for name in part.outputs]
    assert list(offload.outputs)[:2] == ["speedup", "host_time"]


def test_each_model_is_listed_once_by_the_package_that_names_it() -> None:
    names = [each.model.name for each in models()]
    assert len(set(names)) == len(names)
    # by a table of contents, never by a module inside of a package
    assert not [name for name in names if not re.fullmatch(r"objectives\.\w+:\w+", name)]
    packages = {name.partition(":")[0].removeprefix("objectives.") for name in names}
    assert packages >= {"communication", "logca", "machine", "partition", "sharing"}
    for each in models():
        assert each.about, each.model.name
        assert list(inspect.signature(each.model.function).parameters) == list(each.model.inputs)


def test_a_misspelt_name_has_a_nearest_one() -> None:
    catalog = catalogs()[0].name
    assert near(catalog[:-2] + catalog[-1]) == catalog
    assert near("acelerate") is not None
    assert near("granularty") == "granularity"
    assert near("xyzzy") is None
