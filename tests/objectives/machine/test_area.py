"""The area proxy: parts by hand, and what each input does to the whole."""

import numpy as np
import pytest

from dse.model.units import read
from dse.study.catalog import find_catalog, load_catalog
from objectives.machine.area import total_area


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


@pytest.mark.parametrize(("row", "bits"), [("lut-ram-6-input", 64)])
def test_memory_rows_are_the_bits_of_a_lut(row: str, bits: int) -> None:
    figure = load_catalog(find_catalog("memories")).rows[row].values["memory_area_per_bit"]
    assert read(figure.text, "LUT/bit") * bits == 1
