"""Classes of instructions: what arithmetic counts as, and what a partition makes of its costs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dse.profile import Profile
from dse.profile.build.classes import classify
from objectives.partition.estimate import cpu_time, estimate
from objectives.partition.graph import graph
from objectives.partition.quantities import Architecture
from tests.profile.examples import needs_compiler, profile_text

SOURCE = """
#include <stdlib.h>
__attribute__((noinline)) long whole(long a, long b) { return a * b + a / b + a % b; }
__attribute__((noinline)) long bits(long a, long b) { return (a & b) ^ (a >> 3); }
__attribute__((noinline)) double real(double a, double b) { return (a + b) * a / b; }
__attribute__((noinline)) long cast(double a) { return (long)a; }
int main(int count, char **given) {
    long a = atol(given[1]);
    return (int)(whole(a, count) + bits(a, count) + cast(real(a, count))) & 1;
}
"""


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return profile_text(tmp_path_factory.mktemp("classes"), SOURCE, "12")


@needs_compiler
def test_what_a_function_computes_is_counted_by_class(profile: Profile) -> None:
    counts = {name: Counter[str]() for name in ("whole", "bits", "real", "cast")}
    for block in profile.blocks:
        if block.function in counts:
            counts[block.function] += Counter(block.instructions)
    rest = {"branch": 1}
    assert counts == {
        "whole": {"multiply": 1, "divide": 2, "arithmetic": 2, **rest},
        "bits": {"logical": 3, **rest},
        "real": {"float": 2, "float_divide": 1, **rest},
        "cast": {"cast": 1, **rest},
    }


@needs_compiler
def test_a_class_costs_what_it_is_said_to(profile: Profile) -> None:
    """Divisions of 20 cycles on the CPU, of 3 accelerator instructions at half a cycle there."""
    program = graph(profile, "some")
    a = Architecture(cpu_divide_cost=20.0, accelerator_divide_cost=3.0)
    whole = np.array([name == "whole" for name in program.function])
    plain = Architecture()
    assert cpu_time(program, a) - cpu_time(program, plain) == 2 * 19
    moved = estimate(program, whole, a).execution_time
    assert moved - estimate(program, whole, plain).execution_time == 2 * (3 - 1) * 0.5


@pytest.mark.parametrize(
    ("intrinsic", "kind"),
    [
        ("smul.with.overflow.i32", "multiply"),
        ("uadd.sat.i8", "arithmetic"),
        ("vector.reduce.xor.v4i32", "logical"),
        ("vector.reduce.smax.v4i32", "arithmetic"),
        ("vector.reduce.fadd.v4f32", "float"),
        ("fmuladd.f64", "float"),
        ("trunc.f64", "float"),
        ("sqrt.f64", "float_divide"),
        ("atan2.f64", "float_divide"),
        ("fptosi.sat.i32.f64", "cast"),
    ],
)
def test_intrinsics_have_the_class_of_what_they_do(intrinsic: str, kind: str) -> None:
    assert classify("call", f"llvm.{intrinsic}") == kind
