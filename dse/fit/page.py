"""Fits as one page of HTML that works offline."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dse.fit.fitting import Fit
from dse.fit.plot import plot
from dse.fit.shown import told_value
from dse.model.values import show
from dse.report.payload import as_json
from dse.report.shell import plotly_js

_DRAW = """
for (const [at, plot] of JSON.parse(document.getElementById("plots").textContent).entries()) {
  const looks = { paper_bgcolor: "#fff", plot_bgcolor: "#fff", hovermode: "closest" };
  Plotly.newPlot(`plot-${at}`, plot.data, { ...plot.layout, ...looks },
    { responsive: true, displaylogo: false });
}
"""


def page(fits: Sequence[Fit], table: str) -> str:
    """Return the page: a plot, the values and the notes of each series.

    Texts of the table are escaped; a policy in the page forbids all requests.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    scripts = [plotly_js(), _DRAW]
    return environment.get_template("page.html.jinja").render(
        table=table,
        fits=[(fit, _values(fit), fit.left_out) for fit in fits],
        scripts=[Markup(text) for text in scripts],  # noqa: S704 (our own)
        plots=Markup(as_json([plot(fit) for fit in fits])),  # noqa: S704 (without <, > and &)
        hashes=" ".join(_hash(text) for text in scripts),
    )


def _values(fit: Fit) -> list[tuple[str, str, str]]:
    """Return what the table of values says: name, value and interval."""
    beta = fit.parameters.get("complexity", 1.0)
    found = [
        (name, told_value(name, value, beta), _between(name, fit.intervals[name], beta))
        for name, value in fit.parameters.items()
    ]
    if fit.analysis.break_even is not None:
        span = fit.analysis.break_even_interval or (0.0, math.inf)
        found.append(("break_even", show(fit.analysis.break_even, "B"), _between("", span)))
    return found


def _between(name: str, span: tuple[float, float], beta: float = 1.0) -> str:
    return " to ".join(told_value(name, end, beta) for end in span)


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
