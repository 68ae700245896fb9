"""What a text that is nearly a unit was meant to be."""

from __future__ import annotations

import re

from dse.model.units import DEFINITIONS, is_unit
from dse.problems import closest

_SYMBOL = re.compile(r"[A-Za-zµ%]+\d?")
_ALIKE = 0.75  # a slip of the pen


def nearest_unit(text: str) -> str | None:
    """Return the unit that a text was surely meant to be; None if it is one, or near to none.

    >>> nearest_unit("LUTz"), nearest_unit("B/cyle"), nearest_unit("KB"), nearest_unit("shared")
    ('LUT', 'B/cycle', 'kB', None)
    """
    words = [line.replace("-", "").split(" = ") for line in DEFINITIONS]
    ends = [i for i, line in enumerate(DEFINITIONS) if line.split(" = ")[0].endswith("-")]
    prefixes = ["", *(words[i][-1] for i in ends)]
    symbols = [
        each for i, line in enumerate(words) if i not in ends for each in (line[0], line[-1])
    ]
    known = [*symbols, *(p + s for p in prefixes for s in ("B", "s", "Hz", "LUT", "W", "J", "bit"))]
    folded = {each.casefold(): each for each in reversed(known)}

    def meant(found: re.Match[str]) -> str:
        word = found[0]
        if is_unit(word):
            return word
        return folded.get(word.casefold()) or closest(word, known, _ALIKE) or word

    near = _SYMBOL.sub(meant, text)
    return near if near != text and is_unit(near) else None
