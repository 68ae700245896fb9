"""Code beside a study: each folder has its own, and the digest covers what is reached, no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest

import dse
from dse import Array, Floats, Quantity
from dse.model import monotonic
from dse.problems import InputError
from dse.search.bound.monotonicity import find_missing_declarations
from dse.search.bound.ranges import Ranges
from dse.study.code_loading import fingerprint, load_model
from tests.pages import read_page
from tests.toy import HEAD, MODEL, ONE, written

ROOT = Path(__file__).parents[2]
CRYPTO = ROOT / "studies" / "crypto.toml"


def _study(folder: Path, model: str, **helpers: str) -> dse.Study:
    folder.mkdir(exist_ok=True)
    (folder / "m.py").write_text(model)
    for name, text in helpers.items():
        path = folder / f"{name.replace('_of_', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (folder / "study.toml").write_text(ONE)
    return dse.load(folder / "study.toml")


def _best(study: dse.Study, **settings: object) -> float:
    return float(study.run(**settings).best("y")["y"])  # type: ignore[arg-type]


TOP = "import helper\n" + HEAD + "    return Out(x * helper.FACTOR)\n"
LAZY = HEAD + "    from helper import FACTOR\n\n    return Out(x * FACTOR)\n"
DOTTED = "import tools.inner, tools.inner as other\n" + HEAD + (
    "    assert other is tools.inner\n    return Out(x * tools.inner.FACTOR)\n"
)  # fmt: skip


def test_two_studies_have_each_their_own_helper(tmp_path: Path) -> None:
    paths = list(sys.path)
    one = _study(tmp_path / "one", TOP, helper="FACTOR = 1.0\n")
    two = _study(tmp_path / "two", TOP, helper="FACTOR = 2.0\n")
    assert (_best(one), _best(two)) == (50.0, 100.0)
    assert "helper" not in sys.modules
    assert sys.path == paths
    assert not list(tmp_path.rglob("__pycache__"))


def test_an_import_of_a_helper_in_a_function_is_refused(tmp_path: Path) -> None:
    """Functions travel to workers by value, and only with the modules that they hold."""
    with pytest.raises(InputError, match=r"imports 'helper' in a function\s+import files"):
        _study(tmp_path / "one", LAZY, helper="FACTOR = 1.0\n")


def test_helpers_travel_to_processes(tmp_path: Path) -> None:
    text = ONE + "[run]\nprocesses = true\nchunk = 10\n"
    best = []
    for name, factor in (("one", 1.0), ("two", 2.0)):
        study = _study(tmp_path / name, TOP, helper=f"FACTOR = {factor}\n")
        (tmp_path / name / "study.toml").write_text(text)
        study = dse.load(tmp_path / name / "study.toml")
        best.append(_best(study, workers=2))
    assert best == [50.0, 100.0]


def test_packages_beside_and_relative_imports(tmp_path: Path) -> None:
    study = _study(
        tmp_path / "a",
        DOTTED,
        tools_of___init__="",
        tools_of_inner="from .deep import FACTOR\nfrom . import deep\n",
        tools_of_deep="FACTOR = 3.0\n",
    )
    assert _best(study) == 150.0
    names = {p.relative_to(tmp_path / "a").as_posix() for p in study.code}
    assert names == {"m.py", "tools/__init__.py", "tools/inner.py", "tools/deep.py"}
    study.run(tmp_path / "out")
    assert (tmp_path / "out" / "study" / "tools" / "deep.py").is_file()


def test_an_edited_helper_is_loaded_anew(tmp_path: Path) -> None:
    first = _study(tmp_path / "a", TOP, helper="FACTOR = 1.0\n")
    again = _study(tmp_path / "a", TOP, helper="FACTOR = 2.0\n")  # as long, in the same second
    assert (_best(first), _best(again)) == (50.0, 100.0)
    assert first.digest != again.digest


def test_a_file_beside_hides_no_package(tmp_path: Path) -> None:
    model = TOP.replace("import helper", "import random, helper")
    study = _study(tmp_path / "a", model, helper="FACTOR = 1.0\n", random="1 / 0", numpy="1 / 0")
    assert _best(study) == 50.0
    assert {p.name for p in study.code} == {"m.py", "helper.py"}


def test_what_a_helper_raises_is_reported_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"importing m\.py raised ZeroDiv.*line 1 of helper\.py"):
        _study(tmp_path / "a", TOP, helper="FACTOR = 1 / 0\n")
    with pytest.raises(InputError, match=r"importing m\.py raised SyntaxError"):
        _study(tmp_path / "a", TOP, helper="FACTOR = \n")
    assert _best(_study(tmp_path / "a", TOP, helper="FACTOR = 1.0\n")) == 50.0


def test_models_of_one_folder_share_their_helper(tmp_path: Path) -> None:
    kind = "class Kind:\n    pass\n"
    _study(
        tmp_path / "a", "import helper\nKIND = helper.Kind\n" + TOP, helper=kind + "FACTOR = 1\n"
    )
    (tmp_path / "a" / "n.py").write_text("import helper\nKIND = helper.Kind\n" + TOP)
    models = [load_model(f"{n}.py:f", tmp_path / "a")[0] for n in "mn"]
    kinds = [model.function.__wrapped__.__globals__["KIND"] for model in models]  # type: ignore[attr-defined]
    assert kinds[0] is kinds[1]


def test_the_digest_covers_what_is_reached(tmp_path: Path) -> None:
    def digest(**helpers: str) -> str:
        return _study(tmp_path / "a", TOP, **helpers).digest

    before = digest(helper="FACTOR = 1.0\n", other="x = 1\n")
    assert digest(helper="FACTOR = 1.0\n", other="x = 2\n") == before
    assert digest(helper="FACTOR = 3.0\n", other="x = 2\n") != before


def test_a_study_reaches_the_modules_of_its_models_alone() -> None:
    code = {p.relative_to(ROOT).as_posix() for p in dse.load(CRYPTO).code}
    assert {"objectives/logca.py", "objectives/power_law.py", "spaces/kernels.toml"} <= code
    assert "objectives/sharing/schedule.py" in code
    assert not [path for path in code if "communication" in path or "partition" in path]


def test_the_digest_does_not_depend_on_what_was_loaded() -> None:
    code = (
        "import dse, objectives.communication, objectives.partition; "
        "dse.load('studies/jpeg.toml'); print(dse.load('studies/crypto.toml').digest)"
    )
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == dse.load(CRYPTO).digest


def test_a_section_is_kept_but_decides_nothing(tmp_path: Path) -> None:
    section = (
        "from dse.model.section import Section\n\n\n"
        "def words(study, result):\n    return Section('Words', '{}')\n"
    )
    folder = tmp_path / "a"
    _study(folder, HEAD + "    return Out(x * 1.0)\n", words=section.format("before"))
    path = folder / "study.toml"
    path.write_text(ONE + '[report]\nsections = ["words.py:words"]\n')
    first = dse.load(path)
    first.run(tmp_path / "out")
    (folder / "words.py").write_text(section.format("after"))
    second = dse.load(path)
    assert second.digest == first.digest
    found = (tmp_path / "out" / "study.db").stat().st_mtime_ns  # written by a search
    front = (tmp_path / "out" / "front.csv").read_bytes()
    second.run(tmp_path / "out")  # the same result, with the new words
    assert (tmp_path / "out" / "study.db").stat().st_mtime_ns == found
    assert (tmp_path / "out" / "front.csv").read_bytes() == front
    assert "after" in read_page(tmp_path / "out" / "report.html")
    assert "after" in (tmp_path / "out" / "study" / "words.py").read_text()


def test_a_digest_is_of_what_was_read(tmp_path: Path) -> None:
    study = _study(tmp_path / "a", TOP, helper="FACTOR = 1.0\n")
    before = study.digest
    (tmp_path / "a" / "helper.py").write_text("FACTOR = 9.0\n")
    assert study.digest == before


def test_functions_of_scripts_count_with_what_they_hold() -> None:
    def made(factor: float) -> object:
        def model(x: float) -> float:
            return x * factor

        return model

    first, same, other = (fingerprint(made(f)) for f in (1.0, 1.0, 2.0))  # type: ignore[arg-type]
    assert first == same != other


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "def toy(",
            '@monotonic(speed="+lanez")\ndef toy(',
            "toy: 1 problem\n  speed: '+lanez' is not a sign and an input",
        ),
        (
            '"speed", low=0)',
            '"speed", low=5, high=1)',
            "raised ValueError: the domain [5, 1] of 'speed' is empty",
        ),
    ],
)
def test_a_wrong_declaration_is_reported_at_the_users_line(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    model = MODEL.replace(old, new, 1).replace("import Array,", "import monotonic, Array,")
    line = next(i for i, each in enumerate(model.split("\n"), 1) if new.split("\n")[0] in each)
    with pytest.raises(InputError) as error:
        dse.load(written(tmp_path, model=model))
    (problem,) = error.value.problems
    assert problem.where == "study.models[1]"
    assert words in problem.message and f"line {line}" in problem.message
    assert "declarations.py" not in problem.message


# Loading a study runs no model, however the search is chosen: a model may take hours ----------


class Half(NamedTuple):
    half: Annotated[Array, Quantity("1", "half of the lanes")]


class Speed(NamedTuple):
    speed: Annotated[Array, Quantity("1", "speed")]


def half(lanes: Annotated[Floats, Quantity("1", "lanes", low=0)]) -> Half:
    raise AssertionError("a model was run")


@monotonic(speed="+depth")
def speed(
    half: Annotated[Floats, Quantity("1", "half of the lanes")],
    depth: Annotated[Floats, Quantity("1", "depth", low=0)],
    width: Annotated[Floats, Quantity("1", "width", low=0)],
) -> Speed:
    raise AssertionError("a model was run")


def _lazy(search: dict[str, Any], **space: Any) -> dse.Study:
    return dse.from_mapping(
        {
            "study": {"name": "slow", "models": ["half", "speed"]},
            "inputs": {n: 1 for n in ("lanes", "depth", "width") if n not in space},
            "space": space,
            "objective": [{"maximize": "speed"}],
            "search": search,
        },
        models={"half": half, "speed": speed},
    )


MANY, REAL = {"integer": [1, 100_000]}, {"real": [0, 1]}


@pytest.mark.parametrize(
    ("space", "method"),
    [
        ({"lanes": {"integer": [1, 60_000]}, "depth": MANY}, "evolution"),  # half, which is tabled
        ({"depth": REAL}, "bound"),
        ({"depth": MANY, "width": MANY}, "evolution"),
        ({"lanes": {"integer": [1, 1]}, "depth": REAL}, "bound"),  # one value needs no move
    ],
)
def test_the_search_is_chosen_without_running_a_model(space: dict[str, Any], method: str) -> None:
    study = _lazy({"method": "auto"}, **space)
    assert study.plan.method == method
    told = find_missing_declarations(Ranges(study.evaluator))
    assert bool(told) == (method == "evolution")


def test_that_bounds_would_never_end_is_reported_without_running_a_model() -> None:
    with pytest.raises(dse.InputError, match="bound would never end: speed does not declare how"):
        _lazy({"method": "bound", "tolerance": 0.01}, depth=REAL, width=REAL)
