"""Boxes that a search has open, for tests of their splits."""

from __future__ import annotations

import numpy as np

from dse.search.bound.boxes import MEASURED, OpenBoxes, make_unasked_marks
from dse.search.bound.cells import Boxes
from dse.search.bound.ranges import Ranges


def open_box(ranges: Ranges, box: Boxes) -> OpenBoxes:
    """Return one box as open, with variables that are due to be measured."""
    age = np.full(1, MEASURED, dtype=np.int8)
    widths = np.ones((1, len(ranges.axes)), dtype=np.float32)
    return OpenBoxes(box, ranges(box).ideal, widths, age, age, make_unasked_marks(1))
