"""The pace of models is their processor time per design, whatever else the machine does."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dse.evaluate.pace import measure_pace
from dse.evaluate.space import Integer
from tests.core_examples import evaluator, model, objective


def _compute(seconds: float) -> None:
    began = time.process_time()
    while time.process_time() - began < seconds:
        pass


def _compute_in_thread(seconds: float) -> None:
    thread = threading.Thread(target=_compute, args=(seconds,))
    thread.start()
    thread.join()


def _compute_in_child(seconds: float) -> None:
    loop = f"import time\nwhile time.process_time() < {seconds}: pass"
    subprocess.run([sys.executable, "-S", "-c", loop], check=True)


@pytest.mark.parametrize("work", [_compute_in_thread, _compute_in_child])
def test_a_simulator_is_measured_wherever_it_runs(work: Callable[[float], None]) -> None:
    assert _measured(lambda x: work(0.05 * np.size(x))) > 0.034


@pytest.mark.parametrize(
    "cost",
    [lambda _: _compute(0.1), lambda _: time.sleep(0.3)],  # per call; on a busy machine
)
def test_costs_of_a_call_and_waiting_make_no_formula_slow(cost: Callable[[Any], None]) -> None:
    assert _measured(cost) < 1e-4


def _measured(cost: Callable[[Any], None]) -> float:
    def slow(x: Any) -> Any:
        cost(x)
        return x

    made = evaluator({"x": Integer(1, 9000)}, [model("m", slow, ["x"], ["y"])], [objective("y")])
    return measure_pace(made.evaluate, made.space)


def test_models_that_remember_designs_stay_slow() -> None:
    known: set[float] = set()

    def remembering(x: Any) -> Any:
        for value in set(np.atleast_1d(x).tolist()) - known:
            known.add(value)
            _compute(0.05)
        return x

    models = [model("m", remembering, ["x"], ["y"])]
    made = evaluator({"x": Integer(1, 20)}, models, [objective("y")])
    pace = made.pace
    made.evaluate(made.space.from_index(np.arange(20)))
    assert made.pace == pace > 0.01
    assert measure_pace(made.evaluate, made.space) < 0.01


def test_a_long_first_call_makes_no_simulator_a_formula() -> None:
    sizes: list[int] = []

    def cost(x: Any) -> None:
        _compute(0.3 * np.size(x) + (0 if sizes else 2))
        sizes.append(np.size(x))

    assert _measured(cost) > 0.1
    assert max(sizes) <= 8


def test_a_long_first_batch_of_several_designs_makes_no_formula_slow() -> None:
    batches: list[int] = []

    def cost(x: Any) -> None:
        batches.append(np.size(x))
        _compute(0.5 if np.size(x) > 1 and batches[-2] == 1 else 0)

    assert _measured(cost) < 1e-3
