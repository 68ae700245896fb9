"""The parts of every page: its style, its compressed scripts, and a policy against requests."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import zlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup


def style() -> Markup:
    """Return the style sheet; it follows the system's light or dark theme."""
    return Markup(read_own("page.css"))  # noqa: S704 (our own file)


@functools.cache
def plotly_js() -> str:
    """Return the text of plotly.js's basic bundle, which draws scatter plots and bars.

    The full bundle in the package plotly is four times as large.
    """
    return read_own("vendor/plotly-basic.min.js")


def embed(data: str, script: str) -> Markup:
    """Return the end of a page's body: data, plotly.js and the script, compressed, and a loader.

    The page's script finds the data in the variable ``dataText``.
    """
    packed = {
        "data": pack(data),
        "plotly": _pack_scripts(plotly_js()),
        "script": _pack_scripts(script),
    }
    elements = [
        f'<script type="text/plain" id="{name}">{text}</script>' for name, text in packed.items()
    ]
    loader = f"<script>{read_own('loader.js')}</script>"
    return Markup("\n".join([*elements, loader]))  # noqa: S704 (base64, and our own file)


def embed_policy(script: str) -> str:
    """Return the policy of a page that ends with `embed`."""
    return policy([read_own("loader.js"), plotly_js(), script])


def pack(text: str) -> str:
    """Return a text compressed by zlib, in base64, for a browser's DecompressionStream."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


@functools.lru_cache(maxsize=4)
def _pack_scripts(text: str) -> str:
    """Pack scripts, which are the same on all pages: plotly.js takes most of the time of a page."""
    return pack(text)


def policy(scripts: Sequence[str]) -> str:
    """Return a content-security policy: only these scripts, unchanged, and no request."""
    digests = (hashlib.sha256(text.encode()).digest() for text in scripts)
    hashes = (base64.b64encode(digest).decode("ascii") for digest in digests)
    allowed = " ".join(f"'sha256-{text}'" for text in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@functools.cache
def load_template(name: str) -> Template:
    """Return a template of the report, such as its page, compiled once."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(read_own(name))


def read_own(name: str) -> str:
    """Return the text of a file of the report, such as a script."""
    return files("dse.report").joinpath(name).read_text(encoding="utf-8")


def script_json(content: Any) -> str:
    r"""Return JSON that is safe inside a script element: no character there can end it.

    >>> script_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))  # ASCII: no U+2028 either
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
