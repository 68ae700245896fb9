"""A model of a few lines and its study, which tests write into folders."""

from __future__ import annotations

from pathlib import Path

import dse

MODEL = """
from typing import Annotated, NamedTuple

import numpy as np

from dse import Array, Floats, Quantity


class Toy(NamedTuple):
    speed: Annotated[Array, Quantity("1", "speed", low=0)]
    cost: Annotated[Array, Quantity("LUT", "cost", low=0)]


def toy(
    lanes: Annotated[Floats, Quantity("1", "lanes", low=1, integer=True, better="higher")],
    clock: Annotated[Floats, Quantity("Hz", "clock", above=0, better="higher")],
    size: Annotated[Floats, Quantity("B", "size of a request", above=0, better="lower")],
) -> Toy:
    return Toy(lanes * clock / (1e9 + size * 1e6), lanes**1.5 * 100 * (1 + (clock / 1e9) ** 2))


def fragile(lanes: Annotated[Floats, Quantity("1", "lanes", low=1)]) -> Toy:
    if (np.asarray(lanes) == 37).any():
        raise ArithmeticError("37 lanes do not fit")
    return Toy(lanes * 1.0, lanes * 2.0)


def blind(lanes: Annotated[Floats, Quantity("1", "lanes", low=1)]) -> Toy:
    return Toy(np.sin(lanes) + 2, np.cos(lanes) + 2 + 0 * lanes)
"""

STUDY = """
[study]
name = "toy"
models = ["toy_model.py:toy"]
[space]
lanes = { integer = [1, 64] }
clock = { real = ["100 MHz", "2 GHz"], steps = 100, log = true }
size = { values = ["1 KiB", "2 KiB", "4 KiB"] }
[[objective]]
maximize = "speed"
[[objective]]
minimize = "cost"
[[constraint]]
quantity = "cost"
at_most = "20 kLUT"
[[constraint]]
relation = "lanes * clock <= 40e9"
"""

DECLARED = MODEL.replace(
    "def toy(", "@monotonic(speed='+lanes +clock -size', cost='+lanes +clock')\ndef toy("
).replace("from dse import", "from dse import monotonic,")
"""The model with declarations, which a search by bounds needs."""
SMALL = STUDY.replace("[1, 64]", "[1, 12]").replace("steps = 100", "steps = 10")
"""The study with 360 designs."""
SEARCHES = {
    "exhaustive": "",
    "bound": "",
    "evolution": "evaluations = 200\ngeneration = 50\nseed = 3\n",
    "guided": "evaluations = 60\ngeneration = 20\n",
    "NSGAIISampler": "evaluations = 60\nseed = 3\noptions = { population_size = 20 }\n",
}
"""The options of a few searches of the small study."""


def search(method: str) -> str:
    """Return the table of a search."""
    return f'[search]\nmethod = "{method}"\n{SEARCHES[method]}'


def written(folder: Path, added: str = "", text: str = STUDY, model: str = MODEL) -> Path:
    """Write the model and a study into a folder; return the path of the study."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "toy_model.py").write_text(model)
    (folder / "study.toml").write_text(text + added)
    return folder / "study.toml"


def changed(folder: Path, search: str, *changes: tuple[str, str]) -> dse.Study:
    """Write the study with texts replaced, and a table of a search; return it."""
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return dse.load(written(folder, f"[search]\n{search}\n", text))


def acting(body: str, model: str = DECLARED) -> str:
    """Return the model with a statement before the end of its function."""
    return model.replace("    return Toy(l", f"    {body}\n    return Toy(l", 1)


def small(folder: Path, method: str) -> Path:
    """Write the small study with a search; return its path."""
    return written(folder, f"{search(method)}[run]\nchunk = 100\n", SMALL, DECLARED)


# The beginning of a model of one variable, and its study

HEAD = """
from typing import Annotated, NamedTuple

import numpy as np

from dse import Array, Floats, Quantity


class Out(NamedTuple):
    y: Annotated[Array, Quantity("1", "y")]


def f(x: Annotated[Floats, Quantity("1", "x", low=0, better="higher")]) -> Out:
"""
ONE = """
[study]
name = "one"
models = ["m.py:f"]
[space]
x = { integer = [1, 50] }
[[objective]]
maximize = "y"
"""
