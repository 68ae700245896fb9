"""Certification: an independent test of the certificate of a finished run.

First, the values of the run must appear again: here in small batches, and in a fresh process with
few environment variables. Second, `dse` compares designs with the front: random designs, neighbours
of the front, and designs with extreme values of variables. A better design refutes the certificate.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.audit import RepeatabilityError, compare_evaluations, evaluate_differently
from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.failures import evaluate_naming_failures
from dse.evaluate.space import Points, Space
from dse.evaluate.table_space import TableSpace
from dse.model.quantity import Array
from dse.result.folder import load_copied_study
from dse.result.record import Result
from dse.search.bound.cells import Axis
from dse.search.bound.cover import Cover, relax_points
from dse.study.study import ResolvedStudy

_TOGETHER = 32_768  # designs evaluated at once
_STARTS = 2_000  # designs of the front whose neighbours are tried
_ROUNDING = 1e-9  # relative: a value from a table, computed again
_REPEATED = 2_000
"""Designs behind the front that are evaluated again, and random designs in small batches."""
_KEPT_VARIABLES = (
    *("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "SYSTEMROOT"),
    *("TMPDIR", "VIRTUAL_ENV", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
)
"""Environment variables that a fresh process needs to start the same interpreter."""
_FRESH = "from dse.explain.certification import evaluate_in_process; evaluate_in_process()"


@dataclass(frozen=True)
class Refutation:
    """The checks that a certificate passed, or the design that refutes it."""

    tried: int  # sampled designs, which may repeat
    feasible: int
    design: dict[str, Any] | None  # the first that is better than the front allows, by variable
    values: dict[str, float] | None  # its objectives
    of: str = "draw"  # or "design": the rows of a table are designs, each once


@dataclass(frozen=True)
class Verdict:
    """The outcome of the test of a certificate."""

    again: int  # designs that gave the same values again
    difference: str = ""  # the first design that did not
    refutation: Refutation | None = None  # None if the certificate claims nothing

    @property
    def refuted(self) -> bool:
        """Whether the certificate is wrong."""
        found = self.refutation is not None and self.refutation.design is not None
        return bool(self.difference) or found


def certify(run: Path, study: ResolvedStudy, result: Result, designs: int, seed: int) -> Verdict:
    """Test the certificate of a run: `recheck`, then `refute`.

    Raises
    ------
    DesignError
        If a model raises.
    """
    try:
        again = recheck(run, study, result, seed)
    except RepeatabilityError as error:
        return Verdict(0, str(error))
    claims = result.certificate.gap is not None
    return Verdict(again, refutation=refute(study, result, designs, seed) if claims else None)


def recheck(run: Path, study: ResolvedStudy, result: Result, seed: int) -> int:
    """Evaluate designs of a run again, here and in a fresh process; return how many.

    They are the whole front, designs behind it and random designs.

    Raises
    ------
    RepeatabilityError
        If a design gives other values than in the run, or other values in the fresh process.
    DesignError
        If a model raises.
    """
    evaluator = study.evaluator
    if not evaluator.model_graph.models:
        return 0
    rng = np.random.default_rng(seed)
    table = result.designs
    behind = rng.permutation(np.flatnonzero(~table["on_front"].to_numpy(dtype=bool)))[:_REPEATED]
    front = np.flatnonzero(table["on_front"].to_numpy(dtype=bool))
    kept = table.iloc[rng.permutation(np.concatenate([front, behind]))]
    labels = {n: kept[n].to_numpy() for n in evaluator.space.variables}
    points = evaluator.space.from_labels(labels)
    again = evaluate_differently(evaluator, points)
    recorded = Evaluated(
        kept[[o.name for o in evaluator.objectives]].to_numpy(dtype=np.float64),
        again.constrained,
        kept["feasible"].to_numpy(dtype=bool),
        again.failed,
    )
    numbers = kept.index.to_numpy()
    compare_evaluations(evaluator, points, recorded, again, numbers, "in the run")
    for row in np.flatnonzero(recorded.feasible != again.feasible)[:1]:
        now = "feasible" if again.feasible[row] else "infeasible"
        raise RepeatabilityError(
            f"design {numbers[row]} is {now} when it is evaluated again, and was not in the run"
        )
    random = evaluator.space.from_unit(rng.random((_REPEATED, len(evaluator.space.variables))))
    compare_evaluations(
        evaluator,
        random,
        evaluate_naming_failures(evaluator, random, 0),  # all in one batch
        evaluate_differently(evaluator, random),
        np.arange(_REPEATED),
        "in one batch",
    )
    fresh = _evaluate_in_fresh_process(run, evaluator, points)
    compare_evaluations(evaluator, points, fresh, again, numbers, "in a fresh process")
    return len(kept) + _REPEATED


def _evaluate_in_fresh_process(run: Path, evaluator: Evaluator, points: Points) -> Evaluated:
    """Evaluate designs of a run in a new interpreter, with another hash seed and few variables."""
    variables = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    path = os.pathsep.join(filter(None, sys.path))
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    with tempfile.TemporaryDirectory() as folder:
        designs, values = Path(folder, "points.npz"), Path(folder, "values.npz")
        np.savez(designs, **points)  # type: ignore[arg-type]
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _FRESH, str(run.absolute()), str(designs), str(values)],
            env={**variables, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not values.is_file():
            lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise RepeatabilityError(f"in a fresh process the models fail: {lines[-1]}")
        with np.load(values) as arrays:
            return Evaluated.from_arrays(arrays)


def evaluate_in_process() -> None:
    """Evaluate designs in this process; the arguments name the run, the designs and the result."""
    run, designs, results = map(Path, sys.argv[1:])
    with np.load(designs) as arrays:
        points = dict(arrays)
    evaluator = load_copied_study(run).evaluator
    rows = np.random.default_rng(1).permutation(len(next(iter(points.values()))))
    values = evaluate_differently(evaluator, {n: v[rows] for n, v in points.items()})
    np.savez(results, **values.rows(np.argsort(rows)).to_arrays())  # type: ignore[arg-type]


def refute(study: ResolvedStudy, result: Result, designs: int, seed: int) -> Refutation:
    """Try to find a feasible design that is better than the front by more than its gap.

    For a table or a space with fewer designs than `designs`, all designs are tried.

    Raises
    ------
    DesignError
        If a model raises.
    """
    evaluator, gap = study.evaluator, result.certificate.gap
    if gap is None:
        raise AssertionError("a run without a certificate claims nothing")
    cover = Cover.empty(len(evaluator.objectives))
    cover = cover.added(result.front.points)
    common, apart = (gap, 0.0), result.certificate.tolerances
    every = [apart.get(o.name, common) for o in evaluator.objectives]
    share, amount = np.maximum(np.array(every, dtype=np.float64), [_ROUNDING, 0.0]).T
    tried, feasible = 0, 0
    for points in _tried(study, result, designs, np.random.default_rng(seed)):
        low, tried = tried, tried + len(next(iter(points.values())))
        judged = evaluate_naming_failures(evaluator, points, low)
        rows = np.flatnonzero(judged.feasible)
        feasible += len(rows)
        signed = (judged.objectives * evaluator.signs)[rows]
        better = ~cover.weakly(relax_points(signed, share, amount))
        if better.any():
            row = rows[np.argmax(better)]
            labels = evaluator.space.labels({n: v[row : row + 1] for n, v in points.items()})
            names = [o.name for o in evaluator.objectives]
            values = dict(zip(names, judged.objectives[row].tolist(), strict=True))
            design = {n: v[0] for n, v in labels.items()}
            return Refutation(tried, feasible, design, values)
    whole = evaluator.space.size is not None and tried == evaluator.space.size
    return Refutation(tried, feasible, None, None, "design" if whole else "draw")


def _tried(
    study: ResolvedStudy, result: Result, count: int, rng: np.random.Generator
) -> Iterator[Points]:
    """Yield the designs to try, many at once; for a table, all designs."""
    space = study.evaluator.space
    if space.size is not None and (isinstance(space, TableSpace) or space.size <= count):
        for low in range(0, space.size, _TOGETHER):
            yield space.from_index(np.arange(low, min(low + _TOGETHER, space.size)))
        return
    axes = tuple(Axis(name, variable) for name, variable in space.variables.items())
    places = _places(space, axes, result, count, rng)
    for low in range(0, len(places), _TOGETHER):
        part = places[low : low + _TOGETHER]
        yield {axis.name: axis.at(part[:, i]) for i, axis in enumerate(axes)}


def _places(
    space: Space, axes: Sequence[Axis], result: Result, count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return designs by the indices of their values: random, extreme, and next to the front."""
    counts = np.array([axis.count for axis in axes])
    # Three of four are uniform: 200,000 then find a fault in 2e-5 of the designs with 95 %.
    drawn = rng.integers(0, counts, (count - count // 8, len(axes)))
    at_end = rng.random(drawn.shape) < 0.5 * (np.arange(len(drawn)) % 7 == 0)[:, None]
    ends = np.where(rng.random(drawn.shape) < 0.5, 0, counts - 1)
    drawn = np.where(at_end, ends, drawn)
    front = result.front.designs
    if len(front) == 0:
        return drawn
    rows = rng.choice(len(front), min(len(front), _STARTS), replace=False)
    points = space.from_labels({n: front[n].to_numpy()[rows] for n in space.variables})
    near = np.column_stack([_place(axis, points[axis.name]) for axis in axes])
    near = near[rng.integers(0, len(near), count // 8)]
    steps = rng.integers(-2, 3, near.shape) * _strides(counts, rng, near.shape)
    moved = near + np.where(rng.random(near.shape) < 0.5, steps, 0)
    return np.concatenate([drawn, np.clip(moved, 0, counts - 1)])


def _place(axis: Axis, values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the indices of values in the ascending order of a variable."""
    if axis.continuous:
        unit = axis.variable.to_unit(values)
        return np.rint(unit * (axis.count - 1)).astype(np.int64)
    inverse = np.argsort(axis.order)
    return np.asarray(inverse[axis.variable.position(values)], dtype=np.int64)


def _strides(
    counts: NDArray[np.int64], rng: np.random.Generator, shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """Return steps of all sizes up to an eighth of a variable's values."""
    most = np.log(np.maximum(counts / 8, 1.0))
    found: Array = np.exp(rng.random(shape) * most)
    return found.astype(np.int64)
