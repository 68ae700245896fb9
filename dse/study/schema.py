"""The study file's schema: what may stand in it, checked by pydantic before anything is loaded."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StrictBool, StrictFloat, StrictInt, StrictStr, Tag

from dse.study.entry import Finite, Name, Number, Table, WeightsTable
from dse.study.shown import BottleneckTable, CurveTable, RegionsTable, ReportTable
from dse.study.uncertain import (
    ConstraintReduce,
    Figure,
    OriginTable,
    Share,
    Sourced,
    SourcedTable,
    UncertainTable,
    UncertaintyTable,
    is_sourced,
    is_uncertain,
)


class ModelUse(Table):
    """A model with some of its quantities under other names."""

    use: StrictStr = Field(description="module:function, or file.py:function beside the study")
    rename: dict[str, Name] = Field(
        default_factory=dict, description="the model's own name = name in this study"
    )


class CatalogRow(Table):
    """The figures of one catalog row, as constants."""

    catalog: StrictStr = Field(description="a catalog's name, or file.toml beside the study")
    row: StrictStr = Field(description="the row's name")
    rename: dict[str, Name] = Field(
        default_factory=dict, description="the row's own name = name in this study"
    )
    override: dict[str, Figure] = Field(
        default_factory=dict, description="figures of the study's own, by their names in this study"
    )
    uncertain: StrictBool = Field(
        False, description="drawn as a fit left the row: its figures vary together"
    )


class ResourceFile(OriginTable):
    """An input from a file, of which some parts may not be chosen, or may all the same."""

    file: StrictStr = Field(description="a file or folder, relative to the study")
    exclude: list[StrictStr] = Field(
        default_factory=list, description="names of parts that may not be chosen"
    )
    include: list[StrictStr] = Field(
        default_factory=list, description="names of parts that may, though something says no"
    )


class RealTable(Table):
    """A number between two bounds."""

    real: Annotated[list[Number], Field(min_length=2, max_length=2, description="[low, high]")]
    log: StrictBool = Field(False, description="spread evenly in the logarithm")
    steps: StrictInt | None = Field(
        None, ge=1, le=10_000_000, description="values on an even grid; without it, a continuum"
    )


class IntegerTable(Table):
    """A whole number between two bounds."""

    integer: Annotated[
        list[StrictInt], Field(min_length=2, max_length=2, description="[low, high]")
    ]
    step: StrictInt = Field(1, ge=1, le=2**53, description="from one value to the next")
    log: StrictBool = Field(False, description="samplers spread evenly in the logarithm")


class ValuesTable(Table):
    """One of a list of numbers."""

    values: list[Number] = Field(min_length=1, description="the numbers")


class CatalogTable(Table):
    """One row of a catalog; a row sets all its quantities together."""

    catalog: StrictStr = Field(description="a catalog's name, or file.toml beside the study")
    options: list[StrictStr] | None = Field(None, min_length=1, description="rows; all if absent")
    rename: dict[str, Name] = Field(
        default_factory=dict, description="the rows' own name = name in this study"
    )
    override: dict[str, dict[str, Figure]] = Field(
        default_factory=dict,
        description="by row: figures of the study's own, by their names in this study",
    )
    uncertain: StrictBool = Field(
        False, description="drawn as fits left the rows: their figures vary together"
    )


class RowsTable(Table):
    """One of the rows written here; a row sets all its quantities together."""

    rows: dict[str, dict[str, Figure]] = Field(
        min_length=1, description="option = { quantity = number, … }; all set the same quantities"
    )


class SubsetsTable(Table):
    """Each subset of named parts of a resource, chosen by a quantity that numbers them."""

    subsets: StrictStr = Field(description="the quantity, such as selection")
    of: list[StrictStr] | None = Field(
        None, min_length=1, max_length=12, description="names of parts; all if absent"
    )
    least: StrictInt = Field(0, ge=0, description="parts chosen at least")
    most: StrictInt | None = Field(None, ge=1, description="parts chosen at most")


_VARIABLES: dict[str, type[Table]] = {
    "real": RealTable,
    "integer": IntegerTable,
    "values": ValuesTable,
    "catalog": CatalogTable,
    "rows": RowsTable,
    "subsets": SubsetsTable,
}
KINDS = frozenset(
    {*_VARIABLES, "row", "file", "number", "renamed", "model", "uncertain", "sourced"}
)
"""Words that pydantic puts into places, for the kinds of an entry."""


def _kind(value: Any) -> str | None:
    found = [kind for kind in _VARIABLES if isinstance(value, dict) and kind in value]
    if not found and isinstance(value, Table):
        return next(kind for kind, table in _VARIABLES.items() if isinstance(value, table))
    return found[0] if len(found) == 1 else None


def _input_kind(value: Any) -> str:
    if isinstance(value, ResourceFile) or (isinstance(value, dict) and "file" in value):
        return "file"
    if is_uncertain(value):
        return "uncertain"
    if is_sourced(value):
        return "sourced"
    return "row" if value and isinstance(value, dict | CatalogRow) else "number"


def _model_kind(value: Any) -> str:
    return "renamed" if isinstance(value, dict | ModelUse) else "model"


VariableTable = Annotated[
    Annotated[RealTable, Tag("real")]
    | Annotated[IntegerTable, Tag("integer")]
    | Annotated[ValuesTable, Tag("values")]
    | Annotated[CatalogTable, Tag("catalog")]
    | Annotated[RowsTable, Tag("rows")]
    | Annotated[SubsetsTable, Tag("subsets")],
    Discriminator(_kind),
]
ModelEntry = Annotated[
    Annotated[StrictStr, Tag("model")] | Annotated[ModelUse, Tag("renamed")],
    Discriminator(_model_kind),
]
InputTable = Annotated[
    Annotated[Number, Tag("number")]
    | Annotated[CatalogRow, Tag("row")]
    | Annotated[ResourceFile, Tag("file")]
    | Annotated[UncertainTable, Tag("uncertain")]
    | Annotated[Sourced, Tag("sourced")],
    Discriminator(_input_kind),
]


class StudyTable(Table):
    """What is studied, with which models."""

    name: StrictStr = Field(min_length=1, max_length=200, description="title and run folder")
    about: StrictStr = Field("", description="a sentence for the report")
    models: list[ModelEntry] = Field(min_length=1, description="in any order")


class TableStudyTable(StudyTable):
    """What is studied: the rows of a table, which no model evaluates."""

    table: StrictStr = Field(min_length=1, description="a CSV file in the study's folder")
    models: list[ModelEntry] = Field(default_factory=list, description="none")
    missing: list[StrictStr] = Field(
        default_factory=list, description="what the table writes for a missing number"
    )


class ObjectiveTable(Table):
    """What is maximized or minimized, under which conditions."""

    maximize: StrictStr | None = Field(None, description="the quantity; or minimize, one of both")
    minimize: StrictStr | None = Field(None, description="the quantity")
    name: StrictStr | None = Field(
        None, min_length=1, description="of the column; the quantity and its conditions if absent"
    )
    at: dict[str, Figure] = Field(
        default_factory=dict, description="inputs bound for this objective alone"
    )
    over: dict[str, Annotated[list[Number], Field(min_length=1)]] = Field(
        default_factory=dict, description="scenarios: every combination of these values"
    )
    reduce: (
        Literal["mean", "min", "max", "harmonic mean", "quantile", "worst", "regret"] | Share | None
    ) = Field(None, description='how the scenarios become one number; a share such as "95 %"')
    quantile: Annotated[StrictFloat, Field(ge=0, le=1)] | None = Field(
        None, description='which one, for reduce = "quantile": from 0 to 1'
    )
    weights: WeightsTable = Field(
        default_factory=list,
        description="of a mean: how much each scenario counts, as one list or as one an input",
    )


class ConstraintTable(Table):
    """What a design must satisfy: bounds on a quantity, or a relation between quantities."""

    quantity: StrictStr | None = Field(None, description="what is bounded; or relation")
    at_most: Number | None = Field(None, description="its greatest value")
    at_least: Number | None = Field(None, description="its least value")
    relation: StrictStr | None = Field(None, description='such as "lanes * streams <= 64"')
    name: StrictStr | None = Field(None, min_length=1, description="in messages and the report")
    at: dict[str, Figure] = Field(
        default_factory=dict, description="inputs bound for this constraint alone"
    )
    reduce: ConstraintReduce | None = Field(
        None, description="what must keep it: the mean of the samples, the worst or a share"
    )


class SearchTable(Table):
    """How designs are chosen."""

    method: StrictStr = Field(
        "auto", description="auto, exhaustive, bound, evolution, guided or Optuna's name"
    )
    evaluations: StrictInt | None = Field(None, ge=1, description="designs to evaluate at most")
    seed: StrictInt = Field(0, ge=0, le=2**32 - 1, description="of everything random")
    generation: StrictInt | None = Field(
        None, ge=1, le=1_000_000, description="designs evaluated together"
    )
    timeout: Annotated[StrictInt | Finite, Field(gt=0)] | None = Field(
        None, description="seconds of the search; processes that hang are then ended"
    )
    tolerance: Annotated[StrictInt | Finite, Field(ge=0, le=10)] | StrictStr | dict[str, Number] = (
        Field(
            0.0,
            description='of bound: a share such as 0.01 or "1 %", 0 for the exact front; or by'
            ' objective, a share or an amount such as "100 LUT"; of objectives not named, 0',
        )
    )
    floor: dict[str, Number] = Field(
        default_factory=dict,
        description="of bound, by objective: the tolerance is a share of the value or of this",
    )
    options: dict[str, Any] = Field(default_factory=dict, description="the sampler's own options")


class TargetTable(Table):
    """What is to be reached, and of what as little as possible."""

    reach: StrictStr = Field(
        min_length=1, description='comparisons joined by and: "speedup >= 5 and area < 100 kLUT"'
    )
    least: StrictStr | None = Field(
        None,
        description="the minimized objective that is to be as little as can be; each if absent",
    )


class RunTable(Table):
    """Where the work is done and kept."""

    workers: StrictInt | None = Field(None, ge=1, le=1024, description="all cores if absent")
    on_error: Literal["stop", "skip"] = Field(
        "stop",
        description="at a design that a model raises for: end the run, or go on without the design",
    )
    processes: StrictBool = Field(False, description="for models that hold the interpreter lock")
    chunk: StrictInt = Field(65_536, ge=1, le=2**24, description="designs evaluated at once")
    storage: StrictStr | None = Field(None, description="an Optuna database URL")


class StudyFile(Table):
    """A study: models, inputs, space, objectives, constraints and how to search."""

    study: StudyTable = Field(description="its name and models")
    inputs: dict[str, InputTable] = Field(
        default_factory=dict, description="what is the same for all designs"
    )
    space: dict[str, VariableTable] = Field(min_length=1, description="what may be chosen")
    objective: list[ObjectiveTable] = Field(
        min_length=1, max_length=10, description="what is maximized or minimized"
    )
    constraint: list[ConstraintTable] = Field(
        default_factory=list, description="what a design must satisfy"
    )
    target: TargetTable | None = Field(None, description="what is to be reached")
    uncertainty: Annotated[
        UncertaintyTable, Field(description="how often uncertain inputs are drawn")
    ] = Field(default_factory=UncertaintyTable)  # type: ignore[arg-type]
    search: Annotated[SearchTable, Field(description="how designs are chosen")] = Field(
        default_factory=SearchTable  # type: ignore[arg-type]
    )
    run: Annotated[RunTable, Field(description="where the work is done and kept")] = Field(
        default_factory=RunTable  # type: ignore[arg-type]
    )
    bottlenecks: Annotated[
        BottleneckTable, Field(description="when an input counts as a bottleneck")
    ] = Field(default_factory=BottleneckTable)  # type: ignore[arg-type]
    regions: RegionsTable | None = Field(None, description="an axis to look for bottlenecks along")
    curve: list[CurveTable] = Field(
        default_factory=list, max_length=8, description="quantities to draw along an input"
    )
    report: ReportTable = Field(
        default_factory=ReportTable, description="what the report shows beside the front"
    )


class TableStudyFile(StudyFile):
    """A study of designs that are evaluated already: the rows of a table."""

    study: TableStudyTable = Field(description="its name and table")
    space: dict[str, Any] = Field(
        default_factory=dict,
        description='columns = ["lanes", …]: those that tell designs apart; by default, the rest',
    )
    columns: dict[str, StrictStr] = Field(
        default_factory=dict, description="units of the table's columns"
    )


def file_of(content: Any) -> type[StudyFile]:
    """Return the schema of a study: another one if it names a table."""
    study = content.get("study") if isinstance(content, dict) else None
    return TableStudyFile if isinstance(study, dict) and "table" in study else StudyFile


_ENTRIES: dict[str, type[Table]] = {
    "study": StudyTable,
    "study.models.*": ModelUse,
    "inputs.*": CatalogRow,
    "objective.*": ObjectiveTable,
    "constraint.*": ConstraintTable,
    "target": TargetTable,
    "uncertainty": UncertaintyTable,
    "search": SearchTable,
    "run": RunTable,
    "bottlenecks": BottleneckTable,
    "regions": RegionsTable,
    "curve.*": CurveTable,
    "report": ReportTable,
}
INPUTS: dict[str, type[Table]] = {
    "file": ResourceFile,
    "uncertain": UncertainTable,
    "sourced": SourcedTable,
}
LISTS = frozenset({"study.models", "objective", "constraint", "curve", "report.sections"})
"""Sections whose entries are told by their positions."""
NAMED = frozenset({"inputs", "space", "columns"})
"""Sections whose entries have names."""


def table_at(path: str, value: Any) -> type[Table] | None:
    """Return the table that stands at a path such as ``"objective.*"``, ``*`` for any entry."""
    if path == "space.*":
        return _VARIABLES.get(_kind(value) or "")
    if path == "inputs.*" and (found := INPUTS.get(_input_kind(value))):
        return found
    if path == "":
        study = value.get("study")
        models = isinstance(study, dict) and "models" in study
        return file_of(value) if models else TableStudyFile
    if path == "study" and ("table" in value or "models" not in value):
        return TableStudyTable  # a key may be table, misspelt
    return _ENTRIES.get(path)


def json_schema(of_table: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of a study file, or of a study of a table, for editors."""
    schema = (TableStudyFile if of_table else StudyFile).model_json_schema()
    for table in (schema, *schema.get("$defs", {}).values()):
        if table.get("type") == "object" and "properties" in table:
            table["additionalProperties"] = False
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
