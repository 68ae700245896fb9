"""Pages that runs write, read back without a browser."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path


def page_data(text: str) -> str:
    """Return the data of a page, as JSON."""
    packed = text.partition('id="data">')[2].partition("</script>")[0]
    return zlib.decompress(base64.b64decode(packed)).decode()


def read_page(path: Path) -> str:
    """Return a page's text and its data."""
    text = path.read_text(encoding="utf-8")
    return text + page_data(text)
