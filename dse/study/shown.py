"""The tables of a study file that say what is looked for and drawn once a front is found."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool, StrictInt, StrictStr

from dse.study.entry import Finite, Number, Table


class BottleneckTable(Table):
    """When an input counts as a bottleneck: LogCA's rule by default."""

    factor: Annotated[StrictInt | Finite, Field(gt=1)] = Field(
        10.0, description="by which an input is improved"
    )
    threshold: Annotated[StrictInt | Finite, Field(gt=0)] = Field(
        0.2, description="the share by which an objective must then improve"
    )


class RegionsTable(Table):
    """The axis along which optimization regions are drawn."""

    axis: StrictStr = Field(description="an input that no model gives")
    low: Number = Field(description="where it begins")
    high: Number = Field(description="where it ends")
    objective: StrictStr | None = Field(None, description="the first one if absent")


class CurveTable(Table):
    """Quantities to draw along an input, for the designs that matter most."""

    name: StrictStr = Field(min_length=1, description="of the picture")
    axis: StrictStr = Field(description="an input that no model gives")
    values: list[Number] | None = Field(None, min_length=2, description="its values; or as follows")
    integer: Annotated[list[StrictInt], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[low, high]: whole numbers between them"
    )
    real: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[low, high]: numbers between them"
    )
    log: StrictBool = Field(False, description="spread evenly in the logarithm")
    quantities: list[StrictStr] = Field(min_length=1, max_length=8, description="what is drawn")
    at: dict[str, Number] = Field(
        default_factory=dict, description="inputs bound for this curve alone"
    )


class ReportTable(Table):
    """What the report shows beside the front."""

    sections: list[StrictStr] = Field(
        default_factory=list,
        max_length=16,
        description="functions that write sections: module:function, or file.py:function",
    )
