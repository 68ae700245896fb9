"""Errors of models, located: the designs that a message names."""

from __future__ import annotations

import numpy as np
import pytest

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import DesignError, evaluate_designs
from dse.evaluate.space import Integer, Space
from tests.core_examples import model, model_graph, objective


def test_an_output_of_one_length_is_found_on_a_single_design() -> None:
    """Half of the batch has that length by chance, so no half of it shows the fault."""
    fixed = model("fixed", lambda x: np.arange(8.0), ["x"], ["y"])
    space = Space({"x": Integer(0, 15)})
    evaluator = Evaluator(model_graph([fixed], ["x"]), space, (objective("y"),), ())
    with pytest.raises(DesignError, match=r"design 0 \(x = 0\).*shape \(8,\)"):
        evaluate_designs(evaluator, {"x": np.arange(16.0)}, 0)
