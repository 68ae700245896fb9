"""The area proxy: parts by hand, and what each input does to the whole."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.units import read
from dse.study.catalog import find_catalog, load_catalog
from dse.testing import check_model
from objectives.machine.area import Area, total_area


def test_by_hand() -> None:
    got = total_area(
        engine_area=20_000.0,
        memory_area_per_bit=1 / 64,
        register_area=3_000.0,
        interface_area=208.0,
        pipeline_depth=4,
        lanes=2,
        streams=12,
        context_bits=256.0,
        buffer_bits=6_400.0,
        cache_size=64_000.0,
    )
    # contexts: 2 lanes * (12 - 4) streams * 256 bit / 64
    assert tuple(float(part) for part in got) == (24_372, 20_000, 3_000, 64, 100, 1_000, 208)


def test_streams_within_the_pipeline_need_no_secondary_memory() -> None:
    streams = np.array([0, 1, 4, 5, 8])
    got = total_area(1_000.0, 1.0, pipeline_depth=4, streams=streams, context_bits=10.0)
    assert got.area_contexts.tolist() == [0, 0, 0, 10, 40]


def test_only_the_engine_by_default() -> None:
    got = total_area(1_000.0, 1 / 16)
    assert got.area == got.area_engine == 1_000


@pytest.mark.parametrize(("row", "bits"), [("lut-ram-6-input", 64)])
def test_memory_rows_are_the_bits_of_a_lut(row: str, bits: int) -> None:
    figure = load_catalog(find_catalog("memories")).rows[row].values["memory_area_per_bit"]
    assert read(figure.text, "LUT/bit") * bits == 1


@given(
    name=st.sampled_from(
        [
            "engine_area",
            "register_area",
            "interface_area",
            "lanes",
            "streams",
            "context_bits",
            "buffer_bits",
            "cache_size",
            "memory_area_per_bit",
        ]
    ),
    more=st.integers(1, 100),
)
def test_more_of_anything_takes_more(name: str, more: int) -> None:
    inputs: dict[str, Any] = {
        "engine_area": 100.0,
        "memory_area_per_bit": 0.1,
        "register_area": 10.0,
        "interface_area": 5.0,
        "pipeline_depth": 4,
        "lanes": 1,
        "streams": 8,
        "context_bits": 64.0,
        "buffer_bits": 10.0,
        "cache_size": 10.0,
    }

    def run(**change: Any) -> Area:
        return total_area(**(inputs | change))

    assert run(**{name: inputs[name] + more}).area > run().area
    assert run(pipeline_depth=4 + more).area < run().area  # fewer contexts wait


def test_conforms() -> None:
    check_model(total_area)
