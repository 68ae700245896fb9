"""`dse fit`: tables in, text, JSON, catalog and page out; refused input; fits in studies."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from benchmarks.measured_accuracy import fits as table_fits
from dse.fit.cli import fit as fit_command
from dse.fit.command import as_catalog, run
from dse.fit.law import times
from dse.fit.measurement_fit import Fit
from dse.fit.series import read_series
from dse.model.quantity import Array
from dse.problems import InputError
from dse.study.catalog import load_catalog
from dse.study.input_files import to_toml
from tests.pages import read_page

MEASURED = Path(__file__).parents[2] / "benchmarks" / "measured"
HEAD = "granularity_B,host_s,accelerated_s"
ONE = "granularity_B,host_s"  # one column is fitted sooner than two
G: Array = np.exp2(np.arange(4.0, 21.0, 2.0))
HOST: Array = 5e-8 + 3e-9 * G
DEVICE: Array = 1.3e-5 + 6e-10 * G


def written(folder: Path, *columns: Any, head: str = HEAD) -> Path:
    path = folder / "times.csv"
    rows = (",".join(str(cell) for cell in row) for row in zip(*columns, strict=True))
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return a folder with every form of the fits of a table, and the texts of the command."""
    folder = tmp_path_factory.mktemp("fitted")
    files = [folder / f"fitted.{ending}" for ending in ("json", "toml", "html")]
    return folder, run(MEASURED / "cesa_aes.csv", ["run"], (), *files)


@pytest.fixture
def folder(fitted: tuple[Path, list[str]], tmp_path: Path) -> Path:
    shutil.copy(fitted[0] / "fitted.toml", tmp_path)
    return tmp_path


def test_measured_series_are_fitted_into_every_form(fitted: tuple[Path, list[str]]) -> None:
    folder, said = fitted
    data = json.loads((folder / "fitted.json").read_text(encoding="utf-8"))
    assert list(data) == ["pr11182", "afalg_readme", "openwrt1547", "openwrt2821"]
    keys = ["parameters", "intervals", "break_even", "break_even_interval", "leave_one_out"]
    crossings = {"pr11182": 931.0, "afalg_readme": 1078.0, "openwrt1547": 1590.0}  # by hand
    for name, record in data.items():
        assert list(record) == [*keys, "notes", "covariance"]
        assert record["intervals"].keys() == record["parameters"].keys()
        for value, (low, high) in zip(
            record["parameters"].values(), record["intervals"].values(), strict=True
        ):
            assert float(low) <= float(value) <= float(high)
        assert record["leave_one_out"]["median"] < 0.03
        if name in crossings:
            assert record["break_even"] == pytest.approx(crossings[name], rel=0.1)
            low, high = record["break_even_interval"]
            assert low < record["break_even"] < high
        else:
            assert record["break_even"] is None
    assert any("leave-one-out error" in text for text in said)
    page = read_page(folder / "fitted.html")
    assert page.count('<section class="series">') == 4
    assert "default-src" in page
    assert "g_A/2 (if l = 0) = " in page
    study = folder / "study.toml"
    options = '"pr11182", "afalg-readme", "openwrt1547"'
    study.write_text(STUDY.replace("OPTIONS", options), encoding="utf-8")
    best = dse.load(study).run().best("break_even")
    assert best["measured"] == "pr11182"
    assert float(best["break_even"]) == pytest.approx(data["pr11182"]["break_even"], rel=1e-6)


STUDY = """
[study]
name = "fitted"
models = ["objectives.logca:offload"]
[inputs]
clock = "1 GHz"
granularity = "4 KiB"
[space]
measured = { catalog = "fitted.toml", options = [OPTIONS] }
[[objective]]
minimize = "break_even"
own_host = true
[[objective]]
maximize = "speedup"
own_host = true
"""


# Offloading is always beneficial, never, and up to a size; from a size on, it is above.
TABLES = [MEASURED / f"{name}.csv" for name in ("fft_mkl_cufft", "optee_sha1", "ucx_rocm_d2h")]


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_a_study_on_a_row_has_the_break_even_and_the_speedup_of_the_fit(
    table: Path, tmp_path: Path
) -> None:
    found = [one for one in table_fits(table) if isinstance(one, Fit) and one.shape.both]
    fits = {re.sub("[^A-Za-z0-9]+", "-", one.series.name): one for one in found}
    (tmp_path / "fitted.toml").write_text(as_catalog(list(fits.values()), table.name))
    (tmp_path / "study.toml").write_text(STUDY.replace("OPTIONS", str(list(fits))[1:-1]))
    designs = dse.load(tmp_path / "study.toml").evaluate({"measured": list(fits)})
    size, none = np.full(2, 4096.0), np.zeros(2)
    for (name, one), (_, design) in zip(fits.items(), designs.iterrows(), strict=True):
        analysis = one.analysis
        host, device = times(analysis.fit, size, none, np.array([False, True]))[0]
        assert design["speedup"] == pytest.approx(host / device, rel=1e-6), name
        if analysis.break_even is not None:
            assert design["break_even"] == pytest.approx(analysis.break_even, rel=1e-6), name
        else:
            assert (
                design["break_even"] <= 1.0 if analysis.always else math.isinf(design["break_even"])
            )


def test_an_unusable_series_leaves_the_others(tmp_path: Path) -> None:
    throughput, flat = G / HOST / 1e9, np.full_like(G, 1e-6)
    hosts = np.concatenate([HOST, throughput, flat])
    names = np.repeat(["good", "rate", "flat"], len(G))
    table = written(tmp_path, np.tile(G, 3), hosts, names, head=f"{ONE},run")
    said = "\n".join(run(table, ["run"]))
    assert "left out: rate: host_s levels off as calls grow: that is a throughput" in said
    assert "left out: flat: the times hardly grow with the sizes" in said
    assert "\ngood\n" in said


@pytest.mark.parametrize(("use", "message"), [(130.0, "more than 100 %"), (0.0, "is zero")])
def test_a_cpu_use_that_no_core_has_is_refused(tmp_path: Path, use: float, message: str) -> None:
    table = written(tmp_path, G, HOST, DEVICE, 0 * G + use, head=f"{HEAD},cpu_percent")
    with pytest.raises(InputError, match=message):
        run(table)


def test_an_infinite_acceleration_is_a_number_that_a_study_takes(tmp_path: Path) -> None:
    catalog = tmp_path / "fitted.toml"
    run(written(tmp_path, G, 3e-9 * G, 0 * G + 1e-5), catalog=catalog)
    figure = load_catalog(catalog).rows["times"]
    assert "no work shows in the times" in catalog.read_text(encoding="utf-8")
    content = {
        "study": {"name": "t", "models": ["objectives.logca:offload"]},
        "inputs": {"clock": "1 GHz", "kernel": {"catalog": "fitted.toml", "row": "times"}},
        "space": {"granularity": {"values": ["64 KiB", "1 MiB"]}},
        "objective": [{"maximize": "speedup"}],
    }
    best = loaded(tmp_path, content).run().best("speedup")
    size = 2.0**20
    assert figure is not None
    assert best["speedup"] == pytest.approx(3e-9 * size / 1e-5, rel=1e-3)


A_BIT = 1 / 8 / 1024  # KiB


@pytest.mark.parametrize(
    ("columns", "head", "message"),
    [
        ((G[:3], HOST[:3], DEVICE[:3]), HEAD, "has 3 sizes: a fit needs at least 4"),
        ((G, np.where(G == 64, 0.0, HOST), DEVICE), HEAD, "'host_s' is zero in line 3"),
        ((np.where(G == 64, 0.0, G), HOST, DEVICE), HEAD, "'granularity_B' is zero in line 3"),
        ((G, HOST, np.where(G == 256, -1.0, DEVICE)), HEAD, "'accelerated_s' is negative in line"),
        ((G, np.where(G > 1e4, 1e6, 1.0) * HOST, DEVICE), HEAD, "are units mixed"),
        ((G, [f"{t} s" for t in HOST], DEVICE), HEAD, "only numbers, in the unit"),
        ((G, G / HOST / 1e3, G / DEVICE / 1e3), HEAD, "that is a throughput"),
        ((G, G / HOST / 1e9, G / DEVICE / 1e9), HEAD, "that is a throughput"),
        ((G, HOST), "granularity_B,host_MBps", "column 'host_MBps' is a throughput"),
        ((G, HOST, DEVICE), "granularity,host,accelerated", "has no unit in its name"),
        ((G, HOST, HOST), "granularity_B,host_s,host_us", "are both the host"),
        ((G, HOST), "host_B,granularity_s", "a number in 'B' is needed"),
        ((G, HOST), "bytes,seconds", "has no column of sizes"),
        ((G, HOST), "granularity_B,host_cycles", "no clock is given"),
        ((G, HOST, DEVICE), "host_s,granularity_B,accelerated_s", "under its name, or is its unit"),
        ((G, HOST, DEVICE), "granularity_B,host_s,acclerated_s", "did you mean 'accelerated_s'"),
        ((G, HOST, DEVICE), "granularity_B,host_s,accelerator_s", "did you mean 'accelerated_s'"),
        ((G, HOST, DEVICE), "granularity_B,hosts_s,accelerated_s", "did you mean 'host_s'"),
        ((G, HOST, G), "granularity_B,host_s,granularity_uot_B", "mean 'granularity_out_B'"),
        ((), HEAD, r"has no measurements\n.* a row for each measurement"),
        (
            (np.where(G[0] == G, 0.9 * A_BIT, G / G[0] * A_BIT), HOST, DEVICE),
            "granularity_KiB,host_s,accelerated_s",
            r"'granularity_KiB' .*less than a bit in line 2",
        ),
    ],
)
def test_a_table_that_cannot_be_fitted_is_refused(
    tmp_path: Path, columns: Any, head: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run(written(tmp_path, *columns, head=head))


def test_hints_on_a_table_and_units_in_names(tmp_path: Path) -> None:
    host = ["nan" if size == 64 else time for size, time in zip(G, HOST, strict=True)]
    device = ["" if size < 300 else time for size, time in zip(G, DEVICE, strict=True)]
    head = f"{HEAD},host_sd_s,hosts_s,buffer_B,run,threads,host_MBps"
    more = [HOST / 9, HOST, G, ["a"] * len(G), 0 * G + 1, G]
    hints = read_series(written(tmp_path, G, host, device, *more, head=head))[1]
    assert list(hints) == [
        "not used: 'host_sd_s', 'hosts_s', 'buffer_B' and 'host_MBps'",
        "there is no number for 'host_s' in 1 and 'accelerated_s' in 3 of 9 rows",
    ]
    table = written(tmp_path, G, HOST, 0 * G, head=f"{ONE},time_s")
    assert read_series(table, ["time_s"])[1] == []
    head = "granularity_KiB,host_us,accelerated [cycle]"
    table = written(tmp_path, G / 1024, HOST * 1e6, DEVICE * 2e9, head=head)
    ((series,), _) = read_series(table, (), 2e9)
    for found, true in ((series.size, G), (series.host, HOST), (series.accelerated, DEVICE)):
        assert found == pytest.approx(true, rel=1e-12)
    bit = written(tmp_path, G / G[0] * A_BIT, HOST, head="granularity_KiB,host_s")
    assert read_series(bit)[0][0].size[0] == 0.125  # the least


def test_several_series_in_one_are_mentioned_first(tmp_path: Path) -> None:
    hosts, names = np.concatenate([HOST / 1.7, HOST, 1.7 * HOST]), np.repeat(list("abc"), len(G))
    said = run(written(tmp_path, np.tile(G, 3), hosts, names, head=f"{ONE},run"))
    assert said[0] == "'run' has 3 values: --by run fits each of them"
    assert said[1].index("off in the median") < said[1].index("law: ")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["overhed=1"], "did you mean 'overhead'"),
        (["overhead=5 B"], "a number in 's' is needed"),
        (["acceleration=0"], "must be more than 0"),
        (["overhead=5"], r'overhead = 5 has no unit\n +such as overhead="5 us"'),
        (["clock=2"], "clock = 2 has no unit"),
        (["overhead=1us", "overhead=2us"], "overhead is given several times"),
        (["overhead=1us, clock=1 GHz"], r"--given: overhead: '.*' is not a unit"),
        (["overhead=1 ms"], "times: --given: overhead is given as 1 ms, but a call has 13 µs"),
        (["complexity=7"], "complexity is 7, but must be more than 0 and at most 3"),
        (["host_fixed_time=1s"], r"as 1 s, which no call can be below\n.* takes 98 ns in all"),
        (["complexity=2"], r"complexity is given as 2: with it the host times do not follow"),
        (["latency_per_byte=1 us/B"], r"latency_per_byte is given .*\n +leave it out$"),
        (["complexity=1", "computational_index=1 us/B"], r"--given: computational_index is given"),
    ],
)
def test_a_wrong_given_value_is_refused(tmp_path: Path, given: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(written(tmp_path, G, HOST, DEVICE), given=given)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    table = written(tmp_path, G, HOST, head=ONE)
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
        assert f"--json: {same} is the file of --html" in text
        assert "did you mean 'overhead'" in text
    with pytest.raises(InputError, match=r"mine.toml is there already\n +--force replaces it"):
        run(table, catalog=mine)
    with pytest.raises(InputError, match=r"x.json does not end in .toml\n.* TOML file: .*/x.toml"):
        run(table, catalog=tmp_path / "x.json")
    wrong = [tmp_path / name for name in ("x.toml", "times.csv.v2", "x")]
    with pytest.raises(InputError) as refused:
        run(table, (), (), *wrong)
    rights = [problem.remedy.rpartition("/")[2] for problem in refused.value.problems]
    assert rights == ["times.csv.v2.toml", "x.html", "x.json"]
    assert mine.read_text(encoding="utf-8") == "mine"
    assert table.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"times.csv", "link.toml", "mine.toml"}
    done = CliRunner().invoke(fit_command, [str(table), "-o", str(mine), "--force"])
    assert done.exit_code == 0
    assert "[times]" in mine.read_text(encoding="utf-8")


def test_columns_that_name_no_series_are_refused(tmp_path: Path) -> None:
    blank, runs = [""] * len(G), ["a"] * len(G)
    table = written(tmp_path, G, HOST, blank, runs, head=f"{ONE},note,run")
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
    table = written(tmp_path, G, HOST, runs, head=f"{ONE},run")
    said = run(table, ["run"])
    assert said[0].startswith("left out: without run: host_s has 2 sizes: a fit needs at least 4")
    assert said[-1].startswith("a\n")


# ------------------------------------------------------------------------------- fits in studies


def content(**entry: Any) -> dict[str, Any]:
    return {
        "study": {"name": "fitted", "models": ["objectives.logca:offload"]},
        "inputs": {
            "clock": "1 GHz",
            "kernel": {"catalog": "fitted.toml", "row": "pr11182", "uncertain": True, **entry},
        },
        "space": {"granularity": {"values": ["256 B", "1 KiB", "64 KiB"]}},
        "objective": [{"maximize": "speedup", "reduce": "95 %"}],
    }


def loaded(folder: Path, study: dict[str, Any]) -> dse.Study:
    (folder / "study.toml").write_text(to_toml(study))
    return dse.load(folder / "study.toml")


def test_a_study_draws_a_row_as_it_was_fitted(folder: Path) -> None:
    row = load_catalog(folder / "fitted.toml").rows["pr11182"]
    assert row.together is not None
    study = loaded(folder, content() | {"uncertainty": {"samples": 4096}})
    samples = {name: v for name, (_, v) in study.uncertainty.inputs.items()}
    assert list(samples) == list(row.together.of)
    columns = [v if n in row.together.normal else np.log(v) for n, v in samples.items()]
    wanted = np.array(row.together.covariance)
    scale = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
    assert np.cov(np.array(columns)) / scale == pytest.approx(wanted / scale, abs=0.02)
    assert np.median(samples["overhead"]) == pytest.approx(study.constants["overhead"], rel=0.01)
    answer = study.run().answer()
    assert answer.confidence["robust"]
    assert "front shift" in answer.confidence["check first"]


def test_overrides_and_rows_of_a_variable_vary_on_their_own(folder: Path) -> None:
    study = loaded(folder, content(override={"overhead": "9 us"}))
    assert "overhead" not in study.uncertainty.inputs
    assert "computational_index" in study.uncertainty.inputs
    own = {"overhead": {"between": ["8 us", "9 us"]}}
    assert "overhead" in loaded(folder, content(override=own)).uncertainty.inputs
    given = content()
    kernel = given["inputs"].pop("kernel")
    kernel["options"] = ["pr11182", "openwrt1547"]
    del kernel["row"]
    given["objective"][0]["own_host"] = True
    study = loaded(folder, {**given, "space": {**given["space"], "kernel": kernel}})
    assert {"overhead of pr11182", "overhead of openwrt1547"} <= set(study.uncertainty.inputs)
    assert len(study.run().front) == 1


def test_a_row_without_a_covariance_is_refused(folder: Path) -> None:
    text = (folder / "fitted.toml").read_text()
    kept = [line for line in text.splitlines() if not line.startswith("together")]
    (folder / "fitted.toml").write_text("\n".join(kept))
    with pytest.raises(InputError, match="no row has the covariance of its values"):
        loaded(folder, content())
