"""Analyses of a dataflow against the raw tables, closed forms and the paper's statements."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from objectives.communication import Dataflow, Setting, acceleration, load_dataflow, load_dataflows
from objectives.communication.analysis import (
    PARTS,
    REST,
    breakdown,
    communication_share,
    find_busiest,
    local_or_global,
    memory_wall,
    speedups,
)
from objectives.communication.dataflow import Dataflows
from objectives.communication.laws import (
    COUNTS,
    Notation,
    fit_dataflow_laws,
    law_table,
    list_counts,
)
from objectives.communication.report import (
    flow_picture,
    group_families,
    top_functions,
)

PROFILES = Path(__file__).parents[3] / "studies" / "profiles"
SIDES = (8, 16, 32, 64, 128, 256, 512)
TURN = {"iterative": "turn_rings", "recursive": "turn_quarters"}
WAYS = list(TURN)


def rotation(way: str, side: int = 128) -> Dataflow:
    program = load_dataflow(PROFILES / "rotate" / f"{way}-{side:03}.json")
    return program.including(["getchar", "load", "putchar"])  # as in the paper, all may move


@pytest.fixture(scope="module")
def jpeg() -> Dataflow:
    return load_dataflow(PROFILES / "jpeg.json")


def raw(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((PROFILES / f"{name}.json").read_text())
    return content


def subtree(profile: dict[str, Any], function: str) -> tuple[set[str], int]:
    """Return the functions at or below a function, and their computation there."""
    inside: list[bool] = []
    names, work = set(), 0
    for node in profile["call_tree"]:
        above = node["parent"] >= 0 and inside[node["parent"]]
        inside.append(above or node["function"] == function)
        if inside[-1]:
            names.add(node["function"])
            work += node["computation"]
    return names, work


@pytest.mark.parametrize("way", WAYS)
def test_breakdown_is_what_the_raw_tables_add_up_to(way: str) -> None:
    profile = raw(f"rotate/{way}-032")
    kernels = ["load", TURN[way]]
    table = breakdown(rotation(way, 32), kernels)
    read: dict[str, int] = {f["name"]: f["local_bytes"] for f in profile["functions"]}
    for row in profile["transfers"]:
        read[row["to"]] = read.get(row["to"], 0) + row["bytes"]
    total = sum(read.values()) + sum(f["computation"] for f in profile["functions"])
    for kernel in kernels:  # these share no function with the rest of the program
        names, work = subtree(profile, kernel)
        came = sum(t["bytes"] for t in profile["transfers_into"] if t["to"] == kernel)
        assert table.loc[kernel, "computation"] == work
        assert table.loc[kernel, "global"] == came
        assert table.loc[kernel, "local"] == sum(read[name] for name in names) - came
    assert table.to_numpy().sum() == pytest.approx(total, rel=1e-12)
    assert table.loc[REST].min() >= 0
    priced = breakdown(rotation(way, 32), kernels, Setting(instruction_time=3.0, byte_time=0.5))
    np.testing.assert_allclose(priced, table * [3.0, 0.5, 0.5])


def of(shares: pd.DataFrame, part: str) -> pd.DataFrame:
    """Take one part of every function's share."""
    names = dict.fromkeys(shares.columns.get_level_values("function"))
    return pd.DataFrame({name: shares[name, part] for name in names})


@pytest.mark.parametrize("way", WAYS)
def test_the_ratio_of_communication_to_computation_is_flat_beyond_the_smallest_picture(
    way: str,
) -> None:
    runs = {side: rotation(way, side) for side in SIDES}
    shares = communication_share(runs, ["load", TURN[way], "store"])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    computing = of(shares, "computation").sum(axis=1)
    ratio = (1 - computing) / computing
    assert ratio.loc[16:].max() / ratio.loc[16:].min() < 1.05
    own = shares[TURN[way], "computation"].loc[16:]
    if way == "iterative":
        # set-up outside of the three functions has a large part only in the smallest picture
        rest = sum((of(shares, part)[REST] for part in PARTS), pd.Series(0.0, shares.index))
        assert rest.is_monotonic_decreasing
        assert rest.loc[8] > 20 * rest.loc[64]
        assert ratio.loc[16:].max() / ratio.loc[16:].min() < 1.01
        assert own.max() / own.min() < 1.15
    else:  # computing of the recursion grows with the logarithm of the side
        assert own.is_monotonic_increasing
        assert own.loc[512] > 1.3 * own.loc[16]
    # most of the data moves inside of load, as the paper found of read_ppm
    local = of(shares, "local")
    assert (local["load"] == local.max(axis=1)).all()
    assert (local.sum(axis=1) > of(shares, "global").sum(axis=1)).all()


@pytest.mark.parametrize("way", WAYS)
def test_the_memory_wall_is_the_closed_form(way: str) -> None:
    program = rotation(way)
    i, b = program.computation.sum(), program.total_bytes
    setting = Setting(instruction_time=2.0, byte_time=0.25)
    f = np.array([1.0, 2.0, 8.0, 1e3, np.inf])
    expected = [(2 * i + b / 4) / (2 * i / x + b / 4) for x in f]
    np.testing.assert_allclose(memory_wall(program, f, setting), expected)
    assert memory_wall(program, np.inf) == pytest.approx(1 + i / b)


@pytest.mark.parametrize("way", WAYS)
def test_local_or_global_is_the_model_with_one_factor_after_the_other(way: str) -> None:
    program, kernels = rotation(way), ["load", TURN[way], "store"]
    f = np.array([1.0, 3.0, 100.0, np.inf])
    table = local_or_global(program, kernels, f)
    one = Dataflows((program,))
    chosen = float(one.selection(kernels))
    unit = np.ones(4)
    ways = {
        "computation": (f, unit, unit),
        "local": (unit, f, unit),
        "computation and local": (f, f, unit),
        "global": (unit, unit, f),
        "all": (f, f, f),
    }
    for name, (computation, store, medium) in ways.items():
        expected = acceleration(one, chosen, computation, store, medium_factor=medium).speedup
        np.testing.assert_allclose(table[name].to_numpy(), expected)


def test_local_communication_gains_most_and_the_limit_is_the_same_for_both_algorithms() -> None:
    """Section III.D: accelerated to the limit, the kernels no longer differ."""
    limits = {}
    for way in WAYS:
        program = rotation(way)
        table = local_or_global(program, ["load", TURN[way], "store"], [2.0, 10.0, np.inf])
        for _, row in table.iterrows():
            assert row["computation and local"] > row["local"] > row["computation"] > row["global"]
        host = program.computation.sum() + program.total_bytes
        limits[way] = host / float(table["computation and local"].iloc[-1])
    assert limits["iterative"] == pytest.approx(limits["recursive"], rel=1e-12)


def test_what_the_paper_concludes_of_the_decoder_holds_for_ours(jpeg: Dataflow) -> None:
    """Section V; figures of ours in docs/validation/communication_figures.md."""
    assert list(find_busiest(jpeg).computation.index[:2]) == ["idct_1d", "convert_row"]
    work = dict(zip(jpeg.names, jpeg.computation_inclusive, strict=True))
    assert work["idct"] > work["colour_conversion"] > work["get_symbol"]
    four = ("colour_conversion", "idct", "idct_1d", "get_symbol")
    alone = speedups(jpeg, {name: (name,) for name in four}, [np.inf]).iloc[-1]
    assert alone.max() == pytest.approx(1.281, abs=0.001)  # no single function gives much
    assert alone.idxmax() == "idct"
    both = {"both": ("idct", "colour_conversion")}
    private, shared = (speedups(jpeg, both, [np.inf], s)["both"].iloc[-1] for s in (False, True))
    assert private == pytest.approx(1.620, abs=0.001)
    assert private > alone["idct"] * 1.2
    assert shared == private  # nothing passes between the two: store_block stands between
    three = {"three": ("idct", "store_block", "colour_conversion")}
    private, shared = (speedups(jpeg, three, [np.inf], s)["three"].iloc[-1] for s in (False, True))
    assert 1.05 < shared / private < 1.15


def test_the_busiest_functions_are_in_the_order_of_their_computation(jpeg: Dataflow) -> None:
    profile = raw("jpeg")
    hot = find_busiest(jpeg, 8)
    ranked = sorted(profile["functions"], key=lambda f: -f["computation"])[:8]
    assert list(hot.computation.index) == [f["name"] for f in ranked]
    assert list(hot.computation) == [f["computation"] for f in ranked]
    moved = {(t["from"], t["to"]): t["bytes"] for t in profile["transfers"]}
    for f in ranked:
        for to in ranked:
            expected = moved.get((f["name"], to["name"]), 0)
            expected += f["local_bytes"] if f is to else 0
            assert hot.transfers.loc[f["name"], to["name"]] == expected


def test_the_call_tree_carries_the_laws() -> None:
    runs = {side: rotation("recursive", side) for side in SIDES}
    laws = fit_dataflow_laws(list(runs.values()), [side * side for side in SIDES])
    tree = flow_picture("p", runs[128], laws, root="side")
    at = tree.names.index("turn_quarters")
    assert tree.names[tree.parents[at]] == "main"
    law = "load: 2·n words − 4 B; turn_quarters: (log2(side) − 1)·n words"
    assert tree.labels[at] == law
    work = subtree(raw("rotate/recursive-128"), "turn_quarters")[1]
    assert np.asarray(tree.values)[at] == work
    picture = flow_picture("p", runs[128])
    assert "load: 131,068 B; turn_quarters: 393,216 B" in picture.labels


def test_every_number_of_a_dataflow_gets_a_law() -> None:
    runs = [rotation("iterative", side) for side in SIDES]
    laws = fit_dataflow_laws(runs, [side * side for side in SIDES])
    seen = set().union(*(list_counts(run) for run in runs))
    assert set(laws) == seen
    for count, law in laws.items():
        for run, side in zip(runs, SIDES, strict=True):
            number = list_counts(run).get(count, 0)
            off = abs(float(law.at(side * side)) - number) / max(number, 1)
            assert off <= law.residual + 1e-9, count
    table = law_table(laws, Notation(root="side")).set_index(["what", "from", "to"])
    assert table.loc[("bytes", "load", "turn_rings"), "law"] == "n words + 16 B"
    assert table.loc[("computation", "load", "load"), "law"] == "6·n + 3 instructions"
    assert table.loc[("invocations", "getchar", "getchar"), "law"] == "3·n + 15 calls"
    assert set(table.index.get_level_values("what")) == set(COUNTS)


def test_top_functions_are_those_that_the_program_itself_calls(jpeg: Dataflow) -> None:
    assert set(top_functions(rotation("iterative"))) == {"load", "turn_rings", "store"}
    # what reads the stream and writes the picture is not among them
    found = {"read_headers", "decode_blocks", "upsample", "colour_conversion"}
    assert set(top_functions(jpeg)) == found


def test_families_are_programs_whose_names_end_in_a_size() -> None:
    found = group_families(load_dataflows(PROFILES / "rotate"))
    assert {name: tuple(runs) for name, runs in found.items()} == dict.fromkeys(WAYS, SIDES)
    assert group_families(Dataflows((rotation("iterative"),))) == {}


def test_without_data_there_is_no_memory_wall(tmp_path: Path) -> None:
    (tmp_path / "functions.csv").write_text(
        "function,invocations,computation,local_bytes\nmain,1,100,0\n"
    )
    (tmp_path / "transfers.csv").write_text("from,to,bytes\n")
    program = load_dataflow(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(memory_wall(program, [2.0, np.inf]), [2.0, np.inf])
