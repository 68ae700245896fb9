"""Systems of kernels, against brute force over all combinations of their designs."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.problems import InputError

MODELS = """
from typing import Annotated, NamedTuple

import numpy as np

from dse import Array, Floats, Quantity
from dse.model import monotonic

RATE = Quantity("1/s", "calls", low=0)


class Load(NamedTuple):
    engine_load: Annotated[Array, Quantity("1", "load of the engine", low=0)]
    engine_moment: Annotated[Array, Quantity("s", "moment of the engine", low=0)]
    service: Annotated[Array, Quantity("s", "service time", low=0)]


def load(
    rate: Annotated[Floats, RATE],
    size: Annotated[Floats, Quantity("B", "data of a call", above=0)],
    speed: Annotated[Floats, Quantity("B/s", "speed of the engine", above=0)],
) -> Load:
    time = size / speed
    return Load(rate * time, rate * time**2, time)


class Kernel(NamedTuple):
    busy: Annotated[Array, Quantity("1", "busy cores", low=0)]
    under_way: Annotated[Array, Quantity("1", "calls under way", low=0)]
    area: Annotated[Array, Quantity("LUT", "area", low=0)]


def kernel(
    rate: Annotated[Floats, RATE],
    host: Annotated[Floats, Quantity("s", "time on the host", low=0)],
    set_up: Annotated[Floats, Quantity("s", "set-up", low=0)],
    service: Annotated[Floats, Quantity("s", "service time", low=0)],
    engine_load: Annotated[Floats, Quantity("1", "load of the engine", low=0)],
    engine_moment: Annotated[Floats, Quantity("s", "moment of the engine", low=0)],
    lut: Annotated[Floats, Quantity("LUT", "area of the engine", low=0)],
    built: Annotated[Floats, Quantity("1", "0 or 1", low=0, high=1, integer=True)] = 1.0,
) -> Kernel:
    wait = engine_moment / (2 * (1 - engine_load))
    on = np.asarray(built) == 1
    busy = np.where(on, rate * set_up, rate * host)
    return Kernel(
        busy,
        np.where(on, rate * (set_up + wait + service), rate * host),
        np.where(on, lut, 0.0),
    )


class System(NamedTuple):
    time: Annotated[Array, Quantity("1", "calls under way and waiting", low=0)]


@monotonic(time="+busy +under_way")
def system(
    busy: Annotated[Floats, Quantity("1", "busy cores", low=0)],
    under_way: Annotated[Floats, Quantity("1", "calls under way", low=0)],
) -> System:
    return System(under_way + busy / np.maximum(2 - busy, 1e-9))


def undeclared(
    busy: Annotated[Floats, Quantity("1", "busy cores", low=0)],
    under_way: Annotated[Floats, Quantity("1", "calls under way", low=0)],
) -> System:
    return System(under_way + np.abs(busy - 0.5))
"""
STUDY = """
[study]
name = "system"
models = ["models.py:system"]

[kernels]
totals = ["busy", "under_way", "area"]
models = ["models.py:load", "models.py:kernel"]
inputs = { set_up = "5 us", size = 4096 }

[[kernels.constraint]]
quantity = "engine_load"
at_most = 0.8

[kernels.space.engine.rows]
small = { speed = "100 MB/s", lut = 1000 }
big = { speed = "400 MB/s", lut = 3000 }
huge = { speed = "1 GB/s", lut = 9000 }

[kernel.cbc]
inputs = { rate = 10000, host = "60 us" }
[kernel.ctr]
inputs = { rate = 8000, host = "50 us" }
[kernel.sha]
inputs = { rate = 11000, host = "40 us" }

[[objective]]
minimize = "time"
[[objective]]
minimize = "area"
"""
SHARED = """
[shared_engine.aes]
kernels = ["cbc", "ctr"]
sums = ["engine_load", "engine_moment"]
once = ["area"]
"""
CHAIN = """
[chain.line]
kernels = ["cbc", "ctr", "sha"]
fed = { set_up = "1 us" }
feeds = { size = 2048 }
"""
FED_BYTES = CHAIN.replace("set_up", "size").replace("1 us", "1 B")
KERNELS = {"cbc": (10000, 60e-6), "ctr": (8000, 50e-6), "sha": (11000, 40e-6)}
ENGINES = {"small": (100e6, 1000), "big": (400e6, 3000), "huge": (1e9, 9000)}


def write(folder: Path, text: str) -> Path:
    """Write a study next to its models."""
    (folder / "models.py").write_text(MODELS)
    path = folder / "system.toml"
    path.write_text(text)
    return path


def load_on(kernel: str, engine: str, size: float = 4096) -> tuple[float, float, float]:
    """Return load, moment and service time of a kernel's calls at an engine."""
    rate, time = KERNELS[kernel][0], size / ENGINES[engine][0]
    return rate * time, rate * time**2, time


def add(
    kernel: str,
    engine: str | None,
    load: float = 0.0,
    moment: float = 0.0,
    set_up: float = 5e-6,
    size: float = 4096,
) -> np.ndarray | None:
    """Return busy cores, calls under way and area; other calls bring load and moment."""
    rate, host = KERNELS[kernel]
    if engine is None:
        return np.array([rate * host, rate * host, 0.0])
    own = load_on(kernel, engine, size)
    load, moment = load + own[0], moment + own[1]
    if load > 0.8:
        return None
    wait = moment / (2 * (1 - load))
    return np.array([rate * set_up, rate * (set_up + wait + own[2]), ENGINES[engine][1]])


def front_of(candidates: list[list[np.ndarray | None]]) -> set[tuple[float, float]]:
    """Return the distinct non-dominated pairs of time and area of combinations."""
    points = set()
    for parts in candidates:
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            busy, under_way, area = np.sum(known, axis=0)
            points.add((round(under_way + busy / (2 - busy), 12), float(area)))
    return {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}


def found(path: Path) -> set[tuple[float, float]]:
    """Return the front of a study."""
    designs = dse.load(path).run().front.designs
    return {(round(t, 12), a) for t, a in zip(designs["time"], designs["area"], strict=True)}


OPTIONS = (None, *ENGINES)


def test_front_is_that_of_all_combinations(tmp_path: Path) -> None:
    every = itertools.product(OPTIONS, repeat=3)
    candidates = [[add(k, e) for k, e in zip(KERNELS, each, strict=True)] for each in every]
    assert found(write(tmp_path, STUDY)) == front_of(candidates)


def test_engine_that_two_kernels_share_counts_once_and_has_both_loads(tmp_path: Path) -> None:
    every = itertools.product(OPTIONS, repeat=3)
    candidates = [[add(k, e) for k, e in zip(KERNELS, each, strict=True)] for each in every]
    for engine, other in itertools.product(ENGINES, OPTIONS):
        cbc = add("cbc", engine, *load_on("ctr", engine)[:2])
        ctr = add("ctr", engine, *load_on("cbc", engine)[:2])
        if cbc is not None and ctr is not None:
            candidates.append([cbc, ctr * [1, 1, 0], add("sha", other)])
    front = front_of(candidates)
    assert found(write(tmp_path, STUDY + SHARED)) == front
    assert front != front_of(candidates[: len(OPTIONS) ** 3])  # sharing is on the front


def test_chain_saves_what_built_neighbours_save(tmp_path: Path) -> None:
    candidates = []
    for each in itertools.product(OPTIONS, repeat=3):
        padded = (None, *each, None)
        parts = [
            add(
                kernel,
                engine,
                set_up=1e-6 if padded[i] else 5e-6,
                size=2048 if padded[i + 2] else 4096,
            )
            for i, (kernel, engine) in enumerate(zip(KERNELS, each, strict=True))
        ]
        candidates.append(parts)
    assert found(write(tmp_path, STUDY + CHAIN)) == front_of(candidates)


def test_chain_may_be_a_tree(tmp_path: Path) -> None:
    tree = CHAIN.replace("feeds = { size = 2048 }", 'after = { sha = "cbc" }')
    candidates = []
    for each in itertools.product(OPTIONS, repeat=3):
        set_up = [5e-6, *(1e-6 if each[0] else 5e-6 for _ in range(2))]
        parts = zip(KERNELS, each, set_up, strict=True)
        candidates.append([add(kernel, engine, set_up=time) for kernel, engine, time in parts])
    assert found(write(tmp_path, STUDY + tree)) == front_of(candidates)
    with pytest.raises(InputError, match="does not follow"):
        dse.load(write(tmp_path, STUDY + tree.replace('sha = "cbc"', 'cbc = "sha"')))


def test_phase_limits_the_kernels_that_run_at_once(tmp_path: Path) -> None:
    phase = '\n[phase.burst]\nkernels = ["cbc", "sha"]\n'
    limit = '\n[[constraint]]\nquantity = "burst_area"\nat_most = 4000\n'
    candidates = []
    for each in itertools.product(OPTIONS, repeat=3):
        if sum(ENGINES[e][1] for e in (each[0], each[2]) if e) <= 4000:
            candidates.append([add(k, e) for k, e in zip(KERNELS, each, strict=True)])
    assert found(write(tmp_path, STUDY + phase + limit)) == front_of(candidates)


def test_limit_on_one_kernel_holds_for_it_alone(tmp_path: Path) -> None:
    limit = '\n[[constraint]]\nquantity = "sha_area"\nat_most = 2000\n'
    search = '\n[search]\nmethod = "merge"\n'
    candidates = []
    for each in itertools.product(OPTIONS, repeat=3):
        if each[2] in (None, "small"):
            candidates.append([add(k, e) for k, e in zip(KERNELS, each, strict=True)])
    for text in (STUDY + limit, STUDY + limit + search):
        assert found(write(tmp_path, text)) == front_of(candidates)


def test_total_that_a_model_needs_and_is_not_listed_has_its_place(tmp_path: Path) -> None:
    text = STUDY.replace('totals = ["busy", "under_way", "area"]', 'totals = ["busy", "area"]')
    with pytest.raises(InputError, match="do not list 'under_way'") as caught:
        dse.load(write(tmp_path, text))
    assert caught.value.problems[0].where == "kernels.totals"


def test_undeclared_model_of_the_system_keeps_every_option(tmp_path: Path) -> None:
    text = STUDY.replace("models.py:system", "models.py:undeclared")
    points = set()
    for each in itertools.product(OPTIONS, repeat=3):
        parts = [add(k, e) for k, e in zip(KERNELS, each, strict=True)]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            busy, under_way, area = np.sum(known, axis=0)
            points.add((round(under_way + abs(busy - 0.5), 12), float(area)))
    front = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    assert found(write(tmp_path, text)) == front
    notes = dse.load(tmp_path / "system.toml").notes
    assert any("does not declare" in note for note in notes)


def test_kernels_from_a_study_a_run_and_a_table(tmp_path: Path) -> None:
    path = write(tmp_path, STUDY)
    own = """
[study]
name = "{name}"
models = ["models.py:load", "models.py:kernel"]
[inputs]
set_up = "5 us"
size = 4096
rate = {rate}
host = "{host} us"
[space.engine.rows]
small = {{ speed = "100 MB/s", lut = 1000 }}
big = {{ speed = "400 MB/s", lut = 3000 }}
huge = {{ speed = "1 GB/s", lut = 9000 }}
[[objective]]
minimize = "under_way"
[[objective]]
minimize = "busy"
[[objective]]
minimize = "area"
[[constraint]]
quantity = "engine_load"
at_most = 0.8
"""
    (tmp_path / "cbc.toml").write_text(own.format(name="cbc", rate=10000, host=60))
    (tmp_path / "ctr.toml").write_text(own.format(name="ctr", rate=8000, host=50))
    dse.load(tmp_path / "ctr.toml").run(tmp_path / "runs" / "ctr")
    rows = [(e, add("sha", e)) for e in ENGINES]
    lines = [f"{e},{p[0]!r},{p[1]!r},{p[2]!r}" for e, p in rows if p is not None]
    lines = [line.replace("np.float64(", "").replace(")", "") for line in lines]
    (tmp_path / "sha.csv").write_text("\n".join(["engine,busy,under_way,area", *lines]))
    expected = found(path)
    mixed = (
        STUDY.partition("[kernel.cbc]")[0]
        + """
[kernel.cbc]
study = "cbc.toml"
[kernel.ctr]
run = "runs/ctr"
not_built = { busy = 0.4, under_way = 0.4 }
[kernel.sha]
table = "sha.csv"
not_built = { busy = 0.44, under_way = 0.44 }
[[objective]]
minimize = "time"
[[objective]]
minimize = "area"
"""
    )
    assert found(write(tmp_path, mixed)) == expected


@pytest.mark.parametrize(
    ("before", "after", "place", "words"),
    [
        ('kernels = ["cbc", "ctr"]', 'kernels = ["cbc", "rtc"]', "shared_engine.aes", "'rtc'"),
        ('once = ["area"]', 'once = ["aera"]', "shared_engine.aes", "'aera' is not a total"),
        ('sums = ["engine_load"', 'sums = ["load"', "shared_engine.aes", "gives 'load'"),
        ("[kernel.sha]\n", '[kernel.sha]\nrun = "runs/no"\n', "kernel.sha", "inputs"),
        ("[kernel.sha]\n", '[kernel.sha]\nstudy = "no.toml"\n', "kernel.sha", "no.toml"),
        ('totals = ["busy",', 'totals = ["bussy",', "kernel.cbc", "'bussy'"),
        ("at_most = 0.8", "at_most = 0.00001", "kernel.sha", "stays on the host"),
        ("rate = 11000", "rte = 11000", "kernel.sha", "'rte'"),
        ("[shared_engine.aes]", "[shared_engine.sha]", "shared_engine.sha", "name of a kernel"),
    ],
)
def test_problems_have_their_place(
    tmp_path: Path, before: str, after: str, place: str, words: str
) -> None:
    text = STUDY + SHARED
    assert before in text
    path = write(tmp_path, text.replace(before, after))
    if words == "stays on the host":
        assert any(place in n and words in n for n in dse.load(path).notes)
        return
    with pytest.raises(InputError) as caught:
        dse.load(path)
    assert any(place in p.where and words in str(p) for p in caught.value.problems), caught.value


@pytest.mark.parametrize(
    ("kernels", "name", "value", "before", "after", "joint"),
    [
        (("sha",), "rate", 5000.0, "rate = 11000", "rate = 5000", ""),
        (("cbc",), "host", 30e-6, 'host = "60 us"', 'host = "30 us"', SHARED),
        (("cbc", "ctr", "sha"), "set_up", 9e-6, 'set_up = "5 us"', 'set_up = "9 us"', SHARED),
        (("cbc", "ctr", "sha"), "set_up", 9e-6, 'set_up = "5 us"', 'set_up = "9 us"', FED_BYTES),
    ],
    ids=["own", "shared engine", "of all", "chain"],
)
def test_varied_input_gives_the_options_of_a_study_with_that_value(
    tmp_path: Path,
    kernels: tuple[str, ...],
    name: str,
    value: float,
    before: str,
    after: str,
    joint: str,
) -> None:
    study = dse.load(write(tmp_path, STUDY + joint))
    assert study.kernels is not None
    assert any(i.name == name and i.kernels == kernels for i in study.inputs)
    varied = study.kernels.vary(study.evaluator, kernels, name, value).space.variables
    expected = dse.load(write(tmp_path, (STUDY + joint).replace(before, after))).evaluator.space
    assert varied == expected.variables


TABLE = '[kernel.sha]\ntable = "sha.csv"\nnot_built = { busy = 0.4, under_way = 0.4 }\n'


@pytest.mark.parametrize(
    ("before", "after", "place", "words"),
    [
        ("", "busy,under_way\n1,2\n3,4\n", "kernel.sha", "no column 'area'"),
        ("", "busy,under_way,area\n1,2,-3\n3,4,5\n", "kernel.sha", "area is outside its domain"),
        ("busy = 0.4", "busy = -0.4", "kernel.sha", "busy is outside its domain"),
        ("[kernel.cbc]", "[kernel.area]", "kernel.area", "name of a quantity"),
        ("rate = 10000,", "rate = { uniform = [1e3, 1e4] },", "kernel.cbc", "is uncertain"),
        ('fed = { set_up = "1 us" }', 'fed = { set_up = "-1 us" }', "chain.line", "domain"),
        ('fed = { set_up = "1 us" }', 'fed = { setup = "1 us" }', "chain.line", "'set_up'"),
    ],
)
def test_impossible_values_of_kernels_are_refused(
    tmp_path: Path, before: str, after: str, place: str, words: str
) -> None:
    text = STUDY if before.startswith(("[", "rate")) else STUDY + CHAIN
    (tmp_path / "sha.csv").write_text("busy,under_way,area\n1,2,3\n3,4,5\n")
    if place == "kernel.sha":
        text = STUDY.partition("[kernel.sha]")[0] + TABLE + STUDY.partition('"40 us" }')[2]
    if before:
        assert before in text
        text = text.replace(before, after)
    else:
        (tmp_path / "sha.csv").write_text(after)
    with pytest.raises(InputError) as caught:
        dse.load(write(tmp_path, text))
    assert any(place in p.where and words in str(p) for p in caught.value.problems), caught.value


def test_engine_is_not_shared_by_kernels_whose_wait_does_not_know_it(tmp_path: Path) -> None:
    text = STUDY + SHARED.replace('"engine_load", "engine_moment"', '"service_only"')
    models = MODELS.replace(
        "service: Annotated[Array,",
        "service_only: Annotated[Array, Quantity('1', 'x')]\n    service: Annotated[Array,",
        1,
    )
    models = models.replace("rate * time**2, time)", "rate * time**2, time, time)")
    path = write(tmp_path, text)
    (tmp_path / "models.py").write_text(models)
    with pytest.raises(InputError, match="service_only affects no total"):
        dse.load(path)


def test_value_that_an_entry_lacks_is_the_models_default_and_noted(tmp_path: Path) -> None:
    text = STUDY.replace("lut = 1000 }", "lut = 1000, built = 1 }")
    notes = dse.load(write(tmp_path, text)).notes
    assert any(
        "kernel.sha: " in note and "built is 1, the model's default" in note for note in notes
    )
