"""Cost and carbon of dies against the published models' own programs."""

from __future__ import annotations

import numpy as np
import pytest

from objectives.cost import die_carbon, die_cost

# Yinxiao-Feng/DAC2022, spec/parameter.ini: wafer in USD, defects per cm²; critical level 10, wafer
# 300 mm, edge 5 mm, scribe 0.2 mm. Then area in mm², yield, dies, cost of a die, of a good one.
WAFERS = {5: (16_988.0, 0.11), 7: (9_346.0, 0.09), 14: (3_984.0, 0.08), 28: (2_891.0, 0.07)}
DIES = [
    (5, 25, 0.972911, 2318.8629, 7.326005, 7.529981),
    (5, 100, 0.896372, 571.7124, 29.714239, 33.149438),
    (5, 400, 0.650122, 129.9843, 130.692737, 201.027948),
    (5, 800, 0.43024, 58.793, 288.946048, 671.592307),
    (7, 100, 0.914299, 571.7124, 16.347379, 17.879682),
    (7, 800, 0.498944, 58.793, 158.964549, 318.601735),
    (14, 100, 0.92341, 571.7124, 6.968538, 7.546525),
    (28, 100, 0.932621, 571.7124, 5.056738, 5.42207),
    (28, 800, 0.57991, 58.793, 49.172535, 84.793347),
]


@pytest.mark.parametrize("case", DIES, ids=lambda case: f"{case[0]} nm, {case[1]} mm2")
def test_chiplet_actuarys_dies(case: tuple[float, ...]) -> None:
    node, area, *expected = case
    wafer, defects = WAFERS[int(node)]
    cost = die_cost(area * 1e-6, wafer, defects * 1e4)
    assert [float(value) for value in cost] == pytest.approx(expected, rel=2e-6)


def test_a_die_larger_than_the_wafer_has_no_cost() -> None:
    cost = die_cost(np.array([0.04, 0.09]), 4_000.0, 800.0)
    assert np.isinf(cost.good_die_cost).all()


# alugupta/ACT, logic/*.json and carbon_intensity/source.json: coal 820 g/kWh, materials 500 g/cm²;
# per node, energy in kWh/cm² and gases in g/cm² at 95 % abatement. Yield 0.875, 150 g per package.
COAL, MATERIALS, YIELD = 820 / 3.6e6, 500e4, 0.875
FABS = {28: (0.9, 175.0), 10: (1.475, 240.0)}


def _carbon(node: int, area: float, package: float = 0.0) -> tuple[float, float]:
    energy, gases = FABS[node]
    carbon = die_carbon(area, COAL, energy * 3.6e10, gases * 1e4, MATERIALS, YIELD, package)
    return float(carbon.die_carbon), float(carbon.carbon_per_area)


def test_acts_carbon_per_area() -> None:
    assert _carbon(10, 1e-4)[1] / 1e4 == pytest.approx(2228.0, rel=1e-12)
    energy = die_carbon(1e-4, COAL, 1.475 * 3.6e10, 0.0, 0.0, 1.0)
    assert float(energy.carbon_per_area) / 1e4 == pytest.approx(1209.5, rel=1e-12)


def test_acts_processors() -> None:
    assert 2 * _carbon(28, 6.98e-4, 300.0)[0] == pytest.approx(23_143.405714285716, rel=1e-12)
    assert _carbon(28, 46.4e-6, 150.0)[0] == pytest.approx(899.2937142857143, rel=1e-12)
    assert _carbon(28, 166.68e-6, 20 * 150.0)[0] == pytest.approx(5_691.643885714286, rel=1e-12)
