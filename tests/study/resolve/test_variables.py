"""Subsets of named parts as a variable, and parts that a study excludes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import commands
from objectives.communication import load_dataflow, load_dataflows

PROFILES = Path(__file__).parents[3] / "studies" / "profiles"
JPEG = str(PROFILES / "jpeg.json")


def study(space: dict[str, Any], dataflow: Any = JPEG, **inputs: Any) -> dse.Study:
    return dse.from_mapping(
        {
            "study": {"name": "parts", "models": ["objectives.communication:offload_functions"]},
            "inputs": {"dataflow": dataflow, "instruction_area": 32} | inputs,
            "space": {"computation_factor": {"values": [2, 8]}} | space,
            "objective": [{"maximize": "speedup"}, {"minimize": "area"}],
        }
    )


def test_options_are_named_by_their_parts_in_order_of_the_program() -> None:
    table = {"subsets": "selection", "of": ["store_block", "idct", "convert_row"]}
    found = study({"accelerated": table}).run()
    designs = found.designs
    program = load_dataflows(JPEG)
    names = {
        "none", "idct", "convert_row", "store_block", "idct + convert_row",
        "idct + store_block", "convert_row + store_block", "idct + convert_row + store_block",
    }  # fmt: skip
    assert set(designs["accelerated"]) <= names
    assert found.certificate.designs == 16
    for name, selection in zip(designs["accelerated"], designs["selection"], strict=True):
        chosen = () if name == "none" else name.split(" + ")
        assert selection == program.selection(chosen)


@pytest.mark.parametrize(("least", "most", "count"), [(1, 1, 3), (0, 1, 4), (2, 3, 4), (2, 2, 3)])
def test_subsets_have_as_many_parts_as_asked_for(least: int, most: int, count: int) -> None:
    table = {
        "subsets": "selection",
        "of": ["convert_row", "idct", "store_block"],
        "least": least,
        "most": most,
    }
    assert study({"accelerated": table}).run().certificate.designs == 2 * count


def test_what_is_excluded_is_no_candidate_nor_is_what_calls_it() -> None:
    program = load_dataflow(JPEG)
    assert "main" not in program.candidates
    assert {"malloc", "fwrite", "memset"}.isdisjoint(program.candidates)  # library functions
    less = program.without(["get_symbol"]).candidates
    gone = set(program.candidates) - set(less)
    assert gone == {"get_symbol", "decode_block", "decode_unit"}
    table = {"accelerated": {"subsets": "selection", "of": ["decode_unit"]}}
    study(table)
    with pytest.raises(dse.InputError, match="calls get_symbol, which no accelerator is for"):
        study(table, {"file": JPEG, "exclude": ["get_symbol"]})


def test_what_cannot_be_excluded_is_reported() -> None:
    mapping = {
        "study": {"name": "parts", "models": ["objectives.partition:optimal"]},
        "inputs": {"profiles": {"file": JPEG, "exclude": ["idct"]}},
        "space": {"area": {"values": [100]}},
        "objective": [{"maximize": "speedup"}],
    }
    with pytest.raises(dse.InputError, match="nothing can be excluded from profiles"):
        dse.from_mapping(mapping)


def test_the_terminal_names_the_functions_of_the_best_designs(tmp_path: Path) -> None:
    path = tmp_path / "parts.toml"
    path.write_text(
        f"""
        study = {{ name = "parts", models = ["objectives.communication:offload_functions"] }}
        inputs = {{ dataflow = "{JPEG}", instruction_area = 32, computation_factor = 8 }}
        [space.accelerated]
        subsets = "selection"
        of = ["idct", "convert_row"]
        least = 2
        [[objective]]
        maximize = "speedup"
        """
    )
    shown = CliRunner().invoke(
        commands, ["run", str(path), "--out", str(tmp_path / "run"), "--verbose"]
    )
    assert shown.exit_code == 0
    assert re.search(r"best speedup .*idct \+ convert_row", shown.output)


# Numbers of a study that are probably given in a wrong unit are noted -------------------------


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"clock": "1.16 Hz"}, "inputs.clock: clock = 1.16 Hz is unusual"),
        ({"overhead": 3.5e-5}, "overhead = 3.5×10⁻⁵ cycle is unusual; typical: 10 cycle to"),
        ({"latency": "1.3 ms"}, "latency = 1,508,000 cycle is unusual"),
        ({"latency": 0}, ""),
        ({"latency": {"value": "1.3 ms", "provenance": "measured", "source": "a log"}}, ""),
    ],
)
def test_implausible_magnitudes_are_noted_once(inputs: dict[str, Any], words: str) -> None:
    given = {"clock": "1.16 GHz", "computational_index": 90, "overhead": "25 us", "latency": 1500}
    study = dse.from_mapping(
        {
            "study": {"name": "magnitudes", "models": ["objectives.logca:offload"]},
            "inputs": given | inputs,
            "space": {"acceleration": {"values": [2, 4]}},
            "objective": [{"maximize": "speedup", "at": {"granularity": 4096}}],
        }
    )
    notes = [note for note in study.notes if "unusual" in note]
    assert len(notes) == bool(words)
    assert words in "".join(notes)
