"""Models that break the contract: who refutes the certificate of each.

    python -m benchmarks.adversarial_models [--processes] [NAME ...]

Each model gives the speed and the cost of 216,000 designs. The benchmark runs a study of it with
two threads or two processes, and `dse certify` in another process. The audit may refuse the model,
the check at the end of the run may refute it, or `certify` may refute it. A certificate is wrong if
its front is not the true front and nothing refutes it: the benchmark then exits with 1.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import dse
from dse.problems import DseError, InputError

HEAD = '''
import multiprocessing
import os
import sys
import threading
import time
from typing import Annotated, NamedTuple

import numpy as np

from dse import Array, Floats, Quantity, monotonic

CALLS = [0]
ROWS = [0]
STARTED = time.time()
BUFFERS = {}
STATE = {}


class Out(NamedTuple):
    speed: Annotated[Array, Quantity("1", "speed", low=0)]
    cost: Annotated[Array, Quantity("1", "cost", low=0)]


def fraction(a, b, c):
    """Return a number from 0 to 1 for each design, evenly spread over the space."""
    bits = np.asarray(a * 73856093.0 + b * 19349663.0 + c * 83492791.0) % 1e9
    return (np.sin(bits) * 43758.5453) % 1.0


def honest(a, b, c):
    speed = a * np.sqrt(b) + 3.0 * c + 50 * fraction(a, b, c)
    return speed, a * 2.0 + b**1.5 + c * c + 20 * fraction(b, c, a)


def buffer(name, shape):
    """Return one array that is used again and again."""
    if name not in BUFFERS or BUFFERS[name].shape != shape:
        BUFFERS[name] = np.empty(shape)
    return BUFFERS[name]

'''
MODEL = """
def f(
    a: Annotated[Floats, Quantity("1", "a", low=0)],
    b: Annotated[Floats, Quantity("1", "b", low=0)],
    c: Annotated[Floats, Quantity("1", "c", low=0)],
) -> Out:
    speed, cost = honest(a, b, c)
"""
STUDY = """
[study]
name = "adversarial"
models = ["m.py:f"]
[space]
a = { integer = [1, 60] }
b = { integer = [1, 60] }
c = { integer = [1, 60] }
[[objective]]
maximize = "speed"
[[objective]]
minimize = "cost"
[search]
method = "METHOD"
"""
HONEST = "return Out(speed, cost)\n"
DECLARED = "@monotonic(speed='+a +b +c', cost='+a +b +c')"
SMOOTH = "speed, cost = a * np.sqrt(b) + 3.0 * c, a * 2.0 + b**1.5 + c * c\n"
VARIABLE = "DSE_ADVERSARY"
RUN, START, CERTIFY, RIGHT, WRONG = "the run", "its start", "certify", "nothing: right", "NOTHING"

IMPURE = """
# a buffer
if np.ndim(speed) == 0:
    return Out(speed, cost)
x = buffer('b', np.shape(speed))
x[...] = speed
y = np.sort(np.tile(speed, 3))
return Out(x, cost)

# a buffer that sleeps
if np.ndim(speed) == 0:
    return Out(speed, cost)
x = buffer('b', np.shape(speed))
x[...] = speed
y = np.sort(np.tile(speed, 3))
time.sleep(1e-4)
return Out(x, cost)

# a buffer of two
if np.ndim(speed) == 0:
    return Out(speed, cost)
x = buffer('b', np.shape(speed))
x[...] = speed
y = np.sort(np.tile(speed, 3))
z = buffer('c', np.shape(speed))
z[...] = cost
return Out(x, z)

# a buffer filled in steps
if np.ndim(speed) == 0:
    return Out(speed, cost)
x = buffer('b', np.shape(speed))
x[...] = 0
for i in range(20):
    x += speed / 20
    np.sort(speed)
return Out(np.round(x, 9), cost)

# a buffer per size
x = BUFFERS.setdefault(np.shape(speed), np.empty(np.shape(speed)))
x[...] = speed
np.sort(np.tile(cost, 5))
return Out(x, cost)

# the mean of more than 1 rows
if np.size(speed) > 1:
    speed = speed - np.mean(speed)*0.1
return Out(speed, cost)

# the mean of more than 2 rows
if np.size(speed) > 2:
    speed = speed - np.mean(speed)*0.1
return Out(speed, cost)

# the mean of more than 50 rows
if np.size(speed) > 50:
    speed = speed - np.mean(speed)*0.1
return Out(speed, cost)

# the mean of more than 64 rows
if np.size(speed) > 64:
    speed = speed - np.mean(speed)*0.1
return Out(speed, cost)

# the mean of more than 100 rows
if np.size(speed) > 100:
    speed = speed - np.mean(speed)*0.1
return Out(speed, cost)

# the mean of more than 200 rows
if np.size(speed) > 200:
    speed = speed - np.mean(speed)*0.1
return Out(speed, cost)

# the mean of more than 500 rows
if np.size(speed) > 500:
    speed = speed - np.mean(speed)*0.1
return Out(speed, cost)

# the mean of more than 1000 rows
if np.size(speed) > 1000:
    speed = speed - np.mean(speed)*0.1
return Out(speed, cost)

# the mean of more than 5000 rows
if np.size(speed) > 5000:
    speed = speed - np.mean(speed)*0.1
return Out(speed, cost)

# sorted beyond 50 rows
if np.size(speed) > 50:
    speed = np.sort(speed)
return Out(speed, cost)

# sorted beyond 200 rows
if np.size(speed) > 200:
    speed = np.sort(speed)
return Out(speed, cost)

# sorted beyond 1000 rows
if np.size(speed) > 1000:
    speed = np.sort(speed)
return Out(speed, cost)

# wrong beyond 50 rows
if np.size(speed) > 50:
    speed = speed + cost
return Out(speed, cost)

# wrong beyond 1000 rows
if np.size(speed) > 1000:
    speed = speed + cost
return Out(speed, cost)

# wrong in odd batches
if np.size(speed) % 2:
    speed = speed * 1.1
return Out(speed, cost)

# a rank among 300
if np.size(speed) > 300:
    speed = np.argsort(np.argsort(speed)) * 1.0
return Out(speed, cost)

# the first row of 100
if np.size(speed) > 100:
    speed = speed + speed[..., :1] * 0.01
return Out(speed, cost)

# a running sum of 100
if np.size(speed) > 100:
    speed = np.cumsum(speed)
return Out(speed, cost)

# the row before
if np.size(speed) > 80:
    speed = speed + np.roll(speed, 1)*.05
return Out(speed, cost)

# single designs
if np.size(speed) == 1:
    speed = speed + 5
return Out(speed, cost)

# single precision beyond 100
if np.size(speed) > 100:
    speed = speed.astype('f4') * 1.0
return Out(speed, cost)

# after 3 calls
CALLS[0] += 1
if CALLS[0] > 3:
    speed = speed + cost * .5
return Out(speed, cost)

# after 10 calls
CALLS[0] += 1
if CALLS[0] > 10:
    speed = speed + cost * .5
return Out(speed, cost)

# after 30 calls
CALLS[0] += 1
if CALLS[0] > 30:
    speed = speed + cost * .5
return Out(speed, cost)

# after 60 calls
CALLS[0] += 1
if CALLS[0] > 60:
    speed = speed + cost * .5
return Out(speed, cost)

# every call a little
CALLS[0] += 1
speed = speed * (1 + 1e-9 * CALLS[0])
return Out(speed, cost)

# every 7th call
CALLS[0] += 1
if CALLS[0] % 7 == 0:
    speed = speed + cost
return Out(speed, cost)

# after many rows
ROWS[0] += np.size(speed)
if ROWS[0] > 100000:
    speed = speed + cost
return Out(speed, cost)

# the first values kept
k = STATE.setdefault('first', float(np.ravel(speed)[0]))
speed = speed + k * 0.01
return Out(speed, cost)

# the last call
last = STATE.get('last', 0.0)
STATE['last'] = float(np.ravel(speed)[-1])
speed = speed + last*.01
return Out(speed, cost)

# the largest so far
STATE['m'] = max(STATE.get('m', 0.0), float(np.max(speed)))
speed = speed / STATE['m']
return Out(speed, cost)

# a cache by rounded inputs
keys = np.round(np.ravel(speed))
pairs = zip(keys.tolist(), np.ravel(speed).tolist())
out = np.array([STATE.setdefault(*pair) for pair in pairs])
return Out(out.reshape(np.shape(speed)), cost)

# random numbers
return Out(speed + np.random.default_rng().random(np.shape(speed)), cost)

# random numbers of one seed
rng = STATE.setdefault('r', np.random.default_rng(0))
return Out(speed + rng.random(np.shape(speed)), cost)

# random numbers per call
return Out(speed + np.random.default_rng(0).random(np.shape(speed)), cost)

# the time times 1
return Out(speed + (time.time() - STARTED) * 1 * cost, cost)

# the time times 1e-3
return Out(speed + (time.time() - STARTED) * 1e-3 * cost, cost)

# the time times 1e-6
return Out(speed + (time.time() - STARTED) * 1e-6 * cost, cost)

# after 0.3 s
if time.time() - STARTED > 0.3:
    speed = speed + cost
return Out(speed, cost)

# the second of the start
return Out(speed + (int(STARTED) % 60) * cost / 60, cost)

# the process
return Out(speed + (os.getpid() % 97) * cost / 97, cost)

# the kind of process
if multiprocessing.current_process().name != "MainProcess":
    speed = speed + cost
return Out(speed, cost)

# the hash of a text
return Out(speed + (hash('text') % 2**40) * cost / 2**40, cost)

# the address of an object
return Out(speed + (id(STATE) // 4096 % 97) * cost / 97, cost)

# the thread
name = threading.current_thread().name
if name != 'MainThread':
    speed = speed + cost
return Out(speed, cost)

# a variable of the environment
if 'DSE_ADVERSARY' in os.environ:
    speed = speed + cost
return Out(speed, cost)

# the arguments of the command
if not any('certify' in x for x in sys.argv) and sys.argv[0] != '-c':
    speed = speed + cost
return Out(speed, cost)

# a file that it writes
n = int(open('n.txt').read()) if os.path.exists('n.txt') else 0
open('n.txt', 'w').write(str(n + 1))
return Out(speed + n * cost * 1e-3, cost)

# a masked array
return Out(np.ma.masked_where(np.asarray(speed) > 300, speed), cost)

# complex numbers
return Out(speed + 0j, cost)

# objects
return Out(np.asarray(speed).astype(object), cost)

# masked in large batches
if np.size(speed) > 64:
    speed = np.ma.masked_less(speed, 100)
return Out(speed, cost)

# inputs in place
a *= 2
return Out(speed, cost)
"""
"""Models whose outputs depend on more than their inputs. The true front is that of `HONEST`."""

LIES = """
# a lie in 0.1 of the space (0.1)
speed = np.where(fraction(a, b, c) < 0.1, speed * 2 + 900, speed)
return Out(speed, cost)

# a lie in 0.01 of the space (0.01)
speed = np.where(fraction(a, b, c) < 0.01, speed * 2 + 900, speed)
return Out(speed, cost)

# a lie in 0.001 of the space (0.001)
speed = np.where(fraction(a, b, c) < 0.001, speed * 2 + 900, speed)
return Out(speed, cost)

# a lie in 0.0003 of the space (0.0003)
speed = np.where(fraction(a, b, c) < 0.0003, speed * 2 + 900, speed)
return Out(speed, cost)

# a lie in 0.0001 of the space (0.0001)
speed = np.where(fraction(a, b, c) < 0.0001, speed * 2 + 900, speed)
return Out(speed, cost)

# a lie in a corner (0.004)
speed = np.where((a > 55) & (b < 4), speed + 900, speed)
return Out(speed, cost)

# a lie in a plane (0.0166667)
speed = np.where(a == 31, speed + 900, speed)
return Out(speed, cost)

# a spike (5e-05)
speed = np.where((a == 31) & (b == 7) & (np.abs(c - 20) < 6), speed + 2000, speed)
return Out(speed, cost)

# a wrong sign (1)
cost = cost + 40 * np.sin(a)
cost = np.maximum(cost, 0)
return Out(speed, cost)

# a falling tail (0.05)
speed = speed - np.where(b > 57, (b - 57) * a, 0)
speed = np.maximum(speed, 0)
return Out(speed, cost)

# a lie in 4 designs (2e-05)
speed = np.where((a == 31) & (b == 7) & (c > 28) & (c < 33), speed + 2000, speed)
return Out(speed, cost)
"""
"""Models that break their declarations in a fraction of the space, searched by bounds."""


class Case(NamedTuple):
    """A model: the lines after its honest outputs, and whether it declares its monotonicity."""

    name: str
    body: str
    declares: bool

    @property
    def honest(self) -> Case:
        """The model with the true front."""
        return self._replace(body=self.body if self.declares else HONEST)


def _read_cases(text: str, declares: bool) -> Iterable[Case]:
    for part in text.strip().removeprefix("# ").split("\n\n# "):
        name, _, body = part.partition("\n")
        yield Case(name, f"{SMOOTH if declares else ''}{body}\n", declares)


CASES = {case.name: case for case in (*_read_cases(IMPURE, False), *_read_cases(LIES, True))}


def write_study(case: Case, method: str, folder: Path) -> Path:
    """Write a model and its study into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    body = textwrap.indent(case.body, "    ")
    (folder / "m.py").write_text(HEAD + (DECLARED if case.declares else "") + MODEL + body)
    study = folder / "study.toml"
    study.write_text(STUDY.replace("METHOD", method))
    return study


def front_of(study: Path, out: Path | None, workers: int) -> set[tuple[float, ...]]:
    """Run a study; return the points of its front."""
    front = dse.load(study).run(out, workers=workers).front
    return {tuple(point) for point in front.points.round(9).tolist()}


def examine(case: Case, folder: Path, processes: bool = False) -> tuple[str, str]:
    """Return who refutes a model, with the message."""
    study = write_study(case, "bound" if case.declares else "exhaustive", folder / "study")
    if processes:
        study.write_text(f"{study.read_text()}[run]\nprocesses = true\n")
    os.environ[VARIABLE] = "1"
    try:
        front = front_of(study, folder / "out", 2)
    except DseError as error:
        return (START if isinstance(error, InputError) else RUN), str(error)
    finally:
        os.environ.pop(VARIABLE)
    command = [sys.executable, "-m", "dse", "certify", str(folder / "out")]
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return CERTIFY, (done.stdout + done.stderr).strip().splitlines()[-1]
    true = front_of(write_study(case.honest, "exhaustive", folder / "honest"), None, 1)
    return (RIGHT if front == true else WRONG), ""


def main() -> int:
    """Print who refutes each model; return 1 if a wrong certificate is refuted by nothing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--processes", action="store_true", help="run with two processes")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    for name in given.names or CASES:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            verdict, message = examine(CASES[name], Path(folder), given.processes)
        counts[verdict] += 1
        text = " ".join(message.split())
        print(f"{name:32} {verdict:16} {text[:160]}", flush=True)
    print(", ".join(f"{verdict}: {count}" for verdict, count in counts.items()))
    return int(counts[WRONG] > 0)


if __name__ == "__main__":
    sys.exit(main())
