"""The studies of the rotation and of the decoder, and the sections that explain them."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.model.section import Lines, Table
from objectives.communication import (
    Dataflows,
    best_cut,
    load_dataflow,
    load_dataflows,
    offload_functions,
)
from objectives.communication.report import (
    accelerators,
    choices_on_front,
    fastest_setting,
    functions,
    limits,
    scaling,
)
from tests.core_examples import brute_front

STUDIES = Path(__file__).parents[3] / "studies"
COSTS = {
    **{"instruction_time": 1.0, "byte_time": 0.25, "latency_per_byte": 1.0, "overhead": 435.0},
    **{"latency": 500.0, "instruction_area": 32.0, "memory_area_per_bit": 1 / 64},
    "bank_area": 500.0,
}


Ran = tuple[dse.Study, dse.StudyResult]


@pytest.fixture(scope="module")
def rotate() -> Ran:
    study = dse.load(STUDIES / "rotate.toml")
    return study, study.run()


@pytest.fixture(scope="module")
def jpeg(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run the decoder's study with fewer speeds and subsets of the first six functions."""
    text = (STUDIES / "jpeg.toml").read_text()
    for long, brief in {
        "profiles/jpeg.json": str(STUDIES / "profiles" / "jpeg.json"),
        ', "decode_block", "get_symbol", "store_block", "get_bit", "get_number", "upsample"]': "]",
        "[2, 4, 8, 16, 32]": "[2, 32]",
        "[1, 2, 4, 8, 16, 32]": "[4, 32]",
    }.items():
        assert long in text
        text = text.replace(long, brief)
    path = tmp_path_factory.mktemp("jpeg") / "jpeg.toml"
    path.write_text(text)
    study = dse.load(path)
    return study, study.run()


@cache
def rotations() -> Dataflows:
    return load_dataflows(STUDIES / "profiles" / "rotate").including(["getchar", "load", "putchar"])


def test_the_front_of_the_rotation_is_that_of_a_plain_enumeration(rotate: Ran) -> None:
    """Sets of functions are enumerated by name, without the study's numbers for them."""
    programs = rotations()
    points = []
    for workload, turn in ((4, "turn_rings"), (11, "turn_quarters")):
        assert programs.programs[workload].program.endswith("-128")
        own = ("store", "load", turn, "putchar", "getchar")
        for count in range(1, 6):
            for names in itertools.combinations(own, count):
                if {"store", "putchar"} <= set(names) or {"load", "getchar"} <= set(names):
                    continue  # an accelerator of store holds putchar already
                points.append(designs(programs.selection(names), workload, count))
    found_by_hand = np.unique(np.concatenate(points), axis=0)
    expected = {tuple(found_by_hand[i].round(9)) for i in brute_front(found_by_hand)}
    _, result = rotate
    front = result.front.designs
    found = np.column_stack([front["accelerated_time"], front["medium_bytes"], front["area"]])
    assert {tuple(point.round(9)) for point in found} == expected
    assert result.certificate.complete


def designs(selection: int, workload: int, count: int) -> np.ndarray:
    """Evaluate all speeds, stores and buses for a set of functions."""
    programs = rotations()
    stores = [0.0, 1.0] if count > 1 else [0.0]
    grid = np.array(
        list(itertools.product([2, 4, 8, 16, 32], [1, 2, 4, 8, 16, 32], stores, [1, 2, 4], [0, 1]))
    ).T
    out = offload_functions(
        programs,
        float(selection),
        grid[0],
        communication_factor=grid[1],
        shared_store=grid[2],
        medium_factor=grid[3],
        keeps_data=grid[4],
        workload=float(workload),
        interface_area=1000 * grid[3],
        **COSTS,
    )
    points = np.column_stack([out.accelerated_time, out.medium_bytes, out.area])
    iterative = programs.programs[4]
    on_host = iterative.computation.sum() + iterative.total_bytes / 4
    return np.asarray(points[out.accelerated_time < on_host])


def test_whole_picture_in_hardware_is_fastest_and_needs_the_bus_for_nothing(rotate: Ran) -> None:
    study, result = rotate
    section = accelerators(study, result)
    assert "store + load + turn_rings (iterative-128)" in section.text
    best = result.best("accelerated_time")
    assert best["shared_store"] == 1
    assert best["medium_bytes"] < 100
    lines, table = section.parts
    assert isinstance(lines, Lines)
    assert [name for name, _, _ in lines.lines] == [
        "store", "load", "turn_rings", "together, private stores", "together, one shared store",
    ]  # fmt: skip
    assert isinstance(table, Table)
    assert table.rows["designs"].sum() == len(result.front)


def test_sets_on_the_front_have_the_best_of_each_objective(rotate: Ran) -> None:
    study, result = rotate
    table = choices_on_front(study, result)
    front = result.front.designs
    assert table["best accelerated_time [cycle]"].min() == front["accelerated_time"].min()
    assert table["best area [LUT]"].min() == front["area"].min()
    assert table["best medium_bytes [B]"].min() == front["medium_bytes"].min()
    assert not table.duplicated(["program", "functions accelerated"]).any()
    assert len(table)
    assert "selection" not in table  # names, no number made of bits
    programs = study.evaluator.model_graph.constants["dataflow"]
    named = {frozenset(names.split(", ")) for names in table["functions accelerated"]}
    assert named == {frozenset(programs.chosen(int(number))) for number in front["selection"]}


def test_sections_tell_limits_verdicts_and_laws(rotate: Ran) -> None:
    study, result = rotate
    walls = limits(study, result)
    assert "iterative-128: with all computation in no time the program is 2.38 times" in walls.text
    judged = functions(study, result)
    assert "a separate accelerator is beneficial for 3 of 7 functions" in judged.text
    tables = [part for part in judged.parts if isinstance(part, Table)]
    verdict = tables[0].rows.set_index("function")
    assert not verdict.loc["putchar", "worth"]
    assert str(verdict["sensitivity"]["putchar"]).startswith("divide overhead and latency")
    assert (verdict["worth"] == (verdict["bytes a call [B]"] > verdict["break-even [B]"])).all()
    known = verdict["computing at most"].dropna()  # critical paths were not measured
    assert (known <= fastest_setting(*rotate).computation_factor).all()
    assert "critical paths were not measured" in judged.text
    program = load_dataflow(STUDIES / "profiles/rotate/iterative-128.json")
    cut = best_cut(program.including(["getchar", "load", "putchar"]), fastest_setting(*rotate))
    assert len(cut.paths) > 1
    assert f"cut at: {'; '.join(cut.paths)}; with" in judged.text
    grown = scaling(study, result)
    laws = next(part for part in grown.parts if isinstance(part, Table)).rows
    row = laws.query("what == 'bytes' and `from` == 'load' and to == 'turn_rings'")
    assert list(row["law"]) == ["n² words + 16 B"]  # n is the side here


def test_the_decoder_needs_several_accelerators(jpeg: Ran) -> None:
    study, result = jpeg
    table = choices_on_front(study, result).set_index("functions accelerated")
    best = table["best speedup"]
    assert best.idxmax() == "decode_blocks, colour_conversion"
    singly = best[[name for name in best.index if "," not in name]]
    assert best.max() > 1.5 * singly.max()
    assert "jpeg" in accelerators(study, result).text
    assert scaling(study, result).title == "How the dataflow grows"
    assert scaling(study, result).text == "No program has sizes."
