"""The figures of docs/partition.md, each computed here or listed as given."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from objectives.partition import solved
from objectives.partition.estimate import Crossing, Latencies
from objectives.partition.graph import COPY_AREA, COSTED
from objectives.partition.problem import problem_of
from objectives.partition.quantities import Architecture
from objectives.partition.solve import area_front
from tests.docs_figures import Document
from tests.docs_partition import DEFAULT, GRAPHS, ORGANISATIONS, mean, point, solve


def test_figures_of_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    doc = Document("docs/partition.md")
    programs = doc.table("## What comes out")
    assert [doc.at(cell) for cell in programs["program"]] == list(GRAPHS)
    graphs, tables = GRAPHS.values(), [point(n) for n in GRAPHS]
    free = [point(n, DEFAULT, 1e9) for n in GRAPHS]
    doc.cells(programs["blocks"], map(len, graphs))
    doc.cells(programs["movable"], [g.movable.sum() for g in graphs])
    doc.cells(programs["area"], [g.area[g.movable].sum() for g in graphs])
    doc.cells(programs["theoretical"], [p.theoretical for p in tables])
    doc.cells(programs["greedy, A = 128"], [p.speedup[0] for p in tables])
    doc.cells(programs["optimum, A = 128"], [p.speedup[1] for p in tables])
    doc.cells(programs["greedy, no bound"], [p.speedup[0] for p in free])
    doc.cells(programs["minimum cut"], [p.speedup[1] for p in free])
    doc.says("takes @ instructions, those of a loop", COPY_AREA)
    means = doc.table("Mean relative speedup over the six")
    for name in ORGANISATIONS:
        penalties = (0.0, 1.0) if name.startswith(("SL1", "SL2")) else (0.0,)
        doc.cells(means[name], [[mean(name, kind, p) for p in penalties] for kind in (1, 0)])
    write_backs_alone(doc, monkeypatch)
    pairs_and_cores(doc)
    hull = area_front(problem_of(GRAPHS["jpeg"], DEFAULT))
    exact = area_front(problem_of(GRAPHS["md5"], DEFAULT), exact=True)
    doc.says("under SL2+: @ points in", len(hull.area))
    doc.says("MD5 @ points in", len(exact.area))
    given(doc)
    doc.check()


def write_backs_alone(doc: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim what the paper's penalty alone gives, without this model's additions."""
    ours = {(n, k): mean(n, k) for n in ORGANISATIONS for k in (0, 1)}
    modules: list[Any] = [
        import_module(f"objectives.partition.{m}") for m in ("estimate", "problem")
    ]
    full = modules[0].latencies

    def printed(a: Architecture) -> Latencies:
        memory: Latencies = full(a)
        both = a.shared_level > 1
        back = both * (
            a.memory_latency if a.shared_level == 3 else a.level2_latency + a.shared_penalty
        )
        nothing = np.zeros(())
        none = Crossing(nothing, nothing, nothing, nothing)
        written = Crossing(
            np.asarray(back), nothing, np.asarray(back * a.accelerator_cache), nothing
        )
        if a.shared_level == 3:
            return memory._replace(level1=none, level2=written)
        return memory._replace(level1=written, level2=none)

    for module in modules:
        monkeypatch.setattr(module, "latencies", printed)
    forget()
    found = {
        (n, k): float(
            np.mean([solve(g, Architecture(*where), 128.0).share[k] for g in GRAPHS.values()])
        )
        for n, where in ORGANISATIONS.items()
        for k in (0, 1)
    }
    monkeypatch.undo()
    forget()
    values = [(found[n, k], ours[n, k]) for k in (1, 0) for n in ("SL2+", "SMM+")]
    doc.says(
        "below is @ % instead of @ % for SL2+ and @ % instead of @ % for SMM+",
        *values[0],
        *values[1],
    )
    doc.says("(greedy: @ instead of @ %, @ instead of @ %)", *values[2], *values[3])
    for name in ("SL1", "SL2−", "SMM−"):
        assert found[name, 1] == pytest.approx(ours[name, 1], abs=0.05)


def forget() -> None:
    """Have partitions solved anew: with other latencies they are others."""
    solved._best.cache_clear()
    solved._greedy.cache_clear()


def pairs_and_cores(doc: Document) -> None:
    """Claim what each way of counting crossings gives."""
    table = doc.table("charges every reader on the other core")
    for pairwise, row in enumerate(("each core", "each pair")):
        for name, where in list(ORGANISATIONS.items())[1:]:
            a = Architecture(*where, pairwise_crossings=float(pairwise))
            shares = [point(n, a).share for n in GRAPHS]
            optimum, greedy = (float(np.mean([s[k] for s in shares])) for k in (1, 0))
            doc.cells([table[name][[doc.at(c) for c in table[""]].index(row)]], [(optimum, greedy)])
    pairs = {n: point(n, DEFAULT._replace(pairwise_crossings=1.0)).speedup for n in ("aes", "md5")}
    doc.says(
        "greedy gains @ % for AES by pairs and @ % by cores, the optimum @ and @ % for MD5",
        pairs["aes"][0],
        point("aes").speedup[0],
        pairs["md5"][1],
        point("md5").speedup[1],
    )


def given(doc: Document) -> None:
    """List what is not computed, with the reason."""
    costs = {
        getattr(DEFAULT, f"{core}_{kind}_cost")
        for core in ("cpu", "accelerator")
        for kind in COSTED[:-1]
    }
    costs |= {DEFAULT.cpu_cast_cost}
    doc.says("`accelerator_CLASS_cost`, all @ but for", *costs)
    doc.says("accelerator's casts, @. Area", DEFAULT.accelerator_cast_cost)
    doc.given("an example", r"`cpu_divide_cost = 20` says", r"takes 20 ε")
    doc.given(
        "formulas and domains, tests/test_partition.py",
        r"may be below 1",
        r"less 1",
        r"It is 0 if",
        r"\(1, 2, 3: L1",
        r"[|;] 0(?=;| \|)",
        r"2λ_S",
        r"at 0 or below",
        r"gap 0\.",
        r"2\^n",
    )
    doc.given(
        "settings of the solver",
        r"to 60 bits",
        r"takes 31 bits",
        r"0 is proven, to 10⁻⁹",
        r"all costs and 10⁻⁶ of",
        r"at 20,000 nodes",
    )
    doc.given(
        "counts of what tests and benchmarks/partition.py try",
        r"the 1,000 of the largest",
        r"and 60 at random",
        r"of 200 random",
        r"on 200 larger",
        r"of 100 random",
        r"within 1 %",
    )
    doc.given("the area of the tables", r"A = 128")
    doc.given(
        "speeds, benchmarks/partition.py",
        r"\| \| 100 blocks(?:.*\n)+?\n",
        r"points in (?:0\.6|1\.0) s",
        r"FFT 99 in 1\.0 s, Whetstone 200 in 3\.0 s, AES 260 in 5\.7 s",
        r"A study of 1,000 designs",
        r"42\.0 s of work",
        r"24\.5 s on two",
        r"\(load 3\.3\)",
    )
