"""Uncertain inputs: their distributions, their samples, and the objectives that need samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from dse.evaluate.criteria import Constraint, Objective, Reduction, count_scenarios
from dse.evaluate.model_graph import ModelGraph
from dse.evaluate.samples import (
    SAMPLE,
    Distribution,
    Kind,
    Source,
    Spread,
    Uncertain,
    Uncertainty,
    draw_samples,
    option_column,
    sample_conditions,
)
from dse.evaluate.samples import JointDistribution as Fitted
from dse.evaluate.space import Choice, Space
from dse.model.quantity import Array
from dse.model.values import plural
from dse.study.catalog import JointTable
from dse.study.findings import Findings, Place
from dse.study.resolve.scope import Scope, is_whole, list_declarations, show_as_written
from dse.study.schema import LAWS, SOURCED, InputValue, StudyFile, UncertainTable, input_value

_CUT = 0.01  # of a law outside the domain: more of it gets a note
_SECOND = {"normal": "deviation", "lognormal": "factor"}
"""The second number of a law."""
_MAX_ROWS = 100_000  # scenarios of one objective, samples included
_Asked = TypeVar("_Asked", Objective, Constraint)
Rows = Mapping[str, Mapping[str, Mapping[str, InputValue]]]
"""By variable and option, the input values of the rows that it chooses."""

# Reading numbers that may be uncertain


def resolve_value(scope: Scope, place: Place, name: str, given: InputValue) -> InputValue | None:
    """Return an input value in the unit of its quantity; None, after a problem, if it has none.

    The value of an uncertain number is its middle, and its distribution an `Uncertain`.
    """
    unit = scope.unit(name)
    if given.distribution is None:
        value = scope.value(place, name, given.written)
        if value is None:
            return None
        if given.provenance not in SOURCED:
            scope.warn_magnitude(place, name, value)
        return resolve_range(scope, place / "range", name, given, given.with_value(value, unit))
    law = _resolve_law(scope, place, name, given.distribution)
    if law is None:
        return None
    text = describe_distribution(given.distribution)
    if law.cut_off > _CUT:
        cut = f"{law.cut_off:.0%} of {text} is outside the domain, and cut off"
        scope.findings.notes.append(f"{place}: {cut}")
    label = name
    if place.section == "space":
        label = f"{name} of {place.steps[-2]}"
    elif "at" in place.steps:
        label = f"{name} of {Place(place.section, place.steps[:1])}"
    source = Source(str(place), (label,), (unit,), law, text)
    return given.with_value(law.middle, unit, Uncertain(law.middle, source))


def resolve_range(
    scope: Scope, place: Place, name: str, given: InputValue, resolved: InputValue
) -> InputValue | None:
    """Return a resolved value with its range in the same unit; None, after a problem.

    The range contains the value: a clock relates bounds in cycles and in seconds.
    """
    if not given.range or math.isnan(float(resolved.value)):
        return resolved
    read = [scope.number(place, name, bound, resolved.unit) for bound in given.bounds]
    bounds = [bound for bound in read if bound is not None]
    if len(bounds) < len(read) or not scope.in_domain(place, name, np.array(bounds)):
        return None
    bounds.append(float(resolved.value))
    return replace(resolved, range=(min(bounds), max(bounds)))


def resolve_joint_fit(
    scope: Scope, place: Place, fit: JointTable, values: Mapping[str, InputValue]
) -> dict[str, InputValue]:
    """Return the values of a row that vary together, as a fit left them uncertain.

    A value does not vary if models take whole numbers, or if it is not above 0 and its logarithm
    is normal.
    """
    model_graph = scope.model_graph
    varying = [
        i
        for i, name in enumerate(fit.of)
        if name in values
        and not is_whole(model_graph, name)
        and (name in fit.normal or float(values[name].value) > 0)
    ]
    if not varying:
        return {}
    names = [fit.of[i] for i in varying]
    middles = tuple(float(values[name].value) for name in names)
    law = Fitted(
        middles,
        tuple(name not in fit.normal for name in names),
        tuple(tuple(fit.covariance[i][k] for k in varying) for i in varying),
        tuple(_domain(model_graph, name) for name in names),
    )
    of_row = f" of {place.steps[-1]}" if place.section == "space" else ""
    labels = tuple(f"{name}{of_row}" for name in names)
    source = Source(str(place), labels, tuple(map(scope.unit, names)), law, "as fitted, together")
    return {
        name: replace(values[name], distribution=Uncertain(middle, source, number))
        for number, (name, middle) in enumerate(zip(names, middles, strict=True))
    }


def describe_distribution(given: UncertainTable) -> str:
    """Return how a number is uncertain as the study wrote it."""
    kind = next(kind for kind in LAWS if getattr(given, kind) is not None)
    value = getattr(given, kind)
    if kind == "between":
        return f"between {show_as_written(value[0])} and {show_as_written(value[1])}"
    if isinstance(value, list):
        return f"{kind} from {' to '.join(map(show_as_written, value))}"
    second = _SECOND[kind]
    return f"{kind}, {show_as_written(value)}, {second} {show_as_written(getattr(given, second))}"


def show_value(given: Any) -> str:
    """Return a number as the study wrote it, also an uncertain one."""
    if isinstance(given, UncertainTable):
        return describe_distribution(given)
    return show_as_written(input_value(given).written)


def _resolve_law(
    scope: Scope, place: Place, name: str, table: UncertainTable
) -> Distribution | None:
    """Read a law; None, after a problem, if there is none."""
    if is_whole(scope.model_graph, name):
        remedy = "list its values under over, with weights if some are likelier"
        scope.add(place, f"{name} is a whole number, which cannot be uncertain", remedy)
        return None
    kind: Kind = next(kind for kind in LAWS if getattr(table, kind) is not None)
    given, unit = getattr(table, kind), scope.unit(name)
    places = [place / kind]
    if isinstance(given, list):
        places = [place / kind / i for i in range(len(given))]
    elif kind == "normal":
        places, given = [place / kind, place / "deviation"], [given, table.deviation]
    read = [
        scope.number(where, name, number, unit)
        for where, number in zip(places, given if isinstance(given, list) else [given], strict=True)
    ]
    numbers = [number for number in read if number is not None]
    if len(numbers) < len(read):
        return None
    second = numbers.pop() if kind == "normal" else table.factor
    if kind == "normal" and not (second or 0) > 0:
        remedy = "a number that is known is given as such"
        scope.add(place / "deviation", "is not above 0", remedy)
    elif kind == "lognormal" and not numbers[0] > 0:
        scope.add(place / kind, "is not above 0", "give a median above 0")
    elif numbers != sorted(numbers):
        scope.add(place / kind, "is reversed", "write the lesser number first: [low, high]")
    elif len(numbers) > 1 and numbers[0] == numbers[-1]:
        remedy = "a number that is known is given as such"
        scope.add(place / kind, "is empty: its bounds are equal", remedy)
    elif scope.in_domain(place / kind, name, np.array(numbers)):
        numbers += [] if second is None else [second]
        return Distribution(kind, tuple(numbers), _domain(scope.model_graph, name))
    return None


def _domain(model_graph: ModelGraph, name: str) -> tuple[float, float]:
    """Return the minimum and the maximum that every model takes."""
    low, high = -math.inf, math.inf
    for quantity, scale in list_declarations(model_graph, name):
        low = max(low, quantity.low / scale, math.nextafter(quantity.above / scale, math.inf))
        high = min(high, quantity.high / scale, math.nextafter(quantity.below / scale, -math.inf))
    return low, high


# Sampling


@dataclass(frozen=True)
class Sampling:
    """The uncertain numbers of a study: fixed inputs, and rows of variables."""

    inputs: Mapping[str, InputValue]
    rows: Rows

    def sources(self, asked: Sequence[Objective | Constraint]) -> tuple[Source, ...]:
        """Return the sources of all uncertain numbers, each once.

        Their order decides the samples: inputs, the rows of each variable, and conditions; in each
        of these what was fitted together comes last.
        """
        groups: list[Iterable[Any]] = [(v.distribution for v in self.inputs.values())]
        for rows in self.rows.values():
            groups.append(v.distribution for row in rows.values() for v in row.values())
        groups.append(bound for target in asked for bound in target.conditions.values())
        sources: dict[str, Source] = {}
        for group in groups:
            drawn = [u.source for u in group if isinstance(u, Uncertain)]
            drawn.sort(key=lambda source: isinstance(source.law, Fitted))
            sources |= {source.where: source for source in drawn}
        return tuple(sources.values())

    def spreads(self, uncertainty: Uncertainty) -> dict[str, Spread]:
        """Return each uncertain quantity in each sample."""
        spreads = {
            name: Spread(np.array([float(value.value)]), _column(value, uncertainty))
            for name, value in self.inputs.items()
            if value.distribution is not None
        }
        for variable, rows in self.rows.items():
            for name in next(iter(rows.values()), {}):
                values = [row[name] for row in rows.values()]
                if any(value.distribution is not None for value in values):
                    middle = np.array([float(value.value) for value in values])
                    columns = [_column(value, uncertainty) for value in values]
                    spreads[name] = Spread(middle, np.concatenate(columns, axis=1), variable)
        return spreads

    def prepare(self, model_graph: ModelGraph, space: Space) -> tuple[ModelGraph, Space]:
        """Return a model graph and a space that know what is uncertain, without samples."""
        sources = self.sources(())
        empty = Uncertainty(values={s.where: np.zeros((0, len(s.labels))) for s in sources})
        spreads = self.spreads(empty)
        chosen = {spread.variable for spread in spreads.values()} - {""}
        variables = {
            n: replace(v, numbered=option_column(n)) if isinstance(v, Choice) and n in chosen else v
            for n, v in space.variables.items()
        }
        return replace(model_graph, spread=spreads), Space(variables)


def _column(value: InputValue, uncertainty: Uncertainty) -> Array:
    """Return a value in each sample, as a column."""
    uncertain = value.distribution
    if not isinstance(uncertain, Uncertain):
        return np.full((uncertainty.samples, 1), float(value.value))
    return uncertainty.values[uncertain.source.where][:, [uncertain.number]]


def needs_samples(
    model_graph: ModelGraph, names: Sequence[str], conditions: Mapping[str, Any]
) -> bool:
    """Return whether some quantities depend on uncertain inputs."""
    affecting = model_graph.affecting(names, conditions)
    if any(isinstance(conditions.get(name), Uncertain) for name in affecting):
        return True
    return bool((affecting & model_graph.spread.keys()) - conditions.keys())


def sample_study(
    file: StudyFile,
    findings: Findings,
    sampling: Sampling,
    model_graph: ModelGraph,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
) -> tuple[ModelGraph, list[Objective], list[Constraint], Uncertainty]:
    """Sample what is uncertain, and let all that depends on it ask for the samples."""
    sources = sampling.sources([*objectives, *constraints])
    if not sources:
        return model_graph, list(objectives), list(constraints), Uncertainty()
    uncertainty = draw_samples(sources, file.uncertainty.samples, file.search.seed)
    model_graph = replace(model_graph, spread=sampling.spreads(uncertainty))
    sampled = [
        _with_samples(findings, model_graph, uncertainty, o, (o.quantity,)) for o in objectives
    ]
    held = [_with_samples(findings, model_graph, uncertainty, c, c.names) for c in constraints]
    findings.notes += _notes(uncertainty, sampled, held)
    return model_graph, sampled, held, uncertainty


def _with_samples(
    findings: Findings,
    model_graph: ModelGraph,
    uncertainty: Uncertainty,
    asked: _Asked,
    names: Sequence[str],
) -> _Asked:
    """Return an objective or a constraint that asks for the samples if it depends on them."""
    if not needs_samples(model_graph, names, asked.conditions):
        return asked
    several: list[str] = [n for n, v in asked.conditions.items() if isinstance(v, tuple)]
    each = count_scenarios(asked.conditions)
    samples, corners = uncertainty.samples, uncertainty.corners
    if each * samples > _MAX_ROWS:
        message = f"{each:,} scenarios in {samples:,} samples are more than {_MAX_ROWS:,}"
        findings.add(Place("uncertainty") / "samples", f"{asked.name}: {message}", "give fewer")
        return asked
    reduction = asked.reduction
    if reduction is None and isinstance(asked, Constraint):
        reduction = Reduction("max" if asked.upper else "min", label="worst")
    elif reduction is None:
        reduction = Reduction("mean")
    count = plural(samples - corners, "sample")
    of = f"over {', '.join(several)} and {count}" if several else f"of {count}"
    before = f"{asked.reduction} over {', '.join(several)}" if several else f"{asked.reduction}"
    condition = f"{reduction} {of} {asked.condition.removeprefix(before).strip()}".strip()
    skipped = corners * each
    weights = (reduction.weights * samples)[skipped:]
    reduction = replace(reduction, weights=weights, skipped=skipped)
    conditions = sample_conditions(asked.conditions, uncertainty)
    return replace(asked, conditions=conditions, reduction=reduction, condition=condition)


def _notes(
    uncertainty: Uncertainty, objectives: Sequence[Objective], constraints: Sequence[Constraint]
) -> Iterator[str]:
    """Yield a note on each uncertain input, and on each target that depends on one."""
    for source in uncertainty.sources:
        yield f"{source.where} is uncertain: {source.text}"
    corners = ""
    if uncertainty.corners:
        count = plural(uncertainty.corners, "corner")
        corners = f", and {count} of the intervals for the worst case"
    count = plural(uncertainty.samples - uncertainty.corners, "sample")
    yield f"uncertain inputs have {count}{corners}"
    for kind, asked in (("objective", objectives), ("constraint", constraints)):
        for each in asked:
            if SAMPLE in each.conditions:
                yield f"{kind} {each.name}: {each.condition}"
