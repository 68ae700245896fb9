"""How a model's outputs move with its inputs, as its author declares it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from dse.model.signature import fields_of, layout
from dse.problems import InputError, Problem, nearest

T = TypeVar("T", bound=Callable[..., Any])
Moves: TypeAlias = Mapping[str, Mapping[str, int]]
"""For each output, how it moves with inputs: 1 rises, -1 falls, 0 stays; what is not named is not
known. All else fixed; equal values are neither."""
_SIGNS = {"+": 1, "-": -1, "=": 0}


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
