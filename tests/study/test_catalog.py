"""Catalogs: reading, refusals, where they are found, the shipped ones, and the list of them."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.cli import commands
from dse.model import Quantity, list_declarations
from dse.model.units import read_value
from dse.problems import InputError
from dse.study.catalog import (
    Catalog,
    find_catalog,
    find_near_name,
    list_catalogs,
    list_models,
    load_catalog,
    shipped_catalogs,
)
from dse.study.code_loading import shipped_models
from objectives.energy import Powers
from objectives.machine.engine import Elements, LaneArea, Stages
from objectives.partition.quantities import Architecture
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


def test_reads_rows_figures_and_where_each_is_from(tmp_path: Path) -> None:
    catalog = load(tmp_path, GOOD)
    assert (catalog.name, catalog.about) == ("made", "Ways to attach an engine")
    assert list(catalog.rows) == ["fast-port", "slow-card"]
    row = catalog.rows["fast-port"]
    assert (row.about, dict(row.text)) == ("a port", {"processor": "S2"})
    values = row.values
    assert [(n, v.value, v.unit, v.source, v.note) for n, v in values.items()] == [
        ("overhead", 29_000, "", "A book", ""),
        ("clock", "1.16 GHz", "GHz", "A book", ""),
        ("area", 900, "LUT", "A guide", "assumption: …"),
    ]
    assert catalog.rows["slow-card"].values["overhead"].source == "A table"
    assert read_value(values["clock"].text, "Hz") == 1.16e9
    assert read_value(values["area"].text, "LUT") == 900
    assert read_value(catalog.rows["slow-card"].values["overhead"].text, "cycle") == 3000


ROW = 'about = "x"\nsource = "y"\n[row]\nabout = "z"\n'
REFUSED = r"""
about =  => is not TOML
about = "x" => has no rows
about = "x"; [row]; about = "y" => row: has no values
about = "x"; [row]; about = "y"; a = 1 => row.a: has no source
ROW latency = { value = 1, range = [1, 2] } => row.latency.range: has no source
about = "x"; source = "s"; [Fast_Port]; about = "y"; a = 1 => Fast_Port: is not a name for a row
sorce = "x"; [row]; a = 1 =>
 about: is missing | sorce: unknown key 'sorce'; a row is a table | row.about: | 3 problems
ROW latency = true => row.latency: true is not a number
ROW latency = [1, 2] => row.latency: [1, 2] is not a number
ROW latency = nan => row.latency: | is not finite
ROW latency = 1HUGE => row.latency: is too large a number
ROW latency = 2020-01-01 => row.latency: | is not a number
ROW latency = "fast" => row.latency: 'fast' is not a number
ROW latency = "3 furlong" => row.latency: has the unknown unit 'furlong'
ROW latency = { unit = "B" } => row.latency.value: is missing
ROW latency = { value = 3, unt = "B" } => row.latency.unt: unknown key 'unt' | did you mean 'unit'?
ROW latency = { value = "3 B", unit = "KiB" } => row.latency: has two units, 'B' and 'KiB'
ROW latency = { value = 3, note = 4 } => row.latency.note: 4 is not a text
ROW text = 3; a = 1 => row.text: 3 is not a table
ROW a = 1; [row.text]; b = 1 => row.text.b
ROW "a b" = 1 => is not a name for a quantity
ROW a = 1; [row.together]; of = ["a"]; normall = ["a"] =>
 row.together.normall: unknown key 'normall' | did you mean 'normal'?
ROW a = 1; together = 1 => row.together: 1 is not a table
ROW a = 1; together = { of = [], covariance = [] } =>
 row.together.of: [] should have at least 1 item
ROW a = 1; together = { of = ["b"], covariance = [[1.0]] } => row.together: the row has no value 'b'
ROW a = 1; together = { of = ["a"], covariance = [[1.0, 2.0]] } =>
 row.together: | one row and one column
ROW a = 1; together = { of = ["a"], covariance = [[-1.0]] } =>
 row.together: | a variance is negative
ROW a = 1; b = 1; together = { of = ["a", "b"], covariance = [[1.0, 2.0], [1.0, 9.0]] } =>
 row.together: | it is not symmetric
"""


@pytest.mark.parametrize("case", REFUSED.replace("=>\n", "=>").strip().split("\n"))
def test_a_wrong_catalog_is_refused_with_place_and_words(tmp_path: Path, case: str) -> None:
    text, _, words = case.partition("=>")
    text = text.replace("ROW ", ROW).replace("; ", "\n").replace("HUGE", "0" * 400)
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    assert all(word.strip() in str(caught.value) for word in words.split(" | ")), caught.value


TABLE = """
# about = "Engines"
# source = "A book"
# provenance = "measured"
entry, kernel, device, lane_area [kLUT], clocks_per_element [1], note
aes-a, AES, Artix-7, 2.5, 46 (derived), "slow, small"
aes-b, AES, , , 11,
"""


def load_table(folder: Path, text: str) -> Catalog:
    path = folder / "made.csv"
    path.write_text(text.strip(), encoding="utf-8")
    return load_catalog(path)


def test_a_table_is_a_catalog(tmp_path: Path) -> None:
    catalog = load_table(tmp_path, TABLE)
    first, second = catalog.rows["aes-a"], catalog.rows["aes-b"]
    assert (catalog.about, first.about, first.note) == (
        "Engines",
        "AES, Artix-7",
        "slow, small",
    )
    assert dict(second.text) == {"kernel": "AES"}
    assert read_value(first.values["lane_area"].text, "LUT") == 2500
    assert [first.values[n].provenance for n in first.values] == ["measured", "derived"]
    assert list(second.values) == ["clocks_per_element"]
    assert second.values["clocks_per_element"].source == "A book"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("AES, , , 11,", "AES, , , 11", "line 6 has 5 cells for 6 columns"),
        ("aes-b", "aes-a", "line 6 repeats the entry 'aes-a'"),
        ("2.5", "fast", "aes-a.lane_area: 'fast' is not a number"),
        ("kLUT", "acre", "aes-a.lane_area: has the unknown unit 'acre'"),
        ("(derived)", "(guessed)", "aes-a.clocks_per_element.provenance"),
        ('"slow, small"', '"slow', "is not a catalog"),
        ('"Engines"', "Engines", "is not a catalog"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        load_table(tmp_path, TABLE.replace(old, new))


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
    with pytest.raises(InputError, match="a study without a folder"):
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
    def rows(*names: str) -> str:
        texts = [f'["{name}"]\nabout = "a row"\nlevel = 1' for name in names]
        return "\n".join(['about = "rows"\nsource = "A book"', *texts])

    names = ["SL1", "SL2+", "SMM-", "user-port"]
    assert list(load(tmp_path, rows(*names)).rows) == names
    for bad in ("+", "a--b", "a+b", "-a", "a b", ""):
        with pytest.raises(InputError, match="is not a name for a row"):
            load(tmp_path, rows(bad))


@pytest.mark.parametrize("unit", ["cycle/B", "1/B*cycle", "cycle * B**-1"])
def test_the_same_unit_twice_is_one(tmp_path: Path, unit: str) -> None:
    given = f'{{ value = "90 cycle/B", unit = "{unit}" }}'
    text = f'about = "x"\nsource = "y"\n[row]\nabout = "z"\ncomputational_index = {given}\n'
    found = load(tmp_path, text).rows["row"].values["computational_index"]
    assert read_value(found.text, "cycle/B") == 90


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


# The shipped catalogs: each value of a row is a quantity, in its unit and in its domain

CLOCK = 1e9  # Hz; times of devices become cycles
NO_MODEL = {  # what relations of studies and readers take
    "device_clock": Quantity("Hz", "clock of the device", above=0),
    "compute_units": Quantity("1", "compute units of the device", low=1, integer=True),
    "peak_performance": Quantity("1/s", "operations a second of the device", above=0),
    "engines_per_core": Quantity("1", "engines that a core needs", low=0, high=1),
    "most_calls_in_flight": Quantity("1", "most calls in flight of a stream", low=1, integer=True),
    "level1_size": Quantity("B", "size of L1", above=0),
    "level2_size": Quantity("B", "size of L2", above=0),
    "area_alm": Quantity("ALM", "area in Intel's adaptive logic modules", low=0),
    "area_lut4": Quantity("LUT4", "area in 4-input LUTs", low=0),
    "logic_elements": Quantity("1", "4-input LUTs with a flip-flop, of Intel's Cyclone", low=0),
    "slices": Quantity("slice", "occupied slices of Xilinx' devices", low=0),
    "area_gates": Quantity("GE", "area in gates of an ASIC", low=0),
    "area_silicon": Quantity("m**2", "area of silicon", low=0),
    "process_node": Quantity("m", "node of the silicon process", above=0),
    "flip_flops": Quantity("FF", "flip-flops", low=0),
    "dsp_blocks": Quantity("1", "multiplier blocks, of the device's own kind", low=0),
    "printed_data_rate": Quantity("B/s", "data rate in bulk that the source prints", above=0),
}


def declarations() -> dict[str, list[Quantity]]:
    """Return every input of the shipped models by name, as each model declares it."""
    found: dict[str, list[Quantity]] = {name: [note] for name, note in NO_MODEL.items()}
    for model in shipped_models():
        for name, note in model.inputs.items():
            if isinstance(note, Quantity):
                assert name not in NO_MODEL, f"{model.name} takes '{name}'"
                found.setdefault(name, []).append(note)
    return found


DECLARED = declarations()


@pytest.mark.parametrize("path", shipped_catalogs(), ids=lambda path: path.stem)
def test_every_figure_of_a_catalog_is_a_quantity(path: Path) -> None:
    for row in load_catalog(path).rows.values():
        for name, figure in row.values.items():
            for quantity in DECLARED[name]:
                value = read_value(figure.text, quantity.unit, CLOCK)
                wrong = f"{row.name}: {name} = {figure.text}: {quantity.domain()}"
                assert quantity.contains_all(value), wrong


@pytest.mark.parametrize(
    ("catalog", "records", "beside"),
    [
        ("pipelined_engines", (Stages, LaneArea, Elements), set()),
        ("memory_organisations", (Architecture,), None),
        ("powers", (Powers,), set()),
    ],
)
def test_rows_fill_their_records(catalog: str, records: Any, beside: set[str] | None) -> None:
    filled = {name for record in records for name in list_declarations(record)}
    path = next(path for path in shipped_catalogs() if path.stem == catalog)
    for row in load_catalog(path).rows.values():
        assert set(row.values) <= filled
        if beside is not None:
            assert filled == set(row.values) | beside


# The list of models and catalogs

BY_ROWS = "given by rows of catalogs"


def test_each_model_is_listed_once_by_the_package_that_names_it() -> None:
    names = [each.model.name for each in list_models()]
    assert len(set(names)) == len(names)
    # by a table of contents, never by a module inside of a package
    assert not [name for name in names if not re.fullmatch(r"objectives\.\w+:\w+", name)]
    packages = {name.partition(":")[0].removeprefix("objectives.") for name in names}
    assert packages >= {"communication", "logca", "machine", "partition", "sharing"}
    for each in list_models():
        assert each.about, each.model.name
        assert list(inspect.signature(each.model.function).parameters) == list(each.model.inputs)


def test_a_misspelt_name_has_a_nearest_one() -> None:
    catalog = list_catalogs()[0].name
    assert find_near_name(catalog[:-2] + catalog[-1]) == catalog
    assert find_near_name("acelerate") is not None
    assert find_near_name("granularty") == "granularity"
    assert find_near_name("xyzzy") is None


def listed(capsys: pytest.CaptureFixture[str], *names: str) -> list[str]:
    commands(["list", *names], standalone_mode=False)
    return capsys.readouterr().out.splitlines()


def test_a_list_has_one_line_for_each_model_and_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys)
    told = {each.model.name: each.about for each in list_models()}
    for name, about in (told | {each.name: each.about for each in list_catalogs()}).items():
        (line,) = [line for line in lines if line.split()[:1] == [name]]
        assert line.endswith(about)


def test_a_quantity_is_shown_with_who_gives_and_takes_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = listed(capsys, "stream_interval")
    gives, takes = lines.index("given by"), lines.index("taken by")
    for side, among, has in (
        ("outputs", lines[gives + 1 : takes], "stream_interval"),
        ("inputs", lines[takes + 1 :], "stream_interval"),
    ):
        names = {m.model.name for m in list_models() if has in getattr(m.model, side)}
        assert {line.split()[0] for line in among} == names
    lines = listed(capsys, "interface_latency")
    assert "interfaces cxl-x8 500 ns" in [
        " ".join(x.split()) for x in lines[lines.index(BY_ROWS) :]
    ]


def test_a_row_has_its_figures_as_people_write_them(capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys, "gemm-gpu-host")
    start = next(i for i, line in enumerate(lines) if "computational_index" in line)
    values = [" ".join(line.split()) for line in lines[start : start + 2]]
    assert values[0] == "computational_index 2 cycle/B (fitted); Altaf and Wood, ISCA 2017, Table 5"
    assert values[1].startswith("complexity 1.7 (fitted); Altaf and Wood, LogCA")
