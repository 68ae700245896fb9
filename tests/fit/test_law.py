"""The times of a law, by its formula."""

from __future__ import annotations

import numpy as np
import pytest

from dse.fit import law as names
from dse.fit.law import column_times, times


@pytest.mark.parametrize("accelerated", [False, True])
def test_a_column_of_a_law_has_its_times(accelerated: bool) -> None:
    index, exponent, setup, gain, fixed, per_byte = 3e-9, 1.2, 1e-5, 8.0, 2e-6, 4e-10
    per_byte_out, host_out = 3e-10, 2e-10
    values = {
        names.INDEX: index, names.SETUP: setup, names.GAIN: gain, names.FIXED: fixed,
        names.PER_BYTE: per_byte, names.PER_BYTE_OUT: per_byte_out, names.HOST_OUT: host_out,
    }  # fmt: skip
    law = np.zeros(names.COORDINATES)
    for place, value in values.items():
        law[place] = np.log(value)
    law[names.EXPONENT] = exponent
    size = np.geomspace(64, 1e6, 30)
    returned = size / 3
    work = index * size**exponent
    host = fixed + work + host_out * returned
    device = setup + work / gain + per_byte * size + per_byte_out * returned
    expected = device if accelerated else host
    found = column_times(law, size, returned, accelerated)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    whole, _ = times(law, size, returned, np.full(len(size), accelerated))
    np.testing.assert_allclose(whole, expected, rtol=1e-12)
