"""Slices: every value of a variable, with the others as in the design."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import dse
from dse.explain.importance import find_slices
from tests.toy import written


def test_a_slice_holds_each_value_of_one_variable(tmp_path: Path) -> None:
    study = dse.load(written(tmp_path))
    result = study.run()
    design = int(str(result.front.nash().name))
    own = result.designs.loc[design]
    slices = find_slices(study, result, [design])[design]
    variables = list(study.evaluator.space.variables)
    assert [each.variable for each in slices] == variables
    for each in slices:
        others = {name: own[name] for name in variables if name != each.variable}
        designs = [{**others, each.variable: value} for value in each.values.tolist()]
        table = study.evaluate(pd.DataFrame(designs))
        names = [objective.name for objective in result.objectives]
        np.testing.assert_allclose(each.objectives, table[names].to_numpy(float))
        assert each.feasible.tolist() == table["feasible"].tolist()
        assert own[each.variable] in each.values.tolist()
        assert (np.diff(each.values) > 0).all()
    assert slices[variables.index("size")].values.tolist() == [1024.0, 2048.0, 4096.0]


def test_a_slice_of_a_table_holds_its_rows(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("lanes,mode,speed\n1,a,2\n2,a,3\n2,b,5\n4,b,9\n")
    path = tmp_path / "study.toml"
    path.write_text('[study]\nname = "t"\ntable = "rows.csv"\n[[objective]]\nmaximize = "speed"\n')
    study = dse.load(path)
    lanes, mode = find_slices(study, study.run(), [2])[2]
    assert (lanes.variable, lanes.values.tolist()) == ("lanes", [2, 4])
    assert lanes.objectives.tolist() == [[5.0], [9.0]]
    assert mode.values.tolist() == ["a", "b"]
    assert mode.objectives.tolist() == [[3.0], [5.0]]
