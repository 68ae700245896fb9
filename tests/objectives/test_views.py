"""Three models of one program: different machines, and one answer if the machines are equal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.model.section import Table
from dse.profile.document import Profile
from objectives.communication import load_dataflow
from objectives.communication.dataflow import Dataflow
from objectives.drafts import communication
from objectives.partition import Architecture, Workloads
from objectives.partition.estimate import cpu_time
from objectives.partition.graph import Graph
from objectives.views import (
    ASSUMED,
    Assumptions,
    Speedups,
    cached_run,
    estimate_speedups,
    questions,
)

PROFILES = Path(__file__).parents[2] / "studies" / "profiles"


def equal_assumptions() -> Assumptions:
    """Return what all three models can assume.

    A call has one cost, half of it in each direction. Memory and registers take no time, and the
    clock of the engine has no effect. Every instruction takes the same time.
    """
    setting = replace(ASSUMED.setting, byte_time=0.0, latency_per_byte=0.0)
    speed = setting.instruction_time / setting.computation_factor
    control = (setting.overhead + setting.latency) / 2.0
    free = dict.fromkeys(["register_push_latency", "register_pull_latency", "memory_latency"], 0.0)
    free |= {"level1_latency": 0.0, "level2_latency": 0.0, "accelerator_cast_cost": 1.0}
    architecture = Architecture(accelerator_instruction_time=speed, control_latency=control, **free)
    return Assumptions(setting, 1e-9, architecture)


def with_every_instruction(program: Dataflow, graph: Graph) -> Dataflow:
    """Return a program whose work is what ``partition`` counts, and none of it in a fixed order."""
    work = np.zeros(len(program.names))
    place = [program.position(name) for name in graph.function]
    np.add.at(work, place, graph.operations.sum(axis=1))
    tree = replace(program.tree, computation=program.tree.own_share * work[program.tree.function])
    return replace(program, computation=work, tree=tree, chains=(), critical_path=None)


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        ("fft", ("transform",)),
        ("sor", ("sweep",)),
        ("jpeg", ("idct",)),
        ("jpeg", ("idct", "convert_row")),
        ("aes", ("mix_columns",)),
    ],
)
def test_equal_assumptions_give_equal_answers(name: str, functions: tuple[str, ...]) -> None:
    path = PROFILES / f"{name}.json"
    program, graph = load_dataflow(path), Workloads.load(path).graphs[0][0]
    same = with_every_instruction(program, graph)
    equal = estimate_speedups(same, graph, functions, equal_assumptions())
    # worked out from the blocks: the rest of the program, the accelerator, and its calls
    work = graph.operations.sum(axis=1)
    below = {f for f in graph.function if any(f in _callees(program, each) for each in functions)}
    inside = work[np.isin(graph.function, list(below))].sum()
    calls = sum(program.calls[program.position(each)] for each in functions)
    expected = work.sum() / (work.sum() - inside + inside / 16.0 + calls * 935.0)
    assert equal == pytest.approx(Speedups(expected, expected, expected), rel=1e-6)
    # and the drafts' own assumptions tell the machines apart
    own = estimate_speedups(program, graph, functions, ASSUMED)
    assert abs(own.partition / own.communication - 1.0) > 0.05


def test_the_default_study_shows_its_fastest_design_in_all_views(tmp_path: Path) -> None:
    path = PROFILES / "fft.json"
    (tmp_path / "fft.toml").write_text(communication(path, str(path), "fft"))
    study = dse.load(tmp_path / "fft.toml")
    result = study.run()
    section = questions(study, result)
    [table] = section.parts
    assert isinstance(table, Table)
    assert list(table.rows["question"]) == ["communication", "offload", "partition"]
    fastest = result.best("speedup")
    assert table.rows["speedup"][0] == pytest.approx(fastest["speedup"], rel=1e-9)
    assert "--question offload" in section.text
    assert "--question partition" in section.text
    profiles = Workloads.load(path)
    time = cpu_time(profiles.graphs[0][0], ASSUMED.architecture)
    assert cached_run(profiles, [0, 1]).cached_run_time == pytest.approx(
        [time, np.nan], nan_ok=True
    )
    # without caches there is no view of them
    bare = Profile.load(path)
    bare = bare.model_copy(
        update={
            "settings": bare.settings.model_copy(update={"caches": ()}),
            "accesses": tuple(a.model_copy(update={"hits": ()}) for a in bare.accesses),
            "crossings": (),
        }
    )
    bare.save(tmp_path / "bare.json")
    assert "views" not in communication(tmp_path / "bare.json", "bare.json", "bare")


def _callees(program: Dataflow, name: str) -> set[str]:
    tree, names = program.tree, program.names
    roots = [v for v, f in enumerate(tree.function) if names[f] == name]
    return {names[tree.function[v]] for root in roots for v in tree.below(root)}
