"""The tables of a study file that say what is uncertain, and how often it is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from dse.problems import closest
from dse.study.entry import Number, Table
from dse.study.provenance import SOURCED, Origin, Provenance, sourced

Ends = Annotated[list[Number], Field(min_length=2, max_length=2)]
"""The lesser and the greater of two numbers."""
LAWS = ("between", "uniform", "normal", "lognormal", "triangular")
"""The keys that say how a number is uncertain: one of them is given."""
_KEYS = (*LAWS, "deviation", "factor")
NO_SOURCE = "no_source"
"""Type of the error of a figure that must have a source."""
_ALIKE = 0.75  # a key that surely stands for another


class OriginTable(Table):
    """Where a figure is from."""

    provenance: Provenance = Field("assumed", description="how well it is founded")
    source: StrictStr = Field(
        "", validate_default=True, description="what it is taken from; not of derived and assumed"
    )

    @field_validator("source")
    @classmethod
    def _is_told(cls, source: str, info: ValidationInfo) -> str:
        """Require a source of what is not this study's own."""
        provenance = info.data.get("provenance")
        if provenance in SOURCED and not source.strip():
            kind = "is from a data sheet" if provenance == "data sheet" else f"is {provenance}"
            told = "is missing: what {kind} has a source"
            raise PydanticCustomError(NO_SOURCE, told, {"kind": kind})
        return source

    @property
    def origin(self) -> Origin:
        """Provenance and source."""
        return Origin(self.provenance, self.source)


class SourcedTable(OriginTable):
    """A number that says where it is from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: Number = Field(description="the number")


class UncertainTable(OriginTable):
    """A number that is not known exactly."""

    between: Ends | None = Field(None, description="[low, high]: no more is known than its ends")
    uniform: Ends | None = Field(None, description="[low, high]: each number alike")
    normal: Number | None = Field(None, description="the mean; with deviation")
    deviation: Number | None = Field(None, description="of normal: the standard deviation")
    lognormal: Number | None = Field(None, description="the median; with factor")
    factor: StrictInt | StrictFloat | None = Field(
        None, description="of lognormal: by which factor one standard deviation moves it"
    )
    triangular: Annotated[list[Number], Field(min_length=3, max_length=3)] | None = Field(
        None, description="[low, likeliest, high]"
    )


def _figure_kind(value: Any) -> str:
    if is_sourced(value):
        return "sourced"
    return "uncertain" if value and isinstance(value, dict | UncertainTable) else "number"


def _as_number(table: SourcedTable) -> float | str:
    return sourced(table.value, table.origin)


if TYPE_CHECKING:
    Sourced: TypeAlias = float | str
else:
    Sourced = Annotated[SourcedTable, AfterValidator(_as_number)]
    """A number that says where it is from; read as a number with its origin (`origin_of`)."""
Figure = Annotated[
    Annotated[Number, Tag("number")]
    | Annotated[Sourced, Tag("sourced")]
    | Annotated[UncertainTable, Tag("uncertain")],
    Discriminator(_figure_kind),
]
"""A number, one that says where it is from, or one that is uncertain."""
Share = Annotated[str, Field(strict=True, pattern=r"^\s*\d+(\.\d+)?\s*%\s*$")]
"""A share of the samples, such as ``"95 %"``."""
ConstraintReduce = Literal["mean", "worst"] | Share


class UncertaintyTable(Table):
    """How often uncertain inputs are drawn."""

    samples: StrictInt = Field(
        512, ge=2, le=100_000, description="of all uncertain inputs together, by search.seed"
    )


def is_sourced(value: Any) -> bool:
    """Tell whether a table is a number that says where it is from."""
    if not isinstance(value, dict) or {"catalog", "row", "file"} & {*value} or is_uncertain(value):
        return False
    return any(closest(key, SourcedTable.model_fields, _ALIKE) for key in value)


def is_uncertain(value: Any) -> bool:
    """Tell whether a table says how a number is uncertain."""
    if not isinstance(value, dict) or {"catalog", "row"} & {*value}:
        return isinstance(value, UncertainTable)
    return any(closest(key, _KEYS, _ALIKE) for key in value)
