"""The schema of a study file, checked by pydantic before anything is loaded.

Its errors are reported in words, all of them at once.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self, TypeAlias, TypeVar, get_args, get_type_hints

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
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dse.evaluate.samples import Kind
from dse.problems import nearest
from dse.study.findings import Findings, Place

# Input values

Provenance: TypeAlias = Literal["measured", "fitted", "data sheet", "derived", "assumed"]
"""Measured; fitted to measurements; printed by its maker or in a paper; calculated; assumed."""
PROVENANCES: tuple[Provenance, ...] = get_args(Provenance)
"""The best founded first."""
SOURCED: tuple[Provenance, ...] = ("measured", "fitted", "data sheet")
"""Kinds of provenance that need a source."""


@dataclass(frozen=True, slots=True)
class InputValue:
    """A number of a study or of a catalog, as it is written or in the unit of its quantity.

    Parameters
    ----------
    value : float or str
        The number, or a text with a number and a unit.
    unit : str
        The unit of a number; empty for the base unit of its quantity.
    provenance : Provenance
        How well it is founded.
    source : str
        The reference that it is taken from; empty if the file names none.
    distribution : UncertainTable, Uncertain or None
        If it is not known exactly: as it is written, or as it is sampled.
    note : str
        How to read it.
    range : tuple of float or str
        The bounds of plausible values, written like `value`; empty if none are known.
    range_source : str
        The reference of the range.
    """

    value: float | str
    unit: str = ""
    provenance: Provenance = "assumed"
    source: str = ""
    distribution: Any = None
    note: str = ""
    range: tuple[float | str, ...] = ()
    range_source: str = ""

    @property
    def text(self) -> str:
        """Number and unit as one text, for `dse.model.units.read`.

        >>> InputValue(900.0, "LUT").text, InputValue("1.16 GHz", "GHz").text
        ('900.0 LUT', '1.16 GHz')
        """
        if isinstance(self.value, str):
            return self.value
        return f"{self.value!r} {self.unit}".rstrip()

    @property
    def written(self) -> float | str:
        """The value as a study would give it: a text with a unit, or a number in the base unit.

        >>> InputValue(900.0).written, InputValue(1.16, "GHz").written
        (900.0, '1.16 GHz')
        """
        return self.text if self.unit else self.value

    @property
    def bounds(self) -> list[float | str]:
        """The bounds of the range as `written`; empty without a range."""
        return [replace(self, value=bound).written for bound in self.range]

    def with_value(self, value: float, unit: str, distribution: Any = None) -> InputValue:
        """Return the same input value in the unit of its quantity."""
        return replace(self, value=value, unit=unit, distribution=distribution)


def worst(provenances: Iterable[Provenance]) -> Provenance | None:
    """Return the worst founded of some provenances; None if there are none.

    >>> worst(["fitted", "derived", "measured"])
    'derived'
    """
    return max(provenances, key=PROVENANCES.index, default=None)


# Numbers, names and weights; each table is known by its class name, which errors hold

Finite = Annotated[StrictFloat, Field(allow_inf_nan=False)]
Number = Finite | StrictStr
"""A number in the quantity's base unit, or a text with a unit, such as ``"1 KiB"``."""


Name = Annotated[StrictStr, Field(pattern=r"^[A-Za-z_]\w*$")]
"""The name of a quantity."""
Weights = Annotated[list[Annotated[Finite, Field(ge=0)]], Field(min_length=1)]
"""How much each of some scenarios counts."""
WeightsTable = Annotated[
    Annotated[Weights, Tag("one list")] | Annotated[dict[str, Weights], Tag("by input")],
    Discriminator(lambda value: "by input" if isinstance(value, dict) else "one list"),
]


_TABLES: dict[str, type[Table]] = {}


class Table(BaseModel):
    """A table of the study file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        _TABLES[cls.__name__] = cls


# Numbers with a provenance, and uncertain numbers

Ends = Annotated[list[Number], Field(min_length=2, max_length=2)]
"""The lesser and the greater of two numbers."""
LAWS: tuple[Kind, ...] = get_args(Kind)
"""The keys of uncertain numbers; exactly one is given."""
_NO_SOURCE = "no_source"  # the type of the error of a value that must have a source


class OriginTable(Table):
    """Where an input value is from."""

    provenance: Provenance = Field("assumed", description="the kind of its source")
    source: StrictStr = Field(
        "", validate_default=True, description="the reference; not for derived and assumed values"
    )

    @field_validator("source")
    @classmethod
    def _require_source(cls, source: str, info: ValidationInfo) -> str:
        """Require a source of values that come from outside the study."""
        provenance = info.data.get("provenance")
        if provenance in SOURCED and not source.strip():
            kind = "is from a data sheet" if provenance == "data sheet" else f"is {provenance}"
            text = "is missing: a value that {kind} needs a source"
            raise PydanticCustomError(_NO_SOURCE, text, {"kind": kind})
        return source


class SourcedTable(OriginTable):
    """A number that says where it is from."""

    value: Number = Field(description="the number")
    range: Ends | None = Field(
        None, description="[low, high]: plausible values, if half to double are not"
    )
    range_source: StrictStr = Field("", description="the reference of the range")


class UncertainTable(OriginTable):
    """A number that is not known exactly."""

    between: Ends | None = Field(None, description="[low, high]: only these bounds are known")
    uniform: Ends | None = Field(None, description="[low, high]: all numbers equally likely")
    normal: Number | None = Field(None, description="the mean; with deviation")
    deviation: Number | None = Field(None, description="the standard deviation of normal")
    lognormal: Number | None = Field(None, description="the median; with factor")
    factor: Annotated[Finite, Field(gt=1)] | None = Field(
        None, description="the factor of one standard deviation of lognormal"
    )
    triangular: Annotated[list[Number], Field(min_length=3, max_length=3)] | None = Field(
        None, description="[low, likeliest, high]"
    )

    @model_validator(mode="after")
    def _require_one_law(self) -> Self:
        """Require one law, with its second number if it has one."""
        laws = [law for law in LAWS if getattr(self, law) is not None]
        if len(laws) != 1:
            text = "has {count} laws: give one of {laws}"
            context = {"count": len(laws), "laws": ", ".join(LAWS)}
            raise PydanticCustomError("law", text, context)
        for law, second in (("normal", "deviation"), ("lognormal", "factor")):
            if (law in laws) != (getattr(self, second) is not None):
                text = "is not complete: '{law}' and '{second}' go together"
                raise PydanticCustomError("law", text, {"law": law, "second": second})
        return self


def input_value(given: float | str | SourcedTable | UncertainTable) -> InputValue:
    """Return a number of a study with its provenance, its source and its distribution."""
    if isinstance(given, SourcedTable):
        value = InputValue(given.value, "", given.provenance, given.source)
        return replace(value, range=tuple(given.range or ()), range_source=given.range_source)
    if isinstance(given, UncertainTable):
        return InputValue(math.nan, "", given.provenance, given.source, given)
    return InputValue(given)


def _number_kind(value: Any) -> str | None:
    if not isinstance(value, dict):
        return "number"
    if {*LAWS, "deviation", "factor"} & value.keys():
        return "UncertainTable"
    return "SourcedTable" if {*SourcedTable.model_fields} & value.keys() else None


Numeric = Annotated[
    Annotated[Number, Tag("number")]
    | Annotated[SourcedTable, Tag("SourcedTable")]
    | Annotated[UncertainTable, Tag("UncertainTable")],
    Discriminator(_number_kind),
]
"""A number, a number with its provenance, or an uncertain number."""
Share = Annotated[str, Field(strict=True, pattern=r"^\s*(100|\d?\d(\.\d+)?)\s*%\s*$")]
"""A fraction of the samples, such as ``"95 %"``."""
ConstraintReduce = Literal["mean", "worst"] | Share


class UncertaintyTable(Table):
    """The samples of uncertain inputs."""

    samples: StrictInt = Field(
        512, ge=2, le=100_000, description="the number of samples; search.seed decides them"
    )


# Models, inputs and variables


class ModelUse(Table):
    """A model with some of its quantities under other names."""

    use: StrictStr = Field(description="module:function, or file.py:function in its folder")
    rename: dict[str, Name] = Field(
        default_factory=dict, description="name in the model = name in this study"
    )


class CatalogRow(Table):
    """The input values of one catalog row, as constants."""

    catalog: StrictStr = Field(description="a catalog's name, or file.toml in the study's folder")
    row: StrictStr = Field(description="the entry's name")
    rename: dict[str, Name] = Field(
        default_factory=dict, description="name in the entry = name in this study"
    )
    override: dict[str, Numeric] = Field(
        default_factory=dict,
        description="values that replace values of the entry, by their names in the study",
    )
    uncertain: StrictBool = Field(
        False, description="sample the values of the entry together, as dse fit wrote them"
    )


class ResourceFile(OriginTable):
    """An input from a file, with parts to leave out or to include."""

    file: StrictStr = Field(description="a file or folder, relative to the study")
    exclude: list[StrictStr] = Field(
        default_factory=list, description="names of parts that cannot be selected"
    )
    include: list[StrictStr] = Field(
        default_factory=list, description="names of parts that can be selected in spite of a rule"
    )


class RealTable(Table):
    """A number between two bounds."""

    real: Annotated[list[Number], Field(min_length=2, max_length=2, description="[low, high]")]
    log: StrictBool = Field(False, description="spread evenly in the logarithm")
    steps: StrictInt | None = Field(
        None,
        ge=1,
        le=10_000_000,
        description="the number of evenly spaced values; if absent, continuous",
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

    catalog: StrictStr = Field(description="a catalog's name, or file.toml in the study's folder")
    options: list[StrictStr] | None = Field(
        None, min_length=1, description="entries; all if absent"
    )
    rename: dict[str, Name] = Field(
        default_factory=dict, description="name in the entries = name in this study"
    )
    override: dict[str, dict[str, Numeric]] = Field(
        default_factory=dict,
        description="by entry: values that replace those of the entry, by their names in the study",
    )
    uncertain: StrictBool = Field(
        False, description="sample the values of each entry together, as dse fit wrote them"
    )


class RowsTable(Table):
    """One of the rows written here; a row sets all its quantities together."""

    rows: dict[str, dict[str, Numeric]] = Field(
        min_length=1, description="option = { quantity = number, … }; all set the same quantities"
    )


class SubsetsTable(Table):
    """Each subset of named parts of a resource, chosen by a quantity that numbers them."""

    subsets: StrictStr = Field(description="the quantity, such as selection")
    of: list[StrictStr] | None = Field(
        None, min_length=1, max_length=12, description="names of parts; all if absent"
    )
    least: StrictInt = Field(0, ge=0, description="the minimum number of parts")
    most: StrictInt | None = Field(None, ge=1, description="the maximum number of parts")


_VARIABLES = ("real", "integer", "values", "catalog", "rows", "subsets")


def _variable_kind(value: Any) -> str | None:
    kinds = [kind for kind in _VARIABLES if isinstance(value, dict) and kind in value]
    return f"{kinds[0].title()}Table" if len(kinds) == 1 else None


def _input_kind(value: Any) -> str | None:
    if not isinstance(value, dict) or not {"file", "catalog", "row"} & value.keys():
        return _number_kind(value)
    return "ResourceFile" if "file" in value else "CatalogRow"


VariableTable = Annotated[
    Annotated[RealTable, Tag("RealTable")]
    | Annotated[IntegerTable, Tag("IntegerTable")]
    | Annotated[ValuesTable, Tag("ValuesTable")]
    | Annotated[CatalogTable, Tag("CatalogTable")]
    | Annotated[RowsTable, Tag("RowsTable")]
    | Annotated[SubsetsTable, Tag("SubsetsTable")],
    Discriminator(_variable_kind),
]
ModelEntry = Annotated[
    Annotated[StrictStr, Tag("model name")] | Annotated[ModelUse, Tag("ModelUse")],
    Discriminator(lambda value: "ModelUse" if isinstance(value, dict) else "model name"),
]
InputTable = Annotated[
    Annotated[Number, Tag("number")]
    | Annotated[CatalogRow, Tag("CatalogRow")]
    | Annotated[ResourceFile, Tag("ResourceFile")]
    | Annotated[UncertainTable, Tag("UncertainTable")]
    | Annotated[SourcedTable, Tag("SourcedTable")],
    Discriminator(_input_kind),
]


# Objectives, constraints, the search and the run


class StudyTable(Table):
    """The name of the study, and its models."""

    name: StrictStr = Field(min_length=1, max_length=200, description="title and run folder")
    about: StrictStr = Field("", description="a sentence for the report")
    models: list[ModelEntry] = Field(min_length=1, description="in any order")


class TableStudyTable(StudyTable):
    """The name of the study, and its table of designs, which no model evaluates."""

    table: StrictStr = Field(min_length=1, description="a CSV file in the study's folder")
    models: list[ModelEntry] = Field(default_factory=list, description="none")
    missing: list[StrictStr] = Field(
        default_factory=list, description="texts that the table writes for a missing number"
    )


class ObjectiveTable(Table):
    """A quantity to maximize or to minimize, under conditions."""

    maximize: StrictStr | None = Field(
        None, description="the quantity; either maximize or minimize"
    )
    minimize: StrictStr | None = Field(None, description="the quantity")
    name: StrictStr | None = Field(
        None,
        min_length=1,
        description="the name of the column; the quantity and its conditions if absent",
    )
    at: dict[str, Numeric] = Field(
        default_factory=dict, description="inputs bound only for this objective"
    )
    over: dict[str, Annotated[list[Number], Field(min_length=1)]] = Field(
        default_factory=dict, description="scenarios: every combination of these values"
    )
    reduce: Literal["mean", "min", "max", "harmonic mean", "quantile", "worst"] | Share | None = (
        Field(None, description='how scenarios become one number; a fraction such as "95 %"')
    )
    quantile: Annotated[StrictFloat, Field(ge=0, le=1)] | None = Field(
        None, description='the level for reduce = "quantile"'
    )
    weights: WeightsTable = Field(
        default_factory=list,
        description="the weights of scenarios in a mean: one list, or one list per input",
    )
    weight: Annotated[StrictFloat, Field(gt=0, le=100)] = Field(
        1.0, description="how much it counts in the choice of the recommended design"
    )
    own_host: StrictBool = Field(
        False,
        description="whether designs with different hosts may each be compared with their own",
    )


class ConstraintTable(Table):
    """A condition for designs: bounds on a quantity, or a relation between quantities."""

    quantity: StrictStr | None = Field(None, description="the bounded quantity; or relation")
    at_most: Number | None = Field(None, description="the maximum")
    at_least: Number | None = Field(None, description="the minimum")
    relation: StrictStr | None = Field(None, description='such as "lanes * streams <= 64"')
    name: StrictStr | None = Field(
        None, min_length=1, description="the name in messages and the report"
    )
    at: dict[str, Numeric] = Field(
        default_factory=dict, description="inputs bound only for this constraint"
    )
    reduce: ConstraintReduce | None = Field(
        None, description="the samples that must satisfy it: their mean, the worst, or a fraction"
    )


class SearchTable(Table):
    """How designs are chosen."""

    method: StrictStr = Field(
        "auto", description="auto, exhaustive, bound, evolution, guided or Optuna's name"
    )
    evaluations: StrictInt | None = Field(None, ge=1, description="the maximum number of designs")
    seed: StrictInt = Field(0, ge=0, le=2**32 - 1, description="the seed of all random numbers")
    generation: StrictInt | None = Field(
        None, ge=1, le=1_000_000, description="designs evaluated together"
    )
    timeout: Annotated[Finite, Field(gt=0)] | None = Field(
        None, description="seconds of the search; processes that hang are then ended"
    )
    tolerance: Annotated[Finite, Field(ge=0, le=10)] | StrictStr | dict[str, Number] = Field(
        0.0,
        description='of bound: a fraction such as 0.01 or "1 %", 0 for the exact front; or by'
        ' objective, a fraction or an amount such as "100 LUT"; 0 for objectives not listed',
    )
    floor: dict[str, Number] = Field(
        default_factory=dict,
        description="of bound, by objective: the tolerance is a fraction of the value or of this",
    )
    options: dict[str, Any] = Field(default_factory=dict, description="the sampler's own options")


class TargetTable(Table):
    """The bounds to reach, and the objective to minimize."""

    reach: StrictStr = Field(
        min_length=1, description='comparisons joined by and: "speedup >= 5 and area < 100 kLUT"'
    )
    least: StrictStr | None = Field(
        None,
        description="the minimized objective to make as small as possible; all if absent",
    )


class RunTable(Table):
    """Where the work is done and kept."""

    workers: StrictInt | None = Field(None, ge=1, le=1024, description="all cores if absent")
    on_error: Literal["stop", "skip"] = Field(
        "stop",
        description="if a model raises for a design: end the run, or continue without the design",
    )
    processes: StrictBool = Field(
        False, description="use processes: for models that hold the interpreter's lock"
    )
    chunk: StrictInt = Field(65_536, ge=1, le=2**24, description="designs evaluated at once")
    storage: StrictStr | None = Field(None, description="an Optuna database URL")


# The report


class BottleneckTable(Table):
    """When an input counts as a bottleneck: LogCA's rule by default."""

    factor: Annotated[Finite, Field(gt=1)] = Field(
        10.0, description="by which an input is improved"
    )
    threshold: Annotated[Finite, Field(gt=0)] = Field(
        0.2, description="the fraction by which an objective must then improve"
    )


class RegionsTable(Table):
    """The axis of the optimization regions."""

    axis: StrictStr = Field(description="an input that no model gives")
    low: Number = Field(description="the start of the axis")
    high: Number = Field(description="the end of the axis")
    objective: StrictStr | None = Field(
        None, description="an objective, or an output of a model; the first objective if absent"
    )


class CurveTable(Table):
    """Quantities to draw along an input, for the designs that matter most."""

    name: StrictStr = Field(min_length=1, description="the title of the picture")
    axis: StrictStr = Field(description="an input that no model gives")
    values: list[Number] | None = Field(
        None, min_length=2, description="the values of the input; or integer or real"
    )
    integer: Annotated[list[StrictInt], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[low, high]: whole numbers between them"
    )
    real: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[low, high]: numbers between them"
    )
    log: StrictBool = Field(False, description="spread evenly in the logarithm")
    quantities: list[StrictStr] = Field(
        min_length=1, max_length=8, description="the quantities to draw"
    )
    at: dict[str, Number] = Field(
        default_factory=dict, description="inputs bound only for this curve"
    )


class ReportTable(Table):
    """The contents of the report in addition to the front."""

    sections: list[StrictStr] = Field(
        default_factory=list,
        max_length=16,
        description="functions that write sections: module:function, or file.py:function",
    )


# The whole file


class StudyFile(Table):
    """A study: models, inputs, space, objectives, constraints and how to search."""

    study: StudyTable = Field(description="its name and models")
    inputs: dict[str, InputTable] = Field(
        default_factory=dict, description="fixed inputs, the same for all designs"
    )
    space: dict[str, VariableTable] = Field(min_length=1, description="the variables")
    objective: list[ObjectiveTable] = Field(
        min_length=1, max_length=10, description="the quantities to maximize or minimize"
    )
    constraint: list[ConstraintTable] = Field(
        default_factory=list, description="conditions that a design must satisfy"
    )
    target: TargetTable | None = Field(None, description="the values to meet")
    uncertainty: Annotated[
        UncertaintyTable, Field(description="the samples of uncertain inputs")
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
        default_factory=ReportTable, description="contents of the report in addition to the front"
    )


class TableStudyFile(StudyFile):
    """A study of designs that are evaluated already: the rows of a table."""

    study: TableStudyTable = Field(description="its name and table")
    space: dict[str, Any] = Field(
        default_factory=dict,
        description='columns = ["lanes", …]: columns that identify designs; by default, the rest',
    )
    columns: dict[str, StrictStr] = Field(
        default_factory=dict, description="units of the table's columns"
    )


def json_schema(of_table: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of a study file, or of a study of a table, for editors."""
    schema = (TableStudyFile if of_table else StudyFile).model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


# Errors in words, each with its place and the nearest known key

_KINDS = ("number", "model name", "one list", "by input")
"""What pydantic puts into the place of an error besides the names of tables."""
_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "string_pattern_mismatch": "a name: letters, digits and '_', as in latency",
}
_UNIT = 'give a number in the base unit, or a text with a unit such as "1 KiB"'
_VARIABLE = (
    "give exactly one of real = [low, high], integer = [low, high], values = [...], "
    'catalog = "name", rows = { option = {...} }'
)
_SHOWN = 60  # characters of a value in a message
_REPORTED = 100  # errors: pydantic has one for each entry of a list
_Schema = TypeVar("_Schema", bound=BaseModel)


def parse_file(content: Mapping[str, Any], findings: Findings) -> StudyFile:
    """Check a study's content against the schema.

    Raises
    ------
    InputError
        With every error of the schema.
    """
    if not content:
        findings.add(Place(), "the file is empty", "dse new STUDY writes a first draft")
        findings.finish_stage()
    study = content.get("study")
    is_of_table = isinstance(study, Mapping) and "table" in study
    return parse_table(TableStudyFile if is_of_table else StudyFile, content, findings)


def parse_table(schema: type[_Schema], content: Mapping[str, Any], findings: Findings) -> _Schema:
    """Return the content of a file as a table of a schema; see `parse_file`."""
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        details = error.errors(include_url=False)
    values: dict[Place, Any] = {}
    by_place: dict[Place, list[Mapping[str, Any]]] = {}
    for detail in details:
        place, value = _place(detail, content)
        values[place] = value
        by_place.setdefault(place, []).append(detail)
    for place, several in list(by_place.items())[:_REPORTED]:
        _report(schema, findings, place, several, values[place])
    findings.finish_stage()
    raise AssertionError("pydantic reported no error")


def _place(detail: Mapping[str, Any], content: Any) -> tuple[Place, Any]:
    """Return the place of an error, without pydantic's words for kinds, and the value there."""
    place, value = Place(), content
    for step in detail["loc"]:
        if step in _TABLES or step in _KINDS:
            continue
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            if detail["type"] in ("missing", _NO_SOURCE):
                place /= step
            break
        place /= step
    return place, value


def _report(
    schema: type[BaseModel],
    findings: Findings,
    place: Place,
    details: Sequence[Mapping[str, Any]],
    value: Any,
) -> None:
    """Add the problem of one place, for which pydantic may have an error per allowed type."""
    detail, kinds = details[0], {detail["type"]: None for detail in details}
    if "float_type" in kinds:
        kinds.pop("int_type", None)
    text, remedy = _show(value), _UNIT if {"float_type", "string_type"} <= kinds.keys() else ""
    if "extra_forbidden" in kinds:
        key = str(detail["loc"][-1])
        largest = TableStudyFile if issubclass(schema, StudyFile) else schema
        known = _table_at(largest, detail["loc"][:-1]).model_fields
        findings.add(place, f"unknown key '{key}'", nearest(key, known))
    elif kinds.keys() & {"union_tag_not_found", "union_tag_invalid"}:
        _report_kind(findings, place, value)
    elif "missing" in kinds:
        findings.add(place, "is missing")
    elif _NO_SOURCE in kinds:
        findings.add(place, detail["msg"], 'source = "…": a log, a document, where it was read')
    elif "finite_number" in kinds:
        findings.add(place, f"{text} is not finite", _UNIT if "string_type" in kinds else "")
    elif kinds.keys() <= _EXPECTED.keys():
        if "list_type" in kinds:
            tables = isinstance(value, Mapping) or not place.steps
            remedy = f"write [[{place}]]" if tables else f"write [{text}]"
            if place.steps[-1:] in (("integer",), ("real",)):
                remedy = "write [low, high], such as [2, 64]"
        elif isinstance(value, str) and kinds.keys() & {"int_type", "float_type"}:
            remedy = f"write {value.strip()} without quotes" if _is_number(value) else remedy
        findings.add(place, f"{text} is not {' or '.join(_EXPECTED[k] for k in kinds)}", remedy)
    else:  # pydantic's sentence without its subject
        message = re.sub(r"^(Input|List|Tuple|Dictionary|String) ", "", detail["msg"])
        fraction = "or a fraction of the samples, 0 % to 100 %"
        remedy = fraction if "string_pattern_mismatch" in kinds else ""
        findings.add(place, f"{text} {message.replace(' after validation', '')}", remedy)


def _report_kind(findings: Findings, place: Place, value: Any) -> None:
    """Add the problem of a table whose kind no key shows."""
    if place.section == "space" and len(place.steps) == 1:
        remedy = _VARIABLE
        if isinstance(value, list):
            remedy = f"write {{ values = {_show(value)} }}"
            if any(isinstance(item, str) and not item[:1].isdigit() for item in value):
                remedy = f'write {{ catalog = "NAME", options = {_show(value)} }}'
        elif isinstance(value, Mapping) and "range" in value:
            low_high = _show(value["range"])
            remedy = f"write {{ integer = {low_high} }}, or real for a continuous variable"
        findings.add(place, f"has no kind of variable: {_show(value)}", remedy)
    elif not value:
        findings.add(place, f"{_show(value)} is an empty table", _UNIT)
    else:
        tables: list[type[Table]] = [UncertainTable, SourcedTable]
        tables += [CatalogRow, ResourceFile] if len(place.steps) == 1 else []
        names = {name for table in tables for name in table.model_fields}
        key = next((key for key in value if key not in names), next(iter(value)))
        findings.add(place / key, f"unknown key '{key}'", nearest(key, names))


def _table_at(schema: type[BaseModel], loc: Sequence[str | int]) -> type[BaseModel]:
    """Return the table at a place of pydantic; a key that no table declares may be a row."""
    table = schema
    for step in map(str, loc):
        if step in _TABLES:
            table = _TABLES[step]
        elif step in table.model_fields:
            table = _table_in(table.model_fields[step].annotation) or table
        else:
            table = _table_in(get_type_hints(table).get("__pydantic_extra__")) or table
    return table


def _table_in(annotation: Any) -> type[BaseModel] | None:
    """Return the table that an annotation such as ``list[CurveTable]`` names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_table_in, get_args(annotation))), None)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _show(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    text = re.sub(r'://[^\s"]+', "://…", text[: 100 * _SHOWN])  # it may hold a password
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
