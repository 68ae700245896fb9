"""Models: loaded, renamed, and cut into their parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from dse.model.contract import Model
from dse.model.units import KNOWN_UNITS, is_unit
from dse.problems import InputError, closest, nearest
from dse.study.loading import load_model, shipped_models
from dse.study.reach import fingerprint
from dse.study.resolve.context import Context
from dse.study.schema import ModelUse

_ALIKE = 0.75  # of the module's name and the function's, each for itself


def resolve_models(ctx: Context) -> tuple[Model, ...]:
    """Load the models that the study names and return their leaves."""
    leaves: list[Model] = []
    for where, entry in ctx.numbered("study.models"):
        renamed = entry.rename if isinstance(entry, ModelUse) else {}
        model = _model(ctx, where, entry.use if isinstance(entry, ModelUse) else entry)
        if model is None:
            ctx.unseen = True
            ctx.doubtful.update(renamed.values())
            continue
        for name, quantity in model.quantities.items():
            if not is_unit(quantity.unit):
                ctx.add(where, f"'{name}' has the unknown unit {quantity.unit!r}", KNOWN_UNITS)
        for misfit in model.misfits:
            ctx.add(where, misfit, "a requirement is in the units that its model declares")
        names = _renamed(ctx, f"{where}.rename", model, renamed)
        if names is None:
            ctx.unseen = True
            continue
        try:
            leaves += model.renamed(names).leaves
        except InputError as error:
            for problem in error.problems:
                message = f"{model.name} {problem.message}"
                ctx.add(f"{where}.rename", message, "give each a name of its own")
            ctx.unseen = True
    return _with_own_names(leaves)


def _model(ctx: Context, where: str, reference: str) -> Model | None:
    """Load a model; if there is none of that name, the one that is surely meant."""
    try:
        if reference in ctx.functions:
            ctx.fingerprints.append(fingerprint(ctx.functions[reference]))
            model = Model.from_function(ctx.functions[reference], reference)
            ctx.fingerprints += [d.relation.text for m in model.leaves for d in m.requirements]
            return model
        model, paths = load_model(reference, ctx.folder)
    except InputError as error:
        ctx.adopt(where, error)
        return _meant(reference)
    ctx.files += paths
    return model


def _meant(reference: str) -> Model | None:
    """Return the installed model whose module and name are each near to those that were written.

    The study is refused anyway; with it, the other problems are told as well.
    """
    module, colon, function = reference.partition(":")
    if not colon:
        return None
    near: dict[str, Model] = {}
    for model in shipped_models():
        of, _, name = model.name.partition(":")
        if closest(module, [of], _ALIKE) and closest(function, [name], _ALIKE):
            near[model.name] = model
    best = closest(reference, near)
    return near[best] if best else None


def _renamed(
    ctx: Context, where: str, model: Model, names: Mapping[str, str]
) -> dict[str, str] | None:
    """Return the new names by the model's own; a misspelt one stands for the nearest.

    None if there is no nearest: what the model is to take and give is not known then.
    """
    own = {*model.inputs, *model.outputs}
    found: dict[str, str | None] = {}
    for name, new in names.items():
        meant: str | None = name
        if name not in own:
            ctx.add(f"{where}.{name}", f"{model.name} has no quantity '{name}'", nearest(name, own))
            ctx.doubtful.add(new)
            meant = closest(name, own - set(names))
        found[new] = meant
    return {n: new for new, n in found.items() if n} if None not in found.values() else None


def _with_own_names(leaves: list[Model]) -> tuple[Model, ...]:
    """Tell a model that is used twice, under different renames, from itself."""
    seen: Counter[str] = Counter()
    named = []
    for leaf in leaves:
        seen[leaf.name] += 1
        count = seen[leaf.name]
        named.append(replace(leaf, name=f"{leaf.name}#{count}") if count > 1 else leaf)
    return tuple(named)
