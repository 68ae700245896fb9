"""Subsets of named parts as a variable, and parts that a study excludes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import commands
from dse.study.alternatives import list_alternatives
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
    assert gone == {"get_symbol", "decode_block", "decode_blocks", "decode_unit"}
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


# Numbers of a study that are probably given in a wrong unit -------------------------------------


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
def test_implausible_magnitudes_have_one_warning(inputs: dict[str, Any], words: str) -> None:
    given = {"clock": "1.16 GHz", "computational_index": 90, "overhead": "25 us", "latency": 1500}
    study = dse.from_mapping(
        {
            "study": {"name": "magnitudes", "models": ["objectives.logca:offload"]},
            "inputs": given | inputs,
            "space": {"acceleration": {"values": [2, 4]}},
            "objective": [{"maximize": "speedup", "at": {"granularity": 4096}}],
        }
    )
    assert len(study.warnings) == bool(words)
    assert words in "".join(study.warnings)


# Quantities of a catalog that no model takes ------------------------------------------------------


def interfaces(*options: str, models: tuple[str, ...], **space: Any) -> dse.Study:
    return dse.from_mapping(
        {
            "study": {"name": "calls", "models": ["objectives.logca:offload", *models]},
            "inputs": {
                "kernel": {"catalog": "kernels", "row": "aes-ultrasparc-t2"},
                "clock": "1.16 GHz",
                "granularity": 4096,
            },
            "space": {
                "acceleration": {"values": [2, 200]},
                "interface": {"catalog": "interfaces", "options": list(options)} | space,
            },
            "objective": [{"maximize": "speedup"}],
        }
    )


RENAMED = {
    "interface_overhead": "overhead",
    "interface_latency": "latency",
    "interface_latency_per_byte": "latency_per_byte",
}


def test_quantities_that_no_model_takes_are_noted_if_entries_differ() -> None:
    renamed = interfaces("user-port", "stream-port", models=(), rename=RENAMED)
    (note,) = [note for note in renamed.notes if "no model takes" in note]
    assert "interface_overhead_per_byte" in note
    assert "shared_link" not in note  # 0 for both
    whole = interfaces("user-port", "stream-port", models=("objectives.machine:interface_terms",))
    assert "interface_overhead_per_byte" not in "".join(whole.notes)


def test_a_catalog_entry_with_a_cost_that_no_model_takes_is_no_advice() -> None:
    """The host's time for each byte is 0 for these options, and not for other entries."""
    wanted = {"stream-port", "instruction", "instruction-aesni"}
    options, models = ("user-port", "axi-dma"), ("objectives.machine:interface_terms",)
    advised = list_alternatives(interfaces(*options, models=(), rename=RENAMED))["interface"]
    assert "queued-port" in advised
    assert not wanted & {*advised}
    assert wanted < {*list_alternatives(interfaces(*options, models=models))["interface"]}
