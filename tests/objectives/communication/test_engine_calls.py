"""From a program's functions to calls of a shared engine: against the time model, in a study."""

from pathlib import Path

import pytest

import dse
from dse.testing import check_model
from objectives.communication import (
    Dataflows,
    acceleration,
    accelerator_area,
    from_profile,
    function_calls,
    load_dataflows,
    program_run,
    run_response,
)
from objectives.communication.report import fastest_setting
from objectives.communication.split import outermost_contexts, split_work
from tests.profile.examples import needs_compiler, profile_text

STUDIES = Path(__file__).parents[3] / "studies"
COMPRESS = STUDIES / "compress.toml"
MACHINE = {"computation_factor": 8.0, "communication_factor": 4.0}
HOST = {"instruction_time": 1.0, "byte_time": 0.25}
AREA = {"instruction_area": 32.0, "memory_area_per_bit": 1 / 64, "bank_area": 500.0}
CALLS = {**HOST, **AREA, "run_rate": 5.0, "clock_period": 6.0}


@pytest.fixture(scope="module")
def programs() -> Dataflows:
    return load_dataflows(STUDIES / "profiles" / "compress" / "compress.json")


@pytest.mark.parametrize("keeps", [0.0, 1.0])
@pytest.mark.parametrize("name", ["compress_block", "find_match", "checksum", "put_bits"])
def test_the_calls_of_a_run_are_the_run(programs: Dataflows, name: str, keeps: float) -> None:
    chosen = float(programs.selection([name]))
    calls = function_calls(programs, chosen, **MACHINE, **CALLS, keeps_data=keeps)
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
    work = split_work(program, outermost_contexts(program, [program.position(name)]))
    taken = float(run.host_time - run.host_computation_time - run.host_communication_time)
    taken -= HOST["byte_time"] * float(work.returned)
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
    calls = function_calls(programs, chosen, **MACHINE, **CALLS)
    run = acceleration(
        programs, chosen, **MACHINE, **HOST, latency_per_byte=0.5, overhead=100.0, latency=50.0
    )
    interval = calls.call_compute_time + 0.5 * calls.granularity + 150.0
    whole = program_run(
        calls.calls_per_run, interval, calls.host_rest_time, calls.host_run_time, 1e-9
    )
    program = programs.programs[0]
    work = split_work(program, outermost_contexts(program, [program.position("compress_block")]))
    time = float(run.accelerated_time) + HOST["byte_time"] * work.returned
    assert whole.run_time == pytest.approx(time, rel=1e-12)
    assert whole.speedup == pytest.approx(float(run.host_time) / time, rel=1e-12)
    waiting = run_response(calls.calls_per_run, interval, calls.host_rest_time)
    assert waiting.run_response_time == pytest.approx(time, rel=1e-12)


def test_models_keep_the_contract(programs: Dataflows) -> None:
    # of the first two candidates, whose numbers are drawn, one calls the other
    check_model(
        function_calls, samples=64, pairs=500, fixed={"dataflow": programs, "shared_store": 0.0}
    )


def test_the_front_accelerates_what_is_worth_it_and_names_it() -> None:
    study = dse.load(COMPRESS)
    result = study.run()
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
    # the section rates functions at the costs of the fastest design's interface
    best, setting = result.best("speedup"), fastest_setting(study, result)
    costs = (best["interface_overhead"], best["interface_latency"])
    assert (setting.overhead, setting.latency) == costs
    per_byte = best["interface_latency_per_byte"] + best["interface_overhead_per_byte"]
    assert setting.latency_per_byte == per_byte
    assert (setting.computation_factor, setting.byte_time) == (best["computation_factor"], 0.25)


@needs_compiler
def test_what_calls_move_by_hand(tmp_path: Path) -> None:
    """`scale` works in the one call of `transform`, and for `main`; `sum` reads its data thrice."""
    text = """
    #define N 1000
    static double in[N], out[N], part[10];
    static int data[N];
    static volatile int kept;
    static int sum(const int *from, int factor) {
        int total = 0;
        for (int i = 0; i < N; i++) total += factor * from[i];
        return total;
    }
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
        for (int i = 0; i < N; i++) data[i] = i;
        for (int k = 0; k < 3; k++) kept = sum(data, k);
        return in[N - 1] < 0;
    }"""
    programs = Dataflows((from_profile(profile_text(tmp_path, text)),))
    moved = {
        name: [
            float(
                acceleration(
                    programs, programs.selection([name]), 8.0, 4.0, keeps_data=keeps
                ).medium_bytes
            )
            for keeps in (1.0, 0.0)
        ]
        for name in ("transform", "sum")
    }
    # 8,000 in, and 8,000 out; 4,000 once or at each call, as docs/explanation/communication.md
    assert moved == {"transform": [16_000, 16_000], "sum": [4_000, 12_000]}
