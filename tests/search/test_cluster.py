"""Dask: runs on a scheduler and worker processes, some of which are killed."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import joblib
import pandas as pd
import pytest
from distributed import Client, KilledWorker, LocalCluster

import dse
from dse.api import cluster as connection
from dse.api.cluster import connected
from dse.problems import InputError
from dse.run import run
from dse.search.base import Progress
from dse.search.cluster import Cluster, ClusterError, list_versions, run_task
from dse.search.workers import EndedError, Workers
from dse.study.execution import JoblibConfiguration, joblib_configuration
from tests import toy
from tests.clusters import Processes, killed, processes, until

pytestmark = pytest.mark.usefixtures("no_report")

# Slow enough to be worth sending. In a worker, designs of seven lanes wait at a gate.
SLOW = """
    import os, time
    if "GATE" in os.environ:
        pass_through(os.environ["GATE"], lanes)
    time.sleep(0.0005 * np.broadcast(lanes, clock, size).size)
    return Toy(l"""
GATE = '''
import os
import time
from pathlib import Path

import numpy as np


def pass_through(gate, lanes):
    """Wait in front of a gate that is closed, for as long as it is the same."""
    token = _token(gate)
    if not token or not (np.asarray(lanes) >= 7).any():
        return
    Path(f"{gate}.{token}.{os.getpid()}").touch()
    while _token(gate) == token:
        time.sleep(0.01)


def _token(gate):
    try:
        return Path(gate).read_text()
    except FileNotFoundError:
        return ""
'''


def written(folder: Path, search: str = "exhaustive", slow: bool = True) -> Path:
    """Write a study whose model imports a package beside it."""
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "__init__.py").touch()
    (folder / "inner" / "gate.py").write_text(GATE)
    model = f"\nfrom inner.gate import pass_through\n{toy.DECLARED}"
    model = model.replace("\n    return Toy(l", SLOW, 1) if slow else model
    return toy.written(folder, f"{toy.search(search)}[run]\nchunk = 5\n", toy.SMALL, model)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dask")


@pytest.fixture(scope="module")
def there(place: Path) -> Iterator[Processes]:
    with processes(place, 2, GATE=str(place / "gate")) as started:
        yield started


@pytest.fixture(scope="module")
def client(there: Processes) -> Iterator[Client]:
    with Client(there.address) as connected_to:
        connected_to.wait_for_workers(2, timeout=120)
        yield connected_to


def test_a_script_spreads_what_is_slow_and_workers_need_no_copy_of_its_study(
    client: Client, tmp_path: Path
) -> None:
    path = written(tmp_path / "study", "evolution")
    study, alone = dse.load(path), dse.load(path)
    serial = run(alone, None, 1)
    for code in path.parent.rglob("*.py"):
        code.write_text("raise SystemExit('this was read, and not sent')")
    assert client.status == "running"
    with joblib.parallel_config(backend="dask"):
        found = study.run()
    pd.testing.assert_frame_equal(found.designs, serial.designs)
    assert found.certificate.statement == serial.certificate.statement
    assert (found.provenance["backend"], found.provenance["workers"]) == ("dask", 2)


def test_models_that_are_to_run_apart_run_there_however_quick(
    there: Processes, client: Client, tmp_path: Path
) -> None:
    assert client.status == "running"
    path = written(tmp_path, "bound", slow=False)
    serial = run(dse.load(path), None, 1)
    path.write_text(path.read_text() + "processes = true\n")
    with connected(there.address) as cluster:
        found = run(dse.load(path), None, cluster=cluster)
    assert found.provenance["backend"] == "dask"
    pd.testing.assert_frame_equal(found.designs, serial.designs)


def test_workers_with_other_versions_are_named_before_anything_is_done() -> None:
    real = list_versions(("dse",))
    other = dict(real) | {"numpy": "1.0", "Python": "3.99"}
    answers = {"tcp://a:1": other, "tcp://b:1": real, "tcp://c:1": other}
    client = SimpleNamespace(_run=None, sync=lambda *given, **named: answers)
    with pytest.raises(InputError) as raised:
        Cluster(client, "tcp://there:0").check(("dse",))
    assert [problem.where for problem in raised.value.problems] == ["tcp://a:1", "tcp://c:1"]
    for problem in raised.value.problems:
        assert f"numpy is 1.0 there and {real['numpy']} here" in problem.message
        assert "Python is 3.99 there" in problem.message
    answers.clear()
    with pytest.raises(InputError, match=r"it has no workers\n +start some there: dask worker tcp"):
        Cluster(client, "tcp://there:0").check(("dse",))


def test_a_cluster_without_workers_leaves_no_folder(tmp_path: Path) -> None:
    study = dse.load(written(tmp_path))
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", processes=False) as local,
        Client(local),
        joblib.parallel_config(backend="dask"),
        pytest.raises(InputError, match="it has no workers"),
    ):
        study.run(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_worker_that_comes_later_does_nothing_if_it_differs() -> None:
    ours = dict(list_versions(("dse",)))
    packed = cloudpickle.dumps(abs)
    assert run_task(packed, ours, ("dse",), (-2,)) == 2
    refusal = run_task(packed, ours | {"scipy": "0.9"}, ("dse",), (-2,))
    assert refusal.differences == f"scipy is {ours['scipy']} there and 0.9 here"


class _Crashing:
    """A client whose tasks end each worker that does them."""

    status = "error"
    scheduler = SimpleNamespace(ncores=None)

    def sync(self, function: Any, callback_timeout: float) -> Any:
        return {"tcp://there:1": 1} if function is None else asyncio.run(function())

    def submit(self, *given: object, **place: object) -> _Crashing:
        return self

    def done(self) -> bool:
        return True

    def gather(self, futures: object, asynchronous: bool) -> None:
        raise KilledWorker("task", SimpleNamespace(address="tcp://there:1"), 3)


class _Workerless(_Crashing):
    """A client whose finished results were on a worker that is gone."""

    def sync(self, function: Any, callback_timeout: float) -> Any:
        if function is None:
            return {}
        raise TimeoutError


def test_a_time_limit_while_results_are_collected_is_no_lost_scheduler() -> None:
    cluster = Cluster(_Workerless(), "tcp://there:0")
    with pytest.raises(TimeoutError):
        list(cluster.each(abs, [(1,)], until=0.0))
    assert not cluster.lost


def test_results_that_are_gone_with_the_last_worker_are_not_waited_for() -> None:
    there = Workers(1, "dask", cluster=Cluster(_Workerless(), "tcp://there:0"))
    with pytest.raises(ClusterError, match="no worker is left at tcp://there:0"):
        list(there.each(abs, [(1,)]))


def test_a_model_that_ends_worker_after_worker_is_reported() -> None:
    there = Workers(1, "dask", cluster=Cluster(_Crashing(), "tcp://there:0"))
    with pytest.raises(EndedError, match="several workers of the cluster ended: a model crashed"):
        list(there.each(abs, [(1,)]))


def test_what_a_script_asks_of_joblib() -> None:
    assert joblib_configuration() == JoblibConfiguration()
    with joblib.parallel_config(backend="loky", n_jobs=3):
        assert joblib_configuration() == JoblibConfiguration("loky", 3)
    with joblib.parallel_config(n_jobs=2):
        assert joblib_configuration() == JoblibConfiguration(None, 2)
    with joblib.parallel_config(backend="threading"):
        assert joblib_configuration() == JoblibConfiguration()
        inner = joblib.Parallel(2)(joblib.delayed(joblib_configuration)() for _ in range(2))
    assert inner == [JoblibConfiguration(), JoblibConfiguration()]


# ------------------------------------------------------------------- what is no scheduler


@contextlib.contextmanager
def _says(first: bytes) -> Iterator[str]:
    """Listen, and say something to who comes."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                held.append(peer)
                peer.sendall(first)

        threading.Thread(target=serve, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        for peer in held:
            peer.close()


@pytest.mark.parametrize(
    "said", [None, b"", b"SSH-2.0-OpenSSH_9.2\r\n", "nowhere://h:1", "tcp://h:x"]
)
def test_an_address_without_a_scheduler_is_reported_in_seconds(
    said: bytes | str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.5)
    with contextlib.ExitStack() as stack:
        reply = said if isinstance(said, bytes) else b""
        address = said if isinstance(said, str) else stack.enter_context(_says(reply))
        if said is None:
            stack.close()  # the port is free again
        with pytest.raises(InputError) as raised, connected(address):
            pass
    assert "no Dask scheduler answers there" in str(raised.value)
    assert str(raised.value).startswith(address)


# ---------------------------------------------------------------------- ends, in mid-run


class _Gate:
    """Where the workers wait until it is opened; each time it is closed it is another one."""

    closed = 0

    def __init__(self, place: Path) -> None:
        self._place = place

    def close(self) -> None:
        _Gate.closed += 1
        self._times = _Gate.closed
        new = self._place / "new"
        new.write_text(f"n{self._times}")
        new.rename(self._place / "gate")

    def open(self) -> None:
        (self._place / "gate").unlink()

    def reached_by(self, workers: int, goes_on: Callable[[], bool]) -> None:
        """Wait until so many workers wait there, as long as a run goes on."""

        def waiting() -> bool:
            reached = len([*self._place.glob(f"gate.n{self._times}.*")]) >= workers
            return reached or not goes_on()

        until(waiting, f"{workers} workers")
        assert goes_on()


_BEGIN = """
import dse.cli, dse.run, dse.terminal
from tests.crashing import _page
dse.run.is_checkpoint_due = lambda *_: True
dse.run.report = lambda study, result, page, *_: _page(page)
dse.terminal.Terminal.summary = lambda *told: None
dse.cli.main()
"""


def _started(study: Path, out: Path, address: str) -> subprocess.Popen[str]:
    given = ["run", str(study), "--out", str(out), "--dask", address, "--quiet"]
    return subprocess.Popen(
        [sys.executable, "-c", _BEGIN, *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_lost_worker_s_part_is_done_again_and_a_new_one_takes_part(
    place: Path, there: Processes, client: Client, tmp_path: Path
) -> None:
    assert client.status == "running"
    path, gate = written(tmp_path / "study"), _Gate(place)
    run(dse.load(path), tmp_path / "serial", 1)
    gate.close()
    with connected(there.address) as cluster, ThreadPoolExecutor(1) as pool:
        begun = pool.submit(run, dse.load(path), tmp_path / "out", None, None, cluster)
        gate.reached_by(2, lambda: not begun.done())
        killed(there.started[1])
        there.worker()
        gate.reached_by(3, lambda: not begun.done())  # it has work, whoever has that of the lost
        gate.open()
        found = begun.result()
    fronts = [(tmp_path / folder / "front.csv").read_bytes() for folder in ("serial", "out")]
    assert fronts[0] == fronts[1]
    assert (found.provenance["backend"], found.provenance["workers"]) == ("dask", 2)


def test_a_run_that_lost_its_scheduler_goes_on_without_it(
    place: Path,
    there: Processes,
    client: Client,
    tmp_path: Path,
) -> None:
    client.close()
    path, out, gate = written(tmp_path / "study"), tmp_path / "out", _Gate(place)
    whole = run(dse.load(path), None, 1)

    def interrupt(progress: Progress) -> None:
        if progress.done > 50:
            raise KeyboardInterrupt

    with connected(there.address) as cluster:
        found = run(dse.load(path), out, None, interrupt, cluster)
    assert found.certificate.stopped == "interrupted"
    gate.close()
    process = _started(path, out, there.address)
    gate.reached_by(2, lambda: process.poll() is None)
    killed(there.scheduler)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 1, told
    gone = f"toy: the Dask scheduler at {there.address} does not answer; what was finished is kept"
    assert told.startswith(gone)
    assert told.count("\n") == 1
    assert dse.load_result(out).certificate.stopped.startswith("error")
    found = run(dse.load(path), out, 1)
    assert any("went on from" in note for note in found.notes)
    pd.testing.assert_frame_equal(found.designs, whole.designs)
