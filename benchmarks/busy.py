"""Work on a busy machine: rows, pieces and checkpoints of the shipped studies, idle and busy.

    python -m benchmarks.busy [--loops 6] [STUDY ...]

Each study is searched twice, the second time while loops keep all cores busy. A search counts the
calls of its models, the designs of each call, its steps and the checkpoints that a run would write.
All four must be equal: no work follows from the clock.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dse
from dse.model.contract import Model
from dse.run import is_checkpoint_due
from dse.search.base import Start, find_method

STUDIES = Path(__file__).parents[1] / "studies"


class Work(NamedTuple):
    """The work of a search, and the seconds that it took."""

    calls: int
    rows: int
    digest: str
    steps: int
    checkpoints: int
    front: int
    seconds: float


@dataclass(frozen=True, eq=False)
class _Counting(Model):
    """A model that notes how many rows each of its calls has."""

    calls: list[tuple[str, int]] = field(default_factory=list)

    def __call__(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        sizes = [np.size(columns[name]) for name in self.inputs if name in columns]
        self.calls.append((self.name, max(sizes, default=1)))
        return super().__call__(columns)


def search(path: Path) -> Work:
    """Search a study in one thread, and return the work that this took."""
    study = dse.load(path)
    calls: list[tuple[str, int]] = []
    models = tuple(_Counting(**vars(m), calls=calls) for m in study.evaluator.model_graph.models)
    evaluator = replace(
        study.evaluator, model_graph=replace(study.evaluator.model_graph, models=models)
    )
    began, steps, checkpoints, kept = time.perf_counter(), 0, 0, 0
    under_way = find_method(study.plan.method).start(Start(evaluator, study.plan))
    for _ in under_way.steps():
        progress, steps = under_way.progress(), steps + 1
        if is_checkpoint_due(progress, kept):
            checkpoints, kept = checkpoints + 1, progress.work
    seconds = time.perf_counter() - began
    digest = hashlib.sha256(repr(calls).encode()).hexdigest()[:12]
    rows, front = sum(count for _, count in calls), under_way.progress().front
    return Work(len(calls), rows, digest, steps, checkpoints, front, seconds)


def _loop() -> None:
    while True:
        pass


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Keep the cores busy with so many processes."""
    processes = [multiprocessing.Process(target=_loop, daemon=True) for _ in range(loops)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def main() -> None:
    """Compare the work of each study on an idle and on a busy machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", type=Path)
    parser.add_argument("--loops", type=int, default=6)
    given = parser.parse_args()
    different = []
    for path in given.studies or sorted(STUDIES.glob("*.toml")):
        idle = search(path)
        with busy(given.loops):
            loaded = search(path)
        same = idle[:-1] == loaded[:-1]
        different += [] if same else [path.stem]
        print(
            f"{path.stem:18} {idle.calls:6,} calls {idle.rows:12,} rows {idle.steps:4} steps "
            f"{idle.checkpoints:3} checkpoints  {idle.seconds:6.2f} s idle {loaded.seconds:6.2f} s "
            f"busy  {'the same' if same else f'DIFFERENT: {loaded}'}",
            flush=True,
        )
    if different:
        raise SystemExit(f"other work on a busy machine: {', '.join(different)}")


if __name__ == "__main__":
    main()
