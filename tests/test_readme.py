"""What the README shows works as it stands there. Its two commands are run by .ci/run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import dse
from dse.testing import check_model

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _block(language: str, holding: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    found = [block for block in blocks if holding in block]
    assert len(found) == 1, holding
    return str(found[0])


def test_the_study_runs(tmp_path: Path) -> None:
    (tmp_path / "aes.toml").write_text(_block("toml", 'name = "aes"'))
    result = dse.load(tmp_path / "aes.toml").run()
    assert result.certificate.complete
    assert result.front.designs["break_even"].max() <= 64
    # 1.3 us and 0.1 us at 1.16 GHz
    assert result.constants["latency"][0] == pytest.approx(1508)
    assert result.designs["overhead"].min() == pytest.approx(116)


def test_the_script_runs() -> None:
    code = _block("python", "result.front.designs")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_model_obeys_the_contract_and_works_in_a_study(tmp_path: Path) -> None:
    (tmp_path / "my_model.py").write_text(_block("python", "class Link"))
    (tmp_path / "study.toml").write_text(
        """
[study]
name = "link"
models = ["my_model.py:link"]
[space]
size = { values = ["1 KiB", "1 MiB"] }
bandwidth = { real = ["1 GB/s", "16 GB/s"], steps = 16 }
[[objective]]
minimize = "transfer_time"
[[objective]]
maximize = "size"
"""
    )
    study = dse.load(tmp_path / "study.toml")
    front = study.run().front.designs
    assert front["transfer_time"].tolist() == pytest.approx([2**10 / 16e9, 2**20 / 16e9])
    check_model(study.evaluator.wiring.models[0].function)


def test_links_and_pictures_are_there() -> None:
    for target in re.findall(r"\]\(([^)h][^)]*)\)", README):
        assert (ROOT / target).is_file(), target
    for path in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"):
        assert (ROOT / path).is_file()
