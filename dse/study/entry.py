"""What every table of a study file is made of: numbers with units, names, and the table itself."""

from __future__ import annotations

from typing import Annotated

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
)

Finite = Annotated[StrictFloat, Field(allow_inf_nan=False)]
Number = StrictInt | Finite | StrictStr
"""A number in the quantity's base unit, or a text with a unit, such as ``"1 KiB"``."""


Name = Annotated[StrictStr, Field(pattern=r"^[A-Za-z_]\w*$")]
"""The name of a quantity."""
Weights = Annotated[list[Annotated[StrictInt | Finite, Field(ge=0)]], Field(min_length=1)]
"""How much each of some scenarios counts."""
WeightsTable = Annotated[
    Annotated[Weights, Tag("one list")] | Annotated[dict[str, Weights], Tag("by input")],
    Discriminator(lambda value: "by input" if isinstance(value, dict) else "one list"),
]


class Table(BaseModel):
    """A table of the study file; `dse.study.faults` tells of its unknown keys."""

    model_config = ConfigDict(extra="allow", frozen=True)
