"""The study of CPU and accelerator: its front, its section, and what its figures claim."""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dse
from dse.model.section import Bars, Lines, Section, Table
from dse.run import report
from objectives.partition import (
    Workloads,
    best_partition,
    cpu_time,
    estimate,
    make_architecture,
    make_problem,
    optimal,
)
from objectives.partition.report import (
    DEFAULTS,
    Comparison,
    find_design_groups,
    integration,
    penalty_costs,
    select_penalty,
    speedup_fractions,
    tabulate_by_program,
)
from tests import partition_examples as examples
from tests.core_examples import brute_front
from tests.pages import read_page

ROOT = Path(__file__).parents[3]
STUDY = ROOT / "benchmarks" / "studies" / "cpu_accelerator.toml"
NAMES = ("aes", "fft", "jpeg", "md5", "sor", "whetstone")
ORGANISATIONS = {
    name: {"shared_level": float(level), "accelerator_cache": float(cache)}
    for name, (level, cache) in examples.ORGANISATIONS.items()
}
FEW = ("md5", "sor", "whetstone")  # programs with few blocks
SMALL: dict[str, Any] = {
    "study": {"name": "small", "models": ["objectives.partition:optimal"]},
    "space": {
        "organisation": {"rows": {n: ORGANISATIONS[n] for n in ("SL1", "SL2+", "SMM-")}},
        "accelerator_size": {"values": [16, 64, 512]},
        "interface_latency_factor": {"values": [1.0, 16.0]},
        "shared_penalty": {"values": [0, 1]},
    },
    "objective": [
        {"maximize": "speedup", "over": {"workload": [0, 1]}, "reduce": "mean"},
        {"minimize": "accelerator_size"},
        {"maximize": "shared_penalty"},
    ],
}


@pytest.fixture(scope="module")
def workloads() -> Workloads:
    return Workloads.load(ROOT / "studies" / "profiles")


Ran = tuple[dse.Study, dse.StudyResult, Section]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("profiles")
    for name in FEW:
        shutil.copy(ROOT / "studies" / "profiles" / f"{name}.json", folder)
    study = dse.from_mapping({**SMALL, "inputs": {"profiles": str(folder)}})
    result = study.run(workers=1)
    return study, result, integration(study, result)


def _speedup(workloads: Workloads, program: int, values: dict[str, float], size: float) -> float:
    """Work one speedup out from the parts, without the model."""
    graph, architecture = workloads.graphs[program][0], make_architecture(values)
    moved = best_partition(make_problem(graph, architecture), size).moved
    time = estimate(graph, moved, architecture).accelerated_time
    return float(cpu_time(graph, architecture) / time)


def test_the_front_is_that_of_all_designs(small: Ran, workloads: Workloads) -> None:
    study, result, _ = small
    organisations = SMALL["space"]["organisation"]["rows"].items()
    grid = itertools.product(organisations, (16, 64, 512), (1.0, 16.0), (0, 1))
    rows: list[tuple[str, int, float, int, float]] = []
    for (name, row), size, factor, penalty in grid:
        values = {**row, "interface_latency_factor": factor, "shared_penalty": penalty}
        mean = sum(_speedup(workloads, p, values, size) for p in (3, 4)) / 2  # md5 and sor
        rows.append((name, size, factor, penalty, mean))
    best = brute_front(np.array([(-mean, size, -penalty) for _, size, _, penalty, mean in rows]))
    found = result.front.designs
    assert result.certificate.complete
    assert len(rows) == study.evaluator.space.size
    assert sorted(found.index) == best
    columns = ["organisation", "accelerator_size", "interface_latency_factor", "shared_penalty"]
    for i, design in zip(sorted(found.index), found.sort_index().to_dict("records"), strict=True):
        assert tuple(design[column] for column in columns) == rows[i][:4]
        assert design["speedup"] == pytest.approx(rows[i][4], rel=1e-12)


def test_shares_are_those_of_each_design_alone(workloads: Workloads) -> None:
    compared = Comparison(
        workloads, ORGANISATIONS, (0.0, 1.0), {"accelerator_instruction_time": 0.25}
    )
    found = speedup_fractions(compared, "accelerator_size", [40.0])
    assert len(found) == 5 * 2 * 6
    for name, penalty, program in (("SL1", 1.0, 4), ("SL2+", 0.0, 1), ("SMM+", 1.0, 3)):
        chosen = found[
            (found.organisation == name)
            & (found.penalty == penalty)
            & (found.program == NAMES[program])
        ]
        values = {
            **ORGANISATIONS[name],
            "shared_penalty": penalty,
            "accelerator_instruction_time": 0.25,
        }
        speedup = _speedup(workloads, program, values, 40)
        graph = workloads.graphs[program][0]
        latencies = graph.hits.sum(axis=0) @ [3.0, 15.0, 200.0]
        every, casts = graph.operations.sum(), graph.operations[:, -1].sum()
        most = (every + latencies) / (0.25 * (every - casts) + latencies)
        assert chosen.speedup.item() == pytest.approx(speedup, rel=1e-12)
        assert chosen.optimum.item() == pytest.approx((speedup - 1) / (most - 1), rel=1e-9)
        assert chosen.greedy.item() <= chosen.optimum.item() + 1e-12


def test_robustness_counts_the_best() -> None:
    index = pd.MultiIndex.from_product([["a", "b"], [0.0, 1.0]], names=["organisation", "penalty"])
    table = pd.DataFrame({"x": [80.0, 20.0, 60.0, 50.0], "y": [40.0, 30.0, 20.0, 10.0]}, index)
    table["mean"] = table.mean(axis=1)
    speedups = [(0.9, 0.5), (0.2, 0.1), (0.1, 0.5), (0.3, 0.2)]
    rows = [  # organisation, penalty, size, program, speedup
        (*place, size, "x", value)
        for place, values in zip(index, speedups, strict=True)
        for size, value in zip((8, 16), values, strict=True)
    ]
    along = pd.DataFrame(rows, columns=["organisation", "penalty", "size", "program", "speedup"])
    found = penalty_costs(table, [along])
    assert found.to_numpy().tolist() == [
        [60, 25, pytest.approx(125 / 3), "x", 20, 2, 0],
        [40, 30, 75, "y", 10, 1, 2],
    ]
    assert list(found.columns[-2:]) == ["best at 0 (of 2)", "best at 1 (of 2)"]


def test_groups_pay_together_and_not_alone(workloads: Workloads) -> None:
    graph = workloads.graphs[NAMES.index("whetstone")][0]
    found = find_design_groups([graph], DEFAULTS)
    first = found.to_dict("records")[0]
    assert first["program"] == "whetstone"
    assert first["alone"] <= 0 and first["together"] > 0.1
    assert "references" in first["where"]
    assert first["area"] <= 128
    assert find_design_groups([graph], {**DEFAULTS, "accelerator_size": 0.0}).empty


def test_the_section_answers_with_the_figures_of_its_tables(small: Ran) -> None:
    _, _, section = small
    table = section.parts[0]
    assert isinstance(table, Table)
    rows = table.rows
    assert np.allclose(rows["mean"], rows[list(FEW)].mean(axis=1), atol=0.11)  # one decimal
    mean = rows.set_index(["organisation", "penalty [cycle]"])["mean"]
    first = f"SL1 is best: {mean['SL1', 0.0]:.0f} % of the theoretical speedup"
    assert first in section.text
    assert f"At 1 it is SL2+, with {mean['SL2+', 1.0]:.0f} %" in section.text
    assert "SL1 is the most sensitive" in section.text
    assert "only pay together in" in section.text
    assert "whetstone" in section.text.partition("together in")[2]


def test_the_section_has_its_pictures(small: Ran) -> None:
    _, _, section = small
    kinds = [type(part) for part in section.parts]
    assert kinds.count(Bars) == 2
    assert kinds.count(Lines) == 2  # one for each list of values that is varied
    lines = next(part for part in section.parts if isinstance(part, Lines))
    assert {name for name, _, _ in lines.lines} == {"SL1", "SL2+", "SMM-"}
    for _, x, y in lines.lines:
        assert np.array_equal(x, [16, 64, 512])
        assert np.all(np.diff(y) >= -1e-9)  # a larger accelerator is never worse


def test_a_study_without_organisations_compares_its_own(tmp_path: Path) -> None:
    profile = str(ROOT / "studies" / "profiles" / "sor.json")
    content = {
        **SMALL,
        "inputs": {"profiles": profile, "workload": 0, "shared_level": 3},
        "space": {
            "accelerator_size": {"values": [32, 64]},
            "accelerator_instruction_time": {"values": [0.5]},
        },
        "objective": [{"maximize": "speedup"}, {"minimize": "accelerator_size"}],
        "report": {"sections": ["objectives.partition.report:integration"]},
    }
    study = dse.from_mapping(content)
    result = study.run(workers=1)
    section = integration(study, result)
    assert section.text.startswith("At a penalty of 0 cycles as given is best: 1")
    assert "most sensitive" not in section.text
    titles = [part.title for part in section.parts if part.title.startswith("Along")]
    assert titles == ["Along accelerator size, penalty of 0"]  # one value is no curve
    report(study, result, tmp_path / "report.html", explains=False)
    assert "Which integration?" in read_page(tmp_path / "report.html")


def _documented(heading: str) -> pd.DataFrame:
    """Return the first table under a heading of docs/validation/partition_figures.md."""
    text = (ROOT / "docs" / "validation" / "partition_figures.md").read_text()
    lines = re.findall(r"^\|(.*)\|$", text.partition(heading)[2].partition("\n## ")[0], re.M)
    head, _, *body = [[cell.strip() for cell in line.split("|")] for line in lines]
    return pd.DataFrame(body, columns=head).set_index(head[0]).astype(float)


def test_figure_2_of_the_docs(workloads: Workloads) -> None:
    written = _documented("## Figure 2")
    found, unlimited = (
        optimal(workloads, np.arange(6.0), accelerator_size=size) for size in (128.0, 1e9)
    )
    assert list(written.index) == list(workloads.names)
    for column, speedup in (
        ("greedy %", found.greedy_speedup),
        ("optimum %", found.speedup),
        ("theoretical %", found.theoretical_speedup),
        ("greedy, any size %", unlimited.greedy_speedup),
        ("optimum, any size %", unlimited.speedup),
    ):
        assert np.allclose(written[column], 100 * (speedup - 1), atol=0.051), column


def test_figure_3_of_the_docs_and_the_conclusions_of_the_paper(workloads: Workloads) -> None:
    written = _documented("## Figure 3")
    compared = Comparison(workloads, ORGANISATIONS, (0.0, 1.0), {})
    defaults = speedup_fractions(compared, "accelerator_size", [128.0])
    for kind in ("optimum", "greedy"):
        before, after = (
            select_penalty(tabulate_by_program(defaults, kind), penalty)["mean"]
            for penalty in (0.0, 1.0)
        )
        for table, column in ((before, "no penalty"), (after, "1 cycle")):
            assert list(written.index) == list(table.index)
            assert np.allclose(written[f"{kind}, {column}"], table, atol=0.051)
        lost = before - after
        assert (before.idxmax(), after.idxmax(), lost.idxmax()) == ("SL1", "SL2+", "SL1")
        assert lost["SL1"] > 50
        assert lost["SL2+"] < 2
        assert max(before["SL2-"], before["SMM-"]) < 5
        assert before["SMM+"] < 0.8 * before["SL2+"]
