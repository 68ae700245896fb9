"""The unit that the author of a misspelt text probably meant."""

from __future__ import annotations

import re

from dse.model.units import is_unit, vocabulary
from dse.problems import closest

_SYMBOL = re.compile(r"[A-Za-zµ%]+\d?")
_MIN_SIMILARITY = 0.75  # of difflib, chosen such that one wrong letter in four is a slip of the pen


def nearest_unit(text: str) -> str | None:
    """Return the unit that a text most probably means; None if it is a unit, or near to none.

    >>> nearest_unit("LUTz"), nearest_unit("B/cyle"), nearest_unit("KB"), nearest_unit("shared")
    ('LUT', 'B/cycle', 'kB', None)
    """
    prefixes, units = vocabulary()
    scaled = (p + s for p in prefixes for s in ("B", "s", "Hz", "LUT", "W", "J", "bit"))
    known = [*units, *scaled]
    folded = {each.casefold(): each for each in reversed(known)}

    def meant(found: re.Match[str]) -> str:
        word = found[0]
        if is_unit(word):
            return word
        return folded.get(word.casefold()) or closest(word, known, _MIN_SIMILARITY) or word

    near = _SYMBOL.sub(meant, text)
    return near if near != text and is_unit(near) else None
