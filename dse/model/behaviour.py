"""How a model's outputs move with its inputs, as its author declares it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dse.model.quantity import Floats
from dse.model.signature import fields_of, layout
from dse.problems import InputError, Problem, nearest

T = TypeVar("T", bound=Callable[..., Any])
Moves: TypeAlias = Mapping[str, Mapping[str, int]]
"""For each output, how it moves with inputs: 1 rises, -1 falls, 0 stays; what is not named is not
known. All else fixed; equal values are neither."""
MARGIN = 1e-9
"""Of a value: rounding of models, ill-conditioned roots. What moves by less is not seen to move."""
_TINY = float(np.finfo(np.float64).tiny)  # below it, numbers lose their digits
_SIGNS = {"+": 1, "-": -1, "=": 0}
_WORDS = {1: "to rise with", -1: "to fall with", 0: "not to depend on"}


def moves(**outputs: str) -> Callable[[T], T]:
    """Declare how outputs move with inputs, for a search that bounds what it does not evaluate.

    Each output has a text such as ``"+acceleration -overhead =streams"``: it never falls as
    `acceleration` grows, never rises as `overhead` grows, and does not depend on `streams`, all
    else fixed and all inputs in their domains. An input that is not named may do anything. The
    docstring of the model says why it holds; :func:`dse.testing.check_model` tries to refute it,
    and a search audits it.

    Raises
    ------
    InputError
        If a text names what is not an output or an input; all such at once.
    """

    def declare(function: T) -> T:
        laid = layout(function).flat
        known = tuple(fields_of(laid.return_annotation) or ())
        problems: list[Problem] = []
        found = {}
        for output, text in outputs.items():
            if known and output not in known:
                message = "is not an output, so it does not move"
                problems.append(Problem(output, message, nearest(output, known)))
            found[output] = _read(output, text, tuple(laid.parameters), problems)
        if problems:
            raise InputError(function.__name__, problems)
        function.__moves__ = found  # type: ignore[attr-defined]
        return function

    return declare


def at_least(**outputs: Callable[..., Any]) -> Callable[[T], T]:
    """Declare what outputs are never below: other models, whose moves are known where theirs jump.

    Each takes some of the inputs by the same names and gives an output of the same name, of which
    it declares with :func:`moves` how it moves. Several lines make several floors. The docstring of
    the model says why it holds; :func:`dse.testing.check_model` tries to refute it, and a search
    audits it.

    Raises
    ------
    InputError
        If a floor is of what is not an output, or takes what is not an input; all such at once.
    """

    def declare(function: T) -> T:
        laid = layout(function).flat
        known, taken = fields_of(laid.return_annotation) or (), tuple(laid.parameters)
        problems = []
        floors: dict[str, tuple[Callable[..., Any], ...]] = dict(declared_floors(function))
        for output, floor in outputs.items():
            inner = layout(floor).flat
            if output not in known or output not in (fields_of(inner.return_annotation) or ()):
                message = f"is not an output of both {function.__name__} and {floor.__name__}"
                problems.append(Problem(output, message, nearest(output, known)))
            for name in inner.parameters:
                if name not in taken:
                    message = f"is an input of {floor.__name__} alone"
                    problems.append(Problem(name, message, nearest(name, taken)))
            floors[output] = (*floors.get(output, ()), floor)
        if problems:
            raise InputError(function.__name__, problems)
        function.__floors__ = floors  # type: ignore[attr-defined]
        return function

    return declare


def declared_floors(function: Callable[..., Any]) -> Mapping[str, tuple[Callable[..., Any], ...]]:
    """Return what outputs of a function are declared to be never below; empty if nothing was."""
    found: Mapping[str, tuple[Callable[..., Any], ...]] = getattr(function, "__floors__", {})
    return found


def _read(
    output: str, text: str, inputs: tuple[str, ...], problems: list[Problem]
) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in text.split():
        name = word[1:]
        if word[0] not in _SIGNS or name not in inputs or name in found:
            remedy = f"write +, - or = and an input, each once: {', '.join(inputs)}"
            problems.append(Problem(output, f"cannot move by '{word}'", remedy))
            continue
        found[name] = _SIGNS[word[0]]
    return found


def declared_moves(function: Callable[..., Any]) -> Moves:
    """Return what was declared of a function; empty if nothing was."""
    found: Moves = getattr(function, "__moves__", {})
    return found


def wrong(move: int, first: Floats, second: Floats) -> NDArray[np.bool_]:
    """Tell if outputs contradict a move, `first` at the smaller input; by more than rounding.

    What is not a number says nothing.
    """
    below, above = _clearly_less(second, first), _clearly_less(first, second)
    return below | above if move == 0 else below if move > 0 else above


def _clearly_less(one: Floats, other: Floats) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        slack = np.where(np.isfinite(one), MARGIN * np.abs(one) + _TINY, 0.0)
        return np.asarray(np.asarray(one) + slack < other)


def told(
    output: str,
    moved: str,
    move: int,
    points: Sequence[Mapping[str, float]],
    values: tuple[float, float],
) -> str:
    """Return in words how two points contradict a move.

    Parameters
    ----------
    points : two mappings of str to float
        The inputs; they differ in `moved` alone, the first has less of it.
    values : two floats
        Of the output.
    """
    verb = "rises" if values[1] > values[0] else "falls"
    (low, high), (first, second) = (
        _apart(*pair) for pair in ((points[0][moved], points[1][moved]), values)
    )
    others = ", ".join(f"{n} = {v!r}" for n, v in points[0].items() if n != moved)
    return (
        f"'{output}' is declared {_WORDS[move]} '{moved}', but it {verb} from {first} to {second}"
        f" between {moved} = {low} and {high}" + (f" (other inputs: {others})" if others else "")
    )


def _apart(one: float, other: float) -> tuple[str, str]:
    """Return two numbers with as many digits as tell them apart."""
    for digits in (6, 10, 17):
        texts = f"{one:.{digits}g}", f"{other:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts
