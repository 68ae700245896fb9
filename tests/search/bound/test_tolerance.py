"""Tolerances by objective, and what a certificate says it rests on."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import dse
from dse import Array, Floats, Quantity, monotonic
from dse.cli import commands
from dse.explain.certification import refute
from dse.model.values import show_tolerance
from dse.problems import InputError
from dse.search.base import SearchSettings, Start, find_method
from dse.search.bound import cells
from dse.search.bound.cover import Cover, relax_points
from dse.search.outcome import Tolerance
from tests.commands import leave_out_assumptions
from tests.pages import read_page

_Size = Annotated[Floats, Quantity("1", "size", low=0)]
_Speed = Annotated[Floats, Quantity("1", "speed", low=0)]


class Made(NamedTuple):
    area: Annotated[Array, Quantity("LUT", "area", low=0)]
    gain: Annotated[Array, Quantity("1", "gain")]


@monotonic(area="+size +speed", gain="+speed -size")
def made(size: _Size, speed: _Speed) -> Made:
    size, speed = np.asarray(size), np.asarray(speed)
    return Made(100.0 * (1.0 + size * size + speed), 3.0 + np.sqrt(speed) - np.log1p(size))


def study(**search: Any) -> dse.Study:
    return dse.from_mapping(
        {
            "study": {"name": "made", "models": ["made"]},
            "space": {"size": {"real": [0.0, 4.0]}, "speed": {"real": [0.0, 9.0]}},
            "objective": [{"minimize": "area"}, {"maximize": "gain"}],
            "search": {"method": "bound", **search},
        },
        models={"made": made},
    )


def points() -> Array:
    speed = np.linspace(0.0, 9.0, 20_001)  # no size is best
    true = made(0.0, speed)
    return np.column_stack([true.area, -true.gain])


def test_each_objective_may_have_its_own_tolerance() -> None:
    asked = study(tolerance={"area": "20 LUT", "gain": "1 %"})
    result = asked.run()
    certificate = result.certificate
    assert certificate.complete
    assert certificate.tolerances == {"area": [0.0, 20.0], "gain": [0.01, 0.0]}
    assert "within 20 LUT of area and 1 % of gain" in certificate.statement
    cover = Cover.empty(2)
    cover = cover.added(result.front.points)
    within = np.array([0.0, 0.01]), np.array([20.0, 0.0])
    assert cover.weakly(relax_points(points(), *within)).all()
    assert len(result.front.designs) < 400
    assert (
        refute(study(tolerance={"area": "20 LUT", "gain": "1 %"}), result, 20_000, 0).design is None
    )


def test_a_share_of_one_and_an_amount_of_another_are_not_confused() -> None:
    fine, coarse = (
        study(tolerance={"area": area, "gain": 0.05}).run() for area in ("1 LUT", "100 LUT")
    )
    assert len(fine.front.designs) > len(coarse.front.designs)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"areas": 0.1, "gain": 0.1}, r"tolerance\.areas: 'areas' is not an objective"),
        ({"area": "-3 LUT", "gain": 0.1}, r"tolerance\.area: is -3 LUT"),
        ({"area": 20, "gain": 0.1}, r"tolerance\.area: is 20\s+allowed: 0 to 10"),
        ({"area": 0.1}, r"is 0 for an objective, but no front of a continuum is exact"),
    ],
)
def test_what_is_wrong_with_a_tolerance_is_reported(given: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        study(tolerance=given)


def test_a_search_cut_short_says_what_each_objective_keeps_to() -> None:
    evaluator = study(tolerance=0.01).evaluator
    tolerances = {"area": Tolerance(0.0, 1e-3), "gain": Tolerance(1e-6)}
    plan = SearchSettings("bound", 2**62, 1, 0, None, {}, tolerances=tolerances)
    search = find_method("bound").start(Start(evaluator, plan, chunk=32_768))
    for _ in itertools.islice(search.steps(), 7):
        pass
    outcome = search.outcome()
    assert outcome.gap is not None
    assert not outcome.complete
    assert "Certified within" in outcome.statement
    area, gain = (outcome.gap.tolerances[name] for name in ("area", "gain"))
    assert area.amount / 1e-3 == pytest.approx(gain.fraction / 1e-6)
    assert area.amount > 1e-3
    cover = Cover.empty(2)
    cover = cover.added(outcome.evaluated.objectives[outcome.on_front] * evaluator.signs)
    within = np.array([0.0, gain.fraction]), np.array([area.amount, 0.0])
    assert cover.weakly(relax_points(points(), *within)).all()


def test_a_certificate_says_what_it_rests_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_assumptions(monkeypatch)
    monkeypatch.setattr(cells, "TABLE_ROWS", 100)  # so that few designs are too many for a table
    text = Path(__file__).parents[3].joinpath("benchmarks", "studies", "crypto.toml").read_text()
    for name, values in {
        "lanes": "[1, 8]",
        "pipeline_depth": "[1, 8, 32]",
        "streams": "[8, 64]",
        "schedule_period": "[1, 16]",
        "calls_in_flight": "[1, 8]",
    }.items():
        text = re.sub(rf"(?m)^{name} = .*", f"{name} = {{ values = {values} }}", text)
    text = re.sub(r"(?m)^(interface = .*options = ).*", r'\1["stream-port", "pcie-4-x8"] }', text)
    text = text[: text.index("[regions]")]
    wanted = '[search]\nmethod = "bound"\ntolerance = { speedup = "10 %", '
    wanted += 'break_even = "10 %", call_time = "10 %", area = "5 kLUT" }\n'
    path = tmp_path / "crypto.toml"
    path.write_text(text + "\n" + wanted)
    out = tmp_path / "run"
    ran = CliRunner().invoke(commands, ["run", str(path), "--out", str(out)])
    assert ran.exit_code == 0, ran.output
    certificate = json.loads((out / "summary.json").read_text())["certificate"]
    grounds = certificate["rests_on"]
    pace = [g for g in grounds if g["output"] == "stream_interval"]
    assert {(g["by"], g["how"]) for g in pace} == {
        ("lower bound", "window_pace"),
        ("lower bound", "slots_share"),
        ("lower bound", "left_by_others"),
    }
    assert any(g["by"] == "table" and "pipeline_depth" in g["how"] for g in grounds)
    assert any(g["by"] == "monotonic" and "+set_up_time" in g["how"] for g in grounds)
    page = read_page(out / "report.html")
    assert "Basis of the bounds" in page
    assert "never below its lower bound window_pace" in page
    found = CliRunner().invoke(commands, ["certify", str(out), "--designs", "200"])
    assert found.exit_code == 0, found.output
    assert "stream_interval (objectives.sharing:call_pace) is never below" in found.output


@given(st.floats(1e-6, 1e3), st.sampled_from([2, 3]))
def test_a_shown_tolerance_is_never_less_than_the_proven_one(fraction: float, digits: int) -> None:
    shown = show_tolerance(fraction, digits)
    number = float(shown.split()[-1] if "factor" in shown else shown.split()[0].replace(",", ""))
    proven = 1 + fraction if "factor" in shown else 100 * fraction
    assert proven * (1 - 1e-5) <= number <= proven * (1 + 10.0 ** (1 - digits) + 1e-5)
