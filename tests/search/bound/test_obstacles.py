"""Bounds that do not close: the output, the input and the objective that stay open are named."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from dse import Array, Floats, InputError, Quantity, monotonic
from dse.model.testing import DeclarationWarning, check_model

_Size = Annotated[Floats, Quantity("1", "a size", low=0, typical=(1, 10))]


class Area(NamedTuple):
    array_area: Annotated[Array, Quantity("kLUT", "area of the array", low=0)]
    speed: Annotated[Array, Quantity("1", "speed", low=0)]


@monotonic(array_area="+buffer", speed="+buffer +bandwidth")
def incomplete(buffer: _Size, bandwidth: _Size) -> Area:
    return Area(
        np.add(buffer, np.multiply(0.0, bandwidth)), np.sqrt(np.multiply(buffer, bandwidth))
    )


@monotonic(array_area="+buffer =bandwidth", speed="+buffer +bandwidth")
def whole(buffer: _Size, bandwidth: _Size) -> Area:
    return incomplete(buffer, bandwidth)


@monotonic(array_area="+buffer", speed="+buffer +bandwidth")
def jagged(buffer: _Size, bandwidth: _Size) -> Area:
    area, speed = incomplete(buffer, bandwidth)
    return Area(area + 1.0 + np.sin(bandwidth), speed)


def study(function: Any, **search: Any) -> dse.Study:
    return dse.from_mapping(
        {
            "study": {"name": "areas", "models": ["areas"]},
            "space": {"buffer": {"real": [1.0, 10.0]}, "bandwidth": {"real": [1.0, 10.0]}},
            "objective": [{"minimize": "array_area"}, {"maximize": "speed"}],
            "search": {"method": "bound", "tolerance": "1 %", **search},
        },
        models={"areas": function},
    )


NAMED = "'array_area' changes with 'bandwidth'"


def test_a_missing_declaration_is_named_before_and_after_the_search() -> None:
    with pytest.raises(InputError, match=NAMED):
        study(incomplete)
    limited = study(incomplete, evaluations=30_000)
    assert NAMED in limited.plan.reason
    certificate = limited.run().certificate
    assert certificate.gap is None
    assert certificate.decided is not None
    assert 0.0 <= certificate.decided < 1.0
    assert NAMED in certificate.statement
    assert "No tolerance holds yet for array_area." in certificate.statement


def test_with_the_declaration_the_front_is_certified() -> None:
    complete = study(whole)
    assert not complete.plan.reason
    assert complete.run().certificate.gap == pytest.approx(0.01)


def test_the_sign_that_pairs_support_is_proposed() -> None:
    with pytest.warns(DeclarationWarning, match='"=bandwidth"'):
        check_model(incomplete)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_model(whole)
        check_model(jagged)  # no sign holds
