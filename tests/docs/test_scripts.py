"""The documents for scripts: the script runs as it stands, and so does the notebook."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import dse
from tests.commands import leave_out_assumptions
from tests.docs.pages import ROOT
from tests.notebook import NOTEBOOK, executed, stored

_SCRIPT = re.search(
    r"^```python\n(.*?)^```", (ROOT / "docs" / "tutorials" / "scripts.md").read_text(), re.M | re.S
)
LANES, FEWER = "lanes = { integer = [1, 32] }", "lanes = { integer = [1, 2] }"


def _script() -> str:
    assert _SCRIPT
    return _SCRIPT[1]


def test_the_help_shows_the_same_script() -> None:
    told = dse.__doc__ or ""
    assert re.sub(r"^(?=.)", "    ", _script(), flags=re.M) in told


def test_the_script_loads_overrides_sweeps_runs_explains_compares_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    leave_out_assumptions(monkeypatch)
    script = _script()
    assert len([line for line in script.splitlines() if line.strip()]) <= 15
    study = (ROOT / "studies" / "crypto.toml").read_text()
    assert LANES in study
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "crypto.toml").write_text(study.replace(LANES, FEWER))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(script, "scripts.md", "exec"), names)  # noqa: S102 - our own document
    assert (tmp_path / "crypto.html").stat().st_size > 100_000
    assert (tmp_path / "sweep.html").is_file()
    said = capsys.readouterr().out
    result, other, sweep = names["result"], names["other"], names["sweep"]
    assert isinstance(result, dse.StudyResult)
    assert isinstance(other, dse.StudyResult)
    assert isinstance(sweep, dse.Sweep)
    best = result.front.designs.sort_values("speedup").iloc[-1]
    assert said.startswith(f"{best['interface']} {best['lanes']} {best['speedup']}")
    assert f"design {best.name}: " in said
    assert set(result.designs["calls_in_flight"]) == {2}
    # 0.4 us at the host's 1.16 GHz
    dma = other.designs.loc[other.designs["interface"] == "axi-dma", "interface_latency"]
    assert dma.unique() == pytest.approx([464])
    assert "space.interface.override.axi-dma.interface_latency: absent against 0.4 us" in said
    assert sweep.table.loc["1 KiB", "best speedup"] == best["speedup"]


def test_the_notebook_runs_and_says_what_it_shows() -> None:
    kept, fresh = stored(), executed(stored())
    shown = [
        (one["source"], _texts(one), _texts(other))
        for one, other in zip(kept.cells, fresh.cells, strict=True)
        if one.cell_type == "code"
    ]
    for source, before, now in shown:
        assert now == before, f"{source}\n  is stale: python -m tests.notebook"
    assert sum(bool(before) for _, before, _ in shown) > 10
    text = NOTEBOOK.read_text()
    assert str(ROOT) not in text
    assert not re.search(r"/(home|root|tmp|Users|work)/", text)
    assert set(json.loads(text)["metadata"]["language_info"]) == {"name"}


def _texts(cell: dict[str, list[dict[str, dict[str, str]]]]) -> list[list[str]]:
    """Return the words of each output as text; how tables are laid out depends on pandas."""
    outputs = cell["outputs"]
    texts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs]
    return [str(text).replace("\\", " ").split() for text in texts]
