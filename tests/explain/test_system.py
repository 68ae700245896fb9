"""The answer of a system: its kernels, the order to build in, and the value of its limits."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import dse
from dse.explain.recommendation import select_designs
from dse.explain.system import answer_kernels, describe_kernels, describe_losses, system_section
from dse.model.section import Table
from tests.study.resolve.test_kernels import STUDY, write

LIMIT = '\n[[constraint]]\nquantity = "area"\nat_most = {}\n'


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> dse.Study:
    return dse.load(write(tmp_path_factory.mktemp("system"), STUDY + LIMIT.format(5_500)))


@pytest.fixture(scope="module")
def result(study: dse.Study) -> dse.Result:
    return study.run()


def tables(study: dse.Study, result: dse.Result) -> dict[str, pd.DataFrame]:
    """Return the tables of the section, by the beginnings of their titles."""
    selection = select_designs(study, result)
    assert selection is not None
    (section,) = system_section(study, result, selection.design)
    return {part.title.split()[0]: part.rows for part in section.parts if isinstance(part, Table)}


def test_a_kernel_on_the_host_has_the_reason(study: dse.Study, result: dse.Result) -> None:
    design = result.designs[result.designs["area"] == 0].iloc[0]
    lines = describe_kernels(study, answer_kernels(study, dict(design)))
    assert lines.keys() == {"cbc", "ctr", "sha"}
    assert all(
        line.startswith("not built: the best design changes time ") for line in lines.values()
    )
    assert describe_losses(study, dict(design)) == ""


def test_a_built_kernel_has_its_area_and_its_time(study: dse.Study, result: dse.Result) -> None:
    design = result.designs[result.designs["cbc"] == "big"].iloc[0]
    line = describe_kernels(study, answer_kernels(study, dict(design)))["cbc"]
    assert line.startswith("big: area 3,000 LUT (")
    assert "busy 0.6 → 0.05" in line


def test_steps_add_one_kernel_each_and_take_nothing_back(
    study: dse.Study, result: dse.Result
) -> None:
    steps = tables(study, result)["Order"]
    assert steps["add"].iloc[0] == "nothing"
    assert steps["add"].is_unique
    assert steps["time"].is_monotonic_decreasing
    assert steps["area [LUT]"].is_monotonic_increasing
    assert steps["area [LUT]"].iloc[-1] <= 5_500


def test_value_of_a_limit_is_that_of_a_study_with_the_limit(
    study: dse.Study, result: dse.Result, tmp_path: Path
) -> None:
    more = dse.load(write(tmp_path, STUDY + LIMIT.format(6_600))).run()
    before, after = result.best("time")["time"], more.best("time")["time"]
    assert after < before
    (text,) = tables(study, result)["The"]["best values"]
    assert text.startswith(f"best time {after:.3g} (−")
