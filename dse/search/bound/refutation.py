"""Refutation: evaluated designs compared with the bounds of their boxes.

The bounds of a box (`dse.search.bound.ranges`) rest on declarations of authors: how outputs change
with inputs, and their domains. A design outside the bounds of its box refutes one of them. To find
the wrong declaration, the models run in order until an output leaves its range.
Then the inputs change one at a time from the corner of the box to the design, in several orders,
until one step contradicts the declaration.

A declaration that is wrong in a small region may leave every design inside the bounds of its box.
Two designs can contradict it all the same, so `check_pairs` compares designs with each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.model_graph import Evaluation
from dse.evaluate.space import Points
from dse.model.contract import Model
from dse.model.declarations import MARGIN, contradicts, describe_contradiction
from dse.model.pairs import describe_below_bound
from dse.model.quantity import Array, Quantity, Resource
from dse.model.values import show
from dse.problems import DseError
from dse.search.bound.boxes import OpenBoxes, make_random_boxes
from dse.search.bound.cells import Boxes
from dse.search.bound.monotonicity import describe_signs
from dse.search.bound.ranges import Ranges, Walk

# The vector and the scalar code of a processor differ in the last bit.
_SLACK = 1e-12
_ASKED = 8  # designs outside their bounds for which blame is sought
_ORDERS = 16  # of the inputs, on the way from a corner to a design


class RefutedError(DseError):
    """A declaration on which bounds rest does not hold: the front would not be what it says."""

    exit_code = 1


class _Culprit(NamedTuple):
    """An output that left its range."""

    model: Model
    name: str
    side: int
    value: float
    end: float
    row: int  # of the scenarios


def check_bounds(
    ranges: Ranges, boxes: Boxes, places: NDArray[np.int64], judged: Evaluated
) -> None:
    """Check designs against the bounds of boxes that contain them, one box per design.

    Raises
    ------
    RefutedError
        If a design is better than its box's ideal, or a violation is not between its bounds; with
        the model, the output, the input, and both points at which it breaks what is declared.
    """
    evaluator, bounds = ranges.evaluator, ranges(boxes)
    values = judged.objectives * evaluator.signs
    violated = evaluator.violations(judged.constrained)
    better = _less(values, bounds.ideal, _SLACK).any(axis=1)
    outside = _less(violated, bounds.least, _SLACK) | _less(bounds.most, violated, _SLACK)
    lost = ~bounds.possible & judged.feasible
    for row in np.flatnonzero(better | outside.any(axis=1) | lost)[:_ASKED]:
        design = ranges.points(places[row : row + 1])
        if text := _blamed(ranges, boxes.rows(slice(row, row + 1)), design):
            raise RefutedError(f"{text}\n  the design: {_words(ranges, design)}")
        if _less(values[row], bounds.ideal[row], MARGIN).any():
            raise RefutedError(
                "a design is better than the bound of its box, though each model keeps to all its"
                f" declarations\n  the design: {_words(ranges, design)}"
            )


def _less(one: Array, other: Array, slack: float) -> NDArray[np.bool_]:
    """Return which values are less by more than a fraction."""
    with np.errstate(all="ignore"):
        part = np.where(np.isfinite(one), slack * np.abs(one), 0.0)
        return np.asarray(one + part < other)


def _words(ranges: Ranges, design: Mapping[str, NDArray[Any]]) -> str:
    quantities = ranges.evaluator.model_graph.quantities
    return ", ".join(
        f"{n} = {show(v[0], quantities[n].unit) if n in quantities else v[0]}"
        for n, v in design.items()
    )


def _blamed(ranges: Ranges, box: Boxes, design: Mapping[str, NDArray[Any]]) -> str:
    """Return in words which declaration a design of a box refutes; empty if none."""
    model_graph = ranges.evaluator.model_graph
    requests = ranges.evaluator.requests()
    columns = ranges.evaluator.space.columns(dict(design))
    needed = model_graph.needs(name for name, _ in requests).names
    models = {model.name: model for model in model_graph.models}
    walk = Walk(ranges, box)
    for key in model_graph.runs(requests):
        model, conditions = models[key[0]], dict(key[1])
        for found in _outside(walk, ranges, model, conditions, columns, needed):
            if ranges.table(key, found.name) is not None:
                return (
                    f"{model.name}: '{found.name}' is {found.value:.10g} for a design, and was at"
                    f" {'most' if found.side > 0 else 'least'} {found.end:.10g} in a table of all:"
                    " equal inputs must give equal outputs"
                )
            for floor in model.lower_bounds.get(found.name, ()) if found.side < 0 else ():
                least = walk.floor(floor, found.name, conditions, found.row)
                if found.value < least:
                    text = describe_below_bound(floor, found.name, found.value, least)
                    return f"{model.name}: {text}"
            corner, unknown, _ = walk.corner(model, found.name, conditions, found.side)
            given = model_graph.given(model, conditions, columns)
            return f"{model.name}: " + _contradiction(
                found,
                _row(corner, model, found.row),
                _row(given, model, found.row),
                bool(unknown.any()),
            )
    return ""


def _outside(
    walk: Walk,
    ranges: Ranges,
    model: Model,
    conditions: Mapping[str, Any],
    columns: Mapping[str, Array],
    needed: Mapping[str, str],
) -> Iterator[_Culprit]:
    """Yield the outputs of a model that are outside their ranges."""
    names = [name for name in model.outputs if name in needed]
    values = ranges.evaluator.model_graph.evaluate([(n, conditions) for n in names], columns)
    for name, value in zip(names, values, strict=True):
        for side in (-1, 1):
            one, end = np.broadcast_arrays(value, walk.end(name, conditions, side))
            values_, end = np.ravel(one), np.ravel(end)
            left = _less(values_, end, _SLACK) if side < 0 else _less(end, values_, _SLACK)
            for row in np.flatnonzero(left)[:1]:
                yield _Culprit(model, name, side, float(values_[row]), float(end[row]), row)


def _row(columns: Mapping[str, Any], model: Model, row: int) -> dict[str, Any]:
    """Return the inputs of one scenario as numbers; other objects stay as they are."""
    found = {}
    for name, value in columns.items():
        if isinstance(model.inputs[name], Resource):
            found[name] = value
        else:
            flat = np.ravel(value)
            found[name] = float(flat[min(row, flat.size - 1)])
    return found


def _contradiction(
    found: _Culprit, corner: dict[str, Any], design: dict[str, Any], unknown: bool
) -> str:
    """Return in words what is wrong between the corner of a box and a design of it."""
    model, name = found.model, found.name
    domain = model.outputs[name]
    if unknown or not domain.contains(found.value):
        return f"'{name}' is {found.value:.10g}, outside its declared domain {domain.domain()}"
    moves = model.monotonic.get(name, {})
    differing = [n for n in corner if n in moves and corner[n] != design[n]]
    rng = np.random.default_rng(0)
    orders = [differing, differing[::-1]]
    orders += [rng.permutation(differing).tolist() for _ in range(_ORDERS)]
    for order in orders:
        point = dict(corner)
        value = float(model(point)[name])
        for each in order:
            after = {**point, each: design[each]}
            ends = (point, value), (after, float(model(after)[name]))
            (low, first), (high, second) = ends if corner[each] < design[each] else ends[::-1]
            if contradicts(moves[each], first, second):
                numbers = [
                    {n: v for n, v in p.items() if n in model.quantities} for p in (low, high)
                ]
                return describe_contradiction(name, each, moves[each], numbers, (first, second))
            point, value = ends[1]
    side = "at most" if found.side > 0 else "at least"
    inputs = (", ".join(f"{n} = {p[n]!r}" for n in differing) for p in (corner, design))
    return (
        f"'{name}' is declared to be {side} {found.end:.10g} from {next(inputs)} on,"
        f" but it is {found.value:.10g} for {next(inputs)}"
    )


_AUDITED = 2_000  # designs that are checked against the bounds of random boxes around them
_SAMPLED = 60  # designs of a batch whose constraints are checked against the bounds of their boxes


class DesignsInBoxes(NamedTuple):
    """Boxes, and for each of some designs the row of its box."""

    boxes: OpenBoxes
    rows: NDArray[np.int64]


def check_designs(
    ranges: Ranges,
    places: NDArray[np.int64],
    judged: Evaluated,
    held: DesignsInBoxes | None,
    seed: int,
) -> None:
    """Check designs against the bounds of their boxes; seeds against random boxes around them.

    Raises
    ------
    RefutedError
        If a design is outside: the error names model, output, input and both designs.
    """
    evaluator = ranges.evaluator
    if held is None:
        rows = np.resize(np.arange(len(places)), min(_AUDITED, 4 * len(places)))
        boxes = make_random_boxes(ranges.axes, places[rows], np.random.default_rng(seed))
    else:
        ideal = held.boxes.ideal.take(held.rows, axis=0)
        better = np.asarray((judged.objectives * evaluator.signs < ideal).any(axis=1))
        better[:: 1 + len(places) // _SAMPLED] |= bool(evaluator.constraints)
        rows = np.flatnonzero(better)[:_AUDITED]
        boxes = held.boxes.boxes.rows(held.rows[rows])
    if len(rows):
        check_bounds(ranges, boxes, places[rows], judged.rows(rows))


# Pairs of designs ---------------------------------------------------------------------------------

_COMPARED = 2_048  # runs of a model that are compared with each other, about 0.1 s per output
_CHUNK = 256  # of them at a time: memory


def check_pairs(evaluator: Evaluator, points: Points) -> None:
    """Check designs against the declarations of every output, on all pairs that these order.

    Raises
    ------
    RefutedError
        If two designs contradict a declaration: the error names model, output and both inputs.
    """
    model_graph = evaluator.model_graph
    models = {model.name: model for model in model_graph.models}
    evaluation = Evaluation(model_graph, evaluator.space.columns(points), {})
    for name, bound in model_graph.runs(evaluator.requests()):
        model, conditions = models[name], dict(bound)
        given = {
            n: np.asarray(v, dtype=np.float64)
            for n, v in evaluation.given(model, conditions).items()
            if isinstance(model.inputs[n], Quantity)
        }
        values = evaluation.run(model, conditions)
        for output, signs in model.monotonic.items():
            if pair := _find_pair(given, signs, np.asarray(values[output], dtype=np.float64)):
                declared = describe_signs(signs)
                ends = [f"{value!r} for {_show_inputs(inputs)}" for inputs, value in pair]
                text = f"'{output}' is declared {declared}, but it is {' and '.join(ends)}."
                raise RefutedError(f"{model.name}: {text}")


def _show_inputs(inputs: Mapping[str, float]) -> str:
    return ", ".join(f"{n} = {v!r}" for n, v in inputs.items())


def _find_pair(
    given: Mapping[str, Array], signs: Mapping[str, int], output: Array
) -> list[tuple[dict[str, float], float]]:
    """Return the inputs and outputs of two runs that contradict signs; empty if none do.

    Of two runs, the output of the second is at least as high if each input with a sign is as high
    or higher in the direction of its sign, and each input without a declaration is equal.
    """
    shape = np.broadcast_shapes(output.shape, *(column.shape for column in given.values()))
    rows = np.arange(int(np.prod(shape)))
    if len(rows) > _COMPARED:
        rows = np.random.default_rng(0).permutation(rows)[:_COMPARED]
    values = np.broadcast_to(output, shape).ravel()[rows]
    inputs = {n: np.broadcast_to(v, shape).ravel()[rows] for n, v in given.items()}
    varied = {n: v for n, v in inputs.items() if (v != v[0]).any()}
    ordered = [signs[n] * v for n, v in varied.items() if signs.get(n, 0)]
    fixed = [v for n, v in varied.items() if n not in signs]
    for start in range(0, len(rows), _CHUNK):
        part = slice(start, start + _CHUNK)
        bad = contradicts(1, values[part, None], values[None, :])
        for column in ordered:
            bad &= column[part, None] <= column[None, :]
        for column in fixed:
            bad &= column[part, None] == column[None, :]
        if bad.any():
            one, other = np.argwhere(bad)[0]
            return [
                ({n: float(v[row]) for n, v in varied.items()}, float(values[row]))
                for row in (start + one, other)
            ]
    return []
