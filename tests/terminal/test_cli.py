"""The command line, as a person meets it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from click.testing import CliRunner

import dse
from dse.cli import commands
from dse.explain.explanation import explain
from dse.explain.recommendation import assess_changes, named_designs
from dse.options import SingleOption
from dse.result.folder import load_copied_study, read_answer
from dse.run import run
from dse.study.study import rewrite_study
from dse.terminal.documents import explain_data, output_schema
from dse.terminal.fields import summarize_explanation, summarize_run
from tests.commands import Done, called

ROOT = Path(__file__).parents[2]


def _dse(*arguments: str, cwd: Path, code: int = 0, columns: int = 80) -> Done:
    done = called(*arguments, cwd=cwd, columns=columns)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with runs of two small shipped studies."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("sparc_evolution", "gpu_memory"):
        study = str(ROOT / "benchmarks" / "studies" / f"{name}.toml")
        _dse("run", study, "--out", name, "--quiet", cwd=folder)
    return folder


def test_help_and_version(tmp_path: Path) -> None:
    for columns in (60, 100):
        text = _dse("--help", cwd=tmp_path, columns=columns).stdout
        assert max(map(len, text.splitlines())) <= columns
        commands = text.partition("Commands:")[2]
        assert "..." not in commands  # no sentence is cut
        names = re.findall(r"^  ([a-z]+)  ", commands, re.MULTILINE)
        assert names[:5] == ["new", "check", "run", "explain", "report"]  # in the order of use
        assert {"list", "schema", "compare"} <= set(names)
    assert "0.1.0" in _dse("--version", cwd=tmp_path).stdout
    assert "Usage" in _dse("run", cwd=tmp_path, code=2).stderr
    assert "No such command" in _dse("rnu", cwd=tmp_path, code=2).stderr


def test_help_and_import_load_nothing_heavy() -> None:
    heavy = {
        *("numpy", "pandas", "optuna", "sqlalchemy", "plotly", "pint", "scipy", "pydantic"),
        *("rich", "moocore"),
    }
    code = "import sys\n"
    for statement, names in (
        ("import dse", heavy),
        ("import dse.cli", heavy),
        ("import dse.run", {"plotly", "jinja2"}),  # a run without a report
    ):
        code += f"{statement}; print(sorted({names!r} & set(sys.modules)))\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["[]"] * 3, done.stderr


def test_check_says_what_a_run_would_do(tmp_path: Path) -> None:
    study = str(ROOT / "studies" / "crypto.toml")
    text = _dse("check", study, "--verbose", "--graph", cwd=tmp_path, columns=44).stdout
    words = " ".join(text.split())
    assert "1,290,240 designs, exhaustive search" in words
    assert "lanes: 32 values" in words
    assert "objectives.machine:link: link_wait_time" in words
    assert list(tmp_path.iterdir()) == []
    assert max(map(len, text.splitlines())) <= 44 + len("objectives.communication:")


def test_names_that_differ_in_an_umlaut_have_folders_of_their_own(tmp_path: Path) -> None:
    text = (ROOT / "benchmarks" / "studies" / "sparc_evolution.toml").read_text()
    for name in ("grün", "grön", "gr n"):
        study = text.replace('name = "sparc_evolution"', f'name = "{name}"')
        (tmp_path / "study.toml").write_text(study, encoding="utf-8")
        assert "held another run" not in _dse("run", "study.toml", cwd=tmp_path).stdout
    found = [json.loads(p.read_text())["name"] for p in tmp_path.glob("runs/*/summary.json")]
    assert sorted(found) == ["gr n", "grön", "grün"]
    assert (tmp_path / "runs" / "gr-n" / "report.html").is_file()


def test_no_name_in_the_summary_is_broken(runs: Path) -> None:
    study = str(ROOT / "benchmarks" / "studies" / "sparc_evolution.toml")
    for columns in (44, 60, 80):
        line = ("run", study, "--out", "sparc_evolution", "--verbose")
        text = _dse(*line, cwd=runs, columns=columns).stdout
        assert "Complete: all 5 designs" in " ".join(text.split())
        assert max(len(line) for line in text.splitlines()[2:-1]) <= columns
        for name in ("break_even", "peak_speedup"):
            assert re.search(rf"\b{name}\b", text)
        if columns == 44:
            assert "best speedup, best break_even, Nash design: design 4" in " ".join(text.split())
    text = text[text.index("Complete") :].partition("a tenth")[0]
    rows = [line for line in text.splitlines() if re.match(r"^(best|Nash| {8})", line)]
    rows = [row for row in rows if re.search(r"\d\.\d", row)]
    points = [[found.start() for found in re.finditer(r"(?<=\d)\.(?=\d)", row)] for row in rows]
    assert len(points) == 2
    assert points[0] == points[1]


def test_explain_names_bottlenecks_and_regions(runs: Path) -> None:
    words = ("explain", "sparc_evolution", "--design", "1", "--verbose")
    text = _dse(*words, cwd=runs, columns=100).stdout
    assert "design 1 of sparc_evolution" in text
    assert re.search(
        r"overhead \(o\) +selected accelerator +29,000 cycle +2,900 cycle +speedup +\d", text
    )
    assert re.search(r"16 B to 1,362 B +overhead, computational index", text)
    asked = _dse("explain", "sparc_evolution", "--design", "1", "--json", cwd=runs).stdout
    (data,) = json.loads(asked)["designs"]
    regions = data["regions"][0]["regions"]
    assert [r["label"] for r in regions] == ["oC", "oCA", "CA", "A"]
    shares = [p["share"] for p in data["parts"] if p["total"] == "accelerated_time"]
    assert sum(shares) == pytest.approx(1)


@cache
def _checked_schema() -> dict[str, Any]:
    schema = output_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def _validate(command: str, text: str) -> None:
    """Hold a document to the schema of its command; an infinity or NaN is no JSON number."""
    schema = _checked_schema()
    whole = {"$defs": schema["$defs"], **schema["properties"][command]}
    jsonschema.Draft202012Validator(whole).validate(json.loads(text, parse_constant=pytest.fail))


def test_the_documents_of_commands_for_scripts(runs: Path) -> None:
    study = str(ROOT / "benchmarks" / "studies" / "sparc_evolution.toml")
    printed = json.loads(_dse("schema", "output", cwd=runs).stdout)
    assert printed == json.loads(json.dumps(output_schema()))
    done = _dse("run", study, "--out", "json", "--json", cwd=runs)
    _validate("run", done.stdout)
    assert json.loads(done.stdout) == json.loads((runs / "json" / "summary.json").read_text())
    certified = _dse("certify", "json", "--json", cwd=runs).stdout
    _validate("certify", certified)
    assert json.loads(certified)["refuted"] is False
    _validate("list", _dse("list", "interfaces", "--json", cwd=runs).stdout)
    for asked in (("check", study), ("compare", "json", "json"), ("status", "json")):
        _validate(asked[0], _dse(*asked, "--json", cwd=runs).stdout)
    with pytest.raises(jsonschema.ValidationError, match="additional"):
        _validate("status", '{"name": "a", "state": "finished", "more": 1}')


SLOW = {"cpu_accelerator"}  # docs/gallery/answers.md has its run


@pytest.mark.parametrize(
    "path",
    [p for p in sorted((ROOT / "studies").glob("*.toml")) if p.stem not in SLOW],
    ids=lambda p: p.stem,
)
def test_answers_are_short_and_json_is_all_that_a_command_writes(
    path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A solver wrote its banner before the data, past Python's own output."""
    study = dse.load(path)
    search = {"method": "evolution", "evaluations": 8, "generation": 8}
    content: Mapping[str, Any] = {**study.content, "search": search, "constraint": []}
    content = study.content if study.kernels else content  # few of their designs are feasible
    out = tmp_path / "run"
    result = run(rewrite_study(study, content), out, 1)
    made = load_copied_study(out)
    number = named_designs(made, result)[0]
    (explanation,) = explain(made, result, [number])
    changes = assess_changes(made, result)
    shown = {
        "run": summarize_run(result, read_answer(out), "run/report.html", 80),
        "explain": summarize_explanation(made, result, explanation, changes, 80),
        "check": _dse("check", str(path), cwd=tmp_path).stdout.splitlines(),
    }
    for command, most in {"run": 17, "explain": 30, "check": 12}.items():
        assert len(shown[command]) <= most, command
        assert max(map(len, shown[command])) <= 80
    data = {each.key: asdict(each) for each in changes}
    _validate("explain", json.dumps(explain_data(result, [explanation], {number: data})))
    _validate("run", (out / "summary.json").read_text())
    assert capfd.readouterr().out == ""


def test_explain_without_a_design_takes_the_nash_design_and_a_bad_folder_is_reported(
    runs: Path,
) -> None:
    assert "design 4 of" in _dse("explain", "sparc_evolution", cwd=runs).stdout
    assert "is not a run folder" in _dse("explain", "nothing", cwd=runs, code=2).stderr
    assert "0 to 4" in _dse("explain", "sparc_evolution", "--design", "5", cwd=runs, code=2).stderr


def test_compare(runs: Path) -> None:
    text = _dse("compare", "sparc_evolution", "sparc_evolution", cwd=runs).stdout
    assert "both fronts have the same points" in text
    data = json.loads(_dse("compare", "gpu_memory", "gpu_memory", "--json", cwd=runs).stdout)
    assert data["equal"] is True
    refused = _dse("compare", "sparc_evolution", "gpu_memory", cwd=runs, code=2).stderr
    assert "at granularity = 1 KiB" in refused
    assert "harmonic mean over granularity" in refused


def test_list(tmp_path: Path) -> None:
    text = _dse("list", cwd=tmp_path, columns=200).stdout
    (line,) = [line for line in text.splitlines() if "objectives.logca:offload" in line]
    assert "LogCA" in line
    assert "LogCA's rule" not in text
    assert not re.search(r":\w+:`|``|\[cycle\]", text)
    assert re.search(r"^ +interfaces  ", text, re.MULTILINE)
    for name in ("offload", "logca:offload"):
        details = _dse("list", name, cwd=tmp_path, columns=160).stdout
        assert re.search(r"^ +overhead +o +\[cycle\] +\[0, inf\)", details, re.MULTILINE)
    narrow = _dse("list", "clock_period", cwd=tmp_path).stdout
    assert "objectives.machine:engine" in narrow
    assert "objectives.logca:offload" not in narrow
    assert "nothing is called 'xyzzy'" in _dse("list", "xyzzy", cwd=tmp_path, code=2).stdout
    near = _dse("list", "interfacs", cwd=tmp_path, code=2).stdout
    assert "did you mean 'interfaces'?" in near


def test_schema_knows_every_section(tmp_path: Path) -> None:
    schema = json.loads(_dse("schema", cwd=tmp_path).stdout)
    assert set(schema["required"]) == {"study", "space", "objective"}
    assert schema["additionalProperties"] is False


def test_a_report_is_written_again_and_fresh_keeps_the_old_run(runs: Path) -> None:
    report = runs / "gpu_memory" / "report.html"
    first = report.read_bytes()
    report.unlink()
    _dse("report", "gpu_memory", cwd=runs)
    assert report.read_bytes() == first
    study = str(ROOT / "benchmarks" / "studies" / "gpu_memory.toml")
    _dse("run", study, "--out", "gpu_memory", "--fresh", "--quiet", cwd=runs)
    assert (runs / "gpu_memory.1" / "report.html").is_file()
    assert report.is_file()


def test_the_dashboard_opens_the_storage(runs: Path) -> None:
    storage = f"sqlite:///{runs / 'sparc_evolution' / 'study.db'}"
    dashboard = Path(sys.executable).with_name("optuna-dashboard")
    process = subprocess.Popen(
        [str(dashboard), storage, "--host", "127.0.0.1", "--port", "18086"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        names: list[str] = []
        for _ in range(100):
            try:
                url = "http://127.0.0.1:18086/api/studies"
                with urllib.request.urlopen(url, timeout=5) as answer:
                    names = [s["study_name"] for s in json.load(answer)["study_summaries"]]
                break
            except OSError:
                assert process.poll() is None, "the dashboard ended"
                time.sleep(0.1)
        assert names == ["sparc_evolution"]
    finally:
        process.terminate()
        process.wait(timeout=10)


# Options of the command line: one value where one is taken, and names of files ----------------


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("run s.toml -o a --out b", "'-o' / '--out': takes one value, but 'a' and 'b' are given"),
        ("run s.toml --workers 1 --workers 2", "'--workers': takes one value, but '1' and '2'"),
        ("new s.toml --kernel aes --kernel sha", "'--kernel': takes one value"),
        ("explain r --where a --where b --design 1 --design 2", "'--where': takes one value"),
        ("fit t.csv --html a --html b", "'--html': takes one value, but 'a' and 'b' are given"),
        ("profile p.c -O 1 -O 2", "'-O' / '--optimisation': takes one value"),
        ("certify r --seed 1 --seed 2", "'--seed': takes one value, but '1' and '2' are given"),
        ("run s.toml -o -", "'-' is not a file: give a name"),
        ("profile p.c -o -", "'-' is not a file"),
        ("profile p.json --html -", "'-' is not a file"),
        ("fit t.csv --json -", "'-' is not a file"),
    ],
)
def test_two_values_of_one_option_and_standard_output_are_refused(
    line: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last value was taken without a word, and a file named - was written."""
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(commands, line.split())
    assert found.exit_code == 2
    assert told in " ".join(found.output.split())
    assert not any(tmp_path.iterdir())


def test_equal_values_and_several_of_what_may_be_several_are_taken(tmp_path: Path) -> None:
    run = str(tmp_path / "none")
    line = ["explain", run, "--where", "a", "--where", "a", "--design", "1", "--design", "2"]
    found = CliRunner().invoke(commands, line)
    assert isinstance(found.exception, dse.InputError)
    assert "is not a run folder" in str(found.exception)


def test_every_option_of_every_command_is_one_of_ours() -> None:
    context = click.Context(commands)
    listed = [commands.get_command(context, name) for name in commands.list_commands(context)]
    assert None not in listed
    every = [p for c in listed if c for p in c.params if p.param_type_name == "option"]
    assert len(every) > 30
    assert [p.name for p in every if not isinstance(p, SingleOption)] == []
