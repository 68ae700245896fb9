"""Sobol points: a signal that comes while scipy loads its table waits, and no points are equal."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import builtins, os, signal, sys
import numpy as np
from scipy.stats import qmc
from dse.evaluate.samples import sobol_points

load = np.load
def interrupted(*given, **named):
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    return load(*given, **named)
def ended(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, ended)
np.load = interrupted
try:
    sobol_points(3, 8, np.random.default_rng(0))
except KeyboardInterrupt:
    print("interrupted")
np.load = load
points = sobol_points(3, 8, np.random.default_rng(0))
print(len(np.unique(points, axis=0)))
"""


@pytest.mark.parametrize("sign", ["SIGINT", "SIGTERM"])
def test_a_signal_while_the_table_is_loaded_waits_and_loses_nothing(sign: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, sign], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["interrupted", "8"], done.stderr
