"""The figures of docs/accelerometer.md, each computed here or listed as given; its study runs."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace

import numpy as np

import dse
from tests.accelerometer_examples import ASYNC, SYNC, SYNC_OS, seen, told
from tests.docs_figures import ROOT, Document

NAMES = {"Sync": SYNC, "Sync-OS": SYNC_OS, "Async": ASYNC}


def test_figures_of_accelerometer() -> None:
    doc = Document("docs/accelerometer.md")
    table = doc.table("| threading | cores |")
    cores = [int(doc.at(cell)) for cell in table["cores"]]
    settings = [
        replace(NAMES[doc.at(how)], cores=count)
        for how, count in zip(table["threading"], cores, strict=True)
    ]
    formulas, found = [told(each) for each in settings], [seen(each) for each in settings]
    doc.cells(table["cores"], cores)
    doc.cells(table["speedup"], [f["speedup"] for f in formulas])
    doc.cells(table["simulated 1"], [s.speedup for s in found])
    doc.cells(table["engine utilization"], [f["engine_utilization"] for f in formulas])
    doc.cells(table["simulated 2"], [s.utilization for s in found])
    doc.cells(table["wait at the engine"], [f["engine_wait_time"] for f in formulas])
    doc.cells(table["simulated 3"], [s.queue_time for s in found])
    doc.cells(table["99 %"], [f["offload_time_p99"] for f in formulas])
    doc.cells(table["simulated 4"], [np.quantile(s.offload_times, 0.99) for s in found])

    over = replace(ASYNC, cores=16)
    doc.says("sixteen cores in Async load the engine with @.", told(over)["engine_utilization"])
    both = told(over)["speedup"], seen(over).speedup
    doc.says("says a speedup of @, the simulation @: what the engine serves", *both)
    alone = replace(SYNC_OS, cores=4, threads=1)
    both = seen(alone).speedup, told(alone)["speedup"]
    doc.says("the speedup of four cores is @ instead of @.", *both)
    both = seen(ASYNC).queue_time, told(ASYNC)["engine_wait_time"]
    doc.says("In Async they wait @ cycles instead of the @ of", *both)
    same = replace(SYNC, cores=8, constant=True)
    both = seen(same).queue_time, told(same)["engine_wait_time"]
    doc.says("in Sync @ cycles instead of @, and", *both)
    more = seen(same).speedup / told(same)["speedup"] - 1
    doc.says("the speedup is @ % above the formula's", 100 * more)

    doc.given("the setting", r"(?s)a mean of 1,000 cycles.*20,000 offloads")
    doc.given("the paper's abstract", r"at most 3\.7 % in three case studies")
    doc.given("its doi", r"doi 10\.1145/3373376\.3378450")
    doc.given(
        "names", r"\| 0, Sync \|", r"\| 1, Sync-OS \|", r"\| 2, Async \|", r"\b1 / \(1 − α", "o0"
    )
    doc.given("computed below", r"below an acceleration of 4 ")
    doc.given("names", r"o1", r"α = 1 and", "be below 1:", r"99 %", r"gives 0;")
    doc.check()


def test_the_study_of_the_page_has_a_front_of_all_three() -> None:
    text = (ROOT / "docs" / "accelerometer.md").read_text(encoding="utf-8")
    block = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert block
    front = dse.from_mapping(tomllib.loads(block[1])).run().front.designs
    assert set(front["threading"]) == {0, 1, 2}
    assert front[front["threading"] == 2]["acceleration"].min() == 4
    assert set(front[front["acceleration"] < 4]["threading"]) == {0}
    assert set(front[front["speedup"] == front["speedup"].max()]["threading"]) == {2}
