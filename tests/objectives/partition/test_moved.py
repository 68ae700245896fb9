"""The section of what moves: function by function, with lines and shares of the time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.model.section import Bars, Table
from objectives.partition import Architecture, Workloads, block_times, decide_moves, estimate
from objectives.partition.moved import (
    blocks,
    blocks_table,
    find_moved_blocks,
    functions_table,
    lines_table,
    show_lines,
)

PROFILES = Path(__file__).parents[3] / "studies" / "profiles"
Ran = tuple[dse.Study, dse.StudyResult]


def study_of(space: dict[str, object], **inputs: float) -> dse.Study:
    return dse.from_mapping(
        {
            "study": {"name": "small", "models": ["objectives.partition:optimal"]},
            "inputs": {"profiles": str(PROFILES / "md5.json"), "workload": 0, **inputs},
            "space": space,
            "objective": [{"maximize": "speedup"}, {"minimize": "accelerator_size"}],
        }
    )


@pytest.fixture(scope="module")
def ran() -> Ran:
    organisations = {"catalog": "memory_organisations", "options": ["SL1", "SMM-"]}
    sizes = {"values": [8, 64, 192]}
    study = study_of({"organisation": organisations, "accelerator_size": sizes})
    return study, study.run()


def test_what_a_design_moves_is_what_its_figures_are_of(ran: Ran) -> None:
    study, result = ran
    for _, design in result.front.designs.iterrows():
        found = find_moved_blocks(study, design, 0)
        assert found.speedup == pytest.approx(design["speedup"], rel=1e-12)
        assert found.graph.area[found.moved].sum() <= design["accelerator_size"]


def test_a_report_solves_nothing_that_the_run_solved(
    ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("solved again")

    monkeypatch.setattr("objectives.partition.solve.best_partition", never)
    monkeypatch.setattr("objectives.partition.solve.greedy_partition", never)
    study, result = ran
    assert blocks(study, result).parts
    graph = study.constants["profiles"].graphs[0][0]
    decide_moves(graph, Architecture(shared_level=1.0, accelerator_cache=0.0), 64)
    decide_moves(graph, Architecture(3.0, 0.0, shared_penalty=1.0), 64)  # no cache is shared


def test_lines_that_move_stand_beside_their_source(ran: Ran) -> None:
    study, result = ran
    found = find_moved_blocks(study, result.best("speedup"), 0)
    source = (PROFILES.parent / "programs" / "md5.c").read_text().splitlines()
    table = lines_table(found)
    assert not table.empty
    for line, text in zip(table["line"].tolist(), table["source"], strict=True):
        assert text == " ".join(source[line - 1].split())
    there = found.moved & (found.graph.line > 0)
    assert set(table["line"]) == set(found.graph.line[there].tolist())
    assert table.iloc[:, 3].sum() == pytest.approx(100 * found.share[there].sum(), abs=0.3)
    shown = [part.title for part in blocks(study, result).parts]
    assert any(title.endswith("moves, with their source") for title in shown)
    bare = replace(found.graph, text=())
    assert lines_table(found._replace(graph=bare))["source"].eq("").all()


def test_shares_of_functions_and_blocks_add_up_to_the_time_on_the_cpu(ran: Ran) -> None:
    study, result = ran
    found = find_moved_blocks(study, result.best("speedup"), 0)
    functions = functions_table(found)
    whole = functions["share that moves [%]"].sum() + functions["share that stays [%]"].sum()
    assert whole == pytest.approx(100, abs=0.1)  # each is rounded to 0.01
    assert functions["area [instruction]"].sum() == found.graph.area[found.moved].sum()
    rows = blocks_table(found)
    assert len(rows) == len(found.graph)
    assert rows["share of the time [%]"].is_monotonic_decreasing
    on = rows["runs on"] == "accelerator"
    assert int(on.sum()) == int(found.moved.sum())
    for name, group in rows[on].groupby("function"):
        row = functions.set_index("function").loc[name]
        assert row["blocks that move"].startswith(f"{len(group)} of ")
        assert row["lines that move"] == show_lines(group["line"].tolist())


def test_the_time_of_a_block_is_what_the_program_saves_without_it() -> None:
    """Against the estimate: a block moved to an accelerator that costs nothing at all."""
    graph = Workloads.load(PROFILES / "sor.json").graphs[0][0]
    machine = Architecture(shared_level=1.0, interface_latency_factor=0.0)
    none = np.zeros(len(graph), bool)
    before = float(estimate(graph, none, machine).accelerated_time)
    alone = block_times(graph, machine)
    memory = graph.hits @ np.array([3.0, 15.0, 200.0])  # Table I; it stays the same
    for block in range(len(graph)):
        moved = none.copy()
        moved[block] = True
        free = machine._replace(accelerator_instruction_time=0.0)
        saved = before - float(estimate(graph, moved, free).accelerated_time)
        assert alone[block] - memory[block] == pytest.approx(saved, abs=1e-6)


def test_the_section_names_what_moves_and_where(ran: Ran) -> None:
    study, result = ran
    section = blocks(study, result)
    design = result.nash()
    found = find_moved_blocks(study, design, 0)
    first = functions_table(found).iloc[0]
    assert f"design {design.name}, the Nash design, moves {int(found.moved.sum())} of" in (
        section.text
    )
    assert f"{first['function']} (line" in section.text
    functions, sources, lines, listed, front = section.parts
    assert isinstance(lines, Bars) and isinstance(front, Table)
    assert all(isinstance(part, Table) for part in (functions, sources, listed))
    assert [core for core, _ in lines.bars] == ["accelerator", "CPU"]
    drawn = sum(float(np.sum(values)) for _, values in lines.bars)
    assert 90 < drawn <= 100 + 1e-9
    assert front.rows["design"].tolist() == [str(n) for n in result.front.designs.index]
    assert any(first["function"] in names for names in front.rows.iloc[:, 1])


def test_a_design_without_room_moves_nothing() -> None:
    study = study_of({"accelerator_size": {"values": [0, 1]}}, shared_level=3)
    assert "moves nothing" in blocks(study, study.run()).text
