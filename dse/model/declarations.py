"""Declarations of outputs by the author of a model: monotonicity in inputs, and lower bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dse.model.dimension import UnitMismatchError
from dse.model.grammar import GrammarError
from dse.model.quantity import Floats, Quantity
from dse.model.relation import Relation, read_relation
from dse.model.signature import list_declarations, list_fields, read_layout
from dse.model.units import UnitError
from dse.problems import InputError, Problem, nearest

T = TypeVar("T", bound=Callable[..., Any])
Monotonicity: TypeAlias = Mapping[str, Mapping[str, int]]
"""By output and input: 1 rises, -1 falls, 0 does not depend. Inputs that are not named are unknown.
All other inputs are fixed."""
LowerBounds: TypeAlias = Mapping[str, tuple[Callable[..., Any], ...]]
"""By output, the functions that it is never below."""
MARGIN = 1e-9
"""Relative: rounding of models and ill-conditioned roots. Smaller changes refute nothing."""
_TINY = float(np.finfo(np.float64).tiny)  # below it, numbers lose their digits
_SIGNS = {"+": 1, "-": -1, "=": 0}
_WORDS = {1: "to rise with", -1: "to fall with", 0: "not to depend on"}


def monotonic(**outputs: str) -> Callable[[T], T]:
    """Declare outputs monotonic in inputs. Bounds then need few evaluations.

    Each output has a text such as ``"+acceleration -overhead =streams"``: it never falls as
    `acceleration` grows, never rises as `overhead` grows, and does not depend on `streams`. This
    holds while all other inputs are fixed and all inputs are in their domains. The output may
    depend in any way on an input that the text does not name. The docstring of the model gives the
    reason. :func:`dse.testing.check_model` tries to refute the declaration, and a search audits it.

    Raises
    ------
    InputError
        If a text names no output or no input of the model. The error lists all such problems.

    Examples
    --------
    >>> from typing import Annotated, NamedTuple
    >>> from dse.model import Array, Floats, Quantity, monotonic
    >>> class Cost(NamedTuple):
    ...     area: Annotated[Array, Quantity("LUT", "area")]
    >>> @monotonic(area="+lanes")
    ... def cost(lanes: Annotated[Floats, Quantity("1", "lanes")]) -> Cost:
    ...     return Cost(100.0 * lanes)
    """

    def declare(function: T) -> T:
        laid = read_layout(function).flat
        known = tuple(list_fields(laid.return_annotation) or ())
        problems: list[Problem] = []
        found = {}
        for output, text in outputs.items():
            if known and output not in known:
                message = "is not an output"
                problems.append(Problem(output, message, nearest(output, known)))
            found[output] = _read(output, text, tuple(laid.parameters), problems)
        if problems:
            raise InputError(function.__name__, problems)
        function.__monotonic__ = found  # type: ignore[attr-defined]
        return function

    return declare


def lower_bound(**outputs: Callable[..., Any]) -> Callable[[T], T]:
    """Declare lower bounds of outputs: models that are monotonic where the outputs jump.

    Each lower bound takes some of the inputs and gives an output of the same name. It declares with
    :func:`monotonic` how it depends on them. Several lines declare several lower bounds. The
    docstring of the model gives the reason. :func:`dse.testing.check_model` tries to refute the
    bounds, and a search audits them.

    Raises
    ------
    InputError
        If a lower bound gives no output of the model, or takes another input. The error lists all
        such problems.

    Examples
    --------
    A model that builds whole banks has a lower bound without steps.

    >>> import numpy as np
    >>> from typing import Annotated, NamedTuple
    >>> from dse.model import Array, Floats, Quantity, lower_bound, monotonic
    >>> Bytes = Annotated[Floats, Quantity("B", "data")]
    >>> class Store(NamedTuple):
    ...     area: Annotated[Array, Quantity("LUT", "area")]
    >>> @monotonic(area="+data")
    ... def smallest_store(data: Bytes) -> Store:
    ...     return Store(np.asarray(data) / 64.0)
    >>> @lower_bound(area=smallest_store)
    ... def store(data: Bytes) -> Store:
    ...     return Store(np.ceil(np.asarray(data) / 64.0))
    """

    def declare(function: T) -> T:
        laid = read_layout(function).flat
        known, taken = list_fields(laid.return_annotation) or (), tuple(laid.parameters)
        problems = []
        bounds = dict(declared_lower_bounds(function))
        for output, bound in outputs.items():
            inner = read_layout(bound).flat
            if output not in known or output not in (list_fields(inner.return_annotation) or ()):
                message = f"is not an output of both {function.__name__} and {bound.__name__}"
                problems.append(Problem(output, message, nearest(output, known)))
            for name in inner.parameters:
                if name not in taken:
                    message = f"is an input of {bound.__name__} only"
                    problems.append(Problem(name, message, nearest(name, taken)))
            bounds[output] = (*bounds.get(output, ()), bound)
        if problems:
            raise InputError(function.__name__, problems)
        function.__lower_bounds__ = bounds  # type: ignore[attr-defined]
        return function

    return declare


def declared_lower_bounds(function: Callable[..., Any]) -> LowerBounds:
    """Return the lower bounds that a function declares, by output; empty if there are none."""
    found: LowerBounds = getattr(function, "__lower_bounds__", {})
    return found


def _read(
    output: str, text: str, inputs: tuple[str, ...], problems: list[Problem]
) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in text.split():
        name = word[1:]
        if word[0] not in _SIGNS or name not in inputs or name in found:
            remedy = f"write +, - or = and an input, each once: {', '.join(inputs)}"
            problems.append(Problem(output, f"'{word}' is not a sign and an input", remedy))
            continue
        found[name] = _SIGNS[word[0]]
    return found


def declared_monotonicity(function: Callable[..., Any]) -> Monotonicity:
    """Return the monotonicity that a function declares; empty if there is none."""
    found: Monotonicity = getattr(function, "__monotonic__", {})
    return found


def contradicts(move: int, first: Floats, second: Floats) -> NDArray[np.bool_]:
    """Return whether outputs contradict a declared sign by more than rounding.

    `first` has the smaller input. A value that is not a number contradicts nothing.
    """
    below, above = _clearly_less(second, first), _clearly_less(first, second)
    return below | above if move == 0 else below if move > 0 else above


def _clearly_less(one: Floats, other: Floats) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        slack = np.where(np.isfinite(one), MARGIN * np.abs(one) + _TINY, 0.0)
        return np.asarray(np.asarray(one) + slack < other)


def describe_contradiction(
    output: str,
    moved: str,
    move: int,
    points: Sequence[Mapping[str, float]],
    values: tuple[float, float],
) -> str:
    """Return in words how two points contradict a declared sign.

    `points`: the inputs; they differ only in `moved`, and the first has the smaller value.
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
    """Return two numbers with enough digits to distinguish them."""
    for digits in (6, 10, 17):
        texts = f"{one:.{digits}g}", f"{other:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


# Requirements: relations between a model's quantities that must hold, or its outputs mean nothing.

_ROUNDING = 1e-9  # relative; two ways to compute one value round differently
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Requirement:
    """A relation that must hold between a model's own inputs and outputs.

    Parameters
    ----------
    relation : str
        As a study's ``[[constraint]] relation``, in the units that the model declares:
        ``"engine_utilization < 1"``. The sides of ``==`` may differ by a fraction of 1e-9, because
        two ways to compute one value round differently.
    about : str
        The meaning for the machine: ``"the engine serves the calls that it gets"``.
    """

    relation: str
    about: str

    def read(self) -> Relation:
        """Return the relation.

        GrammarError if the text is no relation.
        """
        return replace(read_relation(self.relation), slack=_ROUNDING)


@dataclass(frozen=True)
class ModelRequirement:
    """A requirement as the engine sees it, with the names that a study gives its quantities.

    Parameters
    ----------
    relation : Relation
        In the units that the model declares.
    about : str
        The meaning for the machine.
    by : str
        The name of the model that requires it.
    """

    relation: Relation
    about: str
    by: str

    def renamed(self, names: Mapping[str, str]) -> ModelRequirement:
        """Return the requirement on the same quantities under other names."""
        return replace(self, relation=self.relation.renamed(names))

    def misfit(self, quantities: Mapping[str, Quantity]) -> str:
        """Return the problem with its units, in words; empty if there is none."""
        relation = self.relation
        try:
            relation.in_units({n: quantities[n].unit for n in relation.names})
        except UnitMismatchError as error:
            return f"requires '{relation.text}', which {error}"
        except UnitError:  # the check of the quantity reports an unknown unit
            pass
        return ""


def requires(*given: Requirement) -> Callable[[F], F]:
    """Declare relations that must hold, or the outputs of a model mean nothing.

    The function may be a plain one, or one made by `model` or `composed_of`. A composed model has
    the requirements of its parts and its own. A study takes each requirement of a model that it
    uses as a constraint; see "Requirements are constraints" in docs/explanation/decisions.md.

    InputError if a requirement is no relation, has no description, or names a quantity that the
    model neither takes nor gives. The error lists all such problems.

    >>> from typing import Annotated, NamedTuple
    >>> from dse.model import Array, Floats
    >>> class Queue(NamedTuple):
    ...     load: Annotated[Array, Quantity("1", "share of the time that the engine is busy")]
    >>> @requires(Requirement("load < 1", "the engine carries what it is offered"))
    ... def queue(rate: Annotated[Floats, Quantity("call/s", "calls")]) -> Queue:
    ...     return Queue(rate * 1e-6)
    """

    def attach(function: F) -> F:
        inputs = [
            n for n, note in list_declarations(function).items() if isinstance(note, Quantity)
        ]
        outputs = list_fields(get_type_hints(function).get("return")) or ()
        problems = [p for each in given for p in _problems(each, (*inputs, *outputs))]
        if problems:
            raise InputError(f"{function.__module__}:{function.__name__}", problems)
        function.__requirements__ = given  # type: ignore[attr-defined]
        return function

    return attach


def _problems(requirement: Requirement, known: tuple[str, ...]) -> list[Problem]:
    where = f"requirement '{requirement.relation}'"
    found = []
    if not requirement.about.strip():
        found.append(Problem(where, "has no description", "describe its meaning for the machine"))
    try:
        names = sorted(requirement.read().names - set(known))
    except GrammarError as error:
        return [*found, Problem(where, str(error))]
    message = "names '{}', which the model neither takes nor gives"
    return found + [Problem(where, message.format(n), nearest(n, known)) for n in names]
