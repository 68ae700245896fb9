"""Catalog files: what is read, what is refused and with which words, and where they are found."""

import sys
from pathlib import Path

import pytest

import dse
from dse.model.units import read
from dse.problems import InputError
from dse.study.catalog import Catalog, find_catalog, load_catalog, shipped_catalogs
from tests.toy import STUDY, written

GOOD = """
about = "Ways to attach an engine"
source = "A book"
note = "of the whole"

[fast-port]
about = "a port"
note = "of the row"
overhead = 29_000
clock = "1.16 GHz"
area = { value = 900, unit = "LUT", source = "A guide", note = "assumption: …" }
[fast-port.text]
processor = "S2"

[slow-card]
about = "a card"
source = "A table"
overhead = { value = "3", unit = "kcycle" }
"""


def load(folder: Path, text: str) -> Catalog:
    path = folder / "made.toml"
    path.write_text(text, encoding="utf-8")
    return load_catalog(path)


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        load(folder, text)
    return str(caught.value)


def test_reads_rows_figures_and_where_each_is_from(tmp_path: Path) -> None:
    catalog = load(tmp_path, GOOD)
    assert (catalog.name, catalog.about) == ("made", "Ways to attach an engine")
    assert list(catalog.rows) == ["fast-port", "slow-card"]
    row = catalog.rows["fast-port"]
    assert (row.about, row.note, dict(row.text)) == ("a port", "of the row", {"processor": "S2"})
    assert list(row.values) == ["overhead", "clock", "area"]
    assert row.values["overhead"].value == 29_000
    assert row.values["overhead"].source == "A book"
    assert row.values["area"].source == "A guide"
    assert row.values["area"].note == "assumption: …"
    assert catalog.rows["slow-card"].values["overhead"].source == "A table"


def test_figures_keep_their_unit_until_they_are_read(tmp_path: Path) -> None:
    rows = load(tmp_path, GOOD).rows
    figures = rows["fast-port"].values
    assert (figures["clock"].value, figures["clock"].unit) == ("1.16 GHz", "GHz")
    assert (figures["overhead"].unit, figures["area"].unit) == ("", "LUT")
    assert read(figures["clock"].text, "Hz") == 1.16e9
    assert read(figures["overhead"].text, "cycle") == 29_000
    assert read(figures["area"].text, "LUT") == 900
    assert read(rows["slow-card"].values["overhead"].text, "cycle") == 3000


def test_says_every_problem_of_a_stage_at_once(tmp_path: Path) -> None:
    form = refusal(
        tmp_path,
        """
        sorce = "A book"
        [port]
        overhead = true
        latency = { value = 3, unt = "cycle" }
        """,
    )
    for words in (
        "5 problems",
        "about: is missing",
        "sorce: unknown key 'sorce'; a row is a table: [name]\n      did you mean 'source'?",
        "port.about: is missing",
        "port.overhead: true is not a number",
        "port.latency.unt: unknown key 'unt'\n      did you mean 'unit'?",
    ):
        assert words in form
    meaning = refusal(
        tmp_path,
        """
        about = "Ports"
        [Fast_Port]
        about = "a port"
        area = { value = 3, unit = "furlong", source = "A book" }
        clock = "fast"
        """,
    )
    for words in (
        "4 problems",
        "Fast_Port: is not a name for a row",
        "Fast_Port.area: has the unknown unit 'furlong'",
        "Fast_Port.clock: 'fast' is not a number",
        "Fast_Port.clock: has no source",
    ):
        assert words in meaning


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        ("[1, 2]", "[1, 2] is not a number"),
        ("nan", "is not finite"),
        ("1" + 400 * "0", "is too large a number"),
        ("2020-01-01", "is not a number"),
        ('{ unit = "B" }', "value: is missing"),
        ('{ value = "3 B", unit = "KiB" }', "has two units, 'B' and 'KiB'"),
        ("{ value = 3, note = 4 }", "note: 4 is not a text"),
        ('"3 furlong"', "has the unknown unit 'furlong'"),
    ],
)
def test_refuses_what_is_no_figure(tmp_path: Path, figure: str, words: str) -> None:
    text = f'about = "x"\nsource = "y"\n[row]\nabout = "z"\nlatency = {figure}\n'
    message = refusal(tmp_path, text)
    assert words in message
    assert "row.latency" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("about = ", "is not TOML"),
        ('about = "x"', "has no rows"),
        ('about = "x"\n[row]\nabout = "y"', "row: has no values"),
        (
            'about = "x"\nsource="s"\n[row]\nabout = "y"\ntext = 3\na = 1',
            "row.text: 3 is not a table",
        ),
        ('about = "x"\nsource="s"\n[row]\nabout = "y"\n"a b" = 1', "is not a name for a quantity"),
        (
            'about = "x"\n[row]\nabout = "y"\n[row.together]\nof = ["a"]\nnormall = ["a"]\n',
            "row.together.normall: unknown key 'normall'\n      did you mean 'normal'?",
        ),
        ('about = "x"\nsource="s"\n[row]\nabout = "y"\na = 1\n[row.text]\nb = 1', "row.text.b"),
    ],
)
def test_refuses_what_is_no_catalog(tmp_path: Path, text: str, words: str) -> None:
    assert words in refusal(tmp_path, text)


def test_a_file_that_cannot_be_read_is_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        load_catalog(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b'about = "\xe9"')
    with pytest.raises(InputError, match="is not UTF-8 text"):
        load_catalog(tmp_path / "latin.toml")


def test_the_study_folder_comes_first(tmp_path: Path) -> None:
    assert find_catalog("interfaces", tmp_path).parent.name == "spaces"
    own = tmp_path / "interfaces.toml"
    own.write_text(GOOD, encoding="utf-8")
    assert find_catalog("interfaces", tmp_path) == own.resolve()
    assert find_catalog("interfaces.toml", tmp_path) == own.resolve()
    assert find_catalog("interfaces").parent.name == "spaces"


def test_a_file_outside_the_study_folder_is_refused(tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    outside = tmp_path / "outside.toml"
    outside.write_text(GOOD, encoding="utf-8")
    (study / "link.toml").symlink_to(outside)
    for name in ("../outside.toml", str(outside), "link.toml", "link"):
        with pytest.raises(InputError, match="is outside the study"):
            find_catalog(name, study)
    with pytest.raises(InputError, match="there is no study"):
        find_catalog("outside.toml")


def test_an_unknown_name_meets_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'interfaces'"):
        find_catalog("interface", tmp_path)
    with pytest.raises(InputError, match=r"known: .*engines"):
        find_catalog("zzz", tmp_path)
    (tmp_path / "mine.toml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(InputError, match=r"did you mean 'mine\.toml'"):
        find_catalog("mein.toml", tmp_path)
    with pytest.raises(InputError, match="did you mean 'mine'"):
        find_catalog("mien", tmp_path)


def test_another_package_of_the_name_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impostor = tmp_path / "spaces"
    impostor.mkdir()
    (impostor / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "spaces", raising=False)
    assert shipped_catalogs() == []
    with pytest.raises(InputError) as caught:
        find_catalog("interfaces")
    words = f"the package 'spaces', which offers catalogs, is {impostor}, which holds no catalogs"
    assert words in str(caught.value)


def test_names_of_the_literature_are_names_of_rows(tmp_path: Path) -> None:
    names = ["SL1", "SL2+", "SMM-", "user-port"]
    rows = "\n".join(f'["{name}"]\nabout = "a row"\nlevel = 1' for name in names)
    path = tmp_path / "made.toml"
    path.write_text(f'about = "rows"\nsource = "A book"\n{rows}\n')
    assert list(load_catalog(path).rows) == names
    for bad in ("+", "a--b", "a+b", "-a", "a b", ""):
        path.write_text(f'about = "rows"\nsource = "A book"\n["{bad}"]\nabout = "a"\nlevel = 1\n')
        with pytest.raises(InputError, match="is not a name for a row"):
            load_catalog(path)


@pytest.mark.parametrize("unit", ["cycle/B", "1/B*cycle", "cycle * B**-1"])
def test_the_same_unit_twice_is_one(tmp_path: Path, unit: str) -> None:
    given = f'{{ value = "90 cycle/B", unit = "{unit}" }}'
    text = f'about = "x"\nsource = "y"\n[row]\nabout = "z"\ncomputational_index = {given}\n'
    found = load(tmp_path, text).rows["row"].values["computational_index"]
    assert read(found.text, "cycle/B") == 90


def test_a_catalog_may_give_plain_numbers_and_an_override_may_not(tmp_path: Path) -> None:
    clocks = 'about = "x"\nsource = "a book"\n[fast]\nabout = "a"\nclock = "2e9"\n'
    (tmp_path / "clocks.toml").write_text(f'{clocks}[slow]\nabout = "b"\nclock = 1e9\n')
    old = 'clock = { real = ["100 MHz", "2 GHz"], steps = 100, log = true }'
    text = STUDY.replace(old, 'rate = { catalog = "clocks.toml" }')
    study = dse.load(written(tmp_path, text=text))
    assert [row["clock"] for row in study.choices["rate"].values()] == [2e9, 1e9]
    wrong = text.replace('toml" }', 'toml", override = { slow = { clock = "3" } } }')
    with pytest.raises(InputError, match=r"space\.rate\.slow\.clock: '3' has no unit"):
        dse.load(written(tmp_path, text=wrong))
