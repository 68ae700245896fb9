"""Dispatch rules: thresholds, regret, and the emitted functions in four languages."""

from __future__ import annotations

import functools
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from benchmarks.measured_accuracy import BY
from dse.cli import commands
from dse.fit.command import run, write_rules
from dse.fit.emission import emit_rules, name_functions
from dse.fit.measurement_fit import Fit, fit
from dse.fit.rule import (
    ANY,
    LEFT_OUT,
    ON_TABLE,
    Range,
    Rule,
    TimesCurve,
    find_ranges,
    find_regret,
    make_rule,
)
from dse.fit.series import Series, read_series
from dse.model.quantity import Array
from dse.problems import InputError
from tests.fit.test_measurement_fit import LAWS, NAN, SIZES, device, fit_law, host
from tests.needs import needs

MEASURED = Path(__file__).parents[2] / "benchmarks" / "measured"
SIZE_COUNT = 2**16
LOADS = [(0, 0), (1, 0), (2, 0), (5, 0), (0, 1), (1, 1), (2, 3), (70, 1)]


@functools.cache
def measured(table: str, *names: str) -> list[Fit]:
    """Return the fits of some series of a table; of all without names."""
    series = read_series(MEASURED / f"{table}.csv", BY.get(table, []))[0]
    return [fit(one) for one in series if not names or one.name in names]


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    """Return a rule by a law with CPU use, one by measured sizes, and one whose gain ends."""
    ti = measured("ti_crypto", "AM62X aes-128-cbc plain")
    ends = fit_law("two crossings")
    return [make_rule(one) for one in (*ti, *measured("fft_mkl_cufft"), ends)]


def extra_sizes(rule: Rule) -> list[int]:
    ends = {end + d for each in rule.ranges for end in each[2:] for d in (-1, 0, 1)}
    return sorted(end for end in ends | {0, ANY} if 0 <= end <= ANY)


def expected(rule: Rule) -> list[str]:
    """Return a line per load: the sizes at which the decision changes, and at extra sizes."""
    lines = []
    for outstanding, busy in LOADS:
        chosen = rule.decide(np.arange(SIZE_COUNT, dtype=np.uint64), outstanding, busy >= 1)
        changes = np.flatnonzero(chosen[1:] != chosen[:-1]) + 1
        more = [bool(rule.decide(np.array([s], dtype=object), outstanding, busy >= 1)[0])
                for s in extra_sizes(rule)]  # fmt: skip
        lines.append(" ".join(map(str, [int(chosen[0]), *changes, *map(int, more)])))
    return lines


C_MAIN = """
#include <stdio.h>
int main(void) {
    static const unsigned loads[][2] = {%(loads)s};
    static const uint64_t extra[] = {%(extra)s};
    for (unsigned k = 0; k < sizeof loads / sizeof *loads; k++) {
        int last = %(name)s(0, loads[k][0], loads[k][1]);
        printf("%%d", last);
        for (uint64_t g = 1; g < %(count)s; g++) {
            int now = %(name)s(g, loads[k][0], loads[k][1]);
            if (now != last) printf(" %%llu", (unsigned long long)g);
            last = now;
        }
        for (unsigned i = 0; i < sizeof extra / sizeof *extra; i++)
            printf(" %%d", %(name)s(extra[i], loads[k][0], loads[k][1]));
        printf("\\n");
    }
    return 0;
}
"""
RUST_MAIN = """
fn main() {
    let loads: Vec<(u32, u32)> = vec![%(loads)s];
    let extra: Vec<u64> = vec![%(extra)s];
    for (n, b) in loads {
        let mut last = %(name)s(0, n, b);
        print!("{}", last as u8);
        for g in 1..%(count)s {
            let now = %(name)s(g, n, b);
            if now != last { print!(" {}", g); }
            last = now;
        }
        for g in &extra { print!(" {}", %(name)s(*g, n, b) as u8); }
        println!();
    }
}
"""


@pytest.mark.parametrize(
    ("ending", "compiler", "flags"),
    [
        (".h", "cc", ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-x", "c"]),
        (".hpp", "c++", ["-Wall", "-Wextra", "-Werror", "-O1", "-x", "c++"]),
        (".rs", "rustc", ["-O", "-D", "warnings", "-A", "dead_code"]),
    ],
)
def test_compiled_functions_equal_the_rule_at_all_sizes(
    rules: list[Rule], tmp_path: Path, ending: str, compiler: str, flags: list[str]
) -> None:
    (program,) = needs(compiler)
    rust = ending == ".rs"
    for rule, name in zip(rules, name_functions(rules), strict=True):
        brackets = "()" if rust else "{}"
        loads = ", ".join(f"{brackets[0]}{n}, {b}{brackets[1]}" for n, b in LOADS)
        extra = ", ".join(f"{size}{'' if rust else 'ull'}" for size in extra_sizes(rule))
        words = {"loads": loads, "extra": extra, "name": name, "count": SIZE_COUNT}
        text = emit_rules(rules, ["source: a \\ test"], tmp_path / f"rule{ending}")
        source = tmp_path / f"main{'.rs' if rust else '.c'}"
        source.write_text(text + (RUST_MAIN if rust else C_MAIN) % words, encoding="utf-8")
        command = [program, *flags, str(source), "-o", str(tmp_path / "main")]
        subprocess.run(command, check=True, capture_output=True, text=True)
        done = subprocess.run([str(tmp_path / "main")], check=True, capture_output=True, text=True)
        assert done.stdout.splitlines() == expected(rule), rule.name


def test_the_python_function_equals_the_rule(rules: list[Rule], tmp_path: Path) -> None:
    space: dict[str, object] = {}
    exec(emit_rules(rules, [], tmp_path / "rule.py"), space)  # noqa: S102
    for rule, name in zip(rules, name_functions(rules), strict=True):
        decide = space[name]
        assert callable(decide)
        for outstanding, busy in LOADS:
            chosen = rule.decide(np.arange(8192.0), outstanding, busy >= 1)
            assert [decide(g, outstanding, busy) for g in range(8192)] == chosen.tolist()


def test_a_noisy_threshold_keeps_the_last_decision(rules: list[Rule], tmp_path: Path) -> None:
    space: dict[str, object] = {}
    ti = rules[0]
    exec(emit_rules([ti], [], tmp_path / "rule.py"), space)  # noqa: S102
    steady = space["should_offload_steady"]
    assert callable(steady)
    threshold = ti.ranges[0].low
    assert ti.spread >= 4
    for last in (False, True):
        assert steady(threshold, 0, 0, last) is last
        assert steady(threshold // 2, 0, 0, last) is False
        assert steady(threshold * 2, 0, 0, last) is True


def test_a_gain_that_ends_has_two_thresholds(rules: list[Rule]) -> None:
    law = LAWS["two crossings"]
    grid = np.geomspace(SIZES[0], SIZES[-1], 997)
    for n in (0, 1):
        ahead = (1.0 + n) * device(law, grid) <= host(law, grid)
        assert (rules[2].decide(grid, n) == ahead).all()
    assert 0 < rules[2].ranges[0].low < rules[2].ranges[0].high < ANY


def test_busy_cores_count_the_host_time_only(rules: list[Rule]) -> None:
    """The busy time of TI's engine is at most 20.2 µs + 5.95 ns/B, and at 1 KiB less than T0."""
    ti = rules[0]
    size = np.array([512.0, 1024.0, 2048.0])
    assert ti.decide(size, 0).tolist() == [False, False, False]
    assert ti.decide(size, 0, all_busy=True).tolist() == [False, True, True]
    assert not ti.decide(size, 2, all_busy=True).any()
    (extension,) = measured("ti_crypto", "AM62X aes-128-cbc ce")
    assert make_rule(extension).ranges == ()
    assert all(high < 0 for _, high in extension.freed.values())


def test_regret_is_the_mean_loss_over_log_uniform_sizes() -> None:
    size: Array = np.array([1.0, 100.0])
    curve = TimesCurve(size, size, 0.0 * size + 10.0, 0.0 * size + 10.0)
    late = find_regret([Range(0, False, 20, ANY)], curve)
    loss = ((20.0 - 10.0) / 10.0 - np.log(2.0)) / np.log(100.0)
    assert late == pytest.approx(loss, rel=2e-3)
    assert find_regret(find_ranges(curve), curve) == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("cesa_aes", ["pr11182", "openwrt2821"]),
        ("page_migration_dma", ["v7.0-rc2 1ch"]),
    ],
)
def test_rules_of_measured_tables_lose_little(table: str, names: list[str]) -> None:
    """All tables: docs/validation/accuracy.md, by ``python -m benchmarks.measured_accuracy``."""
    for one in (one for one in measured(table, *names) if one.shape.both):
        rule = make_rule(one)
        assert rule.regret[LEFT_OUT] <= 0.05
        assert rule.regret[ON_TABLE] <= 0.01
        assert bool(rule.reason) == (one.left_out["median"] > 0.05)


def test_a_law_that_contradicts_a_row_does_not_decide() -> None:
    (one,) = measured("zynq_aes", "ecb-128-2020")
    rule = make_rule(one)
    assert rule.reason == "the law contradicts the measured times at a size"
    assert rule.ranges[0].low < 2048


def test_queue_depths_give_the_part_of_a_call_that_occupies_the_accelerator() -> None:
    """A closed queue by mean value analysis; the calls of other depths change no fit."""
    service, depths = 3e-6, range(1, 9)
    rest = float(device(LAWS["linear"], SIZES[3:4])[0]) - service
    latency, waiting = [], 0.0
    for n in depths:
        latency.append(rest + service * (1.0 + waiting))
        waiting = n * (latency[-1] - rest) / latency[-1]
    queue = np.column_stack([np.full(8, SIZES[3]), list(depths), latency])
    fitted = fit_law("linear")
    rule = make_rule(replace(fitted, series=replace(fitted.series, queue=queue)))
    part = service / (rest + service)
    assert f"the next by {100 * part:.3g} %" in rule.assumptions[0]
    grid = np.geomspace(SIZES[0], SIZES[-1], 997)
    ahead = (1.0 + 4 * part) * device(LAWS["linear"], grid) <= host(LAWS["linear"], grid)
    assert (rule.decide(grid, 4) == ahead).mean() > 0.998
    queue[:, 2] = latency[0]  # calls that do not delay each other: at most one in eight
    flat = make_rule(replace(fitted, series=replace(fitted.series, queue=queue)))
    assert "the next by 12.5 %" in flat.assumptions[0]


def test_rows_of_other_queue_depths_are_only_for_the_queue(tmp_path: Path) -> None:
    host_time, device_time = host(LAWS["linear"], SIZES), device(LAWS["linear"], SIZES)
    rows = [f"{g},{h},{a},1" for g, h, a in zip(SIZES, host_time, device_time, strict=True)]
    rows += [f"{SIZES[2]},,{n * 1e-5},{n}" for n in (2, 4, 8)]
    table = tmp_path / "times.csv"
    table.write_text("\n".join(["granularity_B,host_s,accelerated_s,queue_depth", *rows]))
    ((series,), _) = read_series(table)
    assert np.nanmax(np.abs(series.column(True)[1] / device_time - 1.0)) < 1e-9
    assert series.queue[-3:].tolist() == [[SIZES[2], n, n * 1e-5] for n in (2, 4, 8)]


def test_a_table_without_both_times_has_no_rule(tmp_path: Path) -> None:
    one = fit(Series("host", SIZES, host(LAWS["linear"], SIZES), NAN, NAN, NAN))
    with pytest.raises(InputError, match="0 sizes have both times, so there is no rule"):
        make_rule(one)
    target = tmp_path / "rule.h"
    fits = measured("cesa_aes", "pr11182", "openwrt2821")
    (text,) = write_rules(fits, MEASURED / "cesa_aes.csv", target)
    assert "no rule: openwrt2821: 0 sizes have both times" in text
    assert "// no rule: openwrt2821" in target.read_text(encoding="utf-8")
    assert "should_offload: from 1,004 B; regret at most" in text


def test_a_rule_in_an_unknown_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"does not end in \.h, .* or \.rs\n.*Python or Rust"):
        run(MEASURED / "fft_mkl_cufft.csv", emit=tmp_path / "rule.go")


STUDY = """
[study]
name = "emitted"
models = ["objectives.logca:offload", "objectives.freed_time:freed_time"]
[inputs]
computational_index = 90
overhead = 29000
latency = 1500
wait_mode = 1
completion_time = 500
granularity = "4 KiB"
[space]
acceleration = { values = [5, 19] }
[[objective]]
maximize = "speedup"
[regions]
axis = "granularity"
low = "16 B"
high = "1 MiB"
"""


def test_a_design_of_a_run_has_a_rule(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    folder, target = tmp_path / "run", tmp_path / "rule.h"
    dse.load(tmp_path / "study.toml").run(out=folder)
    command = ["explain", str(folder), "--design", "1", "--emit", str(target)]
    assert CliRunner().invoke(commands, command).exit_code == 0
    text = target.read_text(encoding="utf-8")
    # C g = o + L + C g / A, and with busy cores C g = o + completion
    idle, busy = 30500 / (90 * (1 - 1 / 19)), 29500 / 90
    assert f"outstanding <= 0 && bytes >= {int(np.ceil(idle))}" in text
    assert (
        f"cores_busy >= OFFLOAD_CORES && outstanding <= 1 && bytes >= {int(np.ceil(busy))}" in text
    )
    assert "acceleration 19" in text
    refused = CliRunner().invoke(commands, command)
    assert isinstance(refused.exception, InputError)
    assert "--force replaces it" in str(refused.exception)
