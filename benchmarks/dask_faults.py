"""Faults of a Dask cluster during a run: workers and schedulers that end, or that differ.

``python -m benchmarks.dask_faults`` makes 20 tries, each with a scheduler and workers of its own.
A run must end with the front of an undisturbed run, or with one message and an exit code that is
not 0. The next run, without the fault, must then end with that front.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from tests.clusters import Processes, killed, processes, until
from tests.toy import MODEL, SEARCHES, STUDY

_CALLS = "DSE_CALLS"
"""The environment variable that names the file to which each call of the model adds a byte."""
_SLOW = """
    import os, time
    if _CALLS in os.environ:
        with open(os.environ[_CALLS], "ab", buffering=0) as calls:
            calls.write(b".")
    time.sleep(0.002 * np.broadcast(lanes, clock, size).size)
    return Toy(l"""
_OTHER_VERSION = """
import importlib.metadata
_version = importlib.metadata.version
importlib.metadata.version = lambda name: "1.0" if name == "numpy" else _version(name)
"""
"""A `sitecustomize` module with which a worker reports another version of NumPy."""
_SAME, _MESSAGE = "the same front", "a message"


class Try(NamedTuple):
    """A fault in a run of a search.

    Parameters
    ----------
    fault : str
        A name of `FAULTS`.
    search : str
        The method.
    calls : int
        How many calls of the model come before the fault.
    """

    fault: str
    search: str
    calls: int = 0


class Scene:
    """A study, its undisturbed front, a cluster and a run on it.

    Parameters
    ----------
    search : str
        The method.
    folder : Path
        Where everything is written.
    """

    def __init__(self, search: str, folder: Path) -> None:
        self.search, self.folder, self.out = search, folder, folder / "out"
        self.calls, self.extra = folder / "calls", folder / "extra"
        self.calls.touch()
        self.study = _write_study(search, folder)
        self.cluster: Processes | None = None

    def start_cluster(self, stack: ExitStack, workers: int = 2) -> Processes:
        """Start a scheduler and workers, which note the calls of the model."""
        logs = self.folder / "cluster"
        logs.mkdir()
        self.cluster = stack.enter_context(processes(logs, 0, **{_CALLS: str(self.calls)}))
        for _ in range(workers):
            self.cluster.worker()
        self.wait_for_workers(workers)
        return self.cluster

    def wait_for_workers(self, workers: int) -> None:
        """Wait until the scheduler has so many workers."""
        from distributed import Client

        assert self.cluster is not None
        with Client(self.cluster.address) as client:
            client.wait_for_workers(workers, timeout=120)

    def start(self, dask: bool = True) -> subprocess.Popen[str]:
        """Start a run as a user does."""
        command = [sys.executable, "-m", "dse", "run", str(self.study), "--out", str(self.out)]
        if dask:
            assert self.cluster is not None
            command += ["--dask", self.cluster.address]
        paths = os.pathsep.join([str(self.extra), *filter(None, sys.path)])
        return subprocess.Popen(  # noqa: S603
            [*command, "--quiet"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": paths},
        )

    def wait_for_calls(self, run: subprocess.Popen[str], count: int) -> None:
        """Wait until the model was called so often, or the run has ended."""
        until(lambda: self.calls.stat().st_size >= count or run.poll() is not None, "calls")


def _write_study(search: str, folder: Path) -> Path:
    declared = "@monotonic(speed='+lanes +clock -size', cost='+lanes +clock')\ndef toy("
    model = MODEL.replace("def toy(", declared)
    model = model.replace("from dse import", "from dse import monotonic,")
    model = model.replace("\n    return Toy(l", _SLOW.replace("_CALLS", repr(_CALLS)), 1)
    (folder / "toy_model.py").write_text(model)
    text = STUDY.replace("[1, 64]", "[1, 12]").replace("steps = 100", "steps = 10")
    text += f'[search]\nmethod = "{search}"\n{SEARCHES[search]}[run]\nchunk = 5\n'
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


# -------------------------------------------------------------------------------------- faults


def lose_a_worker(scene: Scene, run: subprocess.Popen[str], calls: int) -> None:
    """Kill one of two workers, and start none."""
    assert scene.cluster is not None
    scene.wait_for_calls(run, calls)
    killed(scene.cluster.started[1])


def replace_all_workers(scene: Scene, run: subprocess.Popen[str], calls: int) -> None:
    """Kill both workers, one after the other, and start two others."""
    assert scene.cluster is not None
    for index in (1, 2):
        scene.wait_for_calls(run, index * calls)
        killed(scene.cluster.started[index])
    for _ in range(2):
        scene.cluster.worker()


def lose_all_workers(scene: Scene, run: subprocess.Popen[str], calls: int) -> None:
    """Kill all workers, and start none."""
    assert scene.cluster is not None
    scene.wait_for_calls(run, calls)
    for worker in scene.cluster.started[1:]:
        killed(worker)


def lose_the_scheduler(scene: Scene, run: subprocess.Popen[str], calls: int) -> None:
    """Kill the scheduler."""
    assert scene.cluster is not None
    scene.wait_for_calls(run, calls)
    killed(scene.cluster.scheduler)


def restart_the_scheduler(scene: Scene, run: subprocess.Popen[str], calls: int) -> None:
    """Kill the scheduler, and start it again at the same address at once, with two workers."""
    assert scene.cluster is not None
    scene.wait_for_calls(run, calls)
    scene.cluster.restart()
    for _ in range(2):
        scene.cluster.worker()


def add_another_version(scene: Scene, run: subprocess.Popen[str], calls: int) -> None:
    """Let a worker with another version of NumPy come during the run."""
    assert scene.cluster is not None
    scene.wait_for_calls(run, calls)
    scene.cluster.worker(PYTHONPATH=_other_version(scene))


def do_nothing(scene: Scene, run: subprocess.Popen[str], calls: int) -> None:
    """Leave the run: the fault was there before it."""


def _other_version(scene: Scene) -> str:
    place = scene.folder / "other"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(_OTHER_VERSION)
    return os.pathsep.join([str(place), *filter(None, sys.path)])


def prepare_another_version(scene: Scene) -> None:
    """Start a worker with another version before the run."""
    assert scene.cluster is not None
    scene.cluster.worker(PYTHONPATH=_other_version(scene))
    scene.wait_for_workers(3)


def require_a_package(scene: Scene) -> None:
    """Let the model's module import a package that is only installed on this side."""
    _install(scene)
    model = scene.folder / "toy_model.py"
    text = model.read_text().replace("\nfrom dse", "\nimport only_here\nfrom dse", 1)
    text = text.replace("    import os, time", "    assert only_here.here\n    import os, time", 1)
    model.write_text(text)


def require_a_package_in_a_call(scene: Scene) -> None:
    """Let the model import such a package when it is called."""
    _install(scene)
    model = scene.folder / "toy_model.py"
    text = model.read_text().replace("    import os, time", "    import only_here, os, time", 1)
    model.write_text(text)


def _install(scene: Scene) -> None:
    scene.extra.mkdir()
    (scene.extra / "only_here.py").write_text("here = True\n")


def prepare_nothing(scene: Scene) -> None:
    """Leave the study and the cluster as they are."""


class Fault(NamedTuple):
    """A fault: before the run, during it, and whether the run may or must end with a message."""

    before: Callable[[Scene], None]
    during: Callable[[Scene, subprocess.Popen[str], int], None]
    ends: tuple[str, ...]


FAULTS = {
    "a worker killed": Fault(prepare_nothing, lose_a_worker, (_SAME,)),
    "all workers replaced": Fault(prepare_nothing, replace_all_workers, (_SAME,)),
    "all workers killed": Fault(prepare_nothing, lose_all_workers, (_MESSAGE,)),
    "the scheduler killed": Fault(prepare_nothing, lose_the_scheduler, (_MESSAGE,)),
    "the scheduler restarted": Fault(prepare_nothing, restart_the_scheduler, (_SAME, _MESSAGE)),
    "another version": Fault(prepare_another_version, do_nothing, (_MESSAGE,)),
    "another version later": Fault(prepare_nothing, add_another_version, (_SAME, _MESSAGE)),
    "a missing package": Fault(require_a_package, do_nothing, (_MESSAGE,)),
    "a missing package in a call": Fault(require_a_package_in_a_call, do_nothing, (_MESSAGE,)),
}
TRIES = (
    *(Try("a worker killed", search, 8) for search in SEARCHES if search != "bound"),
    Try("a worker killed", "exhaustive", 40),
    *(Try("all workers replaced", search, 8) for search in ("exhaustive", "evolution", "guided")),
    Try("all workers killed", "exhaustive", 20),
    Try("the scheduler killed", "exhaustive", 20),
    Try("the scheduler killed", "evolution", 12),
    *(Try("the scheduler restarted", search, 12) for search in ("exhaustive", "guided")),
    Try("the scheduler restarted", "NSGAIISampler", 12),
    Try("another version", "exhaustive"),
    Try("another version later", "exhaustive", 10),
    Try("another version later", "evolution", 10),
    Try("a missing package", "exhaustive"),
    Try("a missing package in a call", "exhaustive"),
    Try("a missing package in a call", "evolution"),
)


def examine(attempt: Try, folder: Path) -> tuple[str, str]:
    """Return how a run with a fault ended, and a problem; empty if there is none."""
    fault, scene = FAULTS[attempt.fault], Scene(attempt.search, folder)
    with ExitStack() as stack:
        scene.start_cluster(stack)
        fault.before(scene)
        run = scene.start()
        stack.callback(run.kill)  # by its own process: nothing if it has ended
        fault.during(scene, run, attempt.calls)
        _, errors = run.communicate(timeout=300)
    end, problem = _SAME, ""
    if run.returncode:
        end = _MESSAGE
        problem = _wrong_message(errors)
        text = " ".join(errors.split())
        again = scene.start(dask=False)
        _, told = again.communicate(timeout=300)
        if again.returncode:
            return end, f"the next run: {told}"
    front = (scene.out / "front.csv").read_bytes()
    scene.out = folder / "alone"
    alone = scene.start(dask=False)
    _, told = alone.communicate(timeout=300)
    if alone.returncode:
        return end, f"the run without a cluster: {told}"
    if front != (scene.out / "front.csv").read_bytes():
        problem = problem or "another front"
    if end not in fault.ends:
        problem = problem or f"it ended with {end}"
    return (f"{end}: {text}" if run.returncode else end), problem


def _wrong_message(errors: str) -> str:
    if "Traceback" in errors:
        return f"a traceback: {errors}"
    if not errors.strip() or len(errors) > 2_000:
        return f"a message of {len(errors):,} characters"
    lines = [line for line in errors.splitlines() if line and not line.startswith(" ")]
    return "" if len(lines) == 1 else f"{len(lines)} messages: {errors}"


def main() -> int:
    """Print a line for each try; return 1 if one went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fault", action="append", choices=FAULTS, help="only this one")
    given, wrong, tries = parser.parse_args(), 0, 0
    for attempt in TRIES:
        if given.fault and attempt.fault not in given.fault:
            continue
        with tempfile.TemporaryDirectory() as folder:
            end, problem = examine(attempt, Path(folder))
        tries, wrong = tries + 1, wrong + bool(problem)
        print(f"{attempt.fault:28} {attempt.search:14} {end[:240]}", flush=True)
        if problem:
            print(f"  WRONG: {problem[-1500:]}", flush=True)
    print(f"{tries} tries, of which {wrong} went wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
