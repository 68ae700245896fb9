"""The options of kernels: the designs of each that a system may need.

They are "not built" and the Pareto front of a kernel's designs, where the coordinates are the
totals. Any other design is at least as bad in each total, so no system needs it. A total that some
objective wants low and another high is two coordinates.

Kernels that share an engine, or a chain, are one variable: the amounts of one then depend on the
others. An option of the variable has a design for each of its kernels.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.audit import audit_models
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import DesignError
from dse.evaluate.front import find_distinct_front
from dse.evaluate.space import SUBSET, Choice, Points, Space, Variable, is_flag
from dse.evaluate.table_space import ROW, TableSpace
from dse.evaluate.totals import BUILT, NOT_BUILT, part_name
from dse.model.quantity import Array
from dse.model.units import UnitError, read_value
from dse.model.values import plural, show, word_name
from dse.problems import InputError, Problem, nearest
from dse.search.base import SearchSettings, Start, find_method
from dse.search.exhaustive import EARLY, evaluate_chunk
from dse.search.portfolio.trees import Tree
from dse.search.verification import verify_outcome
from dse.study.schema import ChainTable, SharedEngineTable

Signs: TypeAlias = Mapping[str, tuple[int, ...]]
"""For each total that matters the directions that are better: -1 less, 1 more."""

_MAX_DESIGNS = 20_000_000  # designs of a kernel, which are all evaluated
_MAX_SHARED = 2_000  # designs of a shared engine, which are evaluated one by one
_MAX_OPTIONS = 20_000  # options of a variable
_MAX_SHARING = 4  # kernels of one engine: each subset of them may share it


@dataclass(frozen=True)
class Options:
    """The options of a variable.

    Parameters
    ----------
    parts : mapping of str to ndarray, shape (options, totals)
        By kernel: the amount that it adds to each total.
    """

    names: tuple[str, ...]
    parts: Mapping[str, Array]

    def rows(self, totals: Sequence[str]) -> dict[str, dict[str, float]]:
        """Return the quantities that each option sets."""
        names = [part_name(kernel, total) for kernel in self.parts for total in totals]
        values = np.hstack([*self.parts.values()])
        return {
            option: dict(zip(names, row, strict=True))
            for option, row in zip(self.names, values.tolist(), strict=True)
        }

    def labelled(self) -> Options:
        """Return the options with their kernels in the names."""
        label = " + ".join(map(word_name, self.parts))
        names = (n if n == NOT_BUILT else f"{label}: {n}" for n in self.names)
        return replace(self, names=tuple(names))

    def front(self, totals: Sequence[str], signs: Signs) -> Options:
        """Return the options that no other dominates, and the first of equal ones."""
        rows = np.flatnonzero(
            find_distinct_front(_coordinates(sum(self.parts.values()), totals, signs))
        )
        if len(rows) > _MAX_OPTIONS:
            message = f"has {len(rows):,} options that none dominates: at most {_MAX_OPTIONS:,}"
            raise InputError("", [Problem("", message, "give its kernels fewer designs")])
        return Options(
            tuple(self.names[row] for row in rows), {k: v[rows] for k, v in self.parts.items()}
        )


def _coordinates(values: Any, totals: Sequence[str], signs: Signs) -> Array:
    """Return totals as coordinates to minimize (options, coordinates)."""
    columns = [-s * values[:, i] for i, t in enumerate(totals) for s in signs.get(t, ())]
    return np.column_stack(columns) if columns else np.zeros((len(values), 1))


def combine_options(parts: Sequence[Options]) -> Options:
    """Return every combination of one option of each; only built options are named."""
    names = []
    for combination in itertools.product(*(options.names for options in parts)):
        built = [name for name in combination if name != NOT_BUILT]
        names.append("; ".join(built) or NOT_BUILT)
    shape = [len(options.names) for options in parts]
    places = np.indices(shape).reshape(len(parts), -1)
    values = {
        kernel: array[place]
        for options, place in zip(parts, places, strict=True)
        for kernel, array in options.parts.items()
    }
    return Options(tuple(names), values)


def join_options(several: Sequence[Options]) -> Options:
    """Return the options of all, which are for the same kernels."""
    kernels = several[0].parts
    return Options(
        tuple(name for options in several for name in options.names),
        {k: np.concatenate([options.parts[k] for options in several]) for k in kernels},
    )


@dataclass(frozen=True)
class KernelOptions:
    """A kernel of a system.

    Parameters
    ----------
    evaluator : Evaluator
        Its models and designs, with the totals that it gives as objectives.
    on_host : mapping of str to float or None
        Its totals on the host; None if it is always built.
    given : tuple of str
        The totals on the host that the study gives.
    """

    name: str
    evaluator: Evaluator
    on_host: Mapping[str, float] | None
    given: tuple[str, ...] = ()

    def with_input(self, name: str, value: float) -> KernelOptions:
        """Return the kernel with another value of a fixed input."""
        graph = self.evaluator.model_graph
        graph = replace(graph, constants={**graph.constants, name: value})
        evaluator, on_host = replace(self.evaluator, model_graph=graph), self.on_host
        if on_host is not None:
            found = evaluate_on_host(evaluator, [t for t in on_host if t not in self.given])
            on_host = {**on_host, **{t: float(v[0]) for t, v in found.items()}}
        return replace(self, evaluator=evaluator, on_host=on_host)

    def host(self, totals: Sequence[str]) -> list[Options]:
        """Return the option that is not built, if there is one."""
        if self.on_host is None:
            return []
        row = np.array([[self.on_host.get(total, 0.0) for total in totals]])
        return [Options((NOT_BUILT,), {self.name: row})]

    def options(self, totals: Sequence[str], signs: Signs, checks: bool = True) -> Options:
        """Return all options, "not built" first."""
        return join_options([*self.host(totals), self.built(totals, signs, checks)])

    def built(
        self,
        totals: Sequence[str],
        signs: Signs,
        checks: bool = True,
        bound: Mapping[str, float] | None = None,
    ) -> Options:
        """Return the front of the designs in the totals, with some inputs bound.

        `checks`: whether models are checked against their contract, and designs are evaluated
        again.

        InputError if the designs are too many, or a model breaks its contract.
        """
        evaluator = _bind(self.evaluator, bound or {})
        points = _search(evaluator, signs, checks)
        names = tuple(_option_names(evaluator, points))
        return Options(names, {self.name: self.values(evaluator, points, totals)})

    def values(self, evaluator: Evaluator, points: Points, totals: Sequence[str]) -> Array:
        """Return what designs add to each total (designs, totals)."""
        found = replace(evaluator, constraints=()).evaluate(points).objectives
        names = [objective.quantity for objective in evaluator.objectives]
        none = np.zeros(len(found))
        return np.column_stack([found[:, names.index(t)] if t in names else none for t in totals])


def evaluate_on_host(evaluator: Evaluator, totals: Sequence[str]) -> dict[str, Array]:
    """Return the distinct values of totals on the host, over designs, as far as models give them.

    Models that take `BUILT` are evaluated with 0. Else a model declares the quantity or the number
    that an output has without the accelerator (`Quantity.without`, `Quantity.worth`).
    """
    graph = evaluator.model_graph
    has_flag, conditions = BUILT in graph.quantities, {BUILT: 0.0}
    quantities = {total: graph.quantities[total] for total in totals}
    names = {t: t if has_flag else q.without for t, q in quantities.items()}
    values = {
        t: np.array([q.worth])
        for t, q in quantities.items()
        if not names[t] and q.worth is not None
    }
    columns = evaluator.space.columns(evaluator.space.from_unit(_spread(evaluator.space)))
    requests = [(name, conditions if has_flag else {}) for name in names.values() if name]
    evaluated = graph.evaluate(requests, columns)
    given = [total for total, name in names.items() if name]
    return values | {t: np.unique(v) for t, v in zip(given, evaluated, strict=True)}


def _spread(space: Space) -> Array:
    """Return points of the unit cube that cover each variable (points, variables)."""
    count = max(2, min(64, max((v.count or 64) for v in space.variables.values())))
    even = np.linspace(0.0, 1.0, count)
    return np.column_stack([np.roll(even, 7 * i) for i in range(len(space.variables))])


def _bind(evaluator: Evaluator, bound: Mapping[str, float]) -> Evaluator:
    """Return an evaluator whose objectives and constraints bind some quantities."""
    return replace(
        evaluator,
        objectives=tuple(
            replace(o, conditions={**o.conditions, **bound}) for o in evaluator.objectives
        ),
        constraints=tuple(
            replace(c, conditions={**c.conditions, **bound}) for c in evaluator.constraints
        ),
    )


def _search(evaluator: Evaluator, signs: Signs, checks: bool) -> Points:
    """Return the front of a kernel's designs, each point once, in the order of their numbers."""
    size = evaluator.space.size
    if size is None or size > _MAX_DESIGNS:
        has = "a continuous variable" if size is None else plural(size, "design")
        remedy = f"give real variables steps, or fewer values: at most {_MAX_DESIGNS:,} designs"
        raise InputError("", [Problem("space", f"has {has}, and all are evaluated", remedy)])
    objectives = [
        replace(o, name=f"{o.name} {sign}", direction="minimize" if sign < 0 else "maximize")
        for o in evaluator.objectives
        for sign in signs.get(o.quantity, ())
    ]
    searched = replace(evaluator, objectives=tuple(objectives or evaluator.objectives[:1]))
    checks = checks and bool(evaluator.model_graph.models)
    try:
        if not checks and size <= EARLY:  # steps would only take time
            front = evaluate_chunk(searched, {}, 0, size, size).archive
            return searched.space.from_index(_first_rows(front.index, front.points))
        if checks and (problems := audit_models(searched).problems):
            raise InputError("", problems)
        method, settings = find_method("exhaustive"), SearchSettings(method="exhaustive")
        plan = method.plan(settings, searched.space, len(searched.objectives), [])
        search = method.start(Start(searched, plan))
        for _ in search.steps():
            pass
        outcome = search.outcome()
        if checks:
            verify_outcome(searched, outcome)
    except DesignError as error:
        raise InputError("", [Problem("", str(error))]) from error
    rows = np.flatnonzero(outcome.on_front)
    rows = _first_rows(rows, outcome.evaluated.objectives[rows])
    return {name: values[rows] for name, values in outcome.points.items()}


def _first_rows(rows: NDArray[np.intp], objectives: Array) -> NDArray[np.intp]:
    """Return rows in ascending order, the first of each point."""
    order = np.argsort(rows)
    _, first = np.unique(objectives[order], axis=0, return_index=True)
    return rows[order][np.sort(first)]


def _option_names(evaluator: Evaluator, points: Points) -> list[str]:
    """Return a short unique name of each design: its entries, and its numbers with their names."""
    space = evaluator.space
    labels: dict[str, NDArray[Any]] = space.labels(points)
    numbers = points[ROW] if isinstance(space, TableSpace) else space.to_index(points)
    names = []
    for row, number in enumerate(numbers.tolist()):
        entries, values = list[str](), list[str]()
        for name, variable in space.variables.items():
            label = labels[name][row]
            if isinstance(variable, Choice) and variable.about == SUBSET and variable.count == 1:
                continue
            if isinstance(label, str):
                entries.append(label)
            elif variable.count != 1:
                quantity = evaluator.model_graph.quantities[name]
                text = show(float(label), quantity.unit)
                if is_flag(variable, quantity):
                    text = "yes" if label else "no"
                values.append(f"{word_name(name)} {text}")
        names.append(", ".join([*entries, *values]) or f"design {number}")
    twice = {name for name in names if names.count(name) > 1} | {NOT_BUILT}
    return [
        f"{name} (design {number})" if name in twice else name
        for name, number in zip(names, numbers.tolist(), strict=True)
    ]


# Kernels that depend on each other


def share_engine(
    table: SharedEngineTable,
    kernels: Sequence[KernelOptions],
    totals: Sequence[str],
    signs: Signs,
    checks: bool = True,
) -> Options:
    """Return the options of kernels that one engine may serve.

    Either each has its own option, or some have the same design: it then counts once, and each of
    them is evaluated with the sums over all of them.

    InputError if the kernels have different variables, or too many designs.
    """
    space, problems = _common_space(kernels), list[Problem]()
    if space is None:
        message = "the kernels have no design in common, so no engine serves them all"
        problems.append(Problem("kernels", message, "give them variables with the same values"))
    elif (space.size or _MAX_SHARED + 1) > _MAX_SHARED:
        message = f"more than {_MAX_SHARED:,} designs of an engine"
        problems.append(Problem("", message, "give fewer values"))
    if len(kernels) > _MAX_SHARING:
        problems.append(Problem("kernels", f"are more than {_MAX_SHARING}", "leave some out"))
    for kernel in kernels:
        graph = kernel.evaluator.model_graph
        names = [objective.quantity for objective in kernel.evaluator.objectives]
        names += [n for constraint in kernel.evaluator.constraints for n in constraint.names]
        affecting = graph.affecting(names)
        if unused := [n for n in table.sums if n in graph.producers and n not in affecting]:
            message = f"{', '.join(unused)} affects no total and no constraint of {kernel.name}"
            remedy = "take a model of the engine's wait that reads it, such as shared_engine_queue"
            problems.append(Problem("sums", message, remedy))
    for name in table.once:
        if name not in totals:
            problems.append(
                Problem("once", f"'{name}' is not a total", f"totals: {', '.join(totals)}")
            )
    if problems or space is None:
        raise InputError("", problems)
    own = {kernel.name: kernel.options(totals, signs, checks).labelled() for kernel in kernels}
    found = [combine_options([*own.values()])]
    for count in range(2, len(kernels) + 1):
        for sharing in itertools.combinations(kernels, count):
            rest = [own[k.name] for k in kernels if k not in sharing]
            shared = _shared(table, sharing, totals, space).labelled()
            found.append(combine_options([shared, *rest]))
    order = [kernel.name for kernel in kernels]
    found = [Options(o.names, {name: o.parts[name] for name in order}) for o in found]
    return join_options(found).front(totals, signs)


def _common_space(kernels: Sequence[KernelOptions]) -> Space | None:
    """Return the designs that all kernels have: the same variables, of catalogs the same entries.

    None if there are none.
    """
    variables = [dict(kernel.evaluator.space.variables) for kernel in kernels]
    common = dict[str, Variable]()
    for name, first in variables[0].items():
        others = [own.get(name) for own in variables[1:]]
        if isinstance(first, Choice):
            rows = [other.rows for other in others if isinstance(other, Choice)]
            same = {o: r for o, r in first.rows.items() if all(own.get(o) == r for own in rows)}
            if len(rows) < len(others) or not same:
                return None
            common[name] = replace(first, rows=same)
        elif any(other != first for other in others):
            return None
        else:
            common[name] = first
    return Space(common) if all(own.keys() == common.keys() for own in variables) else None


def _shared(
    table: SharedEngineTable, kernels: Sequence[KernelOptions], totals: Sequence[str], space: Space
) -> Options:
    """Return the designs of a space that serve all of these kernels."""
    every = space.from_index(np.arange(space.size or 0))
    labels = space.labels(every)
    points = {k.name: k.evaluator.space.from_labels(labels) for k in kernels}
    sums = dict[str, Array]()
    for name in table.sums:
        parts = [_quantity(k.evaluator, name, points[k.name]) for k in kernels]
        sums[name] = np.sum(parts, axis=0)
    feasible, added = [], {kernel.name: list[Array]() for kernel in kernels}
    for row in range(space.size or 0):
        bound = {name: float(array[row]) for name, array in sums.items()}
        point = {k: {n: v[[row]] for n, v in own.items()} for k, own in points.items()}
        each = [_bind(kernel.evaluator, bound) for kernel in kernels]
        if all(e.evaluate(point[k.name]).feasible[0] for e, k in zip(each, kernels, strict=True)):
            feasible.append(row)
            for kernel, e in zip(kernels, each, strict=True):
                added[kernel.name].append(kernel.values(e, point[kernel.name], totals)[0])
    first = kernels[0]
    chosen = {name: array[feasible] for name, array in points[first.name].items()}
    names = _option_names(first.evaluator, chosen) if feasible else []
    values = {k: np.reshape(v, (len(feasible), len(totals))) for k, v in added.items()}
    for kernel in kernels[1:]:
        values[kernel.name][:, [totals.index(name) for name in table.once]] = 0.0
    return Options(tuple(names), values)


def _quantity(evaluator: Evaluator, name: str, points: Points) -> Array:
    """Return a quantity of designs."""
    graph = evaluator.model_graph
    if name not in graph.producers:
        message = f"no model of the kernels gives '{name}'"
        raise InputError("", [Problem("sums", message, "name an output of their models")])
    count = len(next(iter(points.values())))
    value = graph.evaluate([(name, {})], evaluator.space.columns(points))[0]
    return np.broadcast_to(value, (count,))


class _State(NamedTuple):
    """Whether a kernel of a chain is built, its predecessor is, and all its successors are."""

    built: bool
    fed: bool = False
    feeds: bool = False


def chain_kernels(
    table: ChainTable,
    kernels: Sequence[KernelOptions],
    totals: Sequence[str],
    signs: Signs,
    checks: bool = True,
) -> Options:
    """Return the options of kernels whose data stay with the engines where they can.

    The kernels are a path or a tree. Each kernel has options for each state of its neighbours, and
    an edge forbids states that do not fit; see `dse.search.portfolio.trees`. A kernel is evaluated
    with the inputs `fed` if its predecessor is built, and `feeds` if its successors are.

    InputError if a kernel does not take these inputs, or there are too many options.
    """
    bound = {kernel.name: _read_inputs(table, kernel) for kernel in kernels}
    names = [kernel.name for kernel in kernels]
    problems = [
        Problem(
            f"after.{name}", f"'{name}' does not follow '{before}'", "list the predecessor first"
        )
        for name, before in table.after.items()
        if name not in names[1:] or before not in names[: names.index(name)]
    ]
    if problems:
        raise InputError("", problems)
    parents = [-1] + [names.index(table.after.get(n, names[k])) for k, n in enumerate(names[1:])]
    variants: list[list[tuple[_State, Options]]] = []
    for k, kernel in enumerate(kernels):
        own = [(_State(False), options) for options in kernel.host(totals)]
        for fed in (False, True) if k else (False,):
            for feeds in (False, True) if table.feeds and k in parents else (False,):
                given = bound[kernel.name][0] if fed else {}
                given = given | (bound[kernel.name][1] if feeds else {})
                built = kernel.built(totals, signs, checks, given).labelled()
                own += [(_State(True, fed, feeds), built)] if built.names else []
        variants.append(own)
    nodes = [join_options([options for _, options in own]) for own in variants]
    labels = [np.repeat(np.arange(len(own)), [len(o.names) for _, o in own]) for own in variants]
    coordinates = [
        _coordinates(n.parts[name], totals, signs) for name, n in zip(names, nodes, strict=True)
    ]
    edges = [
        _forbid(variants[k], variants[p], parents.count(p)) if p >= 0 else np.zeros((1, 1))
        for k, p in enumerate(parents)
    ]
    width = coordinates[0].shape[1]
    tree = Tree(coordinates, labels, parents, [np.repeat(e[..., None], width, 2) for e in edges])
    choices = tree.front().choices
    chosen = [[nodes[k].names[c] for k, c in enumerate(row)] for row in choices.tolist()]
    return Options(
        tuple("; ".join(n for n in row if n != NOT_BUILT) or NOT_BUILT for row in chosen),
        {name: nodes[k].parts[name][choices[:, k]] for k, name in enumerate(names)},
    ).front(totals, signs)


def _forbid(
    own: Sequence[tuple[_State, Options]], before: Sequence[tuple[_State, Options]], several: int
) -> Array:
    """Return 0 for each pair of states of a kernel and its predecessor that fit, else infinity."""
    has_feeding = any(state.feeds for state, _ in before)  # options for built successors

    def fits(state: _State, parent: _State) -> bool:
        if state.built and state.fed != parent.built:
            return False
        if parent.feeds:  # all successors are built
            return state.built
        return several > 1 or not (parent.built and state.built) or not has_feeding

    rows = [[0.0 if fits(s, p) else np.inf for p, _ in before] for s, _ in own]
    return np.array(rows)


def _read_inputs(
    table: ChainTable, kernel: KernelOptions
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the inputs `fed` and `feeds` of a kernel in its units."""
    graph, problems, found = kernel.evaluator.model_graph, list[Problem](), []
    for section in ("fed", "feeds"):
        values = dict[str, float]()
        for name, number in getattr(table, section).items():
            if name not in graph.quantities:
                message = f"no model of {kernel.name} takes '{name}'"
                remedy = nearest(name, graph.quantities)
                problems.append(Problem(f"{section}.{name}", message, remedy))
                continue
            quantity, clock = graph.quantities[name], graph.constants.get("clock")
            try:
                values[name] = read_value(str(number), quantity.unit, clock)
            except UnitError as error:
                problems.append(Problem(f"{section}.{name}", str(error)))
            else:
                if not quantity.contains_all(values[name]):
                    message = f"{name} = {show(values[name], quantity.unit)} is outside its domain"
                    remedy = f"{quantity.about}: {quantity.domain()}"
                    problems.append(Problem(f"{section}.{name}", message, remedy))
        found.append(values)
    if problems:
        raise InputError("", problems)
    return found[0], found[1]
