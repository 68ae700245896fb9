"""Colours for readers with and without colour blindness, by a conversion of the test's own."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dse.report.scales import PALETTE, VALUES

SEEN = {  # linear RGB as each sees it, by Machado, Oliveira and Fernandes (2009) at full severity
    "trichromat": np.eye(3),
    "protanope": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranope": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanope": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)  # of sRGB with the white point D65


def lab(color: str, reader: str) -> np.ndarray:
    """Return a colour in CIELAB, as a reader sees it."""
    encoded = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    relative = TO_XYZ @ np.clip(SEEN[reader] @ linear, 0, 1) / TO_XYZ.sum(axis=1)
    low = (24389 / 27 * relative + 16) / 116
    x, y, z = np.where(relative > 216 / 24389, np.cbrt(relative), low)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("reader", SEEN)
def test_all_pairs_of_category_colours_differ(reader: str) -> None:
    """The difference is that of CIE 1976, the distance in CIELAB."""
    for one, other in combinations(PALETTE, 2):
        assert np.linalg.norm(lab(one, reader) - lab(other, reader)) >= 15, (one, other)


@pytest.mark.parametrize("reader", SEEN)
def test_colours_of_numbers_darken_evenly(reader: str) -> None:
    lightness = np.array([lab(color, reader)[0] for color in VALUES])
    steps = -np.diff(lightness)
    assert steps.min() > 0.6 * steps.mean()
