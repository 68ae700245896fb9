"""Requirements: relations between a model's quantities that must hold, or its outputs mean nothing.

A formula gives a number for any input: a latency even if an engine gets more calls than it can
serve. A model declares its requirements as data, and `dse` checks every study that uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_type_hints

from dse.model.dimension import UnitMismatchError
from dse.model.grammar import GrammarError
from dse.model.quantity import Quantity
from dse.model.relation import Relation, read_relation
from dse.model.signature import declared, fields_of
from dse.model.units import UnitError
from dse.problems import InputError, Problem, nearest

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

        Raises
        ------
        GrammarError
            If the text is no relation.
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
    uses as a constraint; see "Requirements are constraints" in docs/decisions.md.

    Raises
    ------
    InputError
        If a requirement is no relation, has no description, or names a quantity that the model
        neither takes nor gives. The error lists all such problems.

    >>> from typing import Annotated, NamedTuple
    >>> from dse.model import Array, Floats
    >>> class Queue(NamedTuple):
    ...     load: Annotated[Array, Quantity("1", "share of the time that the engine is busy")]
    >>> @requires(Requirement("load < 1", "the engine carries what it is offered"))
    ... def queue(rate: Annotated[Floats, Quantity("call/s", "calls")]) -> Queue:
    ...     return Queue(rate * 1e-6)
    """

    def attach(function: F) -> F:
        inputs = [n for n, note in declared(function).items() if isinstance(note, Quantity)]
        outputs = fields_of(get_type_hints(function).get("return")) or ()
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
