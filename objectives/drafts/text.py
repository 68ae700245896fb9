"""Text of a draft: a template with blanks, and what fills them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from string import Template

_TEMPLATES = Path(__file__).parent


def fill_template(template: str, **blanks: str) -> str:
    """Return a template of this folder with its blanks filled: ``$name`` by `name`.

    Raises
    ------
    KeyError
        If a blank is left.
    """
    text = (_TEMPLATES / f"{template}.toml.template").read_text(encoding="utf-8")
    return Template(text).substitute(blanks)


def quote_text(text: str) -> str:
    """Return a text as TOML has it.

    >>> print(quote_text('say "hi"').replace(chr(92), "/"))
    "say /"hi/""
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def make_comment(text: str) -> str:
    """Return a text as a comment of one line, whatever a program calls its functions.

    >>> make_comment("two" + chr(10) + "lines")
    '# two lines'
    """
    return "# " + " ".join("".join(c if c.isprintable() else " " for c in text).split())


def comment_list(
    entries: Iterable[tuple[str, str]], commented: Iterable[tuple[str, str]] = ()
) -> str:
    """Return the lines of a list of texts, each with its comment; some commented out.

    >>> print(comment_list([("idct", "60 % of the time")], [("sort", "2 % of the time")]))
        "idct",    # 60 % of the time
        # "sort",  # 2 % of the time
    """
    rows = [(f"{quote_text(name)},", said) for name, said in entries]
    rows += [(f"# {quote_text(name)},", said) for name, said in commented]
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"    {name:<{width}}  {make_comment(said)}" for name, said in rows)


def show_percent(share: float) -> str:
    """Return a fraction in percent; a positive one is never shown as zero.

    >>> show_percent(0.3456), show_percent(0.0001)
    ('34.6 %', 'less than 0.1 %')
    """
    return "less than 0.1 %" if 0 < share < 1e-3 else f"{100 * share:.1f} %"
