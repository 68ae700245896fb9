"""The conformance test, which checks any model against the contract."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.model.contract import Model
from dse.model.pairs import propose_declarations, refute_declarations
from dse.model.quantity import Array, Quantity, Resource
from dse.model.units import is_unit

_FEW = 2
"""Elements that nearly always show that an input has an effect; then all are tried."""


class DeclarationWarning(UserWarning):
    """A declaration of `dse.monotonic` leaves out an input, and the bounds stay wide."""


def check_model(
    function: Callable[..., Any],
    *,
    fixed: Mapping[str, Any] | None = None,
    samples: int = 64,
    pairs: int = 100_000,
    seed: int = 0,
) -> None:
    """Check a model against the contract (ARCHITECTURE.md, "Models").

    `check_model` samples inputs from the declared domains and checks:

    * every input and output has a declaration, with a known unit, and a domain that contains its
      typical and default values;
    * the model raises nothing, does not change its inputs, and gives the same values one by one;
    * shapes broadcast;
    * outputs stay in their declared domains, without NaN, if the inputs do;
    * an element outside a domain gives NaN and has no effect on other elements;
    * each input has an effect, declared parts add up, and a composed model equals its parts;
    * requirements add and compare only values of one unit;
    * no pair of inputs refutes a declared sign (`dse.monotonic`) or lower bound.

    An output whose declaration leaves out an input gives a `DeclarationWarning`, with the sign that
    no pair contradicts. An output without any declaration gives none.

    Parameters
    ----------
    function : callable
        The annotated function.
    fixed : mapping, optional
        Inputs with a fixed value instead of samples; each resource needs one.
    samples : int
        The number of elements to sample; at least 4.
    pairs : int
        The number of pairs of inputs per declared input; give fewer if the model needs more than a
        few microseconds.
    seed : int
        The seed of the samples.

    Raises
    ------
    AssertionError
        If the model breaks a rule; it names the model, the rule and the input or output.
    InputError
        If a declaration is missing.
    """
    if samples < 4:
        raise ValueError(f"samples = {samples}: give at least 4")
    model = Model.from_function(function)
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = dict(fixed or {})
    drawn: dict[str, Quantity] = {}
    _declarations(model)
    for name, declaration in model.inputs.items():
        if isinstance(declaration, Resource):
            assert name in columns, f"{model.name}: give the resource '{name}' in fixed="
        elif name not in columns:
            columns[name] = declaration.draw(rng, samples)
            drawn[name] = declaration
    outputs = _pure(model, columns)
    _elementwise(model, columns, outputs, samples)
    _broadcasts(model, columns, drawn)
    _in_domain(model, outputs)
    _parts_add_up(model, outputs)
    _whole_equals_parts(model, columns, outputs)
    _nan_outside(model, columns, drawn, outputs, samples)
    _each_input_matters(model, columns, drawn, outputs, rng)
    refute_declarations(model, fixed or {}, pairs, seed)
    for proposal in propose_declarations(model, fixed or {}, pairs, seed):
        warnings.warn(proposal, DeclarationWarning, stacklevel=2)


def _declarations(model: Model) -> None:
    assert not model.misfits, "; ".join(model.misfits)
    for name, quantity in model.quantities.items():
        where = f"{model.name}: '{name}'"
        assert is_unit(quantity.unit), f"{where} has the unknown unit {quantity.unit!r}"
        assert quantity.about, f"{where} has no description"
        nearest = quantity.clip(0.0)
        assert quantity.contains(nearest), f"{where} has the empty domain {quantity.domain()}"
        ends = np.array(quantity.typical or (nearest, nearest))
        assert ends[0] <= ends[1] and np.array_equal(quantity.clip(ends), ends), (
            f"{where} is typically in {quantity.typical}, outside its domain {quantity.domain()}"
        )
        assert quantity.contains(model.defaults.get(name, nearest)), (
            f"{where} is {model.defaults[name]} by default, outside its domain {quantity.domain()}"
        )


def _run(model: Model, columns: Mapping[str, Any], where: str) -> dict[str, Array]:
    try:
        return model(columns)
    except Exception as error:
        raise AssertionError(
            f"{model.name}: raises {type(error).__name__} {where}: {error}"
        ) from error


def _pure(model: Model, columns: Mapping[str, Any]) -> dict[str, Array]:
    frozen = {}
    for name, value in columns.items():
        frozen[name] = value
        if isinstance(value, np.ndarray):
            frozen[name] = value.copy()
            frozen[name].flags.writeable = False
    first = _run(
        model,
        frozen,
        "inside the domain (or it changes its inputs, which are read-only: copy them first)",
    )
    second = _run(model, frozen, "when it is called again")
    for name, value in frozen.items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, columns[name], equal_nan=True), (
                f"{model.name}: changes its input '{name}': copy it first"
            )
    for name in first:
        assert np.array_equal(first[name], second[name], equal_nan=True), (
            f"{model.name}: '{name}' differs between two equal calls"
        )
    return first


def _elementwise(
    model: Model, columns: Mapping[str, Any], outputs: Mapping[str, Array], samples: int
) -> None:
    for i in range(samples):
        one = {n: (v[i] if isinstance(v, np.ndarray) else v) for n, v in columns.items()}
        for name, value in _run(model, one, f"for the scalars {one}").items():
            whole = np.broadcast_to(outputs[name], (samples,))[i]
            assert np.isclose(value, whole, rtol=1e-12, atol=0, equal_nan=True), (
                f"{model.name}: '{name}' of the array is {whole!r} at element {i}, "
                f"of the scalar {value!r}"
            )


def _broadcasts(model: Model, columns: Mapping[str, Any], drawn: Mapping[str, Quantity]) -> None:
    if len(drawn) < 2:
        return
    names = list(drawn)
    grid = dict(columns)
    flat = dict(columns)
    for position, name in enumerate(names):
        few = columns[name][:3] if position == 0 else columns[name][:4]
        grid[name] = few[:, None] if position == 0 else few
        flat[name] = np.repeat(few, 4) if position == 0 else np.tile(few, 3)
    on_grid = _run(model, grid, "for arrays of shapes (3, 1) and (4,)")
    on_flat = _run(model, flat, "inside the domain")
    for name, value in on_grid.items():
        got = np.broadcast_to(value, (3, 4)).ravel()
        want = np.broadcast_to(on_flat[name], (12,))
        assert np.allclose(got, want, rtol=1e-12, atol=0, equal_nan=True), (
            f"{model.name}: '{name}' does not broadcast (3, 1) with (4,)"
        )


def _in_domain(model: Model, outputs: Mapping[str, Array]) -> None:
    for name, value in outputs.items():
        assert not np.isnan(np.asarray(value, dtype=np.float64)).any(), (
            f"{model.name}: '{name}' is NaN inside the domain of the inputs"
        )
        assert model.outputs[name].contains(value).all(), (
            f"{model.name}: '{name}' leaves its declared domain {model.outputs[name].domain()}"
        )


def _nan_outside(
    model: Model,
    columns: Mapping[str, Any],
    drawn: Mapping[str, Quantity],
    outputs: Mapping[str, Array],
    samples: int,
) -> None:
    """Check elements of which one input is outside its domain, in front of those inside.

    The former must be NaN, and have no effect on the latter: these are the same to the bit if all
    are inside. Both runs have each element at the same place, as rounding may depend on the place.
    """
    for leaf in model.leaves:
        known = {**outputs, **columns}  # a part may take the output of another part
        given = {n: known[n] for n in leaf.inputs if n in known}
        cases = [(n, x) for n, q in drawn.items() if n in given for x in _just_outside(q)]
        if not cases:
            continue
        try:
            found = leaf(_put_outside(given, cases, samples, len(cases)))
        except Exception:
            for name, value in cases:  # which one?
                where = f"where {name} = {value!r}"
                _run(leaf, _put_outside(given, [(name, value)], samples, 1), where)
            raise
        all_inside = leaf(_put_outside(given, [], samples, len(cases)))
        for output, whole in found.items():
            size = len(cases) + samples
            made, before = (np.broadcast_to(x, (size,)) for x in (whole, all_inside[output]))
            for (name, outside), one in zip(cases, made, strict=False):
                assert np.isnan(one), (
                    f"{model.name}: '{output}' is not NaN where {name} = {outside!r}"
                )
            inside = slice(len(cases), None)
            assert np.array_equal(made[inside], before[inside], equal_nan=True), (
                f"{model.name}: '{output}' changes next to an element outside the domain"
            )


def _put_outside(
    given: Mapping[str, Any], cases: list[tuple[str, float]], samples: int, count: int
) -> dict[str, Any]:
    """Return the columns with `count` elements in front, of which each case changes one input."""
    rows = np.concatenate([np.arange(count) % samples, np.arange(samples)])
    columns = {n: v[rows] if np.shape(v) == (samples,) else v for n, v in given.items()}
    for row, (name, value) in enumerate(cases):
        columns[name][row] = value
    return columns


def _just_outside(quantity: Quantity) -> list[float]:
    outside = [np.nan]
    if quantity.above > -np.inf:
        outside.append(quantity.above)
    if quantity.low > -np.inf:
        outside.append(np.nextafter(quantity.low, -np.inf))
    if quantity.below < np.inf:
        outside.append(quantity.below)
    if quantity.high < np.inf:
        outside.append(np.nextafter(quantity.high, np.inf))
    if quantity.integer:
        low, high = quantity.typical or (quantity.low, quantity.high)
        outside.append((low if np.isfinite(low) else high if np.isfinite(high) else 0.0) + 0.5)
    return outside


def _each_input_matters(
    model: Model,
    columns: Mapping[str, Any],
    drawn: Mapping[str, Quantity],
    outputs: Mapping[str, Array],
    rng: np.random.Generator,
) -> None:
    finite = np.sum(np.broadcast_arrays(*map(np.isfinite, outputs.values())), axis=0)
    every = np.arange(finite.size)
    few = np.argsort(-finite, kind="stable")[:_FEW] if finite.ndim else every
    for name, quantity in drawn.items():
        if np.ptp(columns[name]) == 0.0:
            continue  # a domain of a single value
        given = {**columns, name: quantity.draw(rng, columns[name].size)}
        assert any(
            _differ(
                model, {n: v[rows] if n in drawn else v for n, v in given.items()}, outputs, rows
            )
            for rows in (few, every)
        ), f"{model.name}: no output depends on '{name}'"


def _differ(
    model: Model, columns: Mapping[str, Any], outputs: Mapping[str, Array], rows: NDArray[np.intp]
) -> bool:
    """Return whether an output differs from an earlier one in some rows."""
    return any(
        not np.array_equal(before[rows] if before.ndim else before, after, equal_nan=True)
        for before, after in ((outputs[n], value) for n, value in model(columns).items())
    )


def _parts_add_up(model: Model, outputs: Mapping[str, Array]) -> None:
    totals: dict[str, Array] = {}
    for name, quantity in model.outputs.items():
        if quantity.part_of:
            whole = next(n for n, field in model.fields.items() if field == quantity.part_of)
            totals[whole] = totals.get(whole, np.float64(0.0)) + outputs[name]
    for whole, total in totals.items():
        assert np.allclose(total, outputs[whole], rtol=1e-9, atol=0), (
            f"{model.name}: the parts of '{whole}' do not add up to it"
        )


def _whole_equals_parts(
    model: Model, columns: Mapping[str, Any], outputs: Mapping[str, Array]
) -> None:
    known: dict[str, Any] = dict(columns)
    for leaf in model.leaves if model.parts else ():
        found = leaf({n: known[n] for n in leaf.inputs if n in known})
        known |= found
        for name, value in found.items():
            shape = np.shape(outputs[name])
            assert np.array_equal(np.broadcast_to(value, shape), outputs[name], equal_nan=True), (
                f"{model.name}: '{name}' of the whole differs from its part's"
            )
