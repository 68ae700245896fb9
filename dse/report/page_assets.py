"""What every page of ours begins with: its style, and a policy that lets nothing leave it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from markupsafe import Markup


def style() -> Markup:
    """Return the style sheet; it follows the system's light or dark theme."""
    text = files("dse.report").joinpath("page.css").read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 (our own file)


def plotly_js() -> str:
    """Return the text of plotly.js, for a page that works offline.

    The file is read without importing plotly, which takes longer than writing the page.
    """
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise ImportError("plotly is not installed")
    path = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    return path.read_text(encoding="utf-8")


def policy(scripts: Sequence[str]) -> str:
    """Return a content-security policy: only these scripts, unchanged, and no request."""
    digests = (hashlib.sha256(text.encode()).digest() for text in scripts)
    hashes = (base64.b64encode(digest).decode("ascii") for digest in digests)
    allowed = " ".join(f"'sha256-{text}'" for text in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
