"""A researcher's walk, with nothing but what README and docs/scripts.md say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pytest

import dse
from dse import Array, Floats, Quantity
from dse.testing import check_model


class Link(NamedTuple):
    transfer_time: Annotated[Array, Quantity("s", "time of one transfer", low=0)]
    energy: Annotated[Array, Quantity("J", "of one transfer", low=0)]


def link(
    size: Annotated[Floats, Quantity("B", "data of one transfer", low=0)],
    bandwidth: Annotated[Floats, Quantity("B/s", "of the link", above=0, better="higher")],
    wires: Annotated[Floats, Quantity("1", "wires", low=1, integer=True)],
) -> Link:
    return Link(np.asarray(size / (bandwidth * wires)), np.asarray(size * 1e-12 * wires**1.5))


def test_a_model_of_ones_own_from_a_question_to_a_report(tmp_path: Path) -> None:
    check_model(link)
    content = {
        "study": {"name": "links", "models": ["link"]},
        "inputs": {"bandwidth": "1 GB/s"},
        "space": {"wires": {"integer": [1, 16]}, "size": {"values": ["1 KiB", "64 KiB"]}},
        "objective": [
            {"minimize": "transfer_time", "name": "time"},
            {"minimize": "energy"},
            {"maximize": "size"},
        ],
        "constraint": [{"quantity": "transfer_time", "at_most": "20 us"}],
    }

    # a slip of the pen is told with what was meant
    slip = {**content, "inputs": {"bandwith": "1 GB/s"}}
    with pytest.raises(dse.InputError) as caught:
        dse.from_mapping(slip, models={"link": link})
    assert "did you mean 'bandwidth'?" in str(caught.value)
    study = dse.from_mapping(content, models={"link": link})

    # before searching: a few designs by hand, and why one of them will not do
    tried = study.evaluate({"size": "64 KiB", "wires": [2, 4]})
    assert tried["time"].tolist() == [2**16 / 2e9, 2**16 / 4e9]
    assert tried["feasible"].tolist() == [False, True]
    assert "transfer_time <= 20 us is violated by 12.77 µs" in tried["violations"].iloc[0]

    # the front is what two loops find
    result = study.run(tmp_path / "run")
    front = result.front.designs
    by_hand = {(s, w) for s in (2**10, 2**16) for w in range(1, 17) if s / w / 1e9 <= 20e-6}
    assert set(zip(front["size"], front["wires"], strict=True)) == by_hand
    assert front["wires"].dtype == np.int64

    # what limits the fastest large transfer, by its row
    large = result.where("size > 2000").best("time")
    assert large["wires"] == 16
    explained = result.explain(large)
    table = explained.bottlenecks()
    assert "bandwidth" in table["improve"].tolist()
    assert table.loc[table["improve"] == "bandwidth", "gain"].iloc[0] == "10×"

    # which bandwidth suffices for one wire? a slower link than this has no design for 64 KiB
    sweep = study.with_inputs(size="64 KiB", wires=1).sweep("bandwidth", ["1 GB/s", "4 GB/s"])
    assert list(sweep.infeasible) == ["1 GB/s"]
    assert sweep.best("time")["time"].tolist() == [2**16 / 4e9]
    wider = study.sweep("bandwidth", ["1 GB/s", "2 GB/s", "4 GB/s"])
    assert wider.table["best time"].tolist() == pytest.approx([64e-9, 32e-9, 16e-9])
    wider.plot()

    # what a faster link changes, and what was changed to get there
    faster = study.with_inputs(bandwidth="4 GB/s").run()
    both = dse.compare(result, faster)
    assert both.first.survive == 0
    assert [d.what for d in both.differences] == ["bandwidth"]
    assert "bandwidth: 1 GB/s against 4 GB/s" in str(both)

    # tomorrow: the folder has it all, but for the functions of this script
    again = dse.load_result(tmp_path / "run")
    assert again.front.designs.equals(front)
    with pytest.raises(dse.InputError, match="its script gave the functions link"):
        again.explain()
    assert study.explain(again, large)[0].design == large.name
    result.report(tmp_path / "page.html")
    assert "transfer_time" in (tmp_path / "page.html").read_text()
