"""What comes after a search that ends with a very large front: seconds and bytes of each phase.

    python -m benchmarks.large_fronts [evolution] [designs ...]

No design of the toy space dominates another: x and y go up, 1 / x and 1 / y down. The enumeration
evaluates every design of a grid; `evolution` searches a continuum instead, and takes longer a
design. Processor time is printed beside time, as it says the same on a busy machine. The page is
opened in a fresh Chromium without a window, with WebGL by software, if there is one; its processor
time is that of the page's main thread. `floor` is what Python takes for the texts of the front's
numbers alone, each number once.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

import numpy as np
import pytest

import dse
from dse import Array, Floats, Quantity
from dse.report.page import write_report
from dse.result.folder import DESIGNS, FRONT, save_result
from dse.result.record import Result
from dse.result.storage import Store
from dse.result.tables import make_result
from dse.search.base import SearchSettings, Start, find_method
from dse.search.workers import Workers
from dse.study.study import ResolvedStudy, make_study
from tests.browser import browser, open_report

SIZES = (10_000, 150_000, 1_000_000)
WORKERS = Workers(2)
T = TypeVar("T")


class Toy(NamedTuple):
    gain: Annotated[Array, Quantity("1", "what is gained")]
    cost: Annotated[Array, Quantity("1", "what it costs")]


def toy(
    x: Annotated[Floats, Quantity("1", "a knob", above=0)],
    y: Annotated[Floats, Quantity("1", "another knob", above=0)],
) -> Toy:
    both = np.asarray(x + y / 1e4, dtype=np.float64)
    return Toy(both, both)


def study_of(method: str, designs: int) -> ResolvedStudy:
    side = round(designs**0.5)
    steps = {} if method == "evolution" else {"steps": side}
    return make_study(
        {
            "study": {"name": "front", "models": ["toy"]},
            "space": {"x": {"real": [1, 2]} | steps, "y": {"real": [1, 1 + 1e4 / side]} | steps},
            "objective": [{"maximize": "gain"}, {"minimize": "cost"}],
            "search": {"method": method, "evaluations": designs, "seed": 1},
        },
        {"toy": toy},
    )


def timed(phases: dict[str, tuple[float, float]], name: str, work: Callable[[], T]) -> T:
    began, worked = time.perf_counter(), time.process_time()
    found = work()
    phases[name] = time.perf_counter() - began, time.process_time() - worked
    return found


def texts(result: Result) -> int:
    """Make the distinct numbers of each column into text, and no more; return how many."""
    table = result.designs[list(result.columns)].reset_index()
    return sum(len(list(map(repr, table[name].unique().tolist()))) for name in table)


def opening(page: Path) -> dict[str, tuple[float, float]]:
    """Open a page in a fresh browser: seconds until its script has run, the main thread's too."""
    try:
        with tempfile.TemporaryDirectory() as profile, browser(Path(profile)) as chrome:
            chrome.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
            began = time.perf_counter()
            open_report(chrome, page)
            seconds = time.perf_counter() - began
            metrics = chrome.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
            worked = next(m["value"] for m in metrics if m["name"] == "TaskDuration")
    except pytest.skip.Exception as missing:
        print(f"the page is not opened: {missing}")
        return {}
    return {"page opens": (seconds, worked)}


def measure(method: str, designs: int, folder: Path) -> None:
    study = study_of(method, designs)
    plan: SearchSettings = study.plan
    phases: dict[str, tuple[float, float]] = {}
    search = find_method(plan.method).start(Start(study.evaluator, plan, workers=WORKERS))
    timed(phases, "search", lambda: list(search.steps()))
    outcome = timed(phases, "outcome", search.outcome)
    result = timed(phases, "tables", lambda: make_result(study, outcome, "complete", 1.0, WORKERS))
    timed(
        phases,
        "Nash design, volume",
        lambda: (result.nash(), result.summary()),
    )
    database = folder / "study.db"
    store = Store.open(f"sqlite:///{database}", "front", study.evaluator.objectives, "")
    timed(phases, "storage", lambda: store.register(study.evaluator, outcome))
    store.close()
    timed(phases, "csv, json", lambda: save_result(result, folder))
    timed(phases, "(floor)", lambda: texts(result))
    page = folder / "report.html"
    timed(phases, "page", lambda: write_report(result, [], page, study.text))
    phases |= opening(page)
    print(f"\n{method}, {len(result.front):,} designs on the front of {len(result.designs):,}")
    for name, (seconds, worked) in phases.items():
        print(f"  {name:<14}{seconds:8.2f} s  {worked:8.2f} s of processor")
    for path in (database, folder / FRONT, folder / DESIGNS, page):
        print(f"  {path.name:<14}{path.stat().st_size / 1e6:8.1f} MB")


def main() -> None:
    arguments = sys.argv[1:]
    methods = [a for a in arguments if a in ("exhaustive", "evolution")] or ["exhaustive"]
    sizes = [int(a) for a in arguments if a.isdigit()] or list(SIZES)
    print(f"dse from {Path(dse.__file__).parent.name}, {WORKERS.count} threads")
    for method in methods:
        for designs in sizes:
            with tempfile.TemporaryDirectory() as folder:
                measure(method, designs, Path(folder))


if __name__ == "__main__":
    main()
