"""Dataflow from profiles: what is read, and the contexts of a call graph."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.problems import InputError
from dse.profile.document import Profile
from objectives.communication import from_profile, load_dataflow, load_dataflows
from objectives.communication.dataflow import shares_inside
from objectives.communication.readers import MAX_CONTEXTS, expand_call_graph, inclusive_transfers
from objectives.programs import Calls
from tests.communication_examples import Machine, profile_of


def test_a_profile_is_read_as_it_is(tmp_path: Path) -> None:
    profile = profile_of(Machine(3, functions=6, helpers=1).trace)
    profile.save(tmp_path / "walk.profile.json")
    got = load_dataflow(tmp_path / "walk.profile.json")
    assert got.program == "walk" and got.names[: got.functions] == profile.names
    for rows, matrix in (
        (profile.transfers, got.transfers),
        (profile.transfers_into, got.transfers_into),
        (profile.transfers_out, got.transfers_out),
    ):
        assert matrix.sum() == sum(t.bytes for t in rows)
        for t in rows:
            assert matrix[got.names.index(t.source), got.names.index(t.to)] == t.bytes
    for i, function in enumerate(profile.functions):
        assert got.computation[i] == function.computation
        assert got.local_bytes[i] == function.local_bytes
        assert got.code[i] == i + 1
    assert got.computation_inclusive.max() == sum(f.computation for f in profile.functions)
    sums = np.bincount(got.tree.function, weights=got.tree.computation, minlength=len(got.names))
    assert np.array_equal(sums, got.computation)


def test_a_folder_of_programs_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name, seed in (("b", 1), ("a", 2)):
        profile_of(Machine(seed, functions=4).trace).save(tmp_path / f"{name}.profile.json")
    (tmp_path / "c").mkdir()
    functions = "function,invocations,computation,local_bytes\nf1,1,5,0\n"
    (tmp_path / "c" / "functions.csv").write_text(functions)
    (tmp_path / "c" / "transfers.csv").write_text("from,to,bytes\n")
    got = load_dataflows(tmp_path)
    assert [program.program for program in got.programs] == ["a", "b", "c"]
    assert set(got.candidates) == {n for program in got.programs for n in program.candidates}


def test_a_profile_without_transfers_is_refused(tmp_path: Path) -> None:
    profile = profile_of(Machine(3, functions=3).trace)
    content = profile.model_dump(by_alias=True)
    content["settings"]["transfers"] = False
    with pytest.raises(InputError, match=r"settings\.transfers: .*without transfers"):
        from_profile(Profile.model_validate(content))


def test_a_call_tree_of_strangers_is_refused() -> None:
    content = profile_of(Machine(3, functions=3).trace).model_dump(by_alias=True)
    content["call_tree"] = [
        {"parent": 4, "function": "nobody", "invocations": 1, "computation": 1},
    ]
    with pytest.raises(InputError) as error:
        from_profile(Profile.model_validate(content))
    assert [p.where for p in error.value.problems] == ["call_tree", "call_tree.0.parent"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_tree_of_a_graph_keeps_its_sums(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 7))
    edges = data.draw(
        st.dictionaries(
            st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), st.integers(1, 9)
        )
    )
    calls = {pair: Calls(float(n), float(n)) for pair, n in edges.items()}
    computation = np.array([float(data.draw(st.integers(0, 50))) for _ in range(size)])
    invoked = np.zeros(size)
    for (_, g), call in calls.items():
        invoked[g] += call.times
    tree = expand_call_graph(np.maximum(invoked, 1.0), computation, calls)
    assert all(tree.parent[v] < v for v in range(len(tree.parent)))
    for node in range(len(tree.parent)):
        way = [int(tree.function[v]) for v in tree.way(node)]
        assert len(set(way)) == len(way)
        for callee, caller in itertools.pairwise(way):
            assert (caller, callee) in calls
    sums = np.bincount(tree.function, weights=tree.computation, minlength=size)
    assert np.allclose(sums, computation)
    entered = np.bincount(tree.function, weights=tree.calls, minlength=size)
    assert np.all(entered <= np.maximum(invoked, 1.0) + 1e-9) and np.all(entered > 0)


def test_a_tree_that_would_explode_keeps_the_computation() -> None:
    layers = 14  # two functions each, each calls both below: 2^14 ways
    calls = {
        (2 * k + i, 2 * (k + 1) + j): Calls(1.0, 1.0)
        for k in range(layers - 1)
        for i in range(2)
        for j in range(2)
    }
    tree = expand_call_graph(np.ones(2 * layers), np.arange(2.0 * layers), calls)
    assert len(tree.parent) == MAX_CONTEXTS
    assert tree.computation.sum() == pytest.approx(np.arange(2.0 * layers).sum())


def test_inclusive_transfers_by_hand() -> None:
    # a calls b; c is called by a (a quarter of its work) and by main
    tree = expand_call_graph(
        np.array([1.0, 1, 1, 4]),
        np.array([5.0, 5, 5, 8]),
        {(0, 1): Calls(1, 1), (1, 2): Calls(1, 1), (1, 3): Calls(1, 1), (0, 3): Calls(3, 3)},
    )
    inside = shares_inside(tree, 4)
    assert inside[:, 1].tolist() == [0, 1, 1, 0.25]
    transfers = np.zeros((4, 4))
    transfers[0, 2], transfers[1, 2], transfers[2, 3], transfers[3, 3] = 10, 20, 40, 80
    into, out = inclusive_transfers(transfers, inside)
    assert into[:, 1].tolist() == [10, 0, 0, 0]
    assert out[1].tolist() == [0, 0, 0, 30]
