"""Several runs on one PostgreSQL storage: they divide the work, and each ends with all of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy
from click.testing import CliRunner

import dse
from dse.cli import commands
from dse.result.shared_status import of_storage
from dse.result.status import of_folder
from dse.result.storage import Store
from dse.run import run
from dse.search.base import Progress, Search, Start, method_of
from dse.search.parts import cuts
from dse.search.workers import Workers
from tests.postgres import Server
from tests.shared_runs import Running, said
from tests.toy import MODEL, STUDY

# a model that says which designs it evaluates, waits until so many processes do, and may hang
SAYS = """
    import os, time
    folder, pid = os.environ["SAYS"], os.getpid()
    rows = np.column_stack([each.ravel() for each in np.broadcast_arrays(lanes, clock, size)])
    with open(f"{folder}/{pid}", "a") as file:
        file.write("".join(f"{a:.17g} {b:.17g} {c:.17g}\\n" for a, b, c in rows))
    while len([name for name in os.listdir(folder) if name.isdigit()]) < int(os.environ["ALL"]):
        time.sleep(0.01)
    time.sleep(float(os.environ["PAUSE"]))
    with open(f"{folder}/{pid}") as file:
        if len(file.readlines()) > int(os.environ.get("HANG", 1e9)):
            open(f"{folder}/hangs", "w").close()
            time.sleep(1e6)
    return Toy(l"""
SMALL = STUDY.replace("[1, 64]", "[1, 12]").replace("steps = 100", "steps = 20")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.remove()


def written(folder: Path, server: Server | None, name: str, search: str, text: str = SMALL) -> Path:
    (folder / "toy_model.py").write_text(MODEL.replace("\n    return Toy(l", SAYS, 1))
    storage = f'[run]\nworkers = 1\nstorage = "{server.url}"\n' if server else ""
    added = f"[search]\n{search}\n{storage}"
    path = folder / f"{name}{'' if server else '_serial'}.toml"
    path.write_text(text.replace('"toy"', f'"{name}"') + added)
    return path


def started(
    study: Path, out: str, says: Path, among: int = 1, pause: float = 0.0, hang: float = 1e9
) -> Running:
    says.mkdir(exist_ok=True)
    return Running(study, out, {"SAYS": says, "ALL": among, "PAUSE": pause, "HANG": int(hang)})


def alone(folder: Path, name: str, search: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run a study without the server; return its folder."""
    (folder / "alone").mkdir()
    for key, value in {"SAYS": folder / "alone", "ALL": 1, "PAUSE": 0, "HANG": 10**9}.items():
        monkeypatch.setenv(key, str(value))
    run(dse.load(written(folder, None, name, search)), folder / "serial", 1)
    return folder / "serial"


def until(holds: Callable[[], object]) -> None:
    for _ in range(3_000):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("it does not come")


def asked(server: Server, query: str, **values: Any) -> list[Any]:
    engine = sqlalchemy.create_engine(server.url)
    try:
        with engine.connect() as connection:
            return list(connection.execute(sqlalchemy.text(query), values))
    finally:
        engine.dispose()


def handed_in(server: Server, name: str, pid: int) -> int:
    """Return how many designs a process handed in."""
    query = """SELECT coalesce(sum(designs), 0) FROM dse_results
        JOIN dse_members USING (member)
        JOIN studies ON studies.study_id = dse_results.study_id
        WHERE pid = :pid AND study_name = :name"""
    return int(asked(server, query, pid=pid, name=name)[0][0])


def test_three_divide_an_enumeration_and_two_finish_what_one_of_them_leaves(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = 'method = "exhaustive"'
    alone(tmp_path, "three", method, monkeypatch)
    study, says = written(tmp_path, server, "three", method), tmp_path / "says"
    others = [started(study, out, says, 3, 0.01) for out in ("first", "second")]
    dead = started(study, "dead", says, 3, 0.02, hang=60)
    until((says / "hangs").exists)
    now = of_storage(dse.load(study))
    assert (now.state, now.total, len(now.workers)) == ("under way", 720, 3)
    assert all(worker.working for worker in now.workers)
    assert 0 < now.claimed <= 720 - (now.done or 0)
    until(lambda: sum(handed_in(server, "three", other.pid) for other in others) > 200)
    dead.kill()
    for process in others:
        assert "were evaluated by other processes" in process.ended()
    mine = handed_in(server, "three", dead.pid)
    lost = said(says, dead.pid).total() - mine
    assert mine > 0
    assert 0 < lost <= 2 * 60
    evaluated = said(says)
    again = {design for design, count in evaluated.items() if count != 1}
    assert len(evaluated) == 720
    assert len(again) == lost  # the open claims of the dead one alone
    assert {evaluated[design] for design in again} == {2}
    assert again <= set(said(says, dead.pid))
    fronts = [tmp_path / out / "front.csv" for out in ("serial", "first", "second")]
    assert len({front.read_bytes() for front in fronts}) == 1
    designs = [tmp_path / out / "designs.csv" for out in ("serial", "first", "second")]
    assert len({table.read_bytes() for table in designs}) == 1
    trials = asked(
        server,
        "SELECT number, count(*) FROM trials JOIN studies USING (study_id)"
        " WHERE study_name = 'three' GROUP BY number",
    )
    front = pd.read_csv(tmp_path / "first" / "front.csv")
    assert sorted(trials) == [(n, 1) for n in range(len(front))]  # the front, once
    status = CliRunner().invoke(commands, ["status", str(study)])
    assert "three: finished, exhaustive search\n  720 of 720 designs done (100.0%)" in status.output
    assert f"process {dead.pid} on " in status.output
    assert "; ended" in status.output and "last heard of" not in status.output
    assert "Hunter2" not in status.output
    data = json.loads(CliRunner().invoke(commands, ["status", str(study), "--json"]).output)
    assert sum(worker["done"] for worker in data["workers"]) == data["done"] == 720
    assert {w["pid"]: w["done"] for w in data["workers"]}[dead.pid] == mine
    later = started(study, "later", tmp_path / "nothing")
    assert "720 designs were evaluated by other" in later.ended()
    assert not any((tmp_path / "nothing").iterdir())
    assert (tmp_path / "later" / "front.csv").read_bytes() == fronts[0].read_bytes()


def test_a_server_that_is_killed_leaves_a_message_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server()
    try:
        server.start()
        method = 'method = "exhaustive"'
        alone(tmp_path, "cut", method, monkeypatch)
        study = written(tmp_path, server, "cut", method)
        process = started(study, "out", tmp_path / "says", pause=0.03)
        until(lambda: (tmp_path / "says").exists() and said(tmp_path / "says").total() > 100)
        until(lambda: handed_in(server, "cut", process.pid) > 60)
        server.stop()
        told = process.ended(1)
        assert "cut: postgresql+psycopg://postgres:***@/postgres cannot be used: " in told
        assert "what was finished is kept, and the next run goes on from there" in told
        assert of_folder(tmp_path / "out").name == "cut"  # its folder is there, too
        with pytest.raises(
            dse.InputError, match=r"run\.storage: postgresql\+psycopg://postgres:\*"
        ):
            run(dse.load(study), tmp_path / "other")
        server.start()
        kept = handed_in(server, "cut", process.pid)
        started(study, "out", tmp_path / "after").ended()
    finally:
        server.remove()
    assert said(tmp_path / "after").total() == 720 - kept
    front = (tmp_path / "out" / "front.csv").read_bytes()
    assert front == (tmp_path / "serial" / "front.csv").read_bytes()


WIDE = SMALL.replace('{ values = ["1 KiB", "2 KiB", "4 KiB"] }', '{ real = ["1 KiB", "4 MiB"] }')


def test_three_draw_different_designs_and_together_as_many_as_are_asked_for(
    server: Server, tmp_path: Path
) -> None:
    search = 'method = "RandomSampler"\nevaluations = 300'
    study, says = written(tmp_path, server, "drawn", search, WIDE), tmp_path / "says"
    runs = [started(study, out, says, 3, 0.01) for out in ("first", "second", "third")]
    for process in runs:
        process.ended()
    tables = [pd.read_csv(tmp_path / out / "designs.csv") for out in ("first", "second", "third")]
    for table in tables:
        pd.testing.assert_frame_equal(table, tables[0])
        assert table["design"].tolist() == list(range(300))
        assert not table.duplicated(["lanes", "clock", "size"]).any()
    assert all(handed_in(server, "drawn", process.pid) > 0 for process in runs)
    assert sum(handed_in(server, "drawn", process.pid) for process in runs) == 300
    assert said(says).total() == 300  # what others evaluated is read, not evaluated again


@pytest.mark.parametrize("method", ["NSGAIISampler", "QMCSampler"])
def test_samplers_that_take_turns_see_each_others_trials(
    server: Server, tmp_path: Path, method: str
) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    text = WIDE.replace('"toy"', f'"turns-{method}"')
    search = f'[search]\nmethod = "{method}"\nevaluations = 64\ngeneration = 8\n'
    options = "[search.options]\npopulation_size = 8\n" if method.startswith("NSGA") else ""
    (tmp_path / "study.toml").write_text(text + search + options)
    study = dse.load(tmp_path / "study.toml")
    stores = [
        Store.open(server.url, study.name, study.evaluator.objectives, study.digest)
        for _ in range(2)
    ]
    searches: list[Search] = [
        method_of(method).start(
            Start(study.evaluator, study.plan, workers=Workers(1), trials=s, parts=s.parts)
        )
        for s in stores
    ]
    steps = [search.steps() for search in searches]
    while steps:
        steps = [each for each in steps if next(each, "over") is None]
    first, second = (search.outcome() for search in searches)
    assert {n: v.tolist() for n, v in first.points.items()} == {
        n: v.tolist() for n, v in second.points.items()
    }
    trials = stores[0].trials()
    assert [trial.number for trial in trials] == list(range(64))
    drawn = {tuple(sorted(trial.params.items())) for trial in trials}
    assert len(first.numbers) == len(drawn) >= (40 if method.startswith("NSGA") else 64)
    done = [64 - search.earlier().done for search in searches]
    assert sum(done) == 64
    assert min(done) >= 16
    assert len(first.numbers) == len([t for t in trials if "repeats" not in t.user_attrs])
    for store in stores:
        store.close()


def test_parts_are_claimed_once_and_again_when_their_process_left(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    (tmp_path / "study.toml").write_text(STUDY.replace('"toy"', '"claims"'))
    study = dse.load(tmp_path / "study.toml")
    stores = [
        Store.open(server.url, study.name, study.evaluator.objectives, study.digest)
        for _ in range(3)
    ]
    one, other, last = (store.parts for store in stores)
    assert one is not None
    assert other is not None
    assert last is not None
    for each in (one, other):
        each.join(cuts(100, 10))
    mine, theirs = one.claim(2), other.claim(9)
    assert [part.number for part in mine] == [0, 1]
    assert [part.number for part in theirs] == [2, 3]  # a share of half of what is left
    one.leave()
    assert {part.number for part in other.claim(9)} <= {0, 1, 4, 5, 6, 7, 8, 9}
    one.done(mine, lambda numbers: {})  # late, and before anybody else
    assert other.standing() == (20, 100)
    other.done([mine[0]], lambda numbers: pytest.fail("it was handed in"))
    other.done([theirs[0]._replace(high=25)], lambda numbers: {})
    assert other.standing() == (25, 100)
    left = []
    other.leave()
    last.join(cuts(100, 7))  # the parts are there already
    while claimed := last.claim(100):
        left += claimed
    assert sum(part.high - part.low for part in left) == 75
    assert (25, 30) in [part[1:] for part in left]
    for store in stores:
        store.close()


def test_a_run_that_is_interrupted_tells_what_is_done_and_the_next_goes_on(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    alone = SMALL.replace('"toy"', '"gaps"') + '[search]\nmethod = "exhaustive"\n'
    (tmp_path / "alone.toml").write_text(alone)
    (tmp_path / "study.toml").write_text(f'{alone}[run]\nstorage = "{server.url}"\n')
    study, whole = (
        dse.load(tmp_path / "study.toml"),
        run(dse.load(tmp_path / "alone.toml"), None, 1),
    )
    other = Store.open(server.url, study.name, study.evaluator.objectives, study.digest)
    assert other.parts is not None
    other.parts.join(cuts(720, 45))
    held = other.parts.claim(2)
    for part in other.parts.claim(1):
        held.append(part)

    def interrupt(progress: Progress) -> None:
        assert progress.total == 720
        raise KeyboardInterrupt

    cut = run(study, tmp_path / "out", 1, interrupt)
    count = cut.certificate.evaluated
    assert cut.certificate.stopped == "interrupted"
    assert count % 45 == 0
    assert 0 < count < 720
    assert f"Not certified: {count} designs of 720 were evaluated" in cut.certificate.statement
    assert len(cut.designs) == count
    assert not set(cut.designs.index) & {n for part in held for n in range(part.low, part.high)}
    pd.testing.assert_frame_equal(
        cut.designs.drop(columns="on_front"),
        whole.designs.loc[cut.designs.index].drop(columns="on_front"),
    )
    assert set(whole.front.designs.index) & set(cut.designs.index) <= set(cut.front.designs.index)
    other.close()
    done = run(study, tmp_path / "out", 1)
    pd.testing.assert_frame_equal(done.designs, whole.designs)
    assert any(f"{count} designs were evaluated by other" in note for note in done.notes)


def test_what_is_damaged_in_the_database_is_evaluated_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    alone = SMALL.replace('"toy"', '"damaged"') + '[search]\nmethod = "exhaustive"\n'
    (tmp_path / "study.toml").write_text(f'{alone}[run]\nstorage = "{server.url}"\n')
    whole = run(dse.load(tmp_path / "study.toml"), tmp_path / "first", 1)
    engine = sqlalchemy.create_engine(server.url)
    with engine.begin() as connection:
        damage = "UPDATE dse_results SET content = overlay(content placing '\\x00' from 200) WHERE"
        mine = " study_id = (SELECT study_id FROM studies WHERE study_name = 'damaged')"
        assert connection.execute(sqlalchemy.text(damage + mine)).rowcount > 0
    engine.dispose()
    again = run(dse.load(tmp_path / "study.toml"), tmp_path / "second", 1)
    pd.testing.assert_frame_equal(again.designs, whole.designs)
    assert again.certificate.complete


def test_a_search_that_is_not_divided_says_so_and_its_front_is_registered_once(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    text = SMALL.replace('"toy"', '"whole"') + '[search]\nmethod = "evolution"\nevaluations = 200\n'
    (tmp_path / "study.toml").write_text(f'{text}[run]\nstorage = "{server.url}"\n')
    study = dse.load(tmp_path / "study.toml")
    assert any(note.startswith("evolution is not divided: ") for note in study.notes)
    first, second = (run(study, tmp_path / out, 1) for out in ("first", "second"))
    pd.testing.assert_frame_equal(first.designs, second.designs)
    trials = "SELECT count(*) FROM trials JOIN studies USING (study_id) WHERE study_name = 'whole'"
    assert asked(server, trials) == [(len(first.front),)]
    assert "evolution is not divided" in of_storage(study).told
    other = text.replace('"whole"', '"never"') + f'[run]\nstorage = "{server.url}"\n'
    (tmp_path / "never.toml").write_text(other)
    with pytest.raises(dse.InputError, match=r"postgres:\*\*\*@/postgres has no run of this study"):
        of_storage(dse.load(tmp_path / "never.toml"))
