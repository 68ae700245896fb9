"""What every table of a study file is made of: numbers with units, names, and the table itself."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

Finite = Annotated[StrictFloat, Field(allow_inf_nan=False)]
Number = StrictInt | Finite | StrictStr
"""A number in the quantity's base unit, or a text with a unit, such as ``"1 KiB"``."""


Name = Annotated[StrictStr, Field(pattern=r"^[A-Za-z_]\w*$")]
"""The name of a quantity."""


class Table(BaseModel):
    """A table of the study file; `dse.study.faults` tells of its unknown keys."""

    model_config = ConfigDict(extra="allow", frozen=True)
