"""Entries of catalogs that do not belong together."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import dse
from dse.cli import commands

STUDY = """
    [study]
    name = "pair"
    models = [
        "objectives.logca:offload",
        "objectives.machine:interface_terms",
        "objectives.machine:lanes_for",
        "objectives.machine:engine",
        "objectives.machine:total_area",
    ]
    [inputs]
    kernel = {{ catalog = "kernels", row = "{kernel}" }}
    interface = {{ catalog = "interfaces", row = "user-port" }}
    memory_area_per_bit = 0
    clock = "{clock}"
    granularity = "4 KiB"
    pipeline_depth = 4
    [space]
    acceleration = {{ values = [2, 20] }}
    engine = {{ catalog = "pipelined_engines", options = {engines} }}
    [[objective]]
    maximize = "speedup"
    [[objective]]
    minimize = "area"
"""


def study(tmp_path: Path, kernel: str, clock: str, *engines: str) -> Path:
    path = tmp_path / "pair.toml"
    path.write_text(STUDY.format(kernel=kernel, clock=clock, engines=str([*engines])))
    return path


@pytest.mark.parametrize(
    ("kernel", "clock", "engines", "words"),
    [
        ("aes-ultrasparc-t2", "1.16 GHz", ["aes-4-rounds", "aes-14-rounds"], []),
        ("sha-sparc-t4", "3 GHz", ["sha256"], ["sha256", "takes chained"]),  # a kind of SHA
        ("gemm-gpu-host", "2 GHz", ["aes-4-rounds"], ["AES", "matrix multiplication"]),
        ("aes-sparc-t3", "1.65 GHz", ["aes-4-rounds", "cosine-3-terms"], ["cosine", "AES"]),
        ("aes-sandy-bridge", "1.16 GHz", ["aes-4-rounds"], ["3.4 GHz", "1.16 GHz"]),
    ],
)
def test_entries_that_do_not_belong_together_have_a_warning(
    tmp_path: Path, kernel: str, clock: str, engines: list[str], words: list[str]
) -> None:
    warnings = dse.load(study(tmp_path, kernel, clock, *engines)).warnings
    assert len(warnings) == bool(words)
    assert all(word in "".join(warnings) for word in words)


def test_the_answer_shows_warnings(tmp_path: Path) -> None:
    path = study(tmp_path, "gemm-gpu-host", "2 GHz", "aes-4-rounds")
    out = str(tmp_path / "run")
    for command in (["check", str(path)], ["run", str(path), "--out", out]):
        shown = CliRunner().invoke(commands, command)
        assert shown.exit_code == 0
        assert "Warning       space.engine: aes-4-rounds computes AES" in shown.output
    assert "aes-4-rounds computes AES" in (tmp_path / "run" / "report.html").read_text()
