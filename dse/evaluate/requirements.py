"""The requirements of the models of a study, as constraints of the study.

A requirement is evaluated wherever its model is used: under the conditions of each objective and
constraint that runs the model, and in each scenario. Conditions that none of its quantities depends
on are left out: two objectives often share one constraint. A requirement does not add the
requirements of the models that it compares.
"""

from __future__ import annotations

from collections.abc import Iterable

from dse.evaluate.conditions import Conditions, Reduction, in_words
from dse.evaluate.constraint import Constraint
from dse.evaluate.wiring import Wiring
from dse.model.contract import Model
from dse.model.grammar import Expression, Number
from dse.model.relation import Relation, scaled_name
from dse.model.requirement import ModelRequirement
from dse.model.units import factor


def required_constraints(
    wiring: Wiring, requests: Iterable[tuple[str, Conditions]]
) -> tuple[tuple[Constraint, ...], tuple[str, ...]]:
    """Return the requirements of the models that some requests run.

    Parameters
    ----------
    wiring : Wiring
        Without conflicts.
    requests : iterable of (str, mapping)
        The quantities that a study needs, with the conditions of each.

    Returns
    -------
    constraints : tuple of Constraint
        The requirements whose quantities are all known.
    unchecked : tuple of str
        The other requirements, with the missing quantities, in words.
    """
    models = {model.name: model for model in wiring.models}
    found: dict[object, Constraint] = {}
    unchecked: dict[str, None] = {}
    for name, conditions in requests:
        for key, _ in wiring.runs([(name, conditions)]):
            for requirement in models[key].requirements:
                relation = _in_held_units(wiring, models[key], requirement, conditions)
                needs = wiring.needs(sorted(relation.names), conditions)
                shown = f"{requirement.about}: {relation.text}"
                if needs.missing:
                    lacking = ", ".join(needs.missing)
                    told = f"{shown}, required by {requirement.by}: needs {lacking}"
                    unchecked.setdefault(told)
                    continue
                bound = {n: v for n, v in conditions.items() if n in needs.names}
                which = requirement.by, relation.text, frozenset(bound.items())
                found.setdefault(which, _constraint(wiring, requirement, relation, bound))
    return tuple(found.values()), tuple(unchecked)


def _constraint(
    wiring: Wiring, requirement: ModelRequirement, relation: Relation, bound: Conditions
) -> Constraint:
    at = in_words(bound, wiring.quantities)
    name = f"{requirement.about}: {relation.text} {at}".strip() + f", required by {requirement.by}"
    several = any(isinstance(value, tuple) for value in bound.values())
    worst = Reduction("max") if several else None
    return Constraint(name, "", "1", 0.0, True, relation, bound, at, worst, requirement.by)


def _in_held_units(
    wiring: Wiring, model: Model, requirement: ModelRequirement, conditions: Conditions
) -> Relation:
    """Return a requirement with its quantities in the units of the study.

    The model declares it in its own units. A default replaces an input that has no source.
    """
    given = {*wiring.producers, *wiring.varied, *wiring.constants, *conditions}
    defaults = {n: v for each in (*wiring.models, model) for n, v in each.defaults.items()}
    parts: dict[str, Expression] = {}
    for name in requirement.relation.names:
        declaration = model.quantities.get(name)
        if name not in given and name in defaults:
            parts[name] = Number(0, repr(float(defaults[name])))
        elif declaration is not None:
            scale, power = factor(wiring.quantities[name].unit, declaration.unit)
            if scale != 1.0 or power:
                parts[name] = scaled_name(name, scale, power)
    return requirement.relation.replaced(parts)
