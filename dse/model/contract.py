"""Models: the engine reads an annotated function once, and then connects and runs it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

import numpy as np

from dse.model.declarations import (
    ModelRequirement,
    Monotonicity,
    Requirement,
    declared_lower_bounds,
    declared_monotonicity,
)
from dse.model.decorators import model
from dse.model.quantity import Array, Quantity, Resource
from dse.model.signature import find_declaration, list_fields, read_layout
from dse.problems import InputError, Problem


class ContractError(Exception):
    """A model did not return an array of numbers that is as long as its inputs."""


@dataclass(frozen=True, eq=False)
class Model:
    """A model as the engine sees it: a function with its declarations.

    Parameters
    ----------
    name : str
        ``module:function``.
    function : callable
        Takes the inputs by their own names, returns a NamedTuple or a dataclass of arrays.
    inputs : mapping of str to Quantity or Resource
        By quantity name, in the order of the signature.
    defaults : mapping of str to float
        Inputs that may be left out.
    outputs : mapping of str to Quantity
        By quantity name.
    parts : tuple of Model
        The models that together give every output; the model itself if it has none.
    arguments, fields : mapping of str to str
        From quantity names to the function's parameter and output names (they differ if a study
        renames).
    requirements : tuple of ModelRequirement
        Relations that must hold, or its outputs mean nothing; its parts add their own.
    monotonic : mapping of str to mapping of str to int
        How outputs depend on inputs, by quantity name; see `dse.model.declarations`.
    lower_bounds : mapping of str to tuple of Model
        Lower bounds of outputs, each under the name of this model.
    """

    name: str
    function: Callable[..., Any]
    inputs: Mapping[str, Quantity | Resource]
    defaults: Mapping[str, float]
    outputs: Mapping[str, Quantity]
    arguments: Mapping[str, str]
    fields: Mapping[str, str]
    parts: tuple[Model, ...] = ()
    requirements: tuple[ModelRequirement, ...] = ()
    monotonic: Monotonicity = dataclasses.field(default_factory=dict)
    lower_bounds: Mapping[str, tuple[Model, ...]] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_function(cls, function: Callable[..., Any], name: str = "") -> Model:
        """Read a model from an annotated function.

        InputError if a parameter or an output lacks its declaration, or parts do not make the
        whole. The error lists all such problems.
        """
        name = name or public_name(function)
        problems: list[Problem] = []
        inputs = _inputs(function, problems)
        outputs = _outputs(function, problems)
        parts = tuple(cls.from_function(part) for part in getattr(function, "__parts__", ()))
        if parts and not problems:
            outputs = _joined(inputs, outputs, parts, problems)
        if problems:
            raise InputError(name, problems)
        parameters = read_layout(function).flat.parameters.values()
        defaults = {
            each.name: each.default for each in parameters if each.default is not each.empty
        }
        own_inputs, own_outputs = ({n: n for n in names} for names in (inputs, outputs))
        called = model(function)
        declared: tuple[Requirement, ...] = getattr(function, "__requirements__", ())
        own = tuple(ModelRequirement(each.read(), each.about, name) for each in declared)
        return cls(
            name,
            called,
            inputs,
            defaults,
            outputs,
            own_inputs,
            own_outputs,
            parts,
            own,
            declared_monotonicity(function),
            _lower_bounds(function, name, inputs | outputs),
        )

    @property
    def quantities(self) -> dict[str, Quantity]:
        """The inputs and outputs that are arrays, by name."""
        arrays = {n: q for n, q in self.inputs.items() if isinstance(q, Quantity)}
        return arrays | dict(self.outputs)

    @property
    def leaves(self) -> tuple[Model, ...]:
        """The models to run: the parts of parts, or the model itself.

        Each has its own requirements and the requirements of every whole that it is a part of.
        """
        if not self.parts:
            return (self,)
        return tuple(
            replace(leaf, requirements=(*leaf.requirements, *self.requirements))
            for part in self.parts
            for leaf in part.leaves
        )

    @property
    def misfits(self) -> tuple[str, ...]:
        """The wrong units in its requirements and in the requirements of its parts, in words."""
        own = (each.misfit(self.quantities) for each in self.requirements)
        inner = (misfit for part in self.parts for misfit in part.misfits)
        return (*(f"{self.name} {misfit}" for misfit in own if misfit), *inner)

    def renamed(self, names: Mapping[str, str]) -> Model:
        """Return the model with some of its quantities under other names (own name → new name).

        InputError if two quantities would get the same name.
        """
        new = [names.get(name, name) for name in (*self.inputs, *self.outputs)]
        if twice := sorted({name for name in new if new.count(name) > 1}):
            raise InputError(
                self.name,
                [Problem("rename", f"would have two quantities called '{n}'") for n in twice],
            )

        def keys(mapping: Mapping[str, Any]) -> dict[str, Any]:
            return {names.get(k, k): v for k, v in mapping.items()}

        return replace(
            self,
            inputs=keys(self.inputs),
            defaults=keys(self.defaults),
            outputs=keys(self.outputs),
            arguments=keys(self.arguments),
            fields=keys(self.fields),
            parts=tuple(part.renamed(names) for part in self.parts),
            requirements=tuple(each.renamed(names) for each in self.requirements),
            monotonic={o: keys(inner) for o, inner in keys(self.monotonic).items()},
            lower_bounds={
                o: tuple(floor.renamed(names) for floor in floors)
                for o, floors in keys(self.lower_bounds).items()
            },
        )

    def __call__(self, columns: Mapping[str, Any]) -> dict[str, Array]:
        """Run the model on columns by quantity name; each broadcasts with the others.

        Returns
        -------
        dict of str to ndarray
            The outputs by quantity name. Elements outside a domain are NaN.
        """
        given = {self.arguments[n]: _read_only(columns[n]) for n in self.inputs if n in columns}
        with np.errstate(all="ignore"):  # NaN and inf are answers here, not accidents
            result = self.function(**given)
        shape = np.broadcast_shapes(*(np.shape(v) for v in given.values() if _is_array(v)))
        return {name: _checked(result, field, name, shape) for name, field in self.fields.items()}


def public_name(function: Callable[..., Any]) -> str:
    """Return ``module:function``, of the outermost package whose ``__all__`` names it."""
    name = getattr(function, "__name__", str(function))
    parts = function.__module__.split(".")
    for depth in range(1, len(parts)):
        package = ".".join(parts[:depth])
        if name in getattr(sys.modules.get(package), "__all__", ()):
            return f"{package}:{name}"
    return f"{function.__module__}:{name}"


def breaks_contract(error: BaseException) -> bool:
    """Return whether a model breaks the contract with this error; other errors concern a design."""
    return isinstance(error, ContractError) or changes_inputs(error)


def changes_inputs(error: BaseException) -> bool:
    """Return whether a model raised this error because it changes its inputs."""
    return isinstance(error, ValueError) and "read-only" in str(error)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic | int | float)


def _read_only(value: Any) -> Any:
    """Return an array that the model cannot change, because other models read the same array."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


_KINDS = {"U": "texts", "S": "texts", "c": "complex numbers", "O": "objects"}
"""The words for numpy's kinds of values."""


def _checked(result: Any, field: str, name: str, shape: tuple[int, ...]) -> Array:
    """Return an output as an array, or raise an error that describes the other object."""
    if not hasattr(result, field):
        raise ContractError(f"returned {type(result).__name__}, which has no '{name}'")
    returned = getattr(result, field)
    if isinstance(returned, np.ma.MaskedArray):
        message = (
            f"returned a masked array for '{name}', whose mask would be lost; fill it with NaN"
        )
        raise ContractError(message)
    value = np.asarray(returned)
    if value.dtype.kind not in "biuf":
        kind = _KINDS.get(value.dtype.kind, f"values of the type {value.dtype}")
        raise ContractError(f"returned {kind} for '{name}', not numbers")
    if value.shape not in ((), shape) and not _fits(value.shape, shape):
        wrong = f"returned '{name}' of shape {value.shape} for inputs of shape {shape}"
        raise ContractError(wrong)
    return value[()]


def _fits(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(given, shape) == shape
    except ValueError:
        return False


def _inputs(
    function: Callable[..., Any], problems: list[Problem]
) -> dict[str, Quantity | Resource]:
    found: dict[str, Quantity | Resource] = {}
    laid = read_layout(function)
    for name, parameter in laid.flat.parameters.items():
        note = find_declaration(parameter.annotation)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            problems.append(Problem(name, "takes any number of arguments", "name each input"))
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            problems.append(Problem(name, "is positional only", "inputs are passed by name"))
        elif note is None:
            record = next((r.kind.__name__ for r in laid.records.values() if name in r.fields), "")
            where = f"{record}.{name}" if record else name
            problems.append(_undeclared(where, name, "Floats"))
        else:
            found[name] = note
    return found


def _outputs(function: Callable[..., Any], problems: list[Problem]) -> dict[str, Quantity]:
    result = get_type_hints(function, include_extras=True).get("return")
    fields = list_fields(result)
    if fields is None:
        problems.append(
            Problem(
                "return",
                "is not a NamedTuple or a dataclass",
                "return a NamedTuple or a dataclass of arrays",
            )
        )
        return {}
    hints = get_type_hints(result, include_extras=True)
    kind = getattr(result, "__name__", str(result))
    outputs = {}
    for field in fields:
        quantity = find_declaration(hints[field])
        if not isinstance(quantity, Quantity):
            problems.append(_undeclared(f"{kind}.{field}", field, "Array"))
            continue
        outputs[field] = quantity
        if quantity.part_of and quantity.part_of not in fields:
            problems.append(
                Problem(
                    f"{kind}.{field}",
                    f"is part of '{quantity.part_of}', which is not an output",
                    f"outputs: {', '.join(fields)}",
                )
            )
    return outputs


def _lower_bounds(
    function: Callable[..., Any], name: str, known: Mapping[str, Any]
) -> dict[str, tuple[Model, ...]]:
    """Return the lower bounds of outputs as models; they have the same quantities and units."""
    found = {
        output: tuple(Model.from_function(floor, name) for floor in floors)
        for output, floors in declared_lower_bounds(function).items()
    }
    problems = [
        Problem(inner, f"is in {quantity.unit} for a floor, and in {known[inner].unit} here")
        for output, floors in found.items()
        for floor in floors
        for inner, quantity in floor.quantities.items()
        if inner in known and quantity.unit != known[inner].unit
    ]
    if problems:
        raise InputError(name, problems)
    return found


def _undeclared(where: str, name: str, array: str) -> Problem:
    remedy = f'annotate it: {name}: Annotated[{array}, Quantity("unit", "what it is")]'
    return Problem(where, "has no quantity", remedy)


def _joined(
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Quantity],
    parts: tuple[Model, ...],
    problems: list[Problem],
) -> dict[str, Quantity]:
    """Return the outputs in the order of the parts; add the problems of parts that do not fit."""
    known, given = set(inputs), set[str]()
    for part in parts:
        for name in part.inputs:
            if name not in known and name not in part.defaults:
                known.add(name)
                message = f"is an input of the part {part.name}, and the whole does not take it"
                problems.append(Problem(name, message, "make it a parameter of the whole"))
        for name in part.outputs:
            if name in given:
                problems.append(
                    Problem(name, f"is given twice by {part.name} and by a part before")
                )
            elif name not in outputs:
                message = f"is given by the part {part.name}, and the whole does not return it"
                problems.append(Problem(name, message, "make it a field of the returned record"))
        given |= set(part.outputs)
        known |= given
    for name in outputs:
        if name not in given:
            problems.append(Problem(name, "is given by no part", "name the part that gives it"))
    return {n: outputs[n] for part in parts for n in part.outputs if n in outputs}
