"""What the README shows works as it stands there. Its two commands are run by .ci/run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dse

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _block(language: str, holding: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    found = [block for block in blocks if holding in block]
    assert len(found) == 1, holding
    return str(found[0])


def test_the_study_runs(tmp_path: Path) -> None:
    (tmp_path / "first.toml").write_text(_block("toml", 'name = "first"'))
    result = dse.load(tmp_path / "first.toml").run()
    assert result.certificate.complete
    assert (
        f"Of its 7,164 designs, only {len(result.front.designs)} are on the Pareto front" in README
    )
    front = result.front.designs
    assert front["speedup"].max() > 5 * front["speedup"].min()  # a real trade-off
    assert front["area"].max() > 5 * front["area"].min()


def test_the_script_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(_block("python", "result.front.designs"), {})  # noqa: S102 - our own document
