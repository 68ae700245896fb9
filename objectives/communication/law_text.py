"""Laws in a problem's size as text, such as ``n words + 16 B`` or ``(log2(side) − 1)·n words``."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from objectives.communication.laws import Law, Term


class Notation(NamedTuple):
    """How a law is written.

    Parameters
    ----------
    unit : str
        Of the count; empty for a plain number.
    word : int
        Bytes of a word, in which terms that grow are written if the unit is ``"B"`` and their
        coefficient is a whole number of words; 0 writes all in the unit.
    size : str
        The size of the problem.
    root : str
        The name of its square root, as the side of a square picture; empty if it has none.
    """

    unit: str = "B"
    word: int = 4
    size: str = "n"
    root: str = ""


class _Piece(NamedTuple):
    negative: bool
    body: str
    unit: str


def law_text(law: Law, notation: Notation | None = None) -> str:
    """Write a law, the fastest growing term first; ``≈`` and the residual if it is not exact.

    >>> from objectives.communication.laws import fit_law
    >>> sides = [8, 16, 32, 64, 128]
    >>> law = fit_law([s * s for s in sides], [4 * s * s * (s.bit_length() - 2) for s in sides])
    >>> law_text(law, Notation(root="side"))
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


def growth(law: Law, notation: Notation | None = None) -> str:
    """Return only the leading term, without its coefficient: ``"1"``, ``"n"``, ``"n·log2(n)"``."""
    return _factor(law.leading, notation or Notation()) or "1"


def _pieces(law: Law, style: Notation) -> list[_Piece]:
    pairs = dict(zip(law.terms, law.coefficients, strict=True))
    pieces: list[_Piece] = []
    for power in sorted({term.power for term in law.terms}, reverse=True):
        plain = pairs.get(Term(power, 0), Fraction(0))
        log = pairs.get(Term(power, 1), Fraction(0)) * (2 if style.root else 1)
        unit = style.unit
        in_words = style.unit == "B" and style.word and power
        if in_words and all((c / style.word).denominator == 1 for c in (plain, log)):
            plain, log, unit = plain / style.word, log / style.word, "words"
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
    text = "" if not whole else style.size + ("" if whole == 1 else {2: "²", 3: "³"}[whole])
    return _joint(text, (style.root or f"√{style.size}") if power != whole else "")


def _log(style: Notation) -> str:
    return f"log2({style.root or style.size})"


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
