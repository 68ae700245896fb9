"""Bad studies: exit code 2, one message with place, value and remedy, nothing left on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.cli import main

STUDY = """
[study]
name = "t"
models = ["objectives.logca:offload"]
[inputs]
overhead = 29000
computational_index = 90
[space]
acceleration = { integer = [2, 64] }
latency = { values = [100, 1500] }
[[objective]]
maximize = "speedup"
at = { granularity = "1 KiB" }
[[objective]]
minimize = "break_even"
"""
ACCELERATION = "{ integer = [2, 64] }"
LATENCY = "latency = { values = [100, 1500] }"
MODEL = '"objectives.logca:offload"'
FAST = '[[constraint]]\nquantity = "speedup"\nat_least = 100\nat = { granularity = "1 KiB" }\n'

# what is changed (old, new) or added; what the message must hold: place, value, remedy
CASES: dict[str, tuple[list[tuple[str, str]], str, list[str]]] = {
    "misspelt key": ([("[study]", '[study]\nabot = "x"')], "", ["study.abot", "'about'"]),
    "unknown section": ([], "[spaces]\nx = 1\n", ["spaces", "'space'"]),
    "misspelt input": (
        [("overhead = ", "overhaed = ")],
        "",
        ["inputs.overhaed", "'overhead'", "[cycle]", "1 problem"],
    ),
    "misspelt variable": ([("acceleration =", "accelaration =")], "", ["'acceleration'"]),
    "misspelt objective": (
        [('"break_even"', '"brake_even"')],
        "",
        ["objective[2].minimize", "'brake_even'", "'break_even'"],
    ),
    "misspelt binding": ([("granularity", "granularty")], "", ["objective[1].at", "'granularity'"]),
    "missing input": (
        [("computational_index = 90\n", "")],
        "",
        ["missing input 'computational_index' [cycle/B]", "(0, inf)", "speedup", "break_even"],
    ),
    "an empty file": ([(STUDY, "")], "", ["the file is empty", "dse new"]),
    "missing sections": ([(STUDY, "[run]")], "", ["study", "space", "objective"]),
    "empty input": (
        [("computational_index = 90", "computational_index = {}")],
        "",
        ["inputs.computational_index: {} is an empty table", "1 KiB", "1 problem"],
    ),
    "empty condition": (
        [('granularity = "1 KiB"', "granularity = {}")],
        "",
        ["objective[1].at.granularity: {} is an empty table", "1 KiB", "1 problem"],
    ),
    "infinite text": (
        [("computational_index = 90", 'computational_index = "inf"')],
        "",
        ["inputs.computational_index: 'inf' is not finite", "cycle/B", "1 problem"],
    ),
    "infinite option": (
        [(ACCELERATION, '{ values = [4, "inf"] }')],
        "",
        ["space.acceleration", "'inf' is not finite"],
    ),
    "dead knob": (
        [(LATENCY, LATENCY + "\ntarget_speedup = { values = [1, 2] }")],
        "",
        ["space.target_speedup", "no effect", "acceleration"],
    ),
    "value given twice": (
        [(LATENCY, LATENCY + "\noverhead = { integer = [1, 5] }")],
        "",
        ["space.overhead", "given twice", "[inputs]"],
    ),
    "output given": (
        [("overhead = 29000", "overhead = 29000\nbreak_even = 3")],
        "",
        ["inputs.break_even", "given twice", "objectives.logca:break_even"],
    ),
    "unknown unit": ([("29000", '"29 furlong"')], "", ["inputs.overhead", "'furlong'", "cycle"]),
    "wrong dimension": ([("29000", '"29 kB"')], "", ["inputs.overhead", "'kB'", "'cycle'"]),
    "no clock": ([("29000", '"29 us"')], "", ["inputs.overhead", "clock"]),
    "no number": ([("29000", '"many cycles"')], "", ["inputs.overhead", "many cycles"]),
    "boolean": ([("29000", "true")], "", ["inputs.overhead", "true", "number"]),
    "NaN": ([("29000", "nan")], "", ["inputs.overhead", "NaN"]),
    "NaN bound": (
        [(ACCELERATION, "{ real = [nan, 2] }")],
        "",
        ["space.acceleration.real[1]", "NaN"],
    ),
    "outside the domain": ([("29000", "-1")], "", ["inputs.overhead", "-1 cycle", "[0, inf)"]),
    "variable outside the domain": (
        [(ACCELERATION, "{ integer = [-2, 64] }")],
        "",
        ["space.acceleration.integer", "-2", "(0, inf)"],
    ),
    "empty choice": (
        [(LATENCY, "latency = { values = [] }")],
        "",
        ["latency.values", "at least 1"],
    ),
    "low above high": ([("[2, 64]", "[64, 2]")], "", ["integer", "64", "lesser first"]),
    "no logarithm": (
        [(ACCELERATION, "{ real = [0, 64], log = true }")],
        "",
        ["space.acceleration.real", "low = 0", "greater than 0"],
    ),
    "two kinds": ([("[2, 64]", "[2, 64], real = [1, 2]")], "", ["acceleration", "exactly one"]),
    "a list as a variable": (
        [(ACCELERATION, "[2, 4, 8]")],
        "",
        ["space.acceleration", "write { values = [2, 4, 8] }"],
    ),
    "a range": (
        [(ACCELERATION, "{ range = [2, 64] }")],
        "",
        ["space.acceleration", "write { integer = [2, 64] }"],
    ),
    "numbers in quotes": (
        [("[2, 64]", '["2", "64"]')],
        "",
        ["space.acceleration.integer[1]", "write 2 without quotes"],
    ),
    "a misspelt unit": ([("29000", '"29 Kcycle"')], "", ["overhead", "did you mean '29 kcycle'?"]),
    "a rate for a time": (
        [("overhead = 29000", 'overhead = 29000\nlatency_per_byte = "24 GB/s"')],
        "",
        ["latency_per_byte", "did you mean '41.67 ps/B'?"],
    ),
    "no kind": ([("integer =", "intger =")], "", ["space.acceleration", "integer = [low, high]"]),
    "unknown sampler": (
        [],
        '[search]\nmethod = "NSGA5"\n',
        ["search.method", "'NSGA5'", "NSGAIISampler", "exhaustive"],
    ),
    "unknown option": (
        [],
        '[search]\nmethod = "NSGAIISampler"\noptions = { poplation_size = 9 }\n',
        ["search.options.poplation_size", "'population_size'"],
    ),
    "refused option": (
        [],
        '[search]\nmethod = "NSGAIISampler"\noptions = { population_size = 1 }\n',
        ["search.options", "population_size"],
    ),
    "negative evaluations": ([], "[search]\nevaluations = -4\n", ["search.evaluations", "-4"]),
    "too many designs": (
        [(ACCELERATION, "{ integer = [1, 1000000000000000] }"), (LATENCY, "")],
        'latency = { integer = [1, 1000000000000000] }\n[search]\nmethod = "exhaustive"\n',
        ["search.method", "10^30", "evolution", "acceleration"],
    ),
    "a continuum": (
        [("integer", "real")],
        '[search]\nmethod = "exhaustive"\n',
        ["search.method", "acceleration", "steps"],
    ),
    "infeasible": ([], FAST, ["no design is feasible", "excludes 126", "at_least = 3.01", "124"]),
    "no such module": (
        [("logca:", "logcaa:")],
        "",
        ["study.models[1]", "objectives.logcaa", "objectives.logca:offload"],
    ),
    "no such function": ([("offload", "offlod")], "", ["logca", "'offlod'", "'offload'"]),
    "no model": ([(MODEL, '"os.path:join"')], "", ["study.models[1]", "has no quantity"]),
    "no reference": ([(MODEL, '"objectives"')], "", ["study.models[1]", "module:function"]),
    "path outside": ([(MODEL, '"../m.py:f"')], "", ["'../m.py'", "outside the study's folder"]),
    "no such file": ([(MODEL, '"m.py:f"')], "", ["study.models[1]", "'m.py'"]),
    "model that raises": ([(MODEL, '"raises.py:f"')], "", ["ZeroDivisionError", "line 2"]),
    "no such catalog": (
        [(LATENCY, 'interface = { catalog = "interfces" }'), ("overhead = 29000\n", "")],
        "",
        ["space.interface.catalog", "'interfaces'"],
    ),
    "no such row": (
        [
            (LATENCY, 'interface = { catalog = "interfaces", options = ["pci-crad"] }'),
            ("overhead = 29000\n", ""),
        ],
        "",
        ["space.interface", "'pci-crad'", "'pci-card'"],
    ),
    "rows that differ": (
        [(LATENCY, "link = { rows = { a = { latency = 1 }, b = { latency_per_byte = 1 } } }")],
        "",
        ["space.link.rows.a", "latency_per_byte", "same quantities"],
    ),
    "both directions": (
        [('minimize = "break_even"', 'minimize = "break_even"\nmaximize = "speedup"')],
        "",
        ["objective[2]", "exactly one"],
    ),
    "equal objectives": (
        [('minimize = "break_even"', 'minimize = "speedup"\nat = { granularity = "1 KiB" }')],
        "",
        ["objective[2]", "objective[1]", "name ="],
    ),
    "scenarios without reduce": (
        [('at = { granularity = "1 KiB" }', 'over = { granularity = ["1 KiB", "2 KiB"] }')],
        "",
        ["objective[1].reduce", '"harmonic mean"'],
    ),
    "code in a relation": (
        [],
        "[[constraint]]\nrelation = \"__import__('os').getcwd() <= 1\"\n",
        ["constraint[1].relation", "unknown function"],
    ),
    "no relation": ([], '[[constraint]]\nrelation = "latency"\n', ["constraint[1].relation", "<="]),
    "unknown name in a relation": (
        [],
        '[[constraint]]\nrelation = "acceleraton <= 9"\n',
        ["constraint[1].relation", "'acceleration'"],
    ),
    "no bound": ([], '[[constraint]]\nquantity = "latency"\n', ["constraint[1]", "at_most"]),
    "no driver or server": (
        [],
        '[run]\nstorage = "postgresql://bob:hunter2@127.0.0.1:1/none"\n',
        ["run.storage", "postgresql://bob:***@127.0.0.1:1/none"],
    ),
    "not TOML": ([("[study]", "[study")], "", ["not TOML", "line 2"]),
}


def _study(folder: Path, changes: list[tuple[str, str]], added: str) -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    if added.startswith("latency"):  # into [space], before the objectives
        text = text.replace("[[objective]]", added.partition("\n")[0] + "\n[[objective]]", 1)
        added = added.partition("\n")[2]
    (folder / "raises.py").write_text("x = 1\ny = x / 0\n")
    path = folder / "study.toml"
    path.write_text(text + added)
    return path


def _fails(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["dse", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.mark.parametrize("case", CASES)
def test_bad_study(
    case: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    changes, added, wanted = CASES[case]
    path = _study(tmp_path, changes, added)
    before = sorted(p for p in tmp_path.rglob("*") if "__pycache__" not in p.parts)
    assert _fails(["run", str(path), "--out", str(tmp_path / "out")], monkeypatch) == 2
    message = capsys.readouterr().err
    for word in wanted:
        assert word in message, message
    assert "Traceback" not in message
    assert "hunter2" not in message
    after = sorted(p for p in tmp_path.rglob("*") if "__pycache__" not in p.parts)
    assert after == before


@pytest.mark.parametrize("command", ["run", "check"])
def test_no_study(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = _study(tmp_path, [], "")
    assert _fails([command, str(tmp_path / "studdy.toml")], monkeypatch) == 2
    assert "did you mean 'study.toml'?" in capsys.readouterr().err
    assert _fails([command, str(tmp_path)], monkeypatch) == 2
    assert "is a folder" in capsys.readouterr().err
    path.write_bytes(b"\xff\xfe")
    assert _fails([command, str(path)], monkeypatch) == 2
    assert "is not UTF-8 text" in capsys.readouterr().err


def test_every_problem_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each stage reports all its problems: the schema, and the names and numbers."""
    values = [("29000", '"29 kB"'), ("[2, 64]", "[64, 2]"), ('"break_even"', '"brake_even"')]
    schema = [('name = "t"', 'name = "t"\nabot = "x"'), ("[inputs]", "[input]")]
    for changes, places in (
        (values, ("inputs.overhead", "space.acceleration", "objective[2].minimize")),
        ([*values, *schema], ("study.abot", "input", "search.evaluations")),
    ):
        more = "[search]\nevaluations = -4\n" if changes is not values else ""
        path = _study(tmp_path, changes, more)
        assert _fails(["check", str(path)], monkeypatch) == 2
        message = capsys.readouterr().err
        assert message.startswith(f"{path}: 3 problems\n")
        assert all(f"  {place}" in message for place in places)


def test_two_constraints_say_which_design_is_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    added = FAST + '[[constraint]]\nrelation = "acceleration * latency <= 150"\n'
    path = _study(tmp_path, [], added)
    assert _fails(["run", str(path), "--out", str(tmp_path / "out")], monkeypatch) == 2
    message = capsys.readouterr().err
    assert "'speedup >= 100 at granularity = 1 KiB' excludes 126" in message
    assert "'acceleration * latency <= 150' excludes 126" in message
    assert "design" in message.splitlines()[-1]
