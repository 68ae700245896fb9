"""Laws in the size of a problem, fitted to what profiles of one program count at several sizes.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks"
(2010), Figures 7 and 8, give dataflow as formulas in n, "manually massaged" from several runs. Here
:func:`fit_law` finds them: a sum of a few terms n^p·(log2 n)^q.

A count of a deterministic program often follows a law *exactly*. A law of k terms is solved in
rational numbers at the k smallest sizes and must then give every other count, the largest included,
to the last unit; k + 1 sizes (3 are enough) must be left to verify it, and its denominators be
small. The law of fewest terms is taken.
If there is none, a least-squares fit of the relative differences replaces it. The fit has the
fewest terms within 1 % of every count; else Akaike's criterion, corrected for few points
(C. M. Hurvich, C.-L. Tsai, Biometrika 76, 1989), decides. The fit reports its error.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from dse.model import Array, Floats
from objectives.communication.dataflow import Dataflow

MOST_TERMS = 4
MOST_FITTED_TERMS = 3
LARGEST_DENOMINATOR = 64
CLOSE_ENOUGH = 0.01


class Term(NamedTuple):
    """n^power · (log2 n)^log."""

    power: Fraction
    log: int

    def at(self, n: Floats) -> Array:
        """Return the term's value at sizes of any shape."""
        x = np.asarray(n, dtype=np.float64)
        return np.asarray(x ** float(self.power) * np.log2(x) ** self.log)

    def exactly_at(self, n: int) -> Fraction | None:
        """Return the value as a rational number, or None if it is irrational.

        >>> Term(Fraction(3, 2), 1).exactly_at(16)
        Fraction(256, 1)
        """
        base, power = n, self.power
        if power.denominator == 2:
            base, power = math.isqrt(n), 2 * power
            if base * base != n:
                return None
        if self.log and n & (n - 1):
            return None
        return Fraction(base ** int(power) * (n.bit_length() - 1) ** self.log)


TERMS = tuple(
    Term(Fraction(power), log)
    for power, log in (
        ("0", 0), ("0", 1), ("1/2", 0), ("1/2", 1), ("1", 0), ("1", 1), ("3/2", 0), ("2", 0),
        ("2", 1), ("3", 0),
    )
)  # fmt: skip
"""The terms that a law may have, in order of growth."""


@dataclass(frozen=True)
class Law:
    """A count as a sum of terms in the size n of the problem, each with a coefficient."""

    terms: tuple[Term, ...]
    """In order of growth; none: the count is 0 at every size."""
    coefficients: tuple[Fraction, ...]
    exact: bool
    """Whether the law gives every count, verified at sizes that it was not solved at."""
    residual: float
    """Largest difference at a size, relative to the count there (to 1 if that is 0)."""
    held_out: float
    """Relative difference at the largest size if the same terms are fitted without it."""

    def at(self, n: Floats) -> Array:
        """Return the count that the law gives at sizes of any shape."""
        pairs = zip(self.terms, self.coefficients, strict=True)
        return np.asarray(sum((float(c) * t.at(n) for t, c in pairs), np.zeros(np.shape(n))))


def fit_law(sizes: Sequence[int], counts: Sequence[int]) -> Law:
    """Find the law of a count: exact if there is one, else the best fit.

    `sizes` of the problem are in any order; ValueError if they are fewer than 3, not positive or
    not different. An exact law may have two terms with 5 sizes, three with 6, four with 7.

    >>> law = fit_law([64, 256, 1024, 4096, 16384], [272, 1040, 4112, 16400, 65552])
    >>> [(str(t.power), str(c)) for t, c in zip(law.terms, law.coefficients)], law.exact
    ([('0', '16'), ('1', '4')], True)
    """
    if len(sizes) < 3 or min(sizes) < 1 or len(set(sizes)) < len(sizes):
        raise ValueError(f"sizes {list(sizes)}: give at least 3 positive whole numbers, each once")
    n, y = map(list, zip(*sorted(zip(sizes, counts, strict=True)), strict=True))
    if not any(y):
        return Law((), (), True, 0.0, 0.0)
    return _exact_law(n, y) or _fitted_law(n, y)


class _Candidate(NamedTuple):
    """Terms that an exact law may have at given sizes.

    `rows` are the terms at each size; `test` are whole numbers whose products with the first counts
    and the last one sum to 0 if the law through the first gives the last: a quick first look.
    """

    terms: tuple[Term, ...]
    rows: tuple[tuple[Fraction, ...], ...]
    test: tuple[int, ...]


@functools.lru_cache(maxsize=64)
def _candidates(n: tuple[int, ...]) -> tuple[_Candidate, ...]:
    columns = {term: [term.exactly_at(size) for size in n] for term in TERMS}
    rational = {t: [v for v in column if v is not None] for t, column in columns.items()}
    usable = [term for term in TERMS if len(rational[term]) == len(n)]
    most = max(k for k in range(MOST_TERMS + 1) if k + min(k + 1, 3) <= len(n))
    found = []
    for k in range(1, most + 1):
        for terms in combinations(usable, k):
            rows = tuple(zip(*(rational[term] for term in terms), strict=True))
            transposed = list(zip(*rows[:k], strict=True))
            weights = _solve(transposed, rows[-1])  # of the first counts in the last
            if weights is not None:
                whole = math.lcm(*(w.denominator for w in weights))
                test = (*(int(w * whole) for w in weights), -whole)
                found.append(_Candidate(terms, rows, test))
    return tuple(found)


def _exact_law(n: list[int], y: list[int]) -> Law | None:
    for terms, rows, test in _candidates(tuple(n)):
        k = len(terms)
        if sum(w * count for w, count in zip(test, (*y[:k], y[-1]), strict=True)):
            continue
        coefficients = _solve(rows[:k], [Fraction(count) for count in y[:k]])
        if coefficients is None or not all(_simple(c) for c in coefficients):
            continue
        if all(
            sum((c * x for c, x in zip(coefficients, row, strict=True)), Fraction(0)) == count
            for row, count in zip(rows, y, strict=True)
        ):
            return Law(terms, tuple(coefficients), True, 0.0, 0.0)
    return None


def _simple(coefficient: Fraction) -> bool:
    return coefficient != 0 and coefficient.denominator <= LARGEST_DENOMINATOR


def _solve(rows: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve linear equations by Gauss and Jordan; None if they are singular."""
    matrix = [[*row, value] for row, value in zip(rows, right, strict=True)]
    size = len(matrix)
    for k in range(size):
        pivot = next((i for i in range(k, size) if matrix[i][k]), None)
        if pivot is None:
            return None
        matrix[k], matrix[pivot] = matrix[pivot], matrix[k]
        matrix[k] = [x / matrix[k][k] for x in matrix[k]]
        for i in range(size):
            if i != k and matrix[i][k]:
                factor = matrix[i][k]
                matrix[i] = [a - factor * b for a, b in zip(matrix[i], matrix[k], strict=True)]
    return [row[-1] for row in matrix]


def _fitted_law(n: list[int], y: list[int]) -> Law:
    sizes, counts = np.array(n, dtype=np.float64), np.array(y, dtype=np.float64)
    terms = _chosen_terms(sizes, counts)
    coefficients = _least_squares(terms, sizes, counts)
    residual = np.max(np.abs(_relative(terms, coefficients, sizes, counts)))
    before = _least_squares(terms, sizes[:-1], counts[:-1])
    held_out = abs(_relative(terms, before, sizes[-1:], counts[-1:])[0])
    exact = tuple(Fraction(float(c)) for c in coefficients)
    return Law(terms, exact, False, float(residual), float(held_out))


def _chosen_terms(n: Array, y: Array) -> tuple[Term, ...]:
    """Return the fewest terms that come close enough, else the terms of the smallest criterion."""
    candidates: list[tuple[float, tuple[Term, ...]]] = []
    for most in range(1, min(MOST_FITTED_TERMS, max(1, len(n) - 3)) + 1):
        squares = []
        for terms in combinations(TERMS, most):
            coefficients = _least_squares(terms, n, y)
            if coefficients[-1] > 0:  # else the count falls below 0 as the problem grows
                off = _relative(terms, coefficients, n, y)
                squares.append((float(np.sum(off**2)), TERMS.index(terms[-1]), terms, off))
        if not squares:
            continue
        total, _, terms, off = min(squares, key=lambda each: each[:2])
        if np.max(np.abs(off)) <= CLOSE_ENOUGH:
            return terms
        candidates.append((_akaike(total, len(n), most), terms))
    return min(candidates, key=lambda each: each[0])[1] if candidates else TERMS[:1]


def _least_squares(terms: tuple[Term, ...], n: Array, y: Array) -> Array:
    weight = 1 / np.maximum(y, 1)
    columns = np.stack([term.at(n) * weight for term in terms], axis=1)
    scale = np.max(np.abs(columns), axis=0)
    scale[scale == 0] = 1
    return np.asarray(np.linalg.lstsq(columns / scale, y * weight, rcond=None)[0] / scale)


def _relative(terms: tuple[Term, ...], coefficients: Array, n: Array, y: Array) -> Array:
    given = sum(c * term.at(n) for term, c in zip(terms, coefficients, strict=True))
    return np.asarray((given - y) / np.maximum(y, 1))


def _akaike(squares: float, points: int, terms: int) -> float:
    """Return the corrected criterion; without room for a correction, a term costs too much."""
    parameters = terms + 1  # the variance is one
    room = points - parameters - 1
    if room <= 0:
        return math.inf
    logarithm = points * math.log(max(squares / points, 1e-30))
    return logarithm + 2 * parameters + 2 * parameters * (parameters + 1) / room


# --------------------------------------------------------------------------------------------- text


_WORD = 4  # bytes


class Notation(NamedTuple):
    """How a law is written."""

    unit: str = "B"
    """Of the count; empty for a plain number. Whole words of bytes that grow are written so."""
    root: str = ""
    """The name of the size's square root, as the side of a square picture; empty if it has none."""


class _Piece(NamedTuple):
    negative: bool
    body: str
    unit: str


def write_law(law: Law, notation: Notation | None = None) -> str:
    """Write a law, the fastest growing term first; ``≈`` and the residual if it is not exact.

    >>> from objectives.communication.laws import fit_law
    >>> sides = [8, 16, 32, 64, 128]
    >>> law = fit_law([s * s for s in sides], [4 * s * s * (s.bit_length() - 2) for s in sides])
    >>> write_law(law, Notation(root="side"))
    '(log2(side) − 1)·n words'
    """
    style = notation or Notation()
    if not law.terms:
        return f"0 {style.unit}".strip()
    if law.exact:
        return _joined(_pieces(law, style))
    pieces = [
        _Piece(c < 0, _times(f"{abs(float(c)):.4g}", _factor(t, style)), style.unit)
        for t, c in zip(reversed(law.terms), reversed(law.coefficients), strict=True)
    ]
    return f"≈ {_joined(pieces)} (within {law.residual:.2g} of the count)"


def _pieces(law: Law, style: Notation) -> list[_Piece]:
    pairs = dict(zip(law.terms, law.coefficients, strict=True))
    pieces: list[_Piece] = []
    for power in sorted({term.power for term in law.terms}, reverse=True):
        plain = pairs.get(Term(power, 0), Fraction(0))
        log = pairs.get(Term(power, 1), Fraction(0)) * (2 if style.root else 1)
        unit = style.unit
        if style.unit == "B" and power and all((c / _WORD).denominator == 1 for c in (plain, log)):
            plain, log, unit = plain / _WORD, log / _WORD, "words"
        if plain and log and power:
            pieces.append(_product(plain, log, _power(power, style), unit, style))
            continue
        if log:
            body = _times(str(abs(log)), _joint(_power(power, style), _log(style)))
            pieces.append(_Piece(log < 0, body, unit))
        if plain:
            pieces.append(_Piece(plain < 0, _times(str(abs(plain)), _power(power, style)), unit))
    return pieces


def _product(plain: Fraction, log: Fraction, power: str, unit: str, style: Notation) -> _Piece:
    """Write (a + b·log n)·n^p with the common factor of a and b in front."""
    whole = plain.denominator == log.denominator == 1
    common = Fraction(math.gcd(plain.numerator, log.numerator)) if whole else abs(log)
    sign = "−" if (plain < 0) != (log < 0) else "+"
    inner = f"({_times(str(abs(log) / common), _log(style))} {sign} {abs(plain) / common})"
    return _Piece(log < 0, _times(str(common), f"{inner}·{power}"), unit)


def _factor(term: Term, style: Notation) -> str:
    return _joint(_power(term.power, style), _log(style) if term.log else "")


def _power(power: Fraction, style: Notation) -> str:
    whole = int(power)
    return _joint(("", "n", "n²", "n³")[whole], (style.root or "√n") if power != whole else "")


def _log(style: Notation) -> str:
    return f"log2({style.root or 'n'})"


def _joint(*factors: str) -> str:
    return "·".join(factor for factor in factors if factor)


def _times(coefficient: str, factor: str) -> str:
    if not factor:
        return coefficient
    return factor if coefficient == "1" else f"{coefficient}·{factor}"


def _joined(pieces: list[_Piece]) -> str:
    """Join the terms; a unit follows the last of the terms that share it."""
    text = ""
    for i, piece in enumerate(pieces):
        if i:
            text += " − " if piece.negative else " + "
        elif piece.negative:
            text += "−"
        text += piece.body
        if i + 1 == len(pieces) or pieces[i + 1].unit != piece.unit:
            text += f" {piece.unit}"
    return text.strip()


# -------------------------------------------------------------------------- the laws of a dataflow

COUNTS = ("computation", "invocations", "local bytes", "bytes", "bytes into", "bytes out of")
"""The counts: of a function the first three, from one to another the last three. "Into" and
"out of" mean a function with everything it calls."""


class Count(NamedTuple):
    """One number of a dataflow: one of `COUNTS`, from which function to which.

    Source and target are the same if the number is of one function.
    """

    what: str
    source: str
    target: str


def list_counts(dataflow: Dataflow) -> dict[Count, int]:
    """Return every number of a dataflow that is not 0."""
    own = (dataflow.computation, dataflow.invocations, dataflow.local_bytes)
    between = (dataflow.transfers, dataflow.transfers_into, dataflow.transfers_out)
    return {
        Count(what, dataflow.names[i], dataflow.names[j]): int(matrix[i, j])
        for what, matrix in zip(COUNTS, (*map(np.diag, own), *between), strict=True)
        for i, j in np.argwhere(matrix > 0)
    }


def fit_dataflow_laws(dataflows: Sequence[Dataflow], sizes: Sequence[int]) -> dict[Count, Law]:
    """Fit a law to every number of one program's dataflow, from a run for each size.

    See :func:`~objectives.communication.laws.fit_law`, which also lists the errors.
    """
    numbers = [list_counts(each) for each in dataflows]
    return {
        count: fit_law(sizes, [each.get(count, 0) for each in numbers])
        for count in sorted(set().union(*numbers), key=lambda c: (COUNTS.index(c.what), *c[1:]))
    }


def law_table(laws: dict[Count, Law], notation: Notation | None = None) -> pd.DataFrame:
    """Return laws as a table: what, from, to, law, exact, residual, held out.

    `notation` is of bytes; other counts are written in instructions and calls.
    """
    style = notation or Notation()
    units = {"computation": "instructions", "invocations": "calls"}
    rows = []
    for count, law in laws.items():
        own = style._replace(unit=units.get(count.what, style.unit))
        names = {"what": count.what, "from": count.source, "to": count.target}
        error = {"exact": law.exact, "residual": law.residual, "held out": law.held_out}
        rows.append(names | {"law": write_law(law, own)} | error)
    return pd.DataFrame(rows)
