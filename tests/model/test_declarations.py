"""Declared moves: what may be written, and what pairs of inputs refute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from dse import Array, Floats, Quantity
from dse.model import Model, composed_of, monotonic
from dse.model.declarations import contradicts
from dse.model.pairs import refute_declarations, sample_values
from dse.problems import InputError

_Size = Annotated[Floats, Quantity("1", "size", above=0)]
_Lanes = Annotated[Floats, Quantity("1", "lanes", low=1, high=64, integer=True)]
_Share = Annotated[Floats, Quantity("1", "share", low=0, below=1)]


class Time(NamedTuple):
    time: Annotated[Array, Quantity("1", "time", low=0)]


def declared(text: str, time: Callable[[Any, Any, Any], Any]) -> Model:
    @monotonic(time=text)
    def run(size: _Size, lanes: _Lanes, share: _Share) -> Time:
        return Time(time(*(np.asarray(x, dtype=np.float64) for x in (size, lanes, share))))

    return Model.from_function(run)


def test_every_slip_in_a_declaration_is_reported_at_once() -> None:
    with pytest.raises(InputError) as caught:

        @monotonic(tim="+size", time="+size size +size -gone")
        def run(size: _Size) -> Time:
            return Time(np.asarray(size))

    text = str(caught.value)
    assert "tim: is not an output\n      did you mean 'time'?" in text
    for word in ("size", "+size", "-gone"):
        assert f"time: '{word}' is not a sign and an input" in text
    assert "write +, - or = and an input, each once: size" in text


def test_moves_keep_to_renamed_quantities() -> None:
    model = declared("+size -lanes", lambda s, n, r: s / n)
    assert model.renamed({"size": "data", "time": "delay"}).monotonic == {
        "delay": {"data": 1, "lanes": -1}
    }


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("+size -lanes =share", lambda s, n, r: s / n + 0 * r),
        ("+size -lanes +share", lambda s, n, r: np.ceil(s / n) / (1 - r)),
        ("+size -lanes -share", lambda s, n, r: np.where(s * r > n, np.inf, s / n * (1 - r))),
    ],
)
def test_what_holds_is_not_refuted(text: str, time: Any) -> None:
    if "inf" in str(time.__code__.co_names):  # never, from some size and share on
        text = "+size"
    refute_declarations(declared(text, time), {}, 20_000, 0)


@pytest.mark.parametrize(
    ("name", "text", "time"),
    [
        ("size", "+size", lambda s, n, r: np.abs(s - 1e5) / n),
        ("size", "-size", lambda s, n, r: np.where(s > 1e9, s, 1e9) / n),  # far from typical
        ("lanes", "-lanes", lambda s, n, r: s * np.where(n == 64, 2.0, 1.0)),  # at an end
        ("lanes", "-lanes", lambda s, n, r: np.ceil(64 / n) * n + 0 * s),  # a saw's teeth
        ("share", "=share", lambda s, n, r: s + n * np.where(r > 0.999999, 1e3 * s, 0.0)),
        ("share", "-share", lambda s, n, r: np.where(r == 0, 0.0, 1.0) + s),  # 0 alone
        ("size", "+size", lambda s, n, r: np.where(s < 1e-6, np.inf, s)),
    ],
)
def test_what_does_not_hold_is_refuted(name: str, text: str, time: Any) -> None:
    model = declared(text, lambda s, n, r: time(s, n, r) + 0 * (n + r))
    with pytest.raises(AssertionError, match=f"'time' is declared .* '{name}', but it"):
        refute_declarations(model, {}, 20_000, 0)


def test_an_input_that_is_held_is_not_moved() -> None:
    model = declared("-size", lambda s, n, r: s * n)
    refute_declarations(model, {"size": 3.0}, 100, 0)
    with pytest.raises(AssertionError):
        refute_declarations(model, {"lanes": 3.0}, 100, 0)


def test_only_parts_declare() -> None:
    def part(size: _Size) -> Time:
        return Time(np.asarray(size))

    @monotonic(time="+size")
    @composed_of(part)
    def whole(size: _Size) -> Time:  # type: ignore[empty-body]
        """Return the part."""

    with pytest.raises(AssertionError, match="whole: has parts, so only what they declare counts"):
        refute_declarations(Model.from_function(whole), {}, 10, 0)


def test_rounding_is_not_a_move_and_infinity_is() -> None:
    one = np.array([1.0, 1.0, 1.0, np.inf, np.inf, np.nan, 0.0, 1.0])
    other = np.array([1.0 - 1e-12, 1.0 - 1e-6, 2.0, np.inf, 5.0, 1.0, -1e-320, np.inf])
    where = {sign: np.flatnonzero(contradicts(sign, one, other)).tolist() for sign in (1, -1, 0)}
    assert where == {1: [1, 4], -1: [2, 7], 0: [1, 2, 4, 7]}


@pytest.mark.parametrize("annotation", [_Size, _Lanes, _Share])
def test_draws_keep_to_the_domain_and_reach_its_ends(annotation: Any) -> None:
    quantity = annotation.__metadata__[0]
    found = sample_values(quantity, np.random.default_rng(0), 20_000)
    assert quantity.contains(found).all()
    assert found.min() == max(quantity.clip(-np.inf), 1e-280 if quantity.above == 0 else 0)
    assert found.max() == quantity.clip(np.inf)
