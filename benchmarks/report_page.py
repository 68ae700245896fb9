"""How quickly the report answers a brush, with a front of many designs, in headless Chromium.

    python -m benchmarks.report_page [designs]

Each action is timed in the page, from the change of the selection until the next frame is drawn
with plot or lines, table and count. Medians and the worst of some repeats, in milliseconds.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from dse.api import StudyResult
from dse.report import write_report
from tests.browser import browser, console, open_report, open_tab
from tests.report_examples import STUDY_TEXT, result

ACTIONS = {
    "brush one axis": "ask.brushes.acceleration = [10 + k, 30 + k]",
    "brush three axes": (
        "ask.brushes = { acceleration: [5 + k, 50], speedup: [1, 40 - k],"
        " interface: ['user-port', 'instruction'] }"
    ),
    "filter": "ask.filter = `area < ${20 + k} kLUT and interface != 'pci-card' or lanes_x > 1`"
    ".replace('lanes_x', 'acceleration')",
    "outline of 100 corners": (
        "ask.outline = { x: { name: 'speedup', log: false }, y: { name: 'area', log: false },"
        " points: Array.from({ length: 100 }, (_, i) => [30 + (9 + k) * Math.cos(i / 15.9),"
        " 30000 + 9000 * Math.sin(i / 15.9)]) }"
    ),
    "keep, then restore": "ask.brushes.acceleration = [10, 30 + k]; settle(true); restoreAll()",
}
TIMED = """
const [action, repeats, done] = arguments, times = [], act = new Function("k", action);
const once = (k) => {
  clearAsk();
  const start = performance.now();
  ACTION(k);
  linked();
  requestAnimationFrame(() => setTimeout(() => {
    times.push(performance.now() - start);
    if (k < repeats) once(k + 1); else done(times.slice(1));
  }));
};
once(0);
"""


def front_of(count: int) -> StudyResult:
    """Return a result whose front has so many designs: those of an example, each moved a little."""
    small = result(4, 4_000)
    front = small.designs[small.designs["on_front"]]
    rng = np.random.default_rng(1)
    rows = front.iloc[rng.integers(0, len(front), count)].reset_index(drop=True)
    for name in ("speedup", "break_even", "offload_latency", "area", "overhead_scale"):
        rows[name] *= np.exp(rng.normal(0.0, 0.05, count))
    rows.index = pd.Index(np.arange(count), name="design")
    return replace(small, designs=rows)


def main(count: int) -> None:
    """Print a table."""
    found = front_of(count)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "report.html"
        write_report(found, [], path, STUDY_TEXT)
        print(f"{count:,} designs on the front; the page has {path.stat().st_size / 1e6:.1f} MB")
        with browser(Path(name)) as chrome:
            began = time.perf_counter()
            open_report(chrome, path)
            print(f"opened in {time.perf_counter() - began:.1f} s")
            for view in ("parallel", "plane"):
                open_tab(chrome, view)
                print(f"\n{view:<28}{'median':>10}{'worst':>10}")
                for label, action in ACTIONS.items():
                    script = TIMED.replace("ACTION(k)", action)
                    script = script.replace(', act = new Function("k", action)', "")
                    times = chrome.execute_async_script(script, "", 7)
                    print(f"{label:<28}{statistics.median(times):>8.0f}{max(times):>10.0f} ms")
            print("\n".join(console(chrome)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
