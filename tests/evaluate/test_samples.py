"""Uncertain inputs: against a loop over the same samples in which each model is called singly."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse.evaluate.input_variation import fix_at_middles
from dse.evaluate.samples import Distribution as Law
from dse.explain.robustness import assess_robustness, find_failure_box, sobol_indices
from dse.model import Floats, Quantity
from dse.search.bound import cells
from objectives import logca
from tests.evaluate.uncertain_studies import ROWS, brute, content, study, values


@pytest.mark.parametrize(
    ("reduce", "by_hand"),
    [
        (None, lambda v, likely: likely.mean(axis=0)),
        ("mean", lambda v, likely: likely.mean(axis=0)),
        ("worst", lambda v, likely: v.min(axis=0)),
        ("95 %", lambda v, likely: np.quantile(likely, 0.05, axis=0)),
        ("harmonic mean", lambda v, likely: 1 / (1 / likely).mean(axis=0)),
    ],
)
def test_draws_against_a_loop_over_them(reduce: str | None, by_hand: Any) -> None:
    reduction = {} if reduce is None else {"reduce": reduce}
    made = study({"maximize": "speedup", "at": {"granularity": 4096}, **reduction})
    assert made.uncertainty.corners == 2
    table = np.zeros((made.uncertainty.samples, 9))
    for design, sample, _, speedup in brute(made, [4096.0]):
        table[sample, design] = speedup
    wanted = by_hand(table, table[2:])
    assert values(made).objectives[:, 0] == pytest.approx(wanted, rel=1e-12)


def test_scenarios_and_draws_are_one_axis() -> None:
    sizes = [1024.0, 65536.0]
    made = study(
        {
            "maximize": "speedup",
            "over": {"granularity": sizes},
            "reduce": "mean",
            "weights": [3, 1],
        }
    )
    table = np.zeros((made.uncertainty.samples, 9, 2))
    for design, sample, scenario, speedup in brute(made, sizes):
        table[sample, design, scenario] = speedup
    wanted = (table[2:] @ np.array([0.75, 0.25])).mean(axis=0)
    assert values(made).objectives[:, 0] == pytest.approx(wanted, rel=1e-12)


def test_a_condition_may_be_uncertain() -> None:
    at = {"granularity": {"triangular": ["1 KiB", "2 KiB", "8 KiB"]}}
    made = study({"maximize": "speedup", "at": at, "reduce": "worst"})
    sizes = made.uncertainty.inputs["granularity of objective[1]"][1]
    assert sizes.min() >= 1024 and sizes.max() <= 8192
    drawn = {name: v for name, (_, v) in made.uncertainty.inputs.items()}
    by_hand = [
        float(
            logca.speedup(
                granularity=sizes[k],
                computational_index=drawn["computational_index"][k],
                overhead=2000.0,
                latency=drawn["latency"][k],
                latency_per_byte=0.5,
                acceleration=2.0,
            ).speedup
        )
        for k in range(made.uncertainty.samples)
    ]
    assert values(made).objectives[0, 0] == pytest.approx(min(by_hand), rel=1e-12)


@pytest.mark.parametrize("reduce", [None, "90 %", "mean"])
def test_constraints_hold_in_the_draws_that_are_asked_for(reduce: str | None) -> None:
    bound = {"quantity": "speedup", "at": {"granularity": 4096}, "at_least": 3.0}
    made = study(
        {"maximize": "speedup", "at": {"granularity": 4096}},
        constraint=[bound | ({"reduce": reduce} if reduce else {})],
    )
    table = np.zeros((made.uncertainty.samples, 9))
    for design, sample, _, speedup in brute(made, [4096.0]):
        table[sample, design] = speedup
    wanted = {
        None: (table >= 3.0).all(axis=0),
        "90 %": np.quantile(table[2:], 0.1, axis=0) >= 3.0,
        "mean": table[2:].mean(axis=0) >= 3.0,
    }[reduce]
    assert 0 < wanted.sum() < 9
    assert values(made).feasible.tolist() == wanted.tolist()


def test_the_seed_decides_the_draws() -> None:
    objective = {"maximize": "speedup", "at": {"granularity": 4096}}
    first, again = study(objective), study(objective)
    other = study(objective, search={"seed": 7})
    assert (values(first).objectives == values(again).objectives).all()
    assert (values(first).objectives != values(other).objectives).any()


class Out(NamedTuple):
    gain: Annotated[Floats, Quantity("1", "gain")]


class Cost(NamedTuple):
    cost: Annotated[Floats, Quantity("1", "cost")]


Lanes = Annotated[Floats, Quantity("1", "lanes", low=0)]
Rate = Annotated[Floats, Quantity("1", "rate", low=0)]


def test_a_model_that_nothing_uncertain_reaches_is_run_once_a_design() -> None:
    sizes: dict[str, set[int]] = {"cost": set(), "gain": set()}

    def cost(lanes: Lanes) -> Cost:
        sizes["cost"].add(np.broadcast(lanes, 0.0).size)
        return Cost(np.asarray(lanes) * 2.0)

    def gain(cost: Annotated[Floats, Quantity("1", "cost")], rate: Rate) -> Out:
        sizes["gain"].add(np.broadcast(cost, rate).size)
        return Out(np.asarray(cost) * rate)

    made = dse.from_mapping(
        {
            "study": {"name": "runs", "models": ["cost", "gain"]},
            "inputs": {"rate": {"uniform": [1, 2]}},
            "space": {"lanes": {"integer": [1, 8]}},
            "objective": [{"maximize": "gain"}, {"minimize": "cost"}],
        },
        models={"cost": cost, "gain": gain},
    )
    values(made)
    assert sizes == {"cost": {8}, "gain": {8 * 512}}


MONOTONE = {
    "study": {"name": "corners", "models": ["objectives.logca:offload"]},
    "inputs": {
        "computational_index": 90,
        "latency": {"between": [1000, 9000]},
        "overhead": {"between": [500, 4000]},
        "latency_per_byte": {"between": [0.1, 2]},
    },
    "space": {"acceleration": {"values": [2, 8, 32]}},
    "objective": [
        {"maximize": "speedup", "at": {"granularity": 4096}, "reduce": "worst"},
        {"minimize": "acceleration"},
    ],
    "uncertainty": {"samples": 16},
}


def test_the_worst_of_intervals_is_that_of_their_corners() -> None:
    made = dse.from_mapping(MONOTONE)
    assert made.uncertainty.corners == 8 and made.uncertainty.intervals
    corners = itertools.product([1000, 9000], [500, 4000], [0.1, 2])
    by_hand = [
        min(
            float(
                logca.speedup(
                    granularity=4096.0,
                    computational_index=90.0,
                    overhead=float(o),
                    latency=float(lat),
                    latency_per_byte=float(per),
                    acceleration=float(a),
                ).speedup
            )
            for lat, o, per in list(corners_)
        )
        for a, corners_ in zip([2, 8, 32], itertools.tee(corners, 3), strict=True)
    ]
    assert values(made).objectives[:, 0] == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("tabulated", [True, False])
def test_bounds_give_the_front_of_enumeration(
    tabulated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "TABLE_ROWS", 1 << 17 if tabulated else 0)

    def front(method: str) -> Any:
        made = study(
            {"maximize": "speedup", "at": {"granularity": 4096}, "reduce": "90 %"},
            space={"acceleration": {"integer": [2, 60]}, "engine": {"rows": ROWS}},
            search={"method": method},
        )
        return made.run().front.points

    one, other = front("exhaustive"), front("bound")
    assert one[np.lexsort(one.T)] == pytest.approx(other[np.lexsort(other.T)], rel=1e-12)


def test_workers_and_chunks_do_not_matter() -> None:
    def front(**run: Any) -> Any:
        return study({"maximize": "speedup", "at": {"granularity": 4096}}, run=run).run().front

    one, other = front(workers=1), front(workers=2, chunk=70)
    assert (one.points == other.points).all()


def test_the_middle_stands_for_what_is_uncertain_where_one_number_is_wanted() -> None:
    made = study({"maximize": "speedup", "at": {"granularity": 4096}})
    sure = content({"maximize": "speedup", "at": {"granularity": 4096}})
    sure["inputs"] |= {"latency": 1300, "computational_index": 90}
    sure["space"]["engine"] = {
        "rows": {o: {"overhead": v} for o, v in (("a", 2000), ("b", 1500), ("c", 1500))}
    }
    points = made.evaluator.space.from_index(np.arange(9))
    found = fix_at_middles(made.evaluator).evaluate(points).objectives
    assert found.tolist() == values(dse.from_mapping(sure)).objectives.tolist()


def test_chances_against_a_count_of_the_draws() -> None:
    made = dse.from_mapping(
        content()
        | {
            "space": {"acceleration": {"values": [8]}, "engine": {"rows": ROWS}},
            "objective": [{"maximize": "speedup", "at": {"granularity": 4096}}],
        }
    )
    drawn = {name: v[2:] for name, (_, v) in made.uncertainty.inputs.items()}
    uneven = drawn["overhead of drawn"], drawn["overhead of even"]
    overheads = np.array([np.full(64, 2000.0), *uneven])
    best = overheads.argmin(axis=0)  # the less overhead the better, all else alike
    found = assess_robustness(made, made.run())
    chances = [found.designs[k].chance for k in range(3)]
    assert chances == [(best == k).mean() for k in range(3)]
    assert all(found.designs[k].verdict == "possibly" for k in range(3))
    assert found.designs[0].regrets["speedup"] > 0


def test_intervals_are_certain_possible_or_never() -> None:
    inputs = {
        "computational_index": 90,
        "latency": 100,
        "latency_per_byte": 0.5,
    }
    rows = {
        "best": {"overhead": {"between": [100, 200]}},
        "maybe": {"overhead": {"between": [150, 900]}},
        "worst": {"overhead": {"between": [1000, 2000]}},
        "sure": {"overhead": 10},
    }

    def verdicts(*names: str) -> list[str]:
        made = dse.from_mapping(
            content()
            | {
                "inputs": inputs | {"acceleration": 8},
                "space": {"engine": {"rows": {n: rows[n] for n in names}}},
                "objective": [{"maximize": "speedup", "at": {"granularity": 4096}}],
            }
        )
        found = assess_robustness(made, made.run())
        return [found.designs[k].verdict for k in range(len(names))]

    assert verdicts("best", "maybe", "worst") == ["possibly", "possibly", "never"]
    assert verdicts("best", "worst", "sure") == ["never", "never", "certainly"]


# Laws of uncertain inputs, shares of a variance and boxes of failures, held to scipy and sums -


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(["between", "uniform", "normal", "lognormal", "triangular"]),
    low=st.floats(0.5, 10),
    width=st.floats(0.1, 10),
    ends=st.tuples(st.floats(0, 1), st.floats(12, 40)),
)
def test_laws_stay_in_their_domain_and_rise(
    kind: Any, low: float, width: float, ends: tuple[float, float]
) -> None:
    numbers = {
        "normal": (low, width),
        "lognormal": (low, 1 + width),
        "triangular": (low, low + width / 3, low + width),
    }.get(kind, (low, low + width))
    law = Law(kind, numbers, ends)
    drawn = law(np.linspace(0, 1, 101))
    assert (np.diff(drawn) >= 0).all()
    assert drawn.min() >= ends[0] and drawn.max() <= max(ends[1], low + width)


def test_laws_against_scipy() -> None:
    from scipy import stats

    share = np.array([0.001, 0.1, 0.5, 0.73, 0.999])
    normal = stats.truncnorm(-1, 2, loc=10, scale=4)
    assert Law("normal", (10, 4), (6, 18))(share) == pytest.approx(normal.ppf(share), rel=1e-9)
    lognormal = stats.lognorm(math.log(1.5), scale=10)
    assert Law("lognormal", (10, 1.5))(share) == pytest.approx(lognormal.ppf(share), rel=1e-9)
    triangular = stats.triang(0.25, loc=2, scale=8)
    assert Law("triangular", (2, 4, 10))(share) == pytest.approx(triangular.ppf(share), rel=1e-9)


def test_shares_of_a_sum_are_those_of_its_terms() -> None:
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(size=4096) for name in "abc"}
    found = sobol_indices(inputs, 3 * inputs["a"] + 4 * inputs["b"])
    assert found["b"] == pytest.approx(16 / 25, abs=0.03)
    assert found["a"] == pytest.approx(9 / 25, abs=0.03)
    assert found["c"] == pytest.approx(0, abs=0.01)
    assert list(found) == ["b", "a", "c"]


def test_the_box_of_failures_is_found() -> None:
    rng = np.random.default_rng(1)
    inputs = {name: ("s", rng.random(2000)) for name in "abc"}
    fails = (inputs["a"][1] > 0.7) & (inputs["b"][1] < 0.5)
    found = find_failure_box(inputs, fails)
    assert found is not None
    ends = {side.input: (side.low, side.high) for side in found.sides}
    assert set(ends) == {"a", "b"}
    assert ends["a"][0] == pytest.approx(0.7, abs=0.05) and ends["a"][1] == np.inf
    assert ends["b"][1] == pytest.approx(0.5, abs=0.05) and ends["b"][0] == -np.inf
    assert found.density > 0.95 and found.coverage > 0.85
    assert find_failure_box(inputs, np.zeros(2000, dtype=bool)) is None


# Sobol points: a signal that comes while scipy loads its table waits, and no points are equal -


PROGRAM = """
import builtins, os, signal, sys
import numpy as np
from scipy.stats import qmc
from dse.evaluate.samples import sobol_points

load = np.load
def interrupted(*given, **named):
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    return load(*given, **named)
def ended(*_):
    raise KeyboardInterrupt
for each in (signal.SIGINT, signal.SIGTERM):  # a shell in the background ignores SIGINT
    signal.signal(each, ended)
np.load = interrupted
try:
    sobol_points(3, 8, np.random.default_rng(0))
except KeyboardInterrupt:
    print("interrupted")
np.load = load
points = sobol_points(3, 8, np.random.default_rng(0))
print(len(np.unique(points, axis=0)))
"""


def test_a_signal_while_the_table_is_loaded_waits_and_loses_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "SIGTERM"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["interrupted", "8"], done.stderr
