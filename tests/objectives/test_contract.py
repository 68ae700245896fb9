"""Every shipped model keeps the contract, and declares each input and output."""

from __future__ import annotations

import pytest

from dse.model.contract import Model
from dse.model.quantity import Resource
from dse.study.code_loading import shipped_models
from dse.testing import check_model

MODELS = {
    model.name: model
    for model in shipped_models()
    if not any(isinstance(declared, Resource) for declared in model.inputs.values())
}
SAMPLES = {
    "objectives.sharing:simulated_latency": 8,  # it simulates
    "objectives.sharing:call_crossing": 128,  # most are one element, or never
    "objectives.sharing:call_percentiles": 8,  # a design takes milliseconds
}
PAIRS = {"objectives.sharing:call_crossing": 15, "objectives.sharing:call_percentiles": 10}  # slow
FIXED = {"schedule_period": 12.0}  # a schedule of a million slots takes seconds


@pytest.mark.filterwarnings("ignore::dse.model.testing.DeclarationWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_shipped_model_keeps_the_contract(name: str) -> None:
    model: Model = MODELS[name]
    fixed = {n: value for n, value in FIXED.items() if n in model.inputs}
    samples, pairs = SAMPLES.get(name, 64), PAIRS.get(name, 2_000)
    check_model(model.function, fixed=fixed, samples=samples, pairs=pairs)
