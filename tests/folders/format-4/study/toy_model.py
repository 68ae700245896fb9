
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
