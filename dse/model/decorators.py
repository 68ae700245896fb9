"""Decorators for models: a call by quantity names, and NaN outside the declared domains."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dse.model.quantity import Quantity
from dse.model.signature import Layout, list_declarations, list_fields, read_layout, record_values

T = TypeVar("T")


def model(function: Callable[..., T]) -> Callable[..., T]:
    """Call a function by its quantities, and make its outputs NaN outside their domains.

    The function takes quantities or records of them and returns a NamedTuple or a dataclass of
    arrays. It is called with each quantity by its own name, or in the order of its signature. Every
    output is NaN at the elements where an input is outside its declared domain; nothing is copied
    if all inputs are inside. The engine does this to every model. A shipped model is decorated
    where it is defined, and scripts then see the same values.

    InputError if two parameters, or fields of records, have one name.

    >>> from typing import Annotated, NamedTuple
    >>> from dse.model import Array, Floats
    >>> Length = Annotated[Floats, Quantity("m", "length of a side", low=0)]
    >>> Sides = NamedTuple("Sides", [("width", Length), ("height", Length)])
    >>> class Area(NamedTuple):
    ...     area: Annotated[Array, Quantity("m**2", "area")]
    >>> @model
    ... def area(sides: Sides) -> Area:
    ...     return Area(np.asarray(sides.width * sides.height))
    >>> area(np.array([4.0, -1.0]), height=2.0).area
    array([ 8., nan])
    """
    marked: object = getattr(function, "__model__", None)
    if marked is function:
        return function
    laid = read_layout(function)
    names = tuple(laid.flat.parameters)
    domains = {n: q for n, q in list_declarations(function).items() if isinstance(q, Quantity)}
    call = _built(function, laid) if laid.records else None

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> T:
        given = {**dict(zip(names, args, strict=False)), **kwargs} if args else kwargs
        bad: NDArray[np.bool_] | None = None
        for name, value in given.items():
            quantity = domains.get(name)
            if quantity is not None and not quantity.contains_all(value):
                outside = ~quantity.contains(value)
                bad = outside if bad is None else bad | outside
        if bad is None:
            return function(*args, **kwargs) if call is None else call(args, given, kwargs)
        with np.errstate(all="ignore"):  # the results of these elements are thrown away
            result = function(*args, **kwargs) if call is None else call(args, given, kwargs)
        if list_fields(type(result)) is None:
            return result  # the engine reports the problem
        columns = {n: _blank(bad, value) for n, value in record_values(result).items()}
        return type(result)(**columns)

    called.__signature__ = laid.flat  # type: ignore[attr-defined]
    # The mark is the function itself: functools.wraps copies plain marks to functions that differ.
    called.__model__ = called  # type: ignore[attr-defined]
    return called


def _blank(outside: NDArray[np.bool_], value: Any) -> Any:
    """Return an output with NaN at the elements whose inputs are outside their domains.

    A masked array stays as it is: `where` would drop its mask, and the engine could not refuse it.
    """
    if isinstance(value, np.ma.MaskedArray):
        return value
    return np.where(outside, np.nan, value)


def _built(
    function: Callable[..., T], laid: Layout
) -> Callable[[tuple[Any, ...], Mapping[str, Any], Mapping[str, Any]], T]:
    """Return the call that builds the function's records from flat arguments."""
    parameters = laid.flat.parameters.values()
    known = frozenset(each.name for each in parameters)
    needed = frozenset(each.name for each in parameters if each.default is each.empty)
    defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
    most = sum(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters)
    records = [(name, kind, fields) for name, (kind, fields) in laid.records.items()]
    plain = laid.plain

    def call(args: tuple[Any, ...], given: Mapping[str, Any], kwargs: Mapping[str, Any]) -> T:
        if (
            len(args) > most
            or not needed <= given.keys() <= known
            or len(given) < len(args) + len(kwargs)
        ):
            try:
                laid.flat.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{function.__name__}(): {error}") from None
        values = {**defaults, **given}
        body = {name: values[name] for name in plain}
        for name, kind, fields in records:
            body[name] = kind(*[values[field] for field in fields])
        return function(**body)

    return call


def composed_of(*parts: Callable[..., Any]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Make a function's signature a model that gathers the outputs of smaller models.

    `dse` calls the parts in this order, each with its own arguments by name. The arguments are
    inputs of the whole, or outputs of earlier parts. Together the parts give every output. The body
    of the function never runs: the function is only a signature and a docstring.

    The engine runs the parts one by one, because an output needs only the inputs of one part. A
    study can thus use a break-even granularity without a granularity.
    """

    def compose(function: Callable[..., T]) -> Callable[..., T]:
        signature = read_layout(function).flat
        kind = signature.return_annotation
        outputs = tuple(list_fields(kind) or ())
        inputs = [(part, tuple(inspect.signature(part).parameters)) for part in parts]

        @functools.wraps(function)
        def whole(*args: Any, **kwargs: Any) -> T:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{function.__name__}(): {error}") from None
            bound.apply_defaults()
            known = bound.arguments
            for part, names in inputs:
                known |= record_values(part(**{n: known[n] for n in names if n in known}))
            return kind(**{name: known[name] for name in outputs})  # type: ignore[no-any-return]

        whole.__signature__ = signature  # type: ignore[attr-defined]
        whole.__parts__ = parts  # type: ignore[attr-defined]
        return whole

    return compose
