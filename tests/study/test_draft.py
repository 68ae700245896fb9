"""First drafts of studies: they say what they assume, run as they stand, and name what is wrong."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

import dse
from dse.study.catalog import find_catalog, load_catalog
from objectives.communication import load_dataflow, verdict
from objectives.drafts.blocks import list_sizes
from objectives.partition import Architecture, Workloads, block_times, cpu_time
from tests.commands import Done, called

ROOT = Path(__file__).parents[2]
PROFILES = ROOT / "studies" / "profiles"


def new(*arguments: object, cwd: Path, code: int = 0) -> Done:
    done = called("new", *map(str, arguments), cwd=cwd, columns=100)
    assert done.returncode == code, done.stderr
    return done


def drafted(folder: Path, *arguments: object) -> dse.Study:
    new("draft.toml", *arguments, "--force", cwd=folder)
    return dse.load(folder / "draft.toml")


def holds_alternatives(result: dse.StudyResult) -> None:
    """Require a front of several designs, between which each objective differs."""
    front = result.front.designs
    assert result.certificate.complete
    assert len(front) >= 5
    assert not [note for note in result.notes if note.startswith("objective")]
    for objective in result.objectives:
        assert front[objective.name].nunique() >= 2, objective.name


def test_the_example_runs_and_reaches_its_break_even(tmp_path: Path) -> None:
    study = drafted(tmp_path)
    result = study.run()
    holds_alternatives(result)
    front = result.front.designs
    # LogCA's g1 for a linear kernel, nearly: calls of 64 B last 64 * 90 cycles on the host
    assert (front["interface_overhead"] + 1500 < 64 * 90 * 1.05).all()
    assert study.name == "draft"


def test_a_shipped_study_is_copied_with_its_files(tmp_path: Path) -> None:
    done = new("draft.toml", "--example", "jpeg", cwd=tmp_path)
    assert "profiles/jpeg.json" in done.stdout
    copy, shipped = dse.load(tmp_path / "draft.toml"), dse.load(ROOT / "studies" / "jpeg.toml")
    assert copy.name == "draft"
    assert copy.evaluator.space.size == shipped.evaluator.space.size
    (tmp_path / "profiles" / "jpeg.json").write_text("mine")
    refused = new("other.toml", "--example", "jpeg", cwd=tmp_path, code=2)
    assert "profiles/jpeg.json" in refused.stderr
    assert "--force" in refused.stderr
    assert (tmp_path / "profiles" / "jpeg.json").read_text() == "mine"
    near = new("third.toml", "--example", "jpge", cwd=tmp_path, code=2)
    assert "did you mean 'jpeg'?" in near.stderr


@pytest.mark.parametrize(
    ("given", "engines"),
    [
        (["--kernel", "aes", "--interface", "axi-dma"], ["aes-4-rounds", "aes-14-rounds"]),
        (["--kernel", "sha", "--host", "sparc-t4", "--interface", "cxl-x8"], ["sha256", "sha512"]),
        (["--kernel", "fft"], None),
    ],
)
def test_a_kernel_of_the_catalogs(
    tmp_path: Path, given: list[str], engines: list[str] | None
) -> None:
    study = drafted(tmp_path, *given)
    written = tomllib.loads((tmp_path / "draft.toml").read_text())
    # with fewer values: tests/test_walk.py runs a draft of a kernel whole
    fewer = {"streams": 16, "lanes": 4, "arbitration": "work-conserving"} if engines else {}
    holds_alternatives(study.with_inputs(**fewer).run())
    if engines is None:
        assert "engine" not in written["space"]  # no engine of the catalog is for it
    else:
        assert written["space"]["engine"]["options"] == engines
    host = written["inputs"]["kernel"]["row"]
    platforms = load_catalog(find_catalog("platforms")).rows
    clock = platforms["sparc-t4" if "sparc-t4" in host else "ultrasparc-t2"].values["clock"]
    assert host.endswith("gpu-host") or written["inputs"]["clock"] == clock.text
    assert "Table 5" in (tmp_path / "draft.toml").read_text()  # where the figures are from


def test_behind_an_interface_that_never_pays_the_study_still_runs(tmp_path: Path) -> None:
    study = drafted(tmp_path, "--kernel", "aes", "--interface", "pci-card")
    few = {"engine": "aes-4-rounds", "streams": 16, "pipeline_depth": 4, "lanes": 4}
    result = study.with_inputs(**few, arbitration="work-conserving").run()
    assert 0 < result.best("speedup")["speedup"] < 1
    assert '# quantity = "speedup"' in (tmp_path / "draft.toml").read_text()


def test_costs_of_an_interface_are_those_of_the_catalog_in_the_hosts_cycles(tmp_path: Path) -> None:
    drafted(tmp_path, "--kernel", "gemm", "--interface", "axi-dma", "--interface", "instruction")
    rows = tomllib.loads((tmp_path / "draft.toml").read_text())["space"]["interface"]["rows"]
    # 830 ns and 0.8333 ns/B at 2.27 GHz; what the host moves itself counts as latency of a byte
    assert rows["axi-dma"] == pytest.approx(
        {"overhead": 200, "latency": 1884.1, "latency_per_byte": 1.89159}
    )
    assert rows["instruction"] == {"overhead": 111, "latency": 4, "latency_per_byte": 0.25}


WRONG = ["--kernel", "ase", "--host", "sparct4", "--engine", "sha265", "--interface", "axidma"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (WRONG, [f"did you mean '{near}'?" for near in ("aes", "sparc-t4", "sha256", "axi-dma")]),
        (
            ["--kernel", "aes", "--engine", "sha256"],
            ["'sha256' is not for the kernel 'aes'", "aes-4-rounds, aes-14-rounds"],
        ),
        (
            ["--kernel", "gemm", "--host", "sparc-t4"],
            ["hosts: discrete-gpu, integrated-gpu, shared-memory-gpu"],
        ),
        (["--question", "offload", "--host", "x"], ["--question", "--from PROFILE", "--host"]),
        (["--kernel", "aes", "--from", "p.json"], ["of a kernel or of a program"]),
        (["--from", PROFILES], ["a study is of one program"]),
    ],
)
def test_wrong_options_are_reported_at_once(
    tmp_path: Path, given: list[str], words: list[str]
) -> None:
    told = new("a.toml", *given, cwd=tmp_path, code=2).stderr
    assert all(word in told for word in words), told
    assert not list(tmp_path.iterdir())


def test_nothing_is_replaced_unasked_and_a_refusal_leaves_all_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "mine.toml"
    target.write_text("mine")
    assert "--force replaces it" in new(target.name, cwd=tmp_path, code=2).stderr
    new(target.name, "--force", "--kernel", "nothing-like-it", cwd=tmp_path, code=2)
    assert target.read_text() == "mine"
    new(target.name, "--force", cwd=tmp_path)
    assert "[study]" in target.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["mine.toml"]  # no half-written file beside it
    assert "ends in .toml" not in new("mine", cwd=tmp_path, code=2).stderr
    assert "is a folder" in new(tmp_path, cwd=tmp_path, code=2).stderr
    assert "there is no folder" in new("no/a.toml", cwd=tmp_path, code=2).stderr


def test_the_profile_is_named_from_the_studys_folder(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    profile = json.loads((PROFILES / "sor.json").read_text())
    (tmp_path / "sor.json").write_text(json.dumps(profile))
    new("studies/sor.toml", "--from", "sor.json", cwd=tmp_path)
    written = tomllib.loads((tmp_path / "studies" / "sor.toml").read_text())
    assert written["inputs"]["dataflow"] == "../sor.json"
    assert dse.load(tmp_path / "studies" / "sor.toml").name == "sor"


@pytest.mark.parametrize("question", ["communication", "partition", "offload"])
def test_a_study_of_a_program_runs_as_it_stands(tmp_path: Path, question: str) -> None:
    study = drafted(tmp_path, "--from", PROFILES / "sor.json", "--question", question)
    result = study.run()
    holds_alternatives(result)
    assert result.best("speedup")["speedup"] > 1.2


GRIND = """# callgrind format
cmd: ./walk 3
events: Ir
fn=(1) main
1 1000
cfn=(2) step
calls=100 1
1 900000
cfn=(3) rest
calls=10 1
1 90000
fn=(2)
1 900000
fn=(3)
1 90000
"""


def test_without_transfers_a_draft_is_of_upper_bounds(tmp_path: Path) -> None:
    (tmp_path / "callgrind.out.1").write_text(GRIND)
    study = drafted(tmp_path, "--from", tmp_path / "callgrind.out.1")
    assert [o.name for o in study.evaluator.objectives] == ["speedup", "accelerators"]
    answer = study.run().answer()
    assert answer.verdict.startswith(
        "walk: the profile has no transfers and no code. Speedups are upper bounds."
    )
    assert "90.8 % of the instructions" in (tmp_path / "draft.toml").read_text()
    arguments = ("other.toml", "--from", "callgrind.out.1", "--question", "offload")
    refused = new(*arguments, cwd=tmp_path, code=2)
    assert "has no transfers and no code, which this question needs" in refused.stderr


def test_functions_are_named_with_their_share_and_place(tmp_path: Path) -> None:
    drafted(tmp_path, "--from", PROFILES / "jpeg.json")
    text = (tmp_path / "draft.toml").read_text()
    chosen = tomllib.loads(text)["space"]["accelerated"]["of"]
    commented = re.findall(r'^    # "(\w+)",', text, re.MULTILINE)
    program = load_dataflow(PROFILES / "jpeg.json")
    costly = r"^# (\w+): [\d.]+ %; [\d,]+ calls of an accelerator cost more"
    slower = set(re.findall(costly, text, re.MULTILINE))
    assert {"get_bit", "get_symbol", "idct_1d"} <= slower
    others = set(program.candidates[:20]) - {*chosen, *commented, *slower}
    assert all(verdict(program, name).share < 0.01 for name in others)
    assert not set(chosen) & set(commented)
    assert chosen == [name for name in program.candidates if name in chosen]  # by their work
    assert re.search(r'"idct", +# jpeg.c:230; 28.8 % of the time', text)
    assert "decode_blocks" in chosen  # its three allocations are nothing for 4 million instructions
    assert "read_stream" not in chosen + commented
    assert "# main: 100.0 %; the program's frame" in text


def test_blocks_take_the_time_of_the_cpu_and_sizes_end_with_all_that_could_move(
    tmp_path: Path,
) -> None:
    drafted(tmp_path, "--from", PROFILES / "md5.json", "--question", "partition")
    written = tomllib.loads((tmp_path / "draft.toml").read_text())
    graph = Workloads.load(PROFILES / "md5.json").graphs[0][0]
    assert written["space"]["accelerator_size"]["values"] == list_sizes(
        int(graph.area[graph.movable].sum())
    )
    machine = Architecture(level1_latency=2.0, cpu_instruction_time=1.5)
    assert block_times(graph, machine).sum() == pytest.approx(float(cpu_time(graph, machine)))
    # Table I, the model's defaults, stands in the study
    for name, value in Architecture()._asdict().items():
        if name not in (
            "shared_level",
            "accelerator_cache",
            "shared_penalty",
            "pairwise_crossings",
        ) and not name.endswith("_cost"):  # of classes of instructions: an option beside the paper
            assert written["inputs"][name] == value


def test_what_is_not_a_profile_of_one_program_is_reported(tmp_path: Path) -> None:
    (tmp_path / "fft.json").write_text("{}")
    told = new("a.toml", "--from", "fft.jsn", cwd=tmp_path, code=2).stderr
    assert "did you mean 'fft.json'?" in told
    assert "not a profile" in new("a.toml", "--from", "fft.json", cwd=tmp_path, code=2).stderr
    profile = json.loads((PROFILES / "sor.json").read_text())
    profile["settings"]["caches"] = []
    profile["accesses"], profile["crossings"], profile["reads"] = [], [], []
    (tmp_path / "bare.json").write_text(json.dumps(profile))
    given = ("--from", "bare.json", "--question", "partition")
    assert "no caches" in new("a.toml", *given, cwd=tmp_path, code=2).stderr


def test_a_program_whose_functions_never_pay_is_still_explored(tmp_path: Path) -> None:
    """A function of one addition: each call costs 935 cycles of the interface."""
    profile = tables_of(
        tmp_path / "tiny",
        'main,1,1000,100,10\n"a ""b""",1000,1000,0,1\n',
        'main,"a ""b""",4000\n"a ""b""",main,4000\n',
        'main,"a ""b""",1000\n',
    )
    for question in ("communication", "offload"):
        study = drafted(tmp_path, "--from", profile, "--question", question)
        result = study.run()
        assert set(result.front.designs["accelerated"]) == {'a "b"'}
        assert result.best("speedup")["speedup"] < 1
        assert result.answer().verdict.startswith("No design in this space is beneficial: best ")
    assert "an accelerator is beneficial for no function" in (tmp_path / "draft.toml").read_text()


def tables_of(folder: Path, functions: str, transfers: str, calls: str) -> Path:
    folder.mkdir()
    head = "function,invocations,computation,local_bytes,code\n"
    (folder / "functions.csv").write_text(head + functions)
    (folder / "transfers.csv").write_text("from,to,bytes\n" + transfers)
    (folder / "calls.csv").write_text("caller,function,calls\n" + calls)
    return folder


@pytest.mark.parametrize("question", ["communication", "offload"])
def test_no_draft_admits_an_engine_that_fits_no_device(tmp_path: Path, question: str) -> None:
    """`encode` would take 16 engines of 100,000 adders; a XC7V2000T has 1,221,600 LUT."""
    profile = tables_of(
        tmp_path / "program",
        "main,1,400000,0,10\nencode,1,9000000,400000,100000\nblur,1,2000000,400000,14\n",
        "main,blur,20000\nblur,main,20000\nmain,encode,20000\nencode,main,20000\n",
        "main,blur,1\nmain,encode,1\n",
    )
    result = drafted(tmp_path, "--from", profile, "--question", question).run()
    assert "1221.6 kLUT" in (tmp_path / "draft.toml").read_text()
    assert result.front.designs["area"].max() <= 1_221_600
    assert "blur" in result.nash()["accelerated"]  # its gain sets the least speedup


def test_a_drafted_minimum_is_a_gain_of_five_percent_or_more(tmp_path: Path) -> None:
    """A quarter of the gain of `blur` is three percent."""
    profile = tables_of(
        tmp_path / "program",
        "main,1,980000,0,10\nblur,1,150000,0,14\n",
        "main,blur,100\nblur,main,100\n",
        "main,blur,1\n",
    )
    drafted(tmp_path, "--from", profile)
    (least,) = re.findall(r"at_least = (\S+)", (tmp_path / "draft.toml").read_text())
    assert least == "1.05"


def test_a_draft_recommends_no_gain_below_five_percent(tmp_path: Path) -> None:
    profile = tables_of(
        tmp_path / "program",
        "main,1,990000,0,10\nblur,1,45000,0,14\n",
        "main,blur,100\nblur,main,100\n",
        "main,blur,1\n",
    )
    answer = drafted(tmp_path, "--from", profile).run().answer()
    assert answer.verdict == "No design in this space meets speedup >= 1.05."
    assert not answer.beneficial


@pytest.mark.parametrize("question", ["communication", "offload", "system"])
def test_a_draft_names_only_functions_that_its_study_can_choose(
    tmp_path: Path, question: str
) -> None:
    """`last` computes less than twenty others, and most of these are too small, as in a solver.

    A call of `step0` has 6 instructions: no interface starts an engine in this time.
    """
    small = [f"step{i}" for i in range(19)]
    profile = tables_of(
        tmp_path / "program",
        "main,1,400000,0,10\nblur,1,2800000,400000,14\nlast,1,500000,100,6\n"
        + "".join(f"{name},100000,600000,0,6\n" for name in small),
        "main,blur,20000\nblur,main,20000\n",
        "main,blur,1\nmain,last,1\n" + "".join(f"main,{name},100000\n" for name in small),
    )
    study = drafted(tmp_path, "--from", profile, "--question", question)
    text = (tmp_path / "draft.toml").read_text()
    assert '"last"' not in text and '"step0"' not in text
    assert "\n# step0: " in text
    assert "; 100,000 calls of an accelerator cost more than its work" in text
    assert len(study.run().front.designs)


def test_the_recommendation_has_the_hot_function(tmp_path: Path) -> None:
    """Half of the work is in `product`, and a fifth in `encode`, whose engine is small."""
    profile = tables_of(
        tmp_path / "program",
        "main,1,300000,0,40\nproduct,1,500000,200000,60\nencode,1,200000,20000,20\n",
        "main,product,30000\nproduct,main,15000\nmain,encode,2000\nencode,main,1000\n",
        "main,product,1\nmain,encode,1\n",
    )
    result = drafted(tmp_path, "--from", profile).run()
    recommended, best = result.nash(), result.best("speedup")
    assert [o.name for o in result.objectives] == ["speedup", "area"]
    assert "product" in recommended["accelerated"]
    assert recommended["speedup"] - 1 > 0.6 * (best["speedup"] - 1)


def test_a_draft_without_critical_paths_begins_with_this(tmp_path: Path) -> None:
    document = json.loads((PROFILES / "sor.json").read_text())
    result = drafted(tmp_path, "--from", PROFILES / "sor.json").run()
    warning = "# Critical paths were not measured: a serial function, such as a decoder, may gain"
    assert (tmp_path / "draft.toml").read_text().startswith(warning)
    assert not [note for note in result.notes if "is not used" in note]
    for function in document["functions"]:
        function["critical_path"] = {"calls": 1, "work": 1000, "length": 500}
    (tmp_path / "measured.json").write_text(json.dumps(document))
    drafted(tmp_path, "--from", "measured.json")
    assert "Critical paths" not in (tmp_path / "draft.toml").read_text()


def test_functions_without_critical_paths_are_named(tmp_path: Path) -> None:
    """What runs only below many levels of calls has no critical path, and no limit."""
    document = json.loads((PROFILES / "sor.json").read_text())
    for function in document["functions"]:
        if function["name"] == "main":
            function["critical_path"] = {"calls": 1, "work": 1000, "length": 500}
    (tmp_path / "deep.json").write_text(json.dumps(document))
    study = drafted(tmp_path, "--from", "deep.json")
    first = (tmp_path / "draft.toml").read_text().splitlines()[0]
    assert first.startswith("# Critical paths were not measured for functions that ran only below")
    deep = load_dataflow(tmp_path / "deep.json")
    assert deep.candidates[0] in first
    (gap,) = deep.missing
    assert re.match(r"functions with \d[\d.]* % of the computation ran only below", gap)
    assert deep.candidates[0] in gap
    assert len(study.run().front.designs)


@pytest.mark.parametrize(
    ("program", "kernels"),
    [
        ("sor", {"sweep"}),  # nearly all of the time, and its parts have little of it
        ("jpeg", {"decode_blocks", "colour_conversion", "upsample"}),  # parts of decode
    ],
)
def test_kernels_of_a_system_have_most_of_the_time(
    tmp_path: Path, program: str, kernels: set[str]
) -> None:
    new("s.toml", "--from", PROFILES / f"{program}.json", "--question", "system", cwd=tmp_path)
    assert set(tomllib.loads((tmp_path / "s.toml").read_text())["kernel"]) == kernels


def test_options_of_a_system_are_named_in_words(tmp_path: Path) -> None:
    study = drafted(tmp_path, "--from", PROFILES / "jpeg.json", "--question", "system")
    answer = str(study.run().answer())
    assert "keeps data 0" not in answer
    assert "fetches data for each call" in answer


def test_an_engine_for_one_large_pass_fits_into_the_area_of_its_draft(tmp_path: Path) -> None:
    """The buffers and contexts of eight threads are most of the area: 200,000 B in and out."""
    profile = tables_of(
        tmp_path / "pass",
        "main,1,400000,0,10\nblur,1,2800000,400000,14\n",
        "main,blur,200000\nblur,main,200000\n",
        "main,blur,1\n",
    )
    result = drafted(tmp_path, "--from", profile, "--question", "offload").run()
    holds_alternatives(result)
    assert (result.front.designs["area"] > 200_000).any()


def test_a_file_that_cannot_be_written_is_named_as_it_was_asked_for(tmp_path: Path) -> None:
    """The temporary file was named, here the only one with too long a name."""
    name = f"{'x' * 246}.toml"
    told = new(name, cwd=tmp_path, code=2).stderr
    assert told == f"{name}: cannot be written or read: File name too long\n"
    assert not list(tmp_path.iterdir())
