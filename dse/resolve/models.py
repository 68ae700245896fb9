"""Models: loaded, renamed, and cut into their parts."""

from __future__ import annotations


def resolve_models(ctx: Context) -> tuple[Model, ...]:
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
        leaves += model.renamed(names).leaves
    return tuple(
        replace(leaf, name=f"{leaf.name}#{n}") if n > 1 else leaf
        for leaf, n in zip(leaves, _occurrences(m.name for m in leaves), strict=True)
    )


def _model(ctx: Context, reference: str) -> Model:
    if reference in ctx.functions:
        return Model.from_function(ctx.functions[reference], reference)
    model, path = load_model(reference, ctx.folder)
    if path is not None:
        ctx.files.append(path)
    return model
