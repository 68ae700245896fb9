"""Chains of values through loops: programs of known parallelism, and graphs by hand."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from dse.profile.build.chains import ChainStep, find_chains, strong_components
from dse.profile.build.classes import classify
from dse.profile.document import Chain, Profile
from objectives.communication import from_profile
from objectives.partition.estimate import cpu_time, estimate
from objectives.partition.graph import make_graph
from objectives.partition.quantities import Architecture
from tests.profile.examples import needs_compiler, profile_text

LOOPS = r"""
#include <stdlib.h>
struct node { int value; struct node *next; };
static volatile int kept;
static int walk(struct node *p) { int sum = 0; for (; p; p = p->next) sum += p->value; return sum; }
static void each(int *a, const int *b, int n) { for (int i = 0; i < n; i++) a[i] = 3 * b[i] + i; }
static int most(const int *a, int n) {
    int m = a[0];
    for (int i = 1; i < n; i++)
        if (a[i] > m)
            m = a[i];
    return m;
}
static double total(const double *a, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i];
    return sum;
}
static unsigned steps(unsigned x) {
    unsigned n = 0;
    for (; x != 1; n++)
        x = x & 1 ? 3 * x + 1 : x / 2;
    return n;
}
static double rows(const double *a, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += total(a + i * n, n);
    return sum;
}
/* A name of a function that is also the name of a value: %add = fadd double %call, 1.0. */
static double add(int i) { return i * 0.5; }
static double out[64];
static void named(void) { for (int i = 0; i < 64; i++) out[i] = add(i) + 1.0; }
/* One instruction of each class. */
static long whole(long a, long b) { return a * b + a / b + a % b; }
static long bits(long a, long b) { return (a & b) ^ (a >> 3); }
static double real(double a, double b) { return (a + b) * a / b; }
static long cast(double a) { return (long)a; }
int main(int count, char **given) {
    static struct node nodes[1000];
    static int a[1000], b[1000];
    static double d[900];
    for (int i = 0; i < 999; i++)
        nodes[i].next = &nodes[i + 1];
    kept = walk(nodes);
    each(a, b, 1000);
    kept = most(a, 1000) + (int)rows(d, 30);
    kept = (int)steps(27);
    named();
    long n = atol(given[1]);
    return (int)(whole(n, count) + bits(n, count) + cast(real(n, count))) & 1;
}
"""


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return profile_text(tmp_path_factory.mktemp("loops"), LOOPS, "12")


def chains_by_function(profile: Profile) -> dict[str, list[Chain]]:
    homes = {block.id: block.function for block in profile.blocks}
    found: dict[str, list[Chain]] = {}
    for chain in profile.chains:
        found.setdefault(homes[chain.block], []).append(chain)
    return found


@needs_compiler
def test_what_is_carried_from_iteration_to_iteration_is_a_chain(loops: Profile) -> None:
    found = chains_by_function(loops)
    # elements are independent, a maximum regroups, and the sum is not of the function `add`
    assert {"each", "most", "named"}.isdisjoint(found)
    (walk,) = found["walk"]  # an address and a load for each node
    assert (walk.length, walk.steps, walk.starts) == (2, 999, 1)
    (total,) = found["total"]  # sums of floating-point numbers are not regrouped
    assert (total.length, total.steps, total.starts) == (1, 30 * 29, 30)
    (steps,) = found["steps"]  # 111 steps from 27 to 1
    assert steps.steps + steps.starts == 111
    assert steps.length >= 2


@needs_compiler
def test_a_walk_of_a_list_gains_nothing_and_a_loop_over_elements_all(loops: Profile) -> None:
    program = from_profile(loops)

    def bound(name: str) -> float:
        f = program.position(name)
        waiting = float(program.waiting[f])
        return float(program.computation_inclusive[f]) / waiting if waiting else float("inf")

    assert bound("walk") == pytest.approx(1.0, abs=0.01)
    assert bound("each") == bound("most") == float("inf")
    # one row is three instructions an element and one chain; of thirty rows only one must wait
    assert 3 <= bound("total") <= 3.2
    assert bound("rows") >= 30 * bound("total") * 0.9


def test_the_longest_way_counts_within_a_block() -> None:
    steps = [
        ChainStep("x", 1, "phi", ("start", "z"), (0, 1)),
        ChainStep("y", 1, "xor", ("x", "key"), ()),
        ChainStep("z", 1, "mul", ("y", "x"), ()),
    ]
    (chain,) = find_chains(steps)
    assert (chain.block, chain.length, chain.starts) == (1, 2, [(0, 1)])


def test_the_shortest_way_counts_over_several_blocks() -> None:
    steps = [
        ChainStep("x", 1, "phi", ("start", "z"), (0, 4)),
        ChainStep("y", 2, "xor", ("x", "key"), ()),
        ChainStep("w", 2, "mul", ("y", "y"), ()),
        ChainStep("v", 3, "lshr", ("x", "one"), ()),
        ChainStep("z", 4, "phi", ("w", "v"), (2, 3)),
    ]
    (chain,) = find_chains(steps)
    assert (chain.block, chain.length) == (1, 1)


@pytest.mark.parametrize(
    "operations", [("add",), ("getelementptr", "zext"), ("icmp", "select"), ("xor", "select")]
)
def test_what_regroups_is_no_chain(operations: tuple[str, ...]) -> None:
    names = [f"v{i}" for i in range(len(operations))]
    steps = [ChainStep("x", 1, "phi", ("start", names[-1]), (0, 1))]
    for name, before, operation in zip(names, ["x", *names], operations, strict=False):
        steps.append(ChainStep(name, 1, operation, (before,), ()))
    assert find_chains(steps) == []


def test_a_value_that_may_pass_by_every_instruction_bounds_nothing() -> None:
    steps = [
        ChainStep("x", 1, "phi", ("start", "z"), (0, 3)),
        ChainStep("y", 2, "load", ("x",), ()),
        ChainStep("z", 3, "phi", ("y", "x"), (2, 1)),
    ]
    assert find_chains(steps) == []


def test_strongly_connected_parts_are_those_of_another_library() -> None:
    drawn = random.Random(0)  # noqa: S311
    for _ in range(300):
        nodes = range(drawn.randint(0, 12))
        following = [[drawn.choice(nodes) for _ in range(drawn.randint(0, 3))] for _ in nodes]
        graph = nx.DiGraph({node: following[node] for node in nodes})
        expected = sorted(map(sorted, nx.strongly_connected_components(graph)))
        parts = strong_components(following)
        assert sorted(map(sorted, parts)) == expected
        place = {node: i for i, part in enumerate(parts) for node in part}
        assert all(place[b] <= place[a] for a, b in graph.edges)


def test_a_build_loads_no_numeric_library() -> None:
    # it is a process of its own for each program, and would start for longer than it works
    told = "import sys, dse.profile.build.build; print({'numpy', 'scipy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


# Classes of instructions: what arithmetic counts as, and what a partition makes of its costs --


@needs_compiler
def test_what_a_function_computes_is_counted_by_class(loops: Profile) -> None:
    counts = {name: Counter[str]() for name in ("whole", "bits", "real", "cast")}
    for block in loops.blocks:
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
def test_a_class_costs_what_it_is_said_to(loops: Profile) -> None:
    """Divisions of 20 cycles on the CPU, of 3 accelerator instructions at half a cycle there."""
    program = make_graph(loops, "some")
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
