"""From a program's functions to calls of a shared engine: against the time model, in a study."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dse
from dse.evaluate.space import Choice
from dse.profile import Options, profile_program
from dse.testing import check_model
from objectives.communication import (
    Dataflows,
    acceleration,
    accelerator_area,
    from_profile,
    function_calls,
    load_dataflows,
    program_run,
)
from objectives.communication.dataflow import CallTree
from objectives.communication.report import setting_of
from objectives.communication.split import outermost, split
from tests.profile.examples import needs_compiler, profile_text

STUDIES = Path(__file__).parents[3] / "studies"
COMPRESS = STUDIES / "compress.toml"
MACHINE = {"computation_factor": 8.0, "communication_factor": 4.0}
HOST = {"instruction_time": 1.0, "byte_time": 0.25}
AREA = {"instruction_area": 32.0, "memory_area_per_bit": 1 / 64, "bank_area": 500.0}


@pytest.fixture(scope="module")
def programs() -> Dataflows:
    return load_dataflows(STUDIES / "profiles" / "compress" / "compress.json")


@pytest.mark.parametrize("keeps", [0.0, 1.0])
@pytest.mark.parametrize("name", ["compress_block", "find_match", "checksum", "put_bits"])
def test_the_calls_of_a_run_are_the_run(programs: Dataflows, name: str, keeps: float) -> None:
    chosen = float(programs.selection([name]))
    calls = function_calls(
        programs,
        chosen,
        **MACHINE,
        **HOST,
        **AREA,
        keeps_data=keeps,
        run_rate=5.0,
        clock_period=6.0,
    )
    run = acceleration(programs, chosen, **MACHINE, **HOST, keeps_data=keeps)
    area = accelerator_area(programs, chosen, **MACHINE, **AREA, keeps_data=keeps)
    count = float(calls.calls_per_run)
    program = programs.programs[0]
    assert count == program.calls[program.position(name)]
    assert calls.call_rate == 5 * count
    assert count * calls.granularity == pytest.approx(float(run.medium_bytes), rel=1e-12)
    busy = float(run.computation_time + run.local_time)
    assert count * calls.call_compute_time == pytest.approx(busy, rel=1e-12)
    # the host reads what the calls leave, as it did
    work = split(program, outermost(program, [program.position(name)]))
    taken = float(run.host_time - run.host_computation_time - run.host_communication_time)
    taken -= HOST["byte_time"] * work.returned
    assert count * calls.host_call_time == pytest.approx(taken, rel=1e-12)
    assert calls.host_run_time - calls.host_rest_time == pytest.approx(taken, rel=1e-12)
    assert calls.granularity * calls.computational_index == pytest.approx(
        float(calls.host_call_time), rel=1e-12
    )
    assert 0 <= calls.lane_elements * 6.0 - calls.call_compute_time < 6.0
    assert calls.engine_area == pytest.approx(float(area.area), rel=1e-12)
    assert calls.context_bits == 8 * area.working_set


def test_a_run_whose_calls_nobody_disturbs_is_that_of_the_time_model(programs: Dataflows) -> None:
    chosen = float(programs.selection(["compress_block"]))
    calls = function_calls(
        programs, chosen, **MACHINE, **HOST, **AREA, run_rate=5.0, clock_period=6.0
    )
    run = acceleration(
        programs, chosen, **MACHINE, **HOST, latency_per_byte=0.5, overhead=100.0, latency=50.0
    )
    interval = calls.call_compute_time + 0.5 * calls.granularity + 150.0
    whole = program_run(
        calls.calls_per_run, interval, calls.host_rest_time, calls.host_run_time, 1e-9
    )
    program = programs.programs[0]
    work = split(program, outermost(program, [program.position("compress_block")]))
    time = float(run.accelerated_time) + HOST["byte_time"] * work.returned
    assert whole.run_time == pytest.approx(time, rel=1e-12)
    assert whole.speedup == pytest.approx(float(run.host_time) / time, rel=1e-12)


def test_no_call_saves_more_than_the_function_takes(programs: Dataflows) -> None:
    """What it computes and reads; Amdahl's bound with a link that costs nothing."""
    program = programs.programs[0]
    for name in program.candidates:
        f = program.position(name)
        calls = function_calls(
            programs,
            float(programs.selection([name])),
            **MACHINE,
            **HOST,
            **AREA,
            run_rate=1.0,
            clock_period=1.0,
        )
        below = {f} | {int(program.tree.function[v]) for v in _below(program.tree, f)}
        reads = program.local_bytes + program.transfers.sum(axis=0)
        most = program.computation_inclusive[f] + 0.25 * sum(reads[g] for g in below)
        assert calls.calls_per_run * calls.host_call_time <= most * (1 + 1e-12)


def _below(tree: CallTree, function: int) -> list[int]:
    return [v for w in np.flatnonzero(tree.function == function) for v in tree.below(int(w))]


def test_models_keep_the_contract(programs: Dataflows) -> None:
    # of the first two candidates, whose numbers are drawn, one calls the other
    check_model(function_calls, samples=128, fixed={"dataflow": programs, "shared_store": 0.0})
    check_model(program_run)


def one_design() -> dict[str, object]:
    return {
        "accelerated": "compress_block",
        "computation_factor": 8.0,
        "communication_factor": 8.0,
        "keeps_data": 0,
        "streams": 4.0,
        "schedule_period": 64.0,
        "calls_in_flight": 1.0,
        "interface": "stream-port",
    }


@pytest.mark.parametrize(
    ("variable", "other"),
    [("interface", "axi-dma"), ("streams", 8.0), ("keeps_data", 1), ("accelerated", "checksum")],
)
def test_what_all_objectives_depend_on_changes_them_all(variable: str, other: object) -> None:
    table = pd.DataFrame([one_design(), one_design() | {variable: other}])
    found = dse.load(COMPRESS).evaluate(table)
    for objective in ("speedup", "call_time", "area"):
        first, second = found[objective]
        assert np.isfinite([first, second]).all()
        assert first != second, (variable, objective)


def test_a_longer_turn_changes_speedup_and_latency_and_no_area() -> None:
    table = pd.DataFrame([one_design(), one_design() | {"schedule_period": 128.0}])
    found = dse.load(COMPRESS).evaluate(table)
    for objective, values in {"speedup": 2, "call_time": 2, "area": 1}.items():
        assert len(set(found[objective])) == values


def test_data_cost_their_way_over_every_interface() -> None:
    variable = dse.load(COMPRESS).evaluator.space.variables["interface"]
    assert isinstance(variable, Choice)
    for name, row in variable.rows.items():
        assert row["interface_overhead_per_byte"] + row["interface_latency_per_byte"] > 0, name


def test_the_front_accelerates_what_is_worth_it_and_names_it() -> None:
    result = dse.load(COMPRESS).run()
    front = result.front.designs
    assert result.certificate.complete
    assert len(front) > 0
    assert set(front["accelerated"]) <= set(
        load_dataflows(STUDIES / "profiles" / "compress" / "compress.json").candidates
    ) - {"compress", "make_text", "make_sums"}
    assert front["speedup"].min() >= 1.05
    assert front["speedup"].round(2).max() > 2
    assert len(set(front["streams"])) > 1
    assert set(front["accelerated"][front["calls_in_flight"] > 1]) <= {"compress_block", "checksum"}


def test_verdicts_are_at_the_costs_of_the_interface() -> None:
    study = dse.load(COMPRESS)
    result = study.run()
    best, setting = result.best("speedup"), setting_of(study, result)
    assert (setting.overhead, setting.latency) == (
        best["interface_overhead"],
        best["interface_latency"],
    )
    per_byte = best["interface_latency_per_byte"] + best["interface_overhead_per_byte"]
    assert setting.latency_per_byte == per_byte
    assert (setting.computation_factor, setting.byte_time) == (best["computation_factor"], 0.25)


AGAIN = r"""
static int data[1000];
static volatile int kept;
static int sum(const int *from, int factor) {
    int total = 0;
    for (int i = 0; i < 1000; i++)
        total += factor * from[i];
    return total;
}
int main(void) {
    for (int i = 0; i < 1000; i++)
        data[i] = i;
    for (int k = 0; k < 3; k++)
        kept = sum(data, k);
    return 0;
}
"""


@needs_compiler
def test_three_calls_over_the_same_data_move_it_once_or_three_times(tmp_path: Path) -> None:
    """The example of docs/communication.md."""
    program = Dataflows((from_profile(profile_text(tmp_path, AGAIN)),))
    chosen = program.selection(["sum"])
    kept, anew = (acceleration(program, chosen, 2.0, keeps_data=k) for k in (1.0, 0.0))
    assert (float(kept.medium_bytes), float(anew.medium_bytes)) == (4_000, 12_000)


OTHER = r"""
#include <stdio.h>
static unsigned data[4096];
static unsigned mixed(const unsigned *from, unsigned count) {
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned x = from[i];
        for (int k = 0; k < 6; k++)
            x = (x ^ x >> 7) * 2654435761u;
        sum += x;
    }
    return sum;
}
int main(void) {
    unsigned sum = 0;
    for (unsigned i = 0; i < 4096; i++)
        data[i] = i * i;
    for (unsigned i = 0; i < 16; i++)
        sum ^= mixed(data + 256 * i, 256);
    printf("%u\n", sum);
    return 0;
}
"""


@needs_compiler
def test_any_program_goes_from_its_source_to_a_report(tmp_path: Path) -> None:
    (tmp_path / "other.c").write_text(OTHER)
    profile_program(Options((tmp_path / "other.c",))).save(tmp_path / "other.json")
    lines = [
        'dataflow = "other.json"' if line.startswith("dataflow") else line
        for line in COMPRESS.read_text().splitlines()
    ]
    (tmp_path / "other.toml").write_text("\n".join(lines).replace("5 Hz", "1 kHz"))
    result = dse.load(tmp_path / "other.toml").run(tmp_path / "run")
    assert set(result.front.designs["accelerated"]) == {"mixed"}
    report = (tmp_path / "run" / "report.html").read_text()
    assert "mixed" in report
    assert "Computation or communication" in report


@needs_compiler
@pytest.mark.parametrize("keeps", [0.0, 1.0])
def test_what_one_call_moves_is_known_whoever_helps_it(tmp_path: Path, keeps: float) -> None:
    """`scale` works in the one call of `transform`, and for `main` before and after it."""
    text = """
    #define N 1000
    static double in[N], out[N], part[10];
    void scale(int n, double a, const double *x, double *y) {
        for (int i = 0; i < n; i++) y[i] = a * x[i];
    }
    void transform(void) {
        for (int i = 0; i < N; i++) out[i] = in[i];
        for (int k = 0; k < 500; k++) scale(10, 1.1, out + k % 100 * 10, part);
        for (int i = 0; i < N; i++) out[i] = in[i] + part[i % 10];
    }
    int main(int argc, char **argv) {
        for (int i = 0; i < N; i++) out[i] = i * argc;
        scale(N, 0.5, out, in);
        transform();
        scale(N, 2, out, in);
        return in[N - 1] < 0;
    }"""
    programs = Dataflows((from_profile(profile_text(tmp_path, text)),))
    chosen = float(programs.selection(["transform"]))
    run = acceleration(programs, chosen, 8.0, 4.0, keeps_data=keeps)
    assert run.medium_bytes == 16_000  # 8,000 in, and 8,000 out
