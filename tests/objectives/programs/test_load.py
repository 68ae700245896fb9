"""Profiles of other profilers: callgrind's output and tables, and what is wrong with a file."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dse.problems import InputError
from objectives.communication import (
    acceleration,
    accelerator_area,
    from_profile,
    load_dataflow,
    load_dataflows,
)
from objectives.partition import Workloads
from objectives.programs import FORMS
from tests.communication_examples import Machine, profile_of
from tests.needs import needs

GRIND = """# callgrind format
version: 1
cmd: ./walk 3
positions: instr line
events: Cycles Ir

ob=(1) /bin/walk
fl=(1) walk.c
fn=(1) main
0x10 5 7 10
0x14 6
cfi=(2) util.c
cfn=(2) step
calls=3 0x20 9
0x14 6 90 60
+4 +1 1 2
cfn=(3) rare
calls=1 0x30 1
* * 5 4

fn=(2)
0x20 9 1 45
cfn=(2)
calls=2 0x20 9
0x22 9 30 20
cfn=(3)
calls=5 0x30 1
0x24 9 9 15

fl=(3) rare.c
fn=(3)
fi=(4) inlined.h
0x30 1 1 12
fe=(3)
0x32 2 1 7

totals: 9 76
"""


def write(folder: Path, **tables: str) -> Path:
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def problems(error: pytest.ExceptionInfo[InputError]) -> list[tuple[str, str, str]]:
    return [(p.where, p.message, p.remedy) for p in error.value.problems]


# --------------------------------------------------------------------------------------- callgrind


def test_callgrind_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "callgrind.out.1"
    path.write_text(GRIND)
    got = load_dataflow(path)
    assert (got.program, got.names) == ("walk", ("main", "step", "rare"))
    assert got.computation.tolist() == [12, 45, 19]
    assert got.invocations.tolist() == [1, 5, 6]
    assert got.calls.tolist() == [1, 3, 6]  # the recursion of step opens no context
    # main: 12; step with its part of rare, 15 of 19: 60; rare called from main: 4
    assert got.computation_inclusive.tolist() == [76, 60, 19]
    assert got.candidates == ("step", "rare")
    assert not got.transfers.any() and "records no transfers" in got.missing[0]
    assert load_dataflows(path).programs[0].names == got.names


LINKED = """# callgrind format
cmd: ./walk 3
events: Ir
ob=(1) /lib/ld-linux-x86-64.so.2
fn=(1) _dl_start
1 500
ob=(2) /bin/walk
fn=(2) main
1 10
cfn=(3) step
calls=100 1
1 900000
cfn=(4) grow
calls=1 1
1 30
cob=(3) /lib/libc.so.6
cfn=(5) printf
calls=1 1
1 70
fn=(3)
1 900000
fn=(4)
1 20
cob=(3)
cfn=(6) malloc
calls=1 1
1 10
ob=(3)
fn=(5)
1 60
cfn=(7) write
calls=1 1
1 10
fn=(6)
1 10
fn=(7)
1 10
"""


def test_callgrind_offers_only_functions_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "callgrind.out.1"
    path.write_text(LINKED)
    got = load_dataflow(path)
    assert got.candidates == ("step",)
    reasons = got.staying
    assert reasons["_dl_start"] == "not the program's own: in the loader"
    assert reasons["malloc"] == "not the program's own: in libc.so.6"
    assert reasons["grow"] == "allocates or frees memory in 1 call: malloc"
    assert got.including(["grow"]).candidates == ("step", "grow")
    assert got.kinds.io == {"write"}


def test_counts_that_a_source_lacks_are_unknown_and_not_zero(tmp_path: Path) -> None:
    path = tmp_path / "callgrind.out.1"
    path.write_text(LINKED)
    programs = load_dataflows(path)
    speed, costs = 10.0, 1.0
    found = acceleration(programs, 1.0, speed)
    assert float(found.speedup) == pytest.approx(900_610 / 90_610)
    assert np.isnan(found.medium_bytes)
    assert np.isnan(accelerator_area(programs, 1.0, speed, instruction_area=costs).area)
    table = write(
        tmp_path,
        functions="function,invocations,computation,local_bytes\nstep,1,10,8\n",
        transfers="from,to,bytes\n(input),step,16\n",
    )
    programs = load_dataflows(table)
    assert float(acceleration(programs, 1.0, speed).medium_bytes) == 16
    assert np.isnan(accelerator_area(programs, 1.0, speed, instruction_area=costs).area)


@pytest.mark.parametrize(
    ("old", "new", "where", "told"),
    [
        ("events: Cycles Ir", "events: Cycles Dr", "line 5", r"instructions \(Ir\)"),
        ("fn=(1) main", "fn=(9)", "line 9", r"\(9\) was not named"),
        ("calls=3 0x20 9", "calls=many", "line 14", "calls=NUMBER"),
        ("fn=(1) main\n", "", "line 9", "costs must follow fn="),
        ("cfn=(2) step\n", "", "line 13", "must follow cfn="),
        ("0x10 5 7 10", "0x10 5 7 ten", "line 10", "invalid literal"),
        ("fi=(4) inlined.h", "what=ever", "line 32", "unknown entry 'what'"),
        ("fi=(4) inlined.h", "hello", "line 32", "callgrind format"),
        (GRIND, "# callgrind format\nevents: Ir\n", "", "whole output"),
    ],
)
def test_bad_callgrind_is_reported_with_its_line(
    tmp_path: Path, old: str, new: str, where: str, told: str
) -> None:
    path = tmp_path / "callgrind.out.1"
    path.write_text(GRIND.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        load_dataflow(path)
    ((place, _, remedy),) = problems(error)
    assert place == where and re.search(told, remedy)


def test_callgrind_as_its_own_tool_reads_it(tmp_path: Path) -> None:
    needs("valgrind", "callgrind_annotate")
    path = tmp_path / "callgrind.out.1"
    program = [shutil.which("true") or "/bin/true"]
    grind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={path}", *program]
    subprocess.run(grind, check=True, capture_output=True)
    shown = subprocess.run(
        ["callgrind_annotate", "--threshold=100", "--show-percs=no", str(path)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    want: Counter[str] = Counter()
    for line in shown.splitlines():
        match = re.match(r"\s*([\d,]+)\s+\S+?:(\S.*?)(?: \[\S+\])?$", line)
        if match:
            want[match[2]] += int(match[1].replace(",", ""))
    got = load_dataflow(path)
    costs = dict(zip(got.names, got.computation, strict=True))
    assert len(want) > 20
    for name, cost in want.items():
        assert costs[name] == cost, name
    total = re.search(r"([\d,]+)\s+PROGRAM TOTALS", shown)
    assert total and got.computation.sum() == int(total[1].replace(",", ""))
    assert got.tree.computation.sum() == pytest.approx(got.computation.sum())


# ------------------------------------------------------------------------------------------ tables

TABLES = {
    "functions": "function,invocations,computation,local_bytes,code\n"
    'main,1,10,0,4\n"turn(int, int)",2,300,16,9\nstore,1,50,8,7\n',
    "transfers": 'from,to,bytes\n(input),main,9\nmain,"turn(int, int)",100\n'
    '"turn(int, int)",store,60\n"turn(int, int)",store,4\nmain,store,8\n',
    "calls": 'caller,function,calls\nmain,"turn(int, int)",2\nmain,store,1\n',
}


HEADER = "function,invocations,computation,local_bytes\n"


def test_tables_by_hand(tmp_path: Path) -> None:
    got = load_dataflow(write(tmp_path, **TABLES))
    assert got.names == ("main", "turn(int, int)", "store", "(input)")
    assert got.functions == 3 and got.candidates == ("turn(int, int)", "store")
    assert got.transfers[1].tolist() == [0, 0, 64, 0]
    assert got.transfers_into[:, 2].tolist() == [8, 64, 0, 0]
    assert got.transfers_out[1].tolist() == [0, 0, 64, 0]
    assert got.transfers_into[:, 0].tolist() == [0, 0, 0, 9]  # main does everything
    assert got.code.tolist() == [4, 9, 7, 0] and got.calls.tolist() == [1, 2, 1, 0]


def test_tables_without_calls_are_functions_side_by_side(tmp_path: Path) -> None:
    two = {name: text for name, text in TABLES.items() if name != "calls"}
    got = load_dataflow(write(tmp_path, **two))
    assert got.tree.parent.tolist() == [-1, -1, -1]
    assert got.candidates == ("turn(int, int)", "store")
    assert any("calls.csv" in sentence for sentence in got.missing)


def test_tables_of_a_profile_give_its_dataflow(tmp_path: Path) -> None:
    """What is not inclusive is the same; inclusive transfers are no smaller than measured."""
    profile = profile_of(Machine(5, functions=6).trace)
    want = from_profile(profile)
    rows = [
        f"{f.name},{f.invocations},{f.computation},{f.local_bytes},{i + 1}"
        for i, f in enumerate(profile.functions)
    ]
    homes = {block.id: block.function for block in profile.blocks}
    moved = (f"{t.source},{t.to},{t.bytes}" for t in profile.transfers)
    calls = (f"{homes[c.source]},{c.to},{c.count}" for c in profile.calls)
    tables = {
        "functions": "\n".join(["function,invocations,computation,local_bytes,code", *rows]),
        "transfers": "\n".join(["from,to,bytes", *moved]),
        "calls": "\n".join(["caller,function,calls", *calls]),
    }
    got = load_dataflow(write(tmp_path, **tables))
    assert got.names == want.names
    for name in ("invocations", "computation", "local_bytes", "code", "transfers", "calls"):
        assert np.array_equal(getattr(got, name), getattr(want, name)), name
    assert np.allclose(got.computation_inclusive, want.computation_inclusive)
    # each function has one caller here, so what is inside another is exact
    assert np.array_equal(got.inside, want.inside)
    away = 1.0 - want.inside
    assert np.array_equal(got.transfers_out * away.T, want.transfers_out * away.T)
    assert np.all(got.transfers_into >= want.transfers_into * away)


@pytest.mark.parametrize(
    ("table", "old", "new", "where", "told"),
    [
        ("functions", "local_bytes", "local_byts", "line 1", "local_bytes"),
        ("functions", ",code", ",local_bytes", "line 1", "is there twice"),
        ("functions", "main,1,10", "main,1,ten", "line 2, column 'computation'", "'ten'"),
        ("functions", "main,1,10", "main,-1,10", "line 2, column 'invocations'", "at least 0"),
        ("functions", "main,1,10", "main,1,inf", "line 2, column 'computation'", "in instr"),
        ("functions", "store,1", "main,1", "line 4, column 'function'", "twice"),
        ("functions", "store,1,50", "store,1", "line 4", "4 values for 5 columns"),
        ("transfers", "(input),main,9", "(input),mian,9", "line 2, column 'to'", "'main'"),
        ("transfers", "(input),main,9", "input,main,9", "line 2, column 'from'", "not in"),
        ("transfers", "main,store,8", "main,,8", "line 6, column 'to'", "is empty"),
        ("transfers", "main,store,8", "main,store,8 B", "line 6, column 'bytes'", "in B"),
        ("calls", "main,store,1", "(input),store,1", "line 3, column 'caller'", "not in"),
        ("calls", "caller,", "", "line 1", "'caller' is missing"),
        ("functions", TABLES["functions"], HEADER, "", "has no rows"),
    ],
)
def test_bad_tables_are_reported_with_line_and_column(
    tmp_path: Path, table: str, old: str, new: str, where: str, told: str
) -> None:
    with pytest.raises(InputError) as error:
        load_dataflow(write(tmp_path, **(TABLES | {table: TABLES[table].replace(old, new, 1)})))
    found = [(at, f"{message} {remedy}") for at, message, remedy in problems(error)]
    place = f"{table}.csv: {where}" if where else f"{table}.csv"
    assert any(at == place and told in text for at, text in found), found


@pytest.mark.parametrize(
    ("transfers", "message"),
    [(None, "there is no such file"), ('from,to,bytes\n"x', "is not a table"), ("\xff", "missing")],
)
def test_a_table_that_is_none_is_reported(
    tmp_path: Path, transfers: str | None, message: str
) -> None:
    folder = write(tmp_path, **{k: v for k, v in TABLES.items() if k != "transfers"})
    if transfers is not None:
        (folder / "transfers.csv").write_text(transfers)
    with pytest.raises(InputError) as error:
        load_dataflow(folder)
    found = [(at.partition(":")[0], text) for at, text, _ in problems(error)]
    assert ("transfers.csv", True) in [(at, message in text) for at, text in found]


def test_a_wrong_number_does_not_make_its_function_unknown(tmp_path: Path) -> None:
    functions = f"{HEADER}main,1,10,5\nwork,3,-1000,many\n"
    write(tmp_path, functions=functions, transfers="from,to,bytes\nmain,work,30\n")
    with pytest.raises(InputError) as raised:
        load_dataflow(tmp_path)
    columns = [where.rpartition(" ")[2] for where, _, _ in problems(raised)]
    assert columns == ["'computation'", "'local_bytes'"]


# --------------------------------------------------------------------------- one loader for models


def test_a_model_of_blocks_says_that_calls_are_not_enough(tmp_path: Path) -> None:
    path = tmp_path / "callgrind.out.1"
    path.write_text(GRIND)
    with pytest.raises(InputError, match="does not contain the program's basic blocks") as error:
        Workloads.load(path)
    assert error.value.source == str(path)
    write(tmp_path, **TABLES)
    with pytest.raises(InputError, match="give a profile of `dse profile`"):
        Workloads.load(tmp_path)


@pytest.mark.parametrize("load", [Workloads.load, load_dataflows])
def test_what_is_not_a_profile_is_reported_with_every_form(
    tmp_path: Path, load: Callable[[Path], object]
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(InputError, match="is not a program's profile") as error:
        load(path)
    for form in FORMS:
        assert form.name in str(error.value)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent")


@pytest.mark.parametrize("load", [Workloads.load, load_dataflows])
def test_every_problem_of_a_folder_is_reported(
    tmp_path: Path, load: Callable[[Path], object]
) -> None:
    profile = profile_of(Machine(3, functions=3).trace)
    bare = profile.model_copy(
        update={"settings": profile.settings.model_copy(update={"caches": (), "transfers": False})}
    )
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_text(bare.dumps())
    with pytest.raises(InputError) as error:
        load(tmp_path)
    assert [where.partition(":")[0] for where, _, _ in problems(error)] == ["a.json", "b.json"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"the folder (is empty|holds no)"):
        load(tmp_path / "empty")
