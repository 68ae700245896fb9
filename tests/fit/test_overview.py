"""`dse fit FOLDER`: the overview, its files, refused tables, and thresholds that others ship."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from dse.fit.command import run
from dse.fit.overview import compare_thresholds
from dse.model.quantity import Array
from dse.problems import InputError

G: Array = np.exp2(np.arange(4.0, 21.0, 2.0))
HOST: Array = 3e-9 * G
DEVICE: Array = 1.3e-5 + 6e-10 * G
BREAK_EVEN = 1.3e-5 / 2.4e-9  # by hand


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of tables: two series, one series, latency against load, and no sizes."""
    folder = tmp_path_factory.mktemp("tables")
    noise = np.exp(0.01 * np.random.default_rng(5).standard_normal((3, len(G))))
    rows = [
        f"{g},{h},{a},{chip},note {g} {chip}"
        for chip, factor in (("a chip with a long name", noise[0]), ("slow", 9.0 * noise[1]))
        for g, h, a in zip(G, HOST * noise[2], factor * DEVICE, strict=True)
    ]
    head = "granularity_B,host_s,accelerated_s"
    (folder / "engines.csv").write_text("\n".join([f"{head},chip,note", *rows]))
    rows = [f"{g},{h}," for g, h in zip(G, 1e-9 * G**1.2 * noise[0], strict=True)]
    (folder / "single.csv").write_text("\n".join([head, *rows]))
    queue = [f"{n},{5e-6 + 1e-6 * n}" for n in range(1, 5)]
    (folder / "drive.csv").write_text("\n".join(["queue_depth,latency_s", *queue]))
    (folder / "words.csv").write_text("what,time\nx,1\n")
    return folder


@pytest.fixture(scope="module")
def fitted(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[Path]]:
    """Return the texts of the command, and the files that it wrote."""
    place = tmp_path_factory.mktemp("files")
    files = [place / f"all.{ending}" for ending in ("json", "toml", "html", "h")]
    (place / "shipped.csv").write_text(
        f"device,bytes\nlong name,1024\nLONG NAME,{BREAK_EVEN}\nother,5\n"
    )
    record, catalog, html, emit = files
    return run(folder, (), (), record, catalog, html, emit, place / "shipped.csv"), files


def test_a_folder_has_an_overview_and_files(fitted: tuple[list[str], list[Path]]) -> None:
    (text, *_), files = fitted
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split("  ")[0] == "series"
    (row,) = (line for line in lines if "a chip with a long name" in line)
    overhead, unit, host, slope, size, _, ends, error = row.split()[-8:]
    assert [float(overhead), float(host), float(slope)] == pytest.approx([13, 3, 0.6], rel=0.03)
    assert (unit, ends.count("–")) == ("µs", 1)
    assert float(size.replace(",", "")) == pytest.approx(BREAK_EVEN, rel=0.03)
    assert 0.1 < float(error) < 3.0
    assert any(line.startswith("  slow") and "never" in line for line in lines)
    assert any(line.startswith("single") and "*" in line for line in lines)
    assert any(line.startswith("drive") for line in lines)
    assert lines[-1] == "  words.csv: has no column of sizes"
    record = json.loads(files[0].read_text(encoding="utf-8"))
    names = ["engines a chip with a long name", "engines slow", "single", "drive"]
    assert list(record) == names
    catalog = tomllib.loads(files[1].read_text(encoding="utf-8"))
    assert catalog["engines-slow"]["overhead"]["value"] == pytest.approx(9 * 1.3e-5, rel=0.03)
    page = files[2].read_text(encoding="utf-8")
    assert page.count('<section class="series">') == 3
    assert "not fitted: words.csv: has no column of sizes" in page
    emitted = files[3].read_text(encoding="utf-8")
    assert "should_offload_engines_slow(" in emitted
    assert "no rule: single: 0 sizes have both times" in emitted


def test_shipped_thresholds_are_compared_with_the_fits(
    fitted: tuple[list[str], list[Path]], tmp_path: Path
) -> None:
    (lines,) = (text.splitlines() for text in fitted[0] if text.startswith("thresholds"))
    # From 1,024 B to the crossing, the engine's time over the host's is 13 µs / 3 ns/B g + 0.2.
    size = np.log([1024.0, BREAK_EVEN])
    loss = 1.3e-5 / 3e-9 * (np.exp(-size[0]) - np.exp(-size[1])) - 0.8 * (size[1] - size[0])
    regret = 100 * loss / np.log(G[-1] / G[0])
    assert "1,024 B is too small (break-even 5,4" in lines[1]
    assert float(lines[1].split()[-2]) == pytest.approx(regret, rel=0.05)
    assert "5,417 B is within 95 %" in lines[2]
    assert float(lines[2].split()[-2]) < 0.01
    assert lines[3] == "other: 5 B; no series with both times has this name"
    (tmp_path / "bad.csv").write_text("device,size\nx,1\n")
    with pytest.raises(InputError, match="no columns 'device' and 'bytes'"):
        list(compare_thresholds(tmp_path / "bad.csv", ()))
    (tmp_path / "bad.csv").write_text("device,bytes\nx,1\ny,\n")
    with pytest.raises(InputError, match="'bytes' has a value that is not above 0"):
        list(compare_thresholds(tmp_path / "bad.csv", ()))


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the folder has no table \*\.csv"):
        run(tmp_path)
