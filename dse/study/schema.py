"""The study file's schema: what may stand in it, checked by pydantic before anything is loaded."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
    ValidationError,
)

from dse.problems import InputError, Problem, nearest

Finite = Annotated[StrictFloat, Field(allow_inf_nan=False)]
Number = StrictInt | Finite | StrictStr
"""A number in the quantity's base unit, or a text with a unit, such as ``"1 KiB"``."""


class _Table(BaseModel):
    # unknown keys are let through here and reported by `_unknown_keys`, with the nearest known one
    model_config = ConfigDict(extra="allow", frozen=True)


class ModelUse(_Table):
    """A model with some of its quantities under other names."""

    use: StrictStr = Field(description="module:function, or file.py:function beside the study")
    rename: dict[str, StrictStr] = Field(
        default_factory=dict, description="the model's own name = name in this study"
    )


class StudyTable(_Table):
    """What is studied, with which models."""

    name: StrictStr = Field(min_length=1, max_length=200, description="title and run folder")
    about: StrictStr = Field("", description="a sentence for the report")
    models: list[StrictStr | ModelUse] = Field(min_length=1, description="in any order")


class CatalogRow(_Table):
    """The figures of one catalog row, as constants."""

    catalog: StrictStr = Field(description="a catalog's name, or file.toml beside the study")
    row: StrictStr
    rename: dict[str, StrictStr] = Field(default_factory=dict)


class RealTable(_Table):
    """A number between two bounds."""

    real: Annotated[list[Number], Field(min_length=2, max_length=2, description="[low, high]")]
    log: StrictBool = Field(False, description="spread evenly in the logarithm")
    steps: StrictInt | None = Field(
        None, ge=1, le=10_000_000, description="values on an even grid; without it, a continuum"
    )


class IntegerTable(_Table):
    """A whole number between two bounds."""

    integer: Annotated[
        list[StrictInt], Field(min_length=2, max_length=2, description="[low, high]")
    ]
    step: StrictInt = Field(1, ge=1)
    log: StrictBool = False


class ValuesTable(_Table):
    """One of a list of numbers."""

    values: list[Number] = Field(min_length=1)


class CatalogTable(_Table):
    """One row of a catalog; a row sets all its quantities together."""

    catalog: StrictStr = Field(description="a catalog's name, or file.toml beside the study")
    options: list[StrictStr] | None = Field(None, min_length=1, description="rows; all if absent")
    rename: dict[str, StrictStr] = Field(default_factory=dict)


class RowsTable(_Table):
    """One of the rows written here; a row sets all its quantities together."""

    rows: dict[str, dict[str, Number]] = Field(min_length=1)


_KINDS: dict[str, type[_Table]] = {
    "real": RealTable,
    "integer": IntegerTable,
    "values": ValuesTable,
    "catalog": CatalogTable,
    "rows": RowsTable,
}


_TAGS = {*_KINDS, "row", "number"}


def _kind(value: Any) -> str | None:
    found = [kind for kind in _KINDS if isinstance(value, dict) and kind in value]
    if not found and isinstance(value, _Table):
        return next(kind for kind, table in _KINDS.items() if isinstance(value, table))
    return found[0] if len(found) == 1 else None


def _input_kind(value: Any) -> str:
    return "row" if isinstance(value, dict | CatalogRow) else "number"


VariableTable = Annotated[
    Annotated[RealTable, Tag("real")]
    | Annotated[IntegerTable, Tag("integer")]
    | Annotated[ValuesTable, Tag("values")]
    | Annotated[CatalogTable, Tag("catalog")]
    | Annotated[RowsTable, Tag("rows")],
    Discriminator(_kind),
]
InputTable = Annotated[
    Annotated[Number, Tag("number")] | Annotated[CatalogRow, Tag("row")], Discriminator(_input_kind)
]


class ObjectiveTable(_Table):
    """What is maximized or minimized, under which conditions."""

    maximize: StrictStr | None = None
    minimize: StrictStr | None = None
    name: StrictStr | None = Field(None, min_length=1, description="column name")
    at: dict[str, Number] = Field(
        default_factory=dict, description="inputs bound for this objective alone"
    )
    over: dict[str, Annotated[list[Number], Field(min_length=1)]] = Field(
        default_factory=dict, description="scenarios: every combination of these values"
    )
    reduce: Literal["mean", "min", "max", "harmonic mean", "quantile"] | None = None
    quantile: Annotated[StrictFloat, Field(ge=0, le=1)] | None = None


class ConstraintTable(_Table):
    """What a design must satisfy: bounds on a quantity, or a relation between quantities."""

    quantity: StrictStr | None = None
    at_most: Number | None = None
    at_least: Number | None = None
    relation: StrictStr | None = Field(None, description='such as "lanes * streams <= 64"')
    name: StrictStr | None = Field(None, min_length=1)
    at: dict[str, Number] = Field(default_factory=dict)


class SearchTable(_Table):
    """How designs are chosen."""

    method: StrictStr = Field("auto", description="auto, exhaustive, evolution or Optuna's name")
    evaluations: StrictInt | None = Field(None, ge=1, description="designs to evaluate at most")
    seed: StrictInt = Field(0, ge=0, le=2**32 - 1)
    generation: StrictInt | None = Field(
        None, ge=1, le=1_000_000, description="designs evaluated together"
    )
    timeout: Annotated[StrictInt | Finite, Field(gt=0)] | None = Field(None, description="seconds")
    options: dict[str, Any] = Field(default_factory=dict, description="the sampler's own options")


class RunTable(_Table):
    """Where the work is done and kept."""

    workers: StrictInt | None = Field(None, ge=1, le=1024, description="all cores if absent")
    processes: StrictBool = Field(False, description="for models that hold the interpreter lock")
    chunk: StrictInt = Field(32_768, ge=1, le=2**24, description="designs evaluated at once")
    storage: StrictStr | None = Field(None, description="an Optuna database URL")


class BottleneckTable(_Table):
    """When an input counts as a bottleneck: LogCA's rule by default."""

    factor: Annotated[StrictInt | Finite, Field(gt=1)] = 10.0
    threshold: Annotated[StrictInt | Finite, Field(gt=0)] = 0.2


class RegionsTable(_Table):
    """The axis along which optimization regions are drawn."""

    axis: StrictStr
    low: Number
    high: Number
    objective: StrictStr | None = Field(None, description="the first one if absent")


class CurveTable(_Table):
    """Quantities to draw along an input, for the designs that matter most."""

    name: StrictStr = Field(min_length=1)
    axis: StrictStr
    values: list[Number] | None = Field(None, min_length=2)
    integer: Annotated[list[StrictInt], Field(min_length=2, max_length=2)] | None = None
    real: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    log: StrictBool = False
    quantities: list[StrictStr] = Field(min_length=1, max_length=8)
    at: dict[str, Number] = Field(default_factory=dict)


class ReportTable(_Table):
    """What the report shows beside the front."""

    sections: list[StrictStr] = Field(
        default_factory=list,
        max_length=16,
        description="functions that write sections: module:function, or file.py:function",
    )


class StudyFile(_Table):
    """A study: models, inputs, space, objectives, constraints and how to search."""

    study: StudyTable
    inputs: dict[str, InputTable] = Field(default_factory=dict)
    space: dict[str, VariableTable] = Field(min_length=1)
    objective: list[ObjectiveTable] = Field(min_length=1, max_length=10)
    constraint: list[ConstraintTable] = Field(default_factory=list)
    search: SearchTable = Field(default_factory=SearchTable)  # type: ignore[arg-type]
    run: RunTable = Field(default_factory=RunTable)  # type: ignore[arg-type]
    bottlenecks: BottleneckTable = Field(default_factory=BottleneckTable)
    regions: RegionsTable | None = None
    curve: list[CurveTable] = Field(default_factory=list, max_length=8)
    report: ReportTable = Field(default_factory=ReportTable)


def json_schema() -> dict[str, Any]:
    """Return the study file's JSON Schema, for editors."""
    schema = StudyFile.model_json_schema()
    for table in (schema, *schema.get("$defs", {}).values()):
        if table.get("type") == "object" and "properties" in table:
            table["additionalProperties"] = False
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Read a TOML file, its text and its content.

    Raises
    ------
    InputError
        Where there is no such file, or it is no TOML.
    """
    if path.is_dir():
        inside = sorted(p.name for p in path.glob("*.toml"))
        remedy = f"name one of its studies: {', '.join(inside)}" if inside else "name a .toml file"
        raise InputError(str(path), [Problem("", "is a folder, not a study file", remedy)])
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        near = nearest(path.name, (p.name for p in path.parent.glob("*.toml")))
        raise InputError(str(path), [Problem("", "there is no such file", near)]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), [Problem("", f"cannot be read: {error}")]) from None
    try:
        return text, tomllib.loads(text)
    except RecursionError:
        raise InputError(str(path), [Problem("", "is nested too deeply")]) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            str(path), [Problem("", f"is not TOML: {error}", "see https://toml.io for the syntax")]
        ) from None


def parse(raw: dict[str, Any], problems: list[Problem]) -> tuple[StudyFile | None, set[str]]:
    """Check a study's content against the schema.

    Returns
    -------
    StudyFile or None
        What is left after taking out the entries with problems; None where that is no study.
    set of str
        The entries that were taken out, as ``section.key``.
    """
    kept = json.loads(json.dumps(raw, default=str, allow_nan=True))
    dropped: set[str] = set()
    for _ in range(20):
        try:
            file = StudyFile.model_validate(kept)
        except ValidationError as error:
            details = error.errors(include_url=False)
            for problem in _problems(details, kept, dropped):
                if problem not in problems:
                    problems.append(problem)
            if sum(_drop(kept, detail["loc"], dropped) for detail in details) == 0:
                return None, dropped
        else:
            _unknown_keys(file, "", problems)
            return file, dropped
    return None, dropped


def _drop(kept: dict[str, Any], loc: tuple[int | str, ...], dropped: set[str]) -> bool:
    """Take out the entry of a section that holds this place; tell whether there was one."""
    if len(loc) < 2 or loc[0] not in kept:
        return False
    section = kept[loc[0]]
    if isinstance(section, dict) and loc[1] in section:
        del section[loc[1]]
    elif isinstance(section, list) and isinstance(loc[1], int) and loc[1] < len(section):
        section[loc[1]] = None  # positions of the others stay as written
        kept[loc[0]] = [entry for entry in section if entry is not None]
    else:
        return False
    dropped.add(f"{loc[0]}.{loc[1]}")
    return True


def _place(loc: tuple[int | str, ...], kept: Any) -> tuple[str, Any]:
    """Return a place as people write it, and what stands there; pydantic's own tags left out."""
    words: list[str] = []
    here = kept
    for depth, step in enumerate(loc):
        if depth == 2 and loc[0] in ("space", "inputs") and step in _TAGS:
            continue  # pydantic names the kind of table there
        if isinstance(here, dict) and step in here:
            here = here[step]
            words.append(str(step))
        elif isinstance(here, list) and isinstance(step, int) and step < len(here):
            here = here[step]
            if words:
                words[-1] += f"[{step + 1}]"
        elif step == loc[-1] and isinstance(here, dict):
            words.append(str(step))
            here = None
    return ".".join(words), here


_SAY = {
    "missing": "is missing",
    "string_type": "is no text",
    "int_type": "is no whole number",
    "float_type": "is no number",
    "bool_type": "is neither true nor false",
    "list_type": "is no list",
    "dict_type": "is no table",
    "model_type": "is no table",
    "finite_number": "is not finite",
    "too_short": "has too few entries",
    "too_long": "has too many entries",
    "string_too_short": "is empty",
}


def _problems(details: list[Any], kept: dict[str, Any], dropped: set[str]) -> Iterator[Problem]:
    """Yield one problem for each place; a place that may hold several types fails in each."""
    places: dict[str, list[Any]] = {}
    for detail in details:
        places.setdefault(_place(detail["loc"], kept)[0], []).append(detail)
    for where, found in places.items():
        kinds = {detail["type"] for detail in found}
        if kinds == {"missing"} and where in dropped:
            continue  # taken out before, for a problem that is told already
        if len(kinds) > 1:
            _, value = _place(found[0]["loc"], kept)
            infinite = "finite_number" in kinds
            yield Problem(
                where,
                f"{_written(value)} is "
                + ("not finite" if infinite else "neither a number nor a text"),
                'give a number in the base unit, or a text with a unit such as "1 KiB"',
            )
        else:
            yield _problem(found[0], kept)


def _problem(detail: Any, kept: dict[str, Any]) -> Problem:
    where, value = _place(detail["loc"], kept)
    kind = detail["type"]
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return Problem(
            where,
            f"does not say what kind of variable it is: {_written(value)}",
            "give exactly one of real = [low, high], integer = [low, high], values = [...], "
            'catalog = "name", rows = { option = {...} }',
        )
    message = _SAY.get(kind)
    if message is None:
        message = detail["msg"][0].lower() + detail["msg"][1:]
        message = message.replace("input ", "", 1)
    context = detail.get("ctx", {})
    wanted = [
        f"{word} {context[key]}"
        for key, word in (("min_length", "at least"), ("max_length", "at most"))
        if key in context
    ]
    given = "" if kind == "missing" else f"{_written(value)} "
    return Problem(where, f"{given}{message}", f"give {' and '.join(wanted)}" if wanted else "")


def _written(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _unknown_keys(table: BaseModel, where: str, problems: list[Problem]) -> None:
    for key in table.model_extra or {}:
        place = f"{where}.{key}" if where else key
        problems.append(
            Problem(place, f"unknown key '{key}'", nearest(key, type(table).model_fields))
        )
    for name in type(table).model_fields:
        value = getattr(table, name)
        inner = f"{where}.{name}" if where else name
        if isinstance(value, BaseModel):
            _unknown_keys(value, inner, problems)
        elif isinstance(value, dict):
            for key, entry in value.items():
                if isinstance(entry, BaseModel):
                    _unknown_keys(entry, f"{inner}.{key}", problems)
        elif isinstance(value, list):
            for i, entry in enumerate(value):
                if isinstance(entry, BaseModel):
                    _unknown_keys(entry, f"{inner}[{i + 1}]", problems)
