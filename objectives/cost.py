"""Cost and embodied carbon of a die, from its area.

Cost: Y. Feng and K. Ma, Chiplet Actuary: A Quantitative Cost Model and Multi-Chiplet Architecture
Exploration, DAC 2022 (yield, dies of a wafer, cost of good dies). Carbon: U. Gupta et al., ACT:
Designing Sustainable Computer Systems with an Architectural Carbon Modeling Tool, ISCA 2022 (fab
energy, gases, materials and packaging). Packages, design and tests of dies are not in the cost;
memories and disks are not in the carbon.

Each output is monotonic in the area, so a proof over areas is one over costs.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from dse.model import Array, Floats, Quantity, model, monotonic
from objectives.power_law import to_arrays
from objectives.quantities import AREA, declare_cost

DIE_AREA = declare_cost("m**2", "area of a die", (1e-6, 8e-4))
DIE_YIELD = Quantity("1", "fraction of good dies", "Y", low=0, high=1)
DieArea: TypeAlias = Annotated[Floats, DIE_AREA]


class Die(NamedTuple):
    """The output of :func:`die_area`."""

    die_area: Annotated[Array, DIE_AREA]


@model
@monotonic(die_area="+area +area_per_lut +other_area")
def die_area(
    area: Annotated[Floats, AREA],
    area_per_lut: Annotated[
        Floats,
        Quantity("m**2/LUT", "die area of a LUT", above=0, better="lower", typical=(1e-12, 1e-9)),
    ],
    other_area: Annotated[
        Floats, declare_cost("m**2", "die area of all other parts", (0, 1e-4))
    ] = 0.0,
) -> Die:
    """Return the area of a die with accelerators of an area in LUT.

    >>> float(die_area(40_000.0, 500e-12, other_area=30e-6).die_area)
    5e-05
    """
    return Die(np.multiply(area, area_per_lut, dtype=np.float64) + other_area)


class DieCost(NamedTuple):
    """The outputs of :func:`die_cost`."""

    die_yield: Annotated[Array, DIE_YIELD]
    dies_per_wafer: Annotated[Array, Quantity("1", "dies of a wafer", low=0)]
    die_cost: Annotated[Array, Quantity("USD", "cost of a die, good or not", low=0)]
    good_die_cost: Annotated[Array, Quantity("USD", "cost of a good die", low=0)]


@model
@monotonic(
    die_yield="-die_area =wafer_cost -defect_density -defect_clustering =wafer_diameter"
    " =wafer_edge =scribe_width",
    dies_per_wafer="-die_area =wafer_cost =defect_density =defect_clustering +wafer_diameter"
    " -wafer_edge -scribe_width",
    die_cost="+die_area +wafer_cost =defect_density =defect_clustering -wafer_diameter"
    " +wafer_edge +scribe_width",
    good_die_cost="+die_area +wafer_cost +defect_density +defect_clustering -wafer_diameter"
    " +wafer_edge +scribe_width",
)
def die_cost(
    die_area: DieArea,
    wafer_cost: Annotated[
        Floats, Quantity("USD", "cost of a wafer", above=0, better="lower", typical=(2e3, 2e4))
    ],
    defect_density: Annotated[Floats, declare_cost("1/m**2", "defects per area", (500, 2e3), "D")],
    defect_clustering: Annotated[
        Floats, Quantity("1", "exponent of the yield", "c", above=0, typical=(1, 10))
    ] = 10.0,
    wafer_diameter: Annotated[
        Floats, Quantity("m", "diameter of a wafer", "d", above=0, typical=(0.2, 0.3))
    ] = 0.3,
    wafer_edge: Annotated[
        Floats, Quantity("m", "width of the edge without dies", "e", low=0, typical=(0, 0.005))
    ] = 0.005,
    scribe_width: Annotated[
        Floats, Quantity("m", "width between dies", "s", low=0, typical=(0, 2e-4))
    ] = 2e-4,
) -> DieCost:
    """Return yield, dies of a wafer, and cost of a die, before tests and packaging.

    With a die of width √A and its scribe line, A' = (√A + s)², and a radius R = d/2 − e:

    * yield (1 + D A / c)^−c, which falls with A, D and c;
    * dies π R² / A' − 2 π R / √(2 A'), at least 0, which falls with A' where it is positive;
    * cost of a die: wafer over dies; cost of a good die: that over the yield. inf without dies.

    >>> cost = die_cost(100e-6, wafer_cost=3984.0, defect_density=800.0)
    >>> float(cost.die_yield), float(cost.dies_per_wafer), float(cost.good_die_cost)
    (0.9234, 571.7124, 7.5465)
    """
    area, wafer, density, clustering = to_arrays(
        die_area, wafer_cost, defect_density, defect_clustering
    )
    side = np.sqrt(area) + scribe_width
    radius = np.maximum(np.asarray(wafer_diameter) / 2 - wafer_edge, 0.0)
    with np.errstate(all="ignore"):
        good = np.exp(-clustering * np.log1p(density * area / clustering))
        across = radius / side
        dies = np.maximum(np.pi * across * (across - np.sqrt(2.0)), 0.0)
        cost = wafer / dies
        return DieCost(good, dies, cost, cost / good)


class DieCarbon(NamedTuple):
    """The outputs of :func:`die_carbon`."""

    die_carbon: Annotated[Array, Quantity("g", "CO2 of making a good die and its package", low=0)]
    carbon_per_area: Annotated[Array, Quantity("g/m**2", "CO2 of a good die per area", low=0)]


@model
@monotonic(
    die_carbon="+die_area +carbon_intensity +fab_energy +fab_gases +fab_materials -die_yield"
    " +package_carbon",
    carbon_per_area="=die_area +carbon_intensity +fab_energy +fab_gases +fab_materials -die_yield"
    " =package_carbon",
)
def die_carbon(
    die_area: DieArea,
    carbon_intensity: Annotated[
        Floats, declare_cost("g/J", "CO2 of the fab's energy", (3e-6, 3e-4), "CI")
    ],
    fab_energy: Annotated[
        Floats, declare_cost("J/m**2", "energy of the fab", (3e10, 1.2e11), "EPA")
    ],
    fab_gases: Annotated[Floats, declare_cost("g/m**2", "CO2 of gases", (1e6, 5e6), "GPA")],
    fab_materials: Annotated[Floats, declare_cost("g/m**2", "CO2 of materials", (5e6, 6e6), "MPA")],
    die_yield: Annotated[Floats, Quantity("1", "fraction of good dies", "Y", above=0, high=1)],
    package_carbon: Annotated[Floats, declare_cost("g", "CO2 of the package", (0, 300))] = 0.0,
) -> DieCarbon:
    """Return the embodied carbon, A · (CI · EPA + GPA + MPA) / Y and the package.

    The yield may be the output of :func:`die_cost`. It then falls with the area, and the carbon per
    area rises.

    >>> carbon = die_carbon(46.4e-6, carbon_intensity=820 / 3.6e6, fab_energy=0.9 * 3.6e10,
    ...                     fab_gases=175e4, fab_materials=500e4, die_yield=0.875,
    ...                     package_carbon=150.0)
    >>> float(carbon.die_carbon)
    899.2937
    """
    energy = np.multiply(carbon_intensity, fab_energy, dtype=np.float64)
    per_area = (energy + fab_gases + fab_materials) / die_yield
    return DieCarbon(die_area * per_area + package_carbon, per_area)
