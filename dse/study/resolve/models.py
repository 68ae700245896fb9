"""Models: loaded, renamed, and cut into their parts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from dse.model.contract import Model
from dse.model.units import is_unit
from dse.problems import InputError, nearest
from dse.study.loading import load_model
from dse.study.resolve.context import Context
from dse.study.schema import ModelUse


def resolve_models(ctx: Context) -> tuple[Model, ...]:
    """Load the models that the study names and return their leaves."""
    leaves: list[Model] = []
    for i, entry in enumerate(ctx.file.study.models):
        where = f"study.models[{i + 1}]"
        reference = entry.use if isinstance(entry, ModelUse) else entry
        try:
            model = _model(ctx, reference)
        except InputError as error:
            for p in error.problems:
                message = f"{p.where}: {p.message}" if p.where else p.message
                ctx.add(where, message, p.remedy)
            ctx.incomplete = True
            continue
        names = entry.rename if isinstance(entry, ModelUse) else {}
        for name in names:
            if name not in {*model.inputs, *model.outputs}:
                known = [*model.inputs, *model.outputs]
                ctx.add(
                    f"{where}.rename.{name}",
                    f"{reference} has no quantity '{name}'",
                    nearest(name, known),
                )
        for name, quantity in model.quantities.items():
            if not is_unit(quantity.unit):
                ctx.add(
                    where, f"'{name}' has the unknown unit {quantity.unit!r}", "see dse/units.py"
                )
        try:
            leaves += model.renamed(names).leaves
        except InputError as error:
            for p in error.problems:
                ctx.add(
                    f"{where}.rename", f"{reference} {p.message}", "give each a name of its own"
                )
            ctx.incomplete = True
    return _with_own_names(leaves)


def _model(ctx: Context, reference: str) -> Model:
    if reference in ctx.functions:
        return Model.from_function(ctx.functions[reference], reference)
    model, paths = load_model(reference, ctx.folder)
    ctx.files += paths
    return model


def _with_own_names(leaves: list[Model]) -> tuple[Model, ...]:
    """Tell a model that is used twice, under different renames, from itself."""
    seen: Counter[str] = Counter()
    named = []
    for leaf in leaves:
        seen[leaf.name] += 1
        count = seen[leaf.name]
        named.append(replace(leaf, name=f"{leaf.name}#{count}") if count > 1 else leaf)
    return tuple(named)
