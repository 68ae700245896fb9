"""How quickly the report answers a brush, with a front of many designs, in headless Chromium.

    python -m benchmarks.report_page [designs]

Each action is timed in the page, from the change of the selection to the next frame drawn with
plot or lines, table and count. Medians and the worst of some repeats, in milliseconds; and the
processor time that all of the browser took for an action, which a busy machine does not lengthen
much.
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
import psutil  # type: ignore[import-untyped]
from selenium.webdriver import Chrome

from dse.api import StudyResult
from dse.report.page import write_report
from tests.browser import browser, console, open_report, open_tab
from tests.report.examples import STUDY_TEXT, result

ACTIONS = {
    "brush one axis": "ask.brushes.acceleration = [10 + k, 30 + k]; linked()",
    "brush three axes": (
        "ask.brushes = { acceleration: [5 + k, 50], speedup: [1, 40 - k],"
        " interface: ['user-port', 'instruction'] }; linked()"
    ),
    "filter": "ask.filter = `area < ${20 + k} kLUT and interface != 'pci-card'`; linked()",
    "outline of 100 corners": (
        "ask.outline = { x: { name: 'speedup', log: false }, y: { name: 'area', log: false },"
        " points: Array.from({ length: 100 }, (_, i) => [30 + (9 + k) * Math.cos(i / 15.9),"
        " 20000 + 9000 * Math.sin(i / 15.9)]) }; linked()"
    ),
    "keep": "ask.brushes.acceleration = [10, 30 + k]; settle(true)",
    "restore": "restoreAll()",
}
TIMED = """
const [repeats, done] = arguments, times = [];
const frame = () => new Promise((ready) => requestAnimationFrame(() => setTimeout(ready)));
(async () => {
  for (let k = 0; k <= repeats; k += 1) {
    clearAsk();
    const start = performance.now();
    ACTION(k);
    await frame();
    times.push(performance.now() - start);
  }
  done(times.slice(1));
})();
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


def _processor(chrome: Chrome) -> float:
    """Return the processor time that the browser's processes have taken so far [s]."""
    driver = psutil.Process(chrome.service.process.pid)
    times = [process.cpu_times() for process in driver.children(recursive=True)]
    return float(sum(each.user + each.system for each in times))


def main(count: int) -> None:
    """Print a table."""
    found = front_of(count)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "report.html"
        write_report(found, [], path, STUDY_TEXT)
        print(f"{count:,} designs on the front; the page has {path.stat().st_size / 1e6:.1f} MB")
        with browser(Path(name)) as chrome:
            chrome.set_script_timeout(300)
            began = time.perf_counter()
            open_report(chrome, path)
            print(f"opened in {time.perf_counter() - began:.1f} s")
            for view in ("parallel", "plane"):
                open_tab(chrome, view)
                print(f"\n{view:<28}{'median':>10}{'worst':>10}{'processor':>14}")
                for label, action in ACTIONS.items():
                    script = TIMED.replace("ACTION(k)", action)
                    before = _processor(chrome)
                    times = chrome.execute_async_script(script, 7)
                    spent = 1000 * (_processor(chrome) - before) / 8
                    told = f"{statistics.median(times):>10.0f}{max(times):>10.0f}{spent:>14.0f} ms"
                    print(f"{label:<28}{told}")
            print("\n".join(console(chrome)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
