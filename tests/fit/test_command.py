"""`dse fit`: tables in, text, JSON, catalog and page out; what it refuses, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse.fit.cli import fit as fit_command
from dse.fit.command import run
from dse.model.quantity import Array
from dse.problems import InputError

MEASURED = Path(__file__).parents[2] / "benchmarks" / "measured"
HEAD = "granularity_B,host_s,accelerated_s"
G: Array = np.exp2(np.arange(4.0, 21.0, 2.0))
HOST: Array = 5e-8 + 3e-9 * G
DEVICE: Array = 1.3e-5 + 6e-10 * G


def written(folder: Path, *columns: Any, head: str = HEAD) -> Path:
    path = folder / "times.csv"
    rows = (",".join(str(cell) for cell in row) for row in zip(*columns, strict=True))
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def test_measured_series_are_fitted_into_every_form(tmp_path: Path) -> None:
    record, catalog, html = (tmp_path / name for name in ("fit.json", "fit.toml", "fit.html"))
    said = run(MEASURED / "cesa_aes.csv", ["run"], (), record, catalog, html)
    data = json.loads(record.read_text(encoding="utf-8"))
    assert list(data) == ["pr11182", "afalg_readme", "openwrt1547", "openwrt2821"]
    keys = ["parameters", "intervals", "break_even", "break_even_interval", "leave_one_out"]
    crossings = {"pr11182": 931.0, "afalg_readme": 1078.0, "openwrt1547": 1590.0}  # by hand
    for name, each in data.items():
        assert list(each) == [*keys, "notes", "covariance"]
        assert each["intervals"].keys() == each["parameters"].keys()
        for value, (low, high) in zip(
            each["parameters"].values(), each["intervals"].values(), strict=True
        ):
            assert float(low) <= float(value) <= float(high)
        assert each["leave_one_out"]["median"] < 0.03
        if name in crossings:
            assert each["break_even"] == pytest.approx(crossings[name], rel=0.1)
            low, high = each["break_even_interval"]
            assert low < each["break_even"] < high
        else:
            assert each["break_even"] is None
    assert any("leave-one-out error" in text for text in said)
    page = html.read_text(encoding="utf-8")
    assert page.count('<section class="series">') == 4
    assert "default-src 'none'" in page
    assert "g_A/2 (if l = 0) = " in page
    assert "\\u003c" not in page.split('id="plots">')[1].split("</script>")[0][:200]
    study = tmp_path / "study.toml"
    study.write_text(STUDY, encoding="utf-8")
    result = dse.load(study).run()
    best = result.best("break_even")
    assert best["measured"] == "pr11182"
    assert float(best["break_even"]) == pytest.approx(data["pr11182"]["break_even"], rel=0.02)


STUDY = """
[study]
name = "fitted"
models = ["objectives.logca:offload"]
[inputs]
clock = "1 GHz"
granularity = "4 KiB"
[space]
measured = { catalog = "fit.toml", options = ["pr11182", "afalg-readme", "openwrt1547"] }
[[objective]]
minimize = "break_even"
[[objective]]
maximize = "speedup"
"""


@pytest.mark.parametrize(
    ("columns", "head", "message"),
    [
        ((G[:3], HOST[:3], DEVICE[:3]), HEAD, "has 3 sizes: at least 4"),
        ((G, np.where(G == 64, 0.0, HOST), DEVICE), HEAD, "'host_s' is zero in line 3"),
        ((np.where(G == 64, 0.0, G), HOST, DEVICE), HEAD, "'granularity_B' is zero in line 3"),
        (
            (G, HOST, np.where(G == 256, -1.0, DEVICE)),
            HEAD,
            "'accelerated_s' is negative in line 4",
        ),
        ((G, np.where(G > 1e4, 1e6, 1.0) * HOST, DEVICE), HEAD, "are units mixed"),
        ((G, [f"{t} s" for t in HOST], DEVICE), HEAD, "numbers in the unit of its name"),
        ((G, G / HOST / 1e3, G / DEVICE / 1e3), HEAD, "that is a throughput"),
        ((G, G / HOST / 1e9, G / DEVICE / 1e9), HEAD, "that is a throughput"),
        ((G, HOST), "granularity_B,host_MBps", "column 'host_MBps' is a throughput"),
        ((G, HOST, DEVICE), "granularity,host,accelerated", "has no unit in its name"),
        ((G, HOST, HOST), "granularity_B,host_s,host_us", "are both the host"),
        ((G, HOST), "host_B,granularity_s", "a unit of time; a number in 'B' is needed"),
        ((G, HOST), "bytes,seconds", "has no column of sizes"),
        ((G, HOST), "granularity_B,host_cycles", "no clock is given"),
    ],
)
def test_a_table_that_cannot_be_fitted_is_refused(
    tmp_path: Path, columns: Any, head: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run(written(tmp_path, *columns, head=head))


@pytest.mark.parametrize(
    ("column", "place", "meant"),
    [
        ("acclerated_s", 2, "accelerated_s"),
        ("accelerator_s", 2, "accelerated_s"),
        ("hosts_s", 1, "host_s"),
        ("granularity_uot_B", 3, "granularity_out_B"),
    ],
)
def test_a_misspelt_column_is_refused(tmp_path: Path, column: str, place: int, meant: str) -> None:
    """The other time was fitted alone, and nothing was said."""
    head = [*HEAD.split(","), "run"]
    head[place] = column
    with pytest.raises(InputError) as refused:
        run(written(tmp_path, G, HOST, DEVICE, 0 * G + 2, head=",".join(head)))
    (problem,) = refused.value.problems
    assert problem.message == f"column '{column}' is not known"
    assert problem.remedy.startswith(f"did you mean '{meant}'?")


def test_times_and_sizes_that_are_not_used_are_told(tmp_path: Path) -> None:
    head = f"{HEAD},host_sd_s,hosts_s,buffer_B,run,threads"
    more = [HOST / 9, HOST, G, ["a"] * len(G), 0 * G + 1]
    said = run(written(tmp_path, G, HOST, DEVICE, *more, head=head))
    assert said[0] == "not used: 'host_sd_s', 'hosts_s' and 'buffer_B'"
    said = run(written(tmp_path, G, HOST, DEVICE, head="granularity_B,host_s,accel_s"))
    assert said[0] == "not used: 'accel_s' (did you mean 'accelerated_s'?)"
    assert len(run(written(tmp_path, G, HOST, DEVICE))) == 1
    assert (
        len(run(written(tmp_path, G, HOST, DEVICE, 0 * G, head=f"{HEAD},time_s"), ["time_s"])) == 1
    )


def test_sizes_below_a_bit_are_refused(tmp_path: Path) -> None:
    """With the columns of sizes and times exchanged, offloading paid at every size."""
    table = written(tmp_path, G, HOST, DEVICE, head="host_s,granularity_B,accelerated_s")
    with pytest.raises(InputError) as refused:
        run(table)
    (problem,) = refused.value.problems
    assert problem.message == (
        "column 'granularity_B' is 9.8×10⁻⁸ B in line 2 and in 8 more: less than a bit"
    )
    assert "is another column under its name" in problem.remedy
    kib = "granularity_KiB,host_s,accelerated_s"
    small = G / 16 / 8 / 1024  # KiB: from a bit on
    assert len(run(written(tmp_path, small, HOST, DEVICE, head=kib))) == 1
    with pytest.raises(InputError, match=r"'granularity_KiB' .* in line 2: less than a bit"):
        run(written(tmp_path, np.where(G[0] == G, 0.9 * small, small), HOST, DEVICE, head=kib))


@pytest.mark.parametrize("power", [1.0, 1.2])
def test_a_wrong_unit_of_one_time_is_asked_about(tmp_path: Path, power: float) -> None:
    host = 6e-9 * G**power
    slow, fast = 12e-6 + host * 50, 12e-6 + host * 1.5
    head = "granularity_B,host_s,accelerated_s"
    (text,) = run(written(tmp_path, G, host, slow, head=head))
    assert "pays at no size: large calls take at least 50 times as long as on the host. Is" in text
    (text,) = run(written(tmp_path, G, host, fast, head=head))
    assert "offloading pays at no size\n" in text


def test_rubbish_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rubbish = (rng.uniform(1, 1e6, 12), rng.uniform(0, 1, 12), rng.uniform(0, 1, 12))
    with pytest.raises(InputError, match=r"do not follow the sizes|are units mixed"):
        run(written(tmp_path, *rubbish))


def test_units_in_names_are_read(tmp_path: Path) -> None:
    head = "granularity_KiB,host_us,accelerated [ms]"
    record = tmp_path / "fit.json"
    table = written(tmp_path, G / 1024, HOST * 1e6, DEVICE * 1e3, head=head)
    run(table, record=record)
    parameters = json.loads(record.read_text(encoding="utf-8"))["times"]["parameters"]
    assert parameters["computational_index"] == pytest.approx(3e-9, rel=1e-6)
    assert parameters["overhead_and_latency"] == pytest.approx(1.3e-5, rel=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("overhed=1", "did you mean 'overhead'"),
        ("overhead=5 B", "a number in 's' is needed"),
        ("acceleration=0", "more than 0 is wanted"),
        ("overhead=5", r'overhead = 5 has no unit\n +such as overhead="5 us"'),
        ("clock=2", r"clock = 2 has no unit"),
        ("overhead=1 ms", "times: --given: overhead is given as 1 ms, but a call has 13 µs"),
        (
            "overhead=1us, clock=1 GHz",
            r"is 2 values: give each .*\n +--given overhead=1us --given 'clock=1 GHz'$",
        ),
        ("complexity=7", "complexity is 7: more than 0 and at most 3 is wanted"),
        ("host_fixed_time=1s", r"given as 1 s, which no call can be below\n.* takes 98 ns in all"),
        (
            "complexity=2",
            r"--given: complexity is given as 2: with it the host times do not follow the sizes.*\n"
            r" +without it they do, and give complexity = 1 \(",
        ),
        ("latency_per_byte=1 us/B", r"latency_per_byte is given .*\n +without it they do$"),
    ],
)
def test_a_wrong_given_value_is_refused(tmp_path: Path, given: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(written(tmp_path, G, HOST, DEVICE), given=[given])


def test_several_given_values_are_told_apart(tmp_path: Path) -> None:
    table = written(tmp_path, G[:6], HOST[:6], head="granularity_B,host_s")
    with pytest.raises(InputError, match="overhead is given 2 times: 1us and 2us"):
        run(table, given=["overhead=1us", "overhead=2us"])
    with pytest.raises(InputError) as refused:
        run(table, given=["complexity=1", "computational_index=1 us/B"])
    assert "computational_index is given as" in str(refused.value)
    assert "complexity" not in str(refused.value)
    flat = written(tmp_path, G, np.full_like(G, 1e-6), head="granularity_B,host_s")
    with pytest.raises(InputError, match="hardly grow") as refused:
        run(flat, given=["complexity=1"])
    assert "--given" not in str(refused.value)


def test_a_clock_without_cycles_is_told(tmp_path: Path) -> None:
    told = "the given clock has no effect: no column is in cycles"
    table = written(tmp_path, G, DEVICE, head="granularity_B,accelerated_s")
    assert run(table, given=["clock=1 GHz"])[0] == told
    assert told not in run(table, given=["overhead=1000 cycle", "clock=1 GHz"])
    cycles = written(tmp_path, G, HOST * 1e9, head="granularity_B,host_cycles")
    assert told not in run(cycles, given=["clock=1 GHz"])


def test_nothing_is_written_over(tmp_path: Path) -> None:
    table = written(tmp_path, G, HOST, DEVICE)
    before = table.read_bytes()
    link, mine = tmp_path / "link.toml", tmp_path / "mine.toml"
    link.symlink_to(table)
    mine.write_text("mine", encoding="utf-8")
    same = tmp_path / "same.html"
    for force in (False, True):
        with pytest.raises(InputError) as refused:
            run(table, (), ["overhed=1us"], same, link, same, force=force)
        text = str(refused.value)
        assert "-o: " in text
        assert "is the table of times itself" in text
        assert f"--json: {same} is what --html writes" in text
        assert "did you mean 'overhead'" in text
    with pytest.raises(InputError, match=r"mine.toml is there already\n +--force replaces it"):
        run(table, catalog=mine)
    wrong = [tmp_path / name for name in ("x.toml", "times.csv.v2", "x")]
    with pytest.raises(InputError) as refused:
        run(table, (), (), *wrong)
    rights = [problem.remedy.rpartition("/")[2] for problem in refused.value.problems]
    assert rights == ["times.csv.v2.toml", "x.html", "x.json"]
    with pytest.raises(InputError, match=r"x.json does not end in .toml\n.* TOML file: .*/x.toml"):
        run(table, catalog=tmp_path / "x.json")
    assert mine.read_text(encoding="utf-8") == "mine"
    assert table.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"times.csv", "link.toml", "mine.toml"}
    done = CliRunner().invoke(fit_command, [str(table), "-o", str(mine), "--force"])
    assert done.exit_code == 0
    assert "[times]" in mine.read_text(encoding="utf-8")


def test_columns_that_name_no_series_are_refused(tmp_path: Path) -> None:
    blank, runs = [""] * len(G), ["a"] * len(G)
    table = written(tmp_path, G, HOST, DEVICE, blank, runs, head=f"{HEAD},note,run")
    with pytest.raises(InputError) as refused:
        run(table, ["host_s", "note", "granularity_B", "rum"])
    problems = [(p.where, p.message, p.remedy) for p in refused.value.problems]
    assert problems == [
        ("--by", "'host_s' is a measurement, not a name for series", "--by takes run"),
        ("--by", "column 'note' is empty", "write the name of the series in it"),
        ("--by", "'granularity_B' is a measurement, not a name for series", "--by takes run"),
        ("--by", "no column 'rum'", "did you mean 'run'?"),
    ]
    runs[2:4] = ["", ""]
    table = written(tmp_path, G, HOST, DEVICE, runs, head=f"{HEAD},run")
    with pytest.raises(InputError, match="without run: host_s has 2 sizes"):
        run(table, ["run"])


def test_missing_numbers_are_told(tmp_path: Path) -> None:
    host = ["nan" if size == 64 else time for size, time in zip(G, HOST, strict=True)]
    device = ["" if size < 300 else time for size, time in zip(G, DEVICE, strict=True)]
    said = run(written(tmp_path, G, host, device))
    assert said[0] == (
        "there is no number for 'host_s' in 1 of 9 rows and 'accelerated_s' in 3 of 9 rows"
    )
    assert "there is no number" not in run(written(tmp_path, G, HOST, DEVICE))[0]
    for text in ("", f"{HEAD}\n"):
        empty = tmp_path / "empty.csv"
        empty.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"has no measurements\n.* a row for each measurement"):
            run(empty)


def test_several_series_in_one_are_told_first(tmp_path: Path) -> None:
    size, host = np.tile(G, 3), np.tile(HOST, 3)
    device = np.concatenate([DEVICE / 1.5, DEVICE, 1.6 * DEVICE])
    path = tmp_path / "several.csv"
    rows = zip(np.repeat(list("abc"), len(G)), size, host, device, strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text("\n".join(["run,granularity_B,host_s,accelerated_s", *lines]), encoding="utf-8")
    said = run(path)
    assert said[0] == "'run' has 3 values: --by run fits each of them"
    (text,) = said[1:]
    off, pays = text.index("off in the median"), text.index("offloading pays")
    assert off < pays
