"""Relations: they say what Python's own arithmetic says, and nothing else is let in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.grammar import GrammarError
from dse.model.relation import read_relation, read_relations

Meaning = Callable[[dict[str, float]], float]
Term = tuple[str, Meaning]

NAMES = ("a", "b", "lanes_2")


def _constant(value: float) -> Term:
    return (repr(value), lambda env: value)


def _name(name: str) -> Term:
    return (name, lambda env: env[name])


def _binary(sign: str, f: Callable[[float, float], float]) -> Callable[[Term, Term], Term]:
    return lambda x, y: (f"({x[0]} {sign} {y[0]})", lambda env: f(x[1](env), y[1](env)))


def _call(name: str, f: Callable[..., float]) -> Callable[..., Term]:
    return lambda *xs: (
        f"{name}({', '.join(x[0] for x in xs)})",
        lambda env: float(f(*(x[1](env) for x in xs))),
    )


BINARY = [
    _binary("+", lambda x, y: x + y),
    _binary("-", lambda x, y: x - y),
    _binary("*", lambda x, y: x * y),
    _binary("/", lambda x, y: x / y),
    _binary("//", lambda x, y: x // y),
    _binary("%", lambda x, y: x % y),
    _call("max", max),
    _call("min", min),
]
UNARY = [
    _call("abs", abs),
    _call("floor", math.floor),
    _call("ceil", math.ceil),
    _call("sqrt", math.sqrt),
    lambda x: (f"-{x[0]}", lambda env: -x[1](env)),
    lambda x: (f"(+{x[0]})", lambda env: x[1](env)),
    lambda x: (f"({x[0]} ** 2)", lambda env: x[1](env) * x[1](env)),
]
small = st.integers(0, 1000).map(float) | st.floats(0, 1e6).map(lambda x: round(x, 3))
terms: st.SearchStrategy[Term] = st.recursive(
    small.map(_constant) | st.sampled_from(NAMES).map(_name),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(BINARY), inner, inner).map(lambda t: t[0](t[1], t[2])),
        st.tuples(st.sampled_from(UNARY), inner).map(lambda t: t[0](t[1])),
    ),
    max_leaves=12,
)
environments = st.fixed_dictionaries({n: st.floats(-1e4, 1e4) for n in NAMES})


@given(terms, st.sampled_from(["<=", ">=", "<", ">", "=="]), environments)
def test_relations_agree_with_pythons_arithmetic(
    term: Term, sign: str, env: dict[str, float]
) -> None:
    text, meaning = f"{term[0]} {sign} a", term[1]
    if len(text) > 500:
        return
    try:
        left, right = meaning(env), env["a"]
    except (ZeroDivisionError, ValueError, OverflowError):
        left = right = math.nan  # Python refuses; here it is NaN or infinite, and no exception
    relation = read_relation(text)
    assert relation.names <= set(NAMES)
    violation = relation.violation({n: np.array([v, v]) for n, v in env.items()})
    assert np.array_equal(violation[0], violation[1], equal_nan=True)
    if math.isnan(left):
        return
    holds = {
        "<=": left <= right,
        ">=": left >= right,
        "<": left < right,
        ">": left > right,
        "==": left == right,
    }[sign]
    assert (violation[0] <= 0) == holds, (left, right)
    if left != right and math.isfinite(left):
        assert abs(violation[0]) == abs(left - right)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4 <= a", 14.0),
        ("(2 + 3) * 4 <= a", 20.0),
        ("-2 ** 2 <= a", -4.0),
        ("2 ** 3 ** 2 <= a", 512.0),
        ("7 // 2 - 7 % 4 <= a", 0.0),
        ("10 - 4 - 3 <= a", 3.0),
        ("log2(1024) + log10(1e3) <= a", 13.0),
        ("log(exp(1)) <= a", 1.0),
        ("1_000 + 1e2 <= a", 1100.0),
        ("\n  1 <= a ", 1.0),
    ],
)
def test_precedence_and_functions(text: str, value: float) -> None:
    assert read_relation(text).violation({"a": 0.0}) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "left", "right", "holds"),
    [
        ("a <= b", math.inf, math.inf, True),
        ("a < b", math.inf, math.inf, False),
        ("a == b", math.inf, math.inf, True),
        ("a == b", -math.inf, math.inf, False),
        ("a < b", 1.0, math.nextafter(1.0, 2.0), True),
        ("a < b", 1.0, 1.0, False),
        ("a > b", 5e-324, 0.0, True),
        ("a <= b", math.nan, 1.0, False),
        ("a == b", math.nan, math.nan, False),
        ("a / 0 >= b", 1.0, 1e308, True),
        ("sqrt(a) <= b", -1.0, 1.0, False),
        ("log(a) <= b", 0.0, -1e308, True),
    ],
)
def test_edges_without_a_warning(text: str, left: float, right: float, holds: bool) -> None:
    violation = read_relation(text).violation({"a": np.array([left]), "b": np.array([right])})
    assert bool(violation[0] <= 0) is holds


def test_whole_number_columns_do_not_wrap_nor_refuse() -> None:
    big = np.array([2**62, 3])
    assert (read_relation("4 * a <= 2 ** 64").violation({"a": big}) <= 0).all()
    assert (read_relation("a * b <= 1").violation({"a": big, "b": big}) > 0).all()
    assert read_relation("2 ** (0 - b) <= 1").violation({"b": np.array([1, 2])}).tolist() == [
        -0.5,
        -0.75,
    ]
    assert read_relation("b ** c <= 1").violation({"b": np.array([2]), "c": np.array([-1])}) == -0.5


def test_it_broadcasts_and_leaves_its_inputs_alone() -> None:
    a, b = np.arange(3.0)[:, None], np.arange(4.0)
    a.flags.writeable = b.flags.writeable = False
    violation = read_relation("a + b <= 3").violation({"a": a, "b": b})
    assert violation.tolist() == [[i + j - 3.0 for j in range(4)] for i in range(3)]


TEXTS = r"""
|   |a|a + b|1 <= 2|not a <= 1|a <= 1 or b <= 2|a != 1|a in b|a in (1, 2)|a is b|a <= 'x'|a <= b'x'
a <= f'{b}'|a <= ...|a.b <= 1|a.__class__.__bases__ <= 1|a[0] <= 1|(a, b) <= 1|[a] <= 1
{a} <= 1|{a: b} <= 1|[x for x in a] <= 1|sum(x for x in a) <= 1|(lambda: 0)() <= a|(a := 3) <= 1
a if b else 1 <= 2|(a if b else 1) <= 2|(a and b) <= 2|~a <= 2|a @ b <= 2|a << 2 <= 2|a & 2 <= 2
*a <= 1|__import__('os').system('true') <= a|__import__('os') <= a|open('/etc/passwd') <= a
eval('1') <= a|a(1) <= 1|exp(a, b) <= 1|max(a) <= 1|max(a, b, 1) <= 1|max(*a) <= 1|exp(x=a) <= 1
exp <= a; a|import os|a = 1|a =< 1|a <= 1\x00|a <= 1e999|a <= (1|a <= 1)|`a <= 1|a <=
"""
REFUSED = [
    *TEXTS.replace("\n", "|").split("|"),
    "a <= " + "9" * 400,
    "a <= 1" + " " * 2_000 + "+ 1",
    "a <= " + "(" * 240 + "1" + ")" * 240,
    "-" * 400 + "a <= 1",
    "(" + "a if a else " * 30 + "a) <= 1",
]


@pytest.mark.parametrize("text", REFUSED)
def test_everything_else_is_refused_at_a_character(text: str) -> None:
    with pytest.raises(GrammarError, match=r"character \d+: ") as caught:
        read_relations(text)
    assert len(str(caught.value)) < 800


def test_several_comparisons_are_relations_of_their_own() -> None:
    texts = [relation.text for relation in read_relations("a between 1 and b and 2 < c <= 3 kLUT")]
    assert texts == ["a >= 1", "a <= b", "2 < c", "c <= 3 kLUT"]
    with pytest.raises(GrammarError, match="2 relations"):
        read_relation("1 <= a <= 2")


def test_an_unknown_function_is_answered_with_the_nearest() -> None:
    with pytest.raises(GrammarError, match=r"unknown function 'sqr': did you mean 'sqrt'\?"):
        read_relation("sqr(a) <= 1")


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9**9**9 <= a",
        "a <= 9**9**9**9**9**9**9**9",
        "a <= exp(exp(exp(exp(9))))",
        "a ** a ** a ** a <= 1",
        "+".join(["a"] * 190) + " <= 1",
        "-" * 190 + "a <= 1",
    ],
)
def test_towers_and_long_sums_answer_at_once(text: str) -> None:
    values: dict[str, Any] = {"a": np.array([1e300, 2.0])}
    assert read_relation(text).violation(values).shape in [(), (2,)]
