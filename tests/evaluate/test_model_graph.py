"""Model graph: models joined by name, in any order, with units and bindings."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest

from dse.evaluate.model_graph import ModelError, find_conflicts
from tests.core_examples import model, model_graph

CALLS: list[str] = []


def counted(name: str, function: Any) -> Any:
    def run(**values: Any) -> Any:
        CALLS.append(name)
        return function(**values)

    return run


AREA = model("area", counted("area", lambda lanes: 10 * lanes), ["lanes"], ["area"])
TIME = model("time", counted("time", lambda lanes, size: size / lanes), ["lanes", "size"], ["time"])
COST = model("cost", counted("cost", lambda area, time: area * time), ["area", "time"], ["cost"])
LANES = np.array([1.0, 2.0, 4.0])


@pytest.mark.parametrize("models", list(itertools.permutations([AREA, TIME, COST])))
def test_the_order_of_the_models_does_not_matter(models: Any) -> None:
    wired = model_graph(models, ["lanes"], size=8.0)
    (cost,) = wired.evaluate([("cost", {})], {"lanes": LANES})
    assert cost.tolist() == [80.0, 80.0, 80.0]
    assert find_conflicts(wired) == []
    assert wired.upstream["cost"] == {"area", "time", "lanes", "size"}


def test_only_what_is_needed_runs_and_each_thing_once() -> None:
    wired = model_graph([COST, AREA, TIME], ["lanes"], size=8.0)
    CALLS.clear()
    wired.evaluate([("area", {}), ("area", {}), ("lanes", {}), ("size", {})], {"lanes": LANES})
    assert CALLS == ["area"]
    CALLS.clear()
    wired.evaluate([("cost", {}), ("time", {}), ("area", {})], {"lanes": LANES})
    assert sorted(CALLS) == ["area", "cost", "time"]
    CALLS.clear()  # the area does not depend on the size: one run serves all scenarios
    wired.evaluate([("cost", {"size": float(s)}) for s in range(1, 4)], {"lanes": LANES})
    assert sorted(CALLS) == ["area", *["cost"] * 3, *["time"] * 3]


def test_bindings_hold_for_their_request_alone() -> None:
    wired = model_graph([TIME], ["lanes"], size=8.0)
    plain, bound, both = wired.evaluate(
        [("time", {}), ("time", {"size": 16.0}), ("time", {"size": 16.0, "lanes": 2.0})],
        {"lanes": LANES},
    )
    assert plain.tolist() == [8.0, 4.0, 2.0]
    assert bound.tolist() == [16.0, 8.0, 4.0]
    assert both == 8.0


def test_a_bound_output_cuts_what_is_upstream() -> None:
    wired = model_graph([COST, AREA, TIME], ["lanes"], size=8.0)
    CALLS.clear()
    (cost,) = wired.evaluate([("cost", {"area": 3.0})], {"lanes": LANES})
    assert cost.tolist() == [24.0, 12.0, 6.0]
    assert sorted(CALLS) == ["cost", "time"]
    assert wired.evaluate([("area", {"area": 3.0})], {"lanes": LANES}) == [3.0]
    need = wired.needs(["cost"], ["area", "time"])
    assert set(need.names) == {"cost", "area", "time"}


def test_what_is_missing_is_named_with_who_needs_it() -> None:
    wired = model_graph([COST, AREA, TIME], ["lanes"])
    assert wired.needs(["cost"]).missing == {"size": "time"}
    assert wired.needs(["cost"], ["size"]).missing == {}
    assert wired.needs(["cost"], ["time"]).missing == {}
    assert wired.needs(["area"]).missing == {}
    assert wired.needs(["nothing"]).missing == {"nothing": ""}


def test_defaults_are_used_where_nothing_is_given_and_missed_by_others() -> None:
    scaled = model("scaled", lambda x, scale=2.0: x * scale, ["x", "scale"], ["y"], {"scale": 2.0})
    strict = model("strict", lambda scale: scale + 1, ["scale"], ["z"])
    assert model_graph([scaled], x=3.0).evaluate([("y", {})], {}) == [6.0]
    assert model_graph([scaled], x=3.0, scale=5.0).evaluate([("y", {})], {}) == [15.0]
    assert model_graph([scaled], x=3.0).evaluate([("y", {"scale": 7.0})], {}) == [21.0]
    assert model_graph([scaled], x=3.0).needs(["y"]).missing == {}
    for order in ([scaled, strict], [strict, scaled]):
        assert model_graph(order, x=3.0).needs(["y", "z"]).missing == {"scale": "strict"}


def test_an_output_given_twice() -> None:
    other = model("other", lambda size: size, ["size"], ["area"])
    (problem,) = find_conflicts(model_graph([AREA, other], ["lanes"], size=1.0))
    assert problem.message == "'area' is given twice: by area and by other"
    assert "rename" in problem.remedy


def test_circles_are_named_once() -> None:
    a = model("a", lambda x, z: x + z, ["x", "z"], ["y"])
    b = model("b", lambda y: y, ["y"], ["w"])
    c = model("c", lambda w: w, ["w"], ["z"])
    for models in itertools.permutations([a, b, c]):
        (problem,) = find_conflicts(model_graph(models, ["x"]))
        assert "in a circle: " in problem.message
        assert problem.message.count("→") == 3
    p = model("p", lambda r: r, ["r"], ["s"])
    q = model("q", lambda s: s, ["s"], ["r"])
    top = model("top", lambda s, w: s + w, ["s", "w"], ["t"])
    both = find_conflicts(model_graph([top, a, b, c, p, q], ["x"]))
    assert sorted(problem.message.count("→") for problem in both) == [2, 3]
    (problem,) = find_conflicts(model_graph([model("selfish", lambda y: y, ["y"], ["y"])]))
    assert problem.message.endswith("selfish → selfish")


def test_units_are_converted_between_models() -> None:
    kib = model("kib", lambda x: x, {"x": "1"}, {"size": "KiB"})
    use = model("use", lambda size: size + 1, {"size": "B"}, {"plus": "B"})
    (plus,) = model_graph([kib, use], ["x"]).evaluate([("plus", {})], {"x": np.array([1.0, 2.0])})
    assert plus.tolist() == [1025.0, 2049.0]
    # what is bound is in the unit of the model that gives it
    assert model_graph([kib, use], ["x"]).evaluate([("plus", {"size": 2.0})], {}) == [2049.0]


CYCLES = model("cycles", lambda n: 3 * n, {"n": "1"}, {"delay": "cycle"})
SECONDS = model("seconds", lambda delay: 2 * delay, {"delay": "s"}, {"twice": "s"})


def test_a_clock_relates_cycles_and_seconds() -> None:
    constant = model_graph([SECONDS, CYCLES], ["n"], clock=1e9)
    (twice,) = constant.evaluate([("twice", {})], {"n": np.array([1.0, 5.0])})
    assert twice == pytest.approx([6e-9, 30e-9], rel=1e-15)
    varied = model_graph([SECONDS, CYCLES], ["n", "clock"])
    columns = {"n": np.array([1.0, 1.0]), "clock": np.array([1e9, 2e9])}
    assert varied.evaluate([("twice", {})], columns)[0] == pytest.approx([6e-9, 3e-9], rel=1e-15)
    assert varied.upstream["seconds"] == {"delay", "n", "clock"}
    slow, fast = varied.evaluate(
        [("twice", {"clock": 1e6}), ("twice", {"clock": 1e7})], {"n": np.array([1.0])}
    )
    assert (slow / fast).tolist() == pytest.approx([10.0], rel=1e-15)


def test_a_clock_may_be_an_output_and_is_missed_where_there_is_none() -> None:
    clock = model("pll", lambda base: 4 * base, {"base": "Hz"}, {"clock": "Hz"})
    wired = model_graph([SECONDS, clock, CYCLES], ["n"], base=0.25e9)
    assert wired.evaluate([("twice", {})], {"n": np.array([1.0])})[0] == pytest.approx([6e-9])
    assert wired.upstream["seconds"] == {"delay", "n", "clock", "base"}
    assert model_graph([SECONDS, CYCLES], ["n"]).needs(["twice"]).missing == {"clock": "seconds"}
    assert model_graph([SECONDS, CYCLES], ["n"]).needs(["delay"]).missing == {}


def test_the_same_model_twice_under_other_names() -> None:
    stage = model("stage", lambda x, gain: x * gain, ["x", "gain"], ["y"])
    first = stage.renamed({"y": "middle", "gain": "first_gain"})
    second = stage.renamed({"x": "middle", "gain": "second_gain"})
    second = type(second)(**{**vars(second), "name": "stage#2"})
    for models in ([first, second], [second, first]):
        wired = model_graph(models, ["x"], first_gain=2.0, second_gain=5.0)
        y, middle = wired.evaluate([("y", {}), ("middle", {})], {"x": np.array([1.0, 3.0])})
        assert middle.tolist() == [2.0, 6.0]
        assert y.tolist() == [10.0, 30.0]
        assert find_conflicts(wired) == []


def test_runs_are_listed_inner_ones_first_and_as_evaluated() -> None:
    wired = model_graph([COST, TIME, AREA], ["lanes"], size=8.0)
    requests: list[Any] = [("cost", {"size": 2.0}), ("cost", {"size": 4.0}), ("area", {})]
    keys = wired.runs(requests)
    CALLS.clear()
    wired.evaluate(requests, {"lanes": LANES})
    assert [name for name, _ in keys] == CALLS
    assert CALLS == ["area", "time", "cost", "time", "cost"]


def test_known_outputs_take_the_place_of_a_run() -> None:
    wired = model_graph([COST, TIME, AREA], ["lanes"], size=8.0)
    (key,) = wired.runs([("area", {})])
    CALLS.clear()
    (cost,) = wired.evaluate(
        [("cost", {})], {"lanes": LANES}, {key: {"area": np.array([1.0, 1.0, 1.0])}}
    )
    assert cost.tolist() == [8.0, 4.0, 2.0]
    assert sorted(CALLS) == ["cost", "time"]


def test_a_ladder_of_models_is_walked_once_not_along_every_path() -> None:
    def rung(i: int) -> Any:
        names = [f"a{i}", f"b{i}"]
        return model(f"m{i}", lambda **v: (sum(v.values()), 1.0), names, [f"a{i + 1}", f"b{i + 1}"])

    models = [rung(i) for i in reversed(range(60))]
    wired = model_graph(models, a0=1.0, b0=1.0)
    assert len(wired.upstream["m59"]) == 120
    assert find_conflicts(wired) == []
    assert wired.evaluate([("a60", {})], {}) == [61.0]
    assert len(wired.runs([("a60", {})])) == 60


def test_a_model_that_raises_is_named_and_the_error_travels() -> None:
    def broken(lanes: Any) -> Any:
        raise ArithmeticError("no such lanes")

    wired = model_graph([model("broken", broken, ["lanes"], ["area"])], ["lanes"])
    with pytest.raises(ModelError, match="broken raised ArithmeticError: no such lanes") as caught:
        wired.evaluate([("area", {})], {"lanes": LANES})
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own bytes
    assert str(again) == str(caught.value)
    assert again.model == "broken"


def test_what_an_input_does_not_reach_is_not_run_again() -> None:
    wired = model_graph([AREA, TIME, COST], ["lanes"], size=8.0)
    columns = {"lanes": LANES}
    runs = wired.done([("cost", {})], columns)
    assert sorted(key[0] for key in runs) == ["area", "cost", "time"]
    CALLS.clear()
    changed = columns | {"size": np.full(3, 16.0)}
    (cost,) = wired.evaluate([("cost", {})], changed, wired.unmoved(runs, "size"))
    assert CALLS == ["time", "cost"]
    assert cost.tolist() == wired.evaluate([("cost", {})], changed)[0].tolist() == [160.0] * 3
    assert wired.unmoved(runs, "lanes") == {}
