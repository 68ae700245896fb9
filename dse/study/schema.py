"""The schema of a study file: its tables, which pydantic checks before anything is loaded."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args

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
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dse.evaluate.criteria import ReductionName
from dse.evaluate.samples import Kind

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
    source : str
        The reference that it is taken from; empty if the file names none.
    distribution : UncertainTable, Uncertain or None
        If it is not known exactly: as it is written, or as it is sampled.
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
        """Number and unit as one text, for `dse.model.units.read_value`.

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


def worst_provenance(provenances: Iterable[Provenance]) -> Provenance | None:
    """Return the worst founded of some provenances; None if there are none.

    >>> worst_provenance(["fitted", "derived", "measured"])
    'derived'
    """
    return max(provenances, key=PROVENANCES.index, default=None)


# Numbers, names and weights; each table is known by its class name, which errors hold

Finite = Annotated[StrictFloat, Field(allow_inf_nan=False)]
Number = Finite | StrictStr
"""A number in the quantity's base unit, or a text with a unit, such as ``"1 KiB"``."""


Name = Annotated[StrictStr, Field(pattern=r"^[A-Za-z_]\w*$")]
"""The name of a quantity."""
Weights = list[Annotated[Finite, Field(ge=0)]]
"""How much each of some scenarios counts."""


TABLES: dict[str, type[Table]] = {}
"""Every kind of table by its name, which errors hold."""


class Table(BaseModel):
    """A table of the study file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        TABLES[cls.__name__] = cls


# Numbers with a provenance, and uncertain numbers

Ends = Annotated[list[Number], Field(min_length=2, max_length=2)]
"""The lesser and the greater of two numbers."""
LAWS: tuple[Kind, ...] = get_args(Kind)
"""The keys of uncertain numbers; exactly one is given."""
NO_SOURCE = "no_source"  # the type of the error of a value that must have a source


class OriginTable(Table):
    """Where an input value is from."""

    provenance: Provenance = Field("assumed", description="the kind of its source")
    source: StrictStr = Field("", validate_default=True, description="the reference")

    @field_validator("source")
    @classmethod
    def _require_source(cls, source: str, info: ValidationInfo) -> str:
        """Require a source of values that come from outside the study."""
        provenance = info.data.get("provenance")
        if provenance in SOURCED and not source.strip():
            kind = "is from a data sheet" if provenance == "data sheet" else f"is {provenance}"
            text = "is missing: a value that {kind} needs a source"
            raise PydanticCustomError(NO_SOURCE, text, {"kind": kind})
        return source


class SourcedTable(OriginTable):
    """A number that says where it is from."""

    value: Number = Field(description="the number")
    range: Ends | None = Field(
        None, description="[low, high]: plausible values; half to double if absent"
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

    samples: StrictInt = Field(512, ge=2, le=100_000, description="the number of samples")


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
        description="values in place of the entry's, by their names in the study",
    )
    uncertain: StrictBool = Field(
        False, description="sample the values together, as dse fit wrote them"
    )


class ResourceFile(OriginTable):
    """An input from a file, with parts to leave out or to include."""

    file: StrictStr = Field(description="a file or folder, relative to the study")
    exclude: list[StrictStr] = Field(
        default_factory=list, description="parts that cannot be selected"
    )
    include: list[StrictStr] = Field(
        default_factory=list, description="parts that can be selected in spite of a rule"
    )


class RealTable(Table):
    """A number between two bounds."""

    real: Annotated[list[Number], Field(min_length=2, max_length=2, description="[low, high]")]
    log: StrictBool = Field(False, description="spread evenly in the logarithm")
    steps: StrictInt | None = Field(
        None,
        ge=1,
        le=10_000_000,
        description="the number of evenly spaced values; continuous if absent",
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
    where: StrictStr | None = Field(
        None, description='a condition on entries, such as "kernel = AES and lane_area < 5 kLUT"'
    )
    rename: dict[str, Name] = Field(
        default_factory=dict, description="name in the entries = name in this study"
    )
    override: dict[str, dict[str, Numeric]] = Field(
        default_factory=dict,
        description="by entry: values in place of its own, by their names in the study",
    )
    uncertain: StrictBool = Field(
        False, description="sample the values together, as dse fit wrote them"
    )


class RowsTable(Table):
    """One of the rows written here; a row sets all its quantities together."""

    rows: dict[str, dict[str, Numeric]] = Field(
        min_length=1, description="option = { quantity = number, … }"
    )


class SubsetsTable(Table):
    """Each subset of named parts of a resource, chosen by a quantity that numbers them."""

    subsets: StrictStr = Field(description="the quantity, such as selection")
    of: list[StrictStr] | None = Field(
        None, min_length=1, max_length=12, description="parts; all if absent"
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
    models: list[ModelEntry] = Field(
        min_length=1, description="in any order; a table renames its quantities"
    )


class TableStudyTable(StudyTable):
    """The name of the study, and its table of designs, which no model evaluates."""

    table: StrictStr = Field(min_length=1, description="a CSV file in the study's folder")
    models: list[ModelEntry] = Field(default_factory=list, description="none")
    missing: list[StrictStr] = Field(default_factory=list, description="texts for a missing number")


class ObjectiveTable(Table):
    """A quantity to maximize or to minimize, under conditions."""

    maximize: StrictStr | None = Field(
        None, description="the quantity; either maximize or minimize"
    )
    minimize: StrictStr | None = Field(None, description="the quantity")
    name: StrictStr | None = Field(
        None,
        min_length=1,
        description="the name of the column",
    )
    at: dict[str, Numeric] = Field(
        default_factory=dict, description="inputs bound only for this objective"
    )
    over: dict[str, Annotated[list[Number], Field(min_length=1)]] = Field(
        default_factory=dict, description="scenarios: every combination of these values"
    )
    reduce: Literal[ReductionName, "worst"] | Share | None = Field(
        None, description='how scenarios become one number; a fraction such as "95 %"'
    )
    weights: Weights = Field(default_factory=list, description="the weights of scenarios in a mean")
    weight: Annotated[StrictFloat, Field(gt=0, le=100)] = Field(
        1.0, description="how much it counts in the recommendation"
    )
    own_host: StrictBool = Field(
        False,
        description="compare each design with its own host",
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
        None, description="how the samples become one number, which must satisfy it"
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
        None, description="the maximum seconds of the search"
    )
    tolerance: Annotated[Finite, Field(ge=0, le=10)] | StrictStr | dict[str, Number] = Field(
        0.0,
        description='of bound: a fraction such as "1 %", or by objective a fraction or an amount'
        ' such as "100 LUT"; 0 is exact',
    )
    options: dict[str, Any] = Field(default_factory=dict, description="the sampler's own options")


class TargetTable(Table):
    """The bounds to reach, and the objective to minimize."""

    reach: StrictStr = Field(min_length=1, description='such as "speedup >= 5 and area < 100 kLUT"')
    least: StrictStr | None = Field(
        None,
        description="the objective to minimize",
    )


class RecommendTable(Table):
    """The preferences that select the recommended design among the designs on the front."""

    weights: dict[str, Annotated[Finite, Field(ge=0, le=100)]] = Field(
        default_factory=dict,
        description="the weights of objectives, such as { area = 0.5 }",
    )
    require: list[StrictStr] = Field(
        default_factory=list,
        description='bounds, such as "area <= 200 kLUT"',
    )
    exclude: dict[str, list[Finite | StrictStr]] = Field(
        default_factory=dict,
        description='excluded options, such as { interface = ["axi-dma"] }',
    )


class RunTable(Table):
    """Where the work is done and kept."""

    workers: StrictInt | None = Field(None, ge=1, le=1024, description="all cores if absent")
    on_error: Literal["stop", "skip"] = Field(
        "stop",
        description="if a model raises: end the run, or continue without the design",
    )
    processes: StrictBool = Field(False, description="for models that hold the interpreter's lock")
    chunk: StrictInt = Field(65_536, ge=1, le=2**24, description="designs evaluated at once")
    storage: StrictStr | None = Field(None, description="an Optuna database URL")


# The report


class BottleneckTable(Table):
    """When an input counts as a bottleneck: LogCA's rule by default."""

    factor: Annotated[Finite, Field(gt=1)] = Field(
        10.0, description="by which an input is improved"
    )
    threshold: Annotated[Finite, Field(gt=0)] = Field(
        0.2, description="the fraction by which an objective must improve"
    )


class RegionsTable(Table):
    """The axis of the optimization regions."""

    axis: StrictStr = Field(description="an input that no model gives")
    low: Number = Field(description="the start of the axis")
    high: Number = Field(description="the end of the axis")
    objective: StrictStr | None = Field(
        None, description="an objective or an output; the first objective if absent"
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
        description="functions, as module:function or file.py:function",
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
    recommend: Annotated[
        RecommendTable, Field(description="the preferences of the recommendation")
    ] = Field(default_factory=RecommendTable)
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


# A system of several kernels


class KernelTable(Table):
    """One kernel of a system: its inputs, and the designs that may be built for it."""

    about: StrictStr = Field("", description="a sentence for the report")
    models: list[ModelEntry] = Field(
        default_factory=list, description="the models of [kernels] if absent"
    )
    inputs: dict[str, InputTable] = Field(
        default_factory=dict, description="fixed inputs; they replace inputs of [kernels]"
    )
    space: dict[str, VariableTable] = Field(default_factory=dict, description="its variables")
    constraint: list[ConstraintTable] = Field(
        default_factory=list, description="conditions for its designs"
    )
    study: StrictStr = Field(
        "", description="a study file: its models, inputs, space and constraints"
    )
    run: StrictStr = Field("", description="the folder of a finished run: its stored designs")
    table: StrictStr = Field("", description="a CSV file in the folder: a row is a design")
    not_built: dict[str, Number] = Field(
        default_factory=dict,
        description="totals on the host, for a run or a table; others are 0",
    )


class KernelsTable(Table):
    """The common part of all kernels of a system."""

    totals: list[Name] = Field(
        min_length=1, max_length=20, description="quantities that add up over the kernels"
    )
    models: list[ModelEntry] = Field(default_factory=list, description="of the kernels' designs")
    inputs: dict[str, InputTable] = Field(default_factory=dict, description="fixed inputs")
    space: dict[str, VariableTable] = Field(default_factory=dict, description="variables")
    constraint: list[ConstraintTable] = Field(
        default_factory=list, description="conditions for each kernel's designs"
    )


class SharedEngineTable(Table):
    """Kernels that one engine may serve: it then counts once, and has the load of all."""

    kernels: list[Name] = Field(min_length=2, description="kernels with the same variables")
    sums: list[Name] = Field(min_length=1, description="quantities that add up at the engine")
    once: list[Name] = Field(default_factory=list, description="totals that count once")


class ChainTable(Table):
    """Kernels that follow each other: data stay with the engines if both neighbours are built."""

    kernels: list[Name] = Field(min_length=2, description="in the order of the data")
    after: dict[Name, Name] = Field(
        default_factory=dict, description="kernel = its predecessor, for a tree"
    )
    fed: dict[Name, Number] = Field(
        min_length=1, description="inputs of a kernel whose predecessor is built"
    )
    feeds: dict[Name, Number] = Field(
        default_factory=dict, description="inputs of a kernel whose successor is built"
    )


class PhaseTable(Table):
    """Kernels that run at the same time."""

    kernels: list[Name] = Field(min_length=1, description="their totals have the phase's name too")


class KernelStudyFile(StudyFile):
    """A kernel of a system as a study; its objectives are totals, which may be constant."""


class SystemTable(StudyTable):
    """The name of a study of a system, and the models of its shared parts."""

    models: list[ModelEntry] = Field(
        default_factory=list, description="of the shared parts; they take the totals"
    )


class SystemStudyFile(StudyFile):
    """A study of a system: several kernels that share parts."""

    study: SystemTable = Field(description="its name and the models of shared parts")
    space: dict[str, VariableTable] = Field(
        default_factory=dict, max_length=0, description="none: the kernels are the variables"
    )
    kernels: KernelsTable = Field(description="the common part of all kernels")
    kernel: dict[Name, KernelTable] = Field(
        min_length=1, max_length=64, description="the kernels, by name"
    )
    shared_engine: dict[Name, SharedEngineTable] = Field(
        default_factory=dict, description="kernels that one engine may serve"
    )
    chain: dict[Name, ChainTable] = Field(
        default_factory=dict, description="kernels whose data may stay with the engines"
    )
    phase: dict[Name, PhaseTable] = Field(
        default_factory=dict, description="kernels that run at once"
    )


def json_schema(kind: str = "study") -> dict[str, Any]:
    """Return the JSON Schema of a ``study``, of a ``table`` or of a ``system``, for editors."""
    files: dict[str, type[StudyFile]] = {
        "study": StudyFile,
        "table": TableStudyFile,
        "system": SystemStudyFile,
    }
    schema = files[kind].model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
