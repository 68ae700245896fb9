"""The example that measures the processor at hand: its times are of calls, and what follows."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from dse.fit.measurement_fit import fit
from dse.fit.series import read_series
from examples.here import __main__ as run
from examples.here import measure
from tests.commands import leave_out_assumptions
from tests.needs import needs


@pytest.mark.parametrize("way", ["memory", "socket"])
def test_work_is_done_in_the_other_process(way: str) -> None:
    sizes = (16, 100_000)
    assert len(measure.shipped(way, sizes, 0.001)) == 2  # it compares the digests
    assert min(measure.unaided(sizes, 0.001)) > 0


def test_a_cipher_is_timed_as_one_call() -> None:
    needs("openssl")
    with_them, without = (measure.openssl("aes", 65_536, 1, m, repeats=1) for m in (False, True))
    assert 1e-7 < min(with_them, without) < max(with_them, without) < 1


def test_times_become_fits_and_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out_assumptions(monkeypatch)
    fixed = {"sha256": 1e-7, "process-memory": 1e-5, "process-socket": 2e-5}
    size = 2.0 ** np.arange(4, 21, 2)
    host = 2e-7 + 3e-9 * size
    times = [
        measure.Time(name, int(g), float(h), float(cost + 2e-8 + h / 5))
        for name, cost in fixed.items()
        for g, h in zip(size, host, strict=True)
    ]
    table = tmp_path / "times.csv"
    measure.write(table, times)
    said = run.concluded(tmp_path, table)
    text = "\n".join(said)
    assert "sha256             0.0%   0.0%" in text.partition("errors of speedups")[2]
    for name in ("fit.json", "fitted.toml", "fit.html", "here.toml", "run/report.html"):
        assert (tmp_path / name).stat().st_size > 0
    # the errors are those of the ratio: a host time that is off alone moves the speedup as much
    lines = table.read_text(encoding="utf-8").splitlines()
    name, g, h, a = lines[5].split(",")
    lines[5] = ",".join([name, g, repr(float(h) * 1.1), a])
    table.write_text("\n".join(lines), encoding="utf-8")
    errors = run.speedup_errors(fit(read_series(table, ["run"], None)[0][0]))
    assert errors.max() == pytest.approx(1 - 1 / 1.1, rel=0.05)


def test_without_openssl_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(measure.MissingError, match="apt-get install openssl"):
        measure.openssl("aes", 16, 1, False)
