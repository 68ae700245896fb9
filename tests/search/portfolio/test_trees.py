"""Fronts of trees against all combinations, and a tree as a kernel of a portfolio."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dse.search.portfolio.portfolio import Portfolio
from dse.search.portfolio.trees import Tree
from tests.search.portfolio.systems import evaluate_sums, merge


def random_tree(seed: int, parents: list[int], whole: bool) -> Tree:
    rng = np.random.default_rng(seed)
    options, classes, edges = [], [], []
    for _ in parents:
        rows = rng.random((6, 2)) if not whole else rng.integers(0, 9, (6, 2)).astype(np.float64)
        options.append(rows)
        classes.append(np.append([0, 1], rng.integers(0, 2, 4)))
        edge = rng.uniform(-0.5, 0.5, (2, 2, 2)) if not whole else rng.integers(-3, 4, (2, 2, 2))
        edge = np.asarray(edge, dtype=np.float64)
        edge[0, 1] = np.inf if rng.random() < 0.3 else edge[0, 1]
        edges.append(edge)
    return Tree(options, classes, parents, edges)


def enumerated(tree: Tree) -> dict[tuple[int, ...], tuple[float, ...]]:
    """Return the sums of the front by choices, of equal sums the lowest choices."""
    points: dict[tuple[float, ...], tuple[int, ...]] = {}
    for choices in itertools.product(range(6), repeat=len(tree.options)):
        total = np.zeros(2)
        for node, parent in enumerate(tree.parents):
            total += tree.options[node][choices[node]]
            if parent >= 0:
                labels = tree.classes[node][choices[node]], tree.classes[parent][choices[parent]]
                total += tree.edges[node][labels]
        points.setdefault(tuple(total.tolist()), choices)
    front, best = {}, np.inf
    for point in sorted(points):
        if point[1] < best:
            best = point[1]
            front[points[point]] = point
    return front


PATH = [1, 2, 3, 4, -1]
TREES = [PATH, [-1, 0, 0, 0, 0], [2, 2, 4, 4, -1]]


@pytest.mark.parametrize("parents", TREES)
@pytest.mark.parametrize("whole", [True, False])
def test_fronts_of_trees_equal_all_combinations(parents: list[int], whole: bool) -> None:
    tree = random_tree(len(parents) + whole, parents, whole)
    expected = enumerated(tree)
    front = tree.front()
    assert [tuple(row) for row in front.choices.tolist()] == list(expected)
    np.testing.assert_allclose(front.sums, list(expected.values()), rtol=0, atol=1e-12)


def test_a_path_saves_setups_and_transfers_where_data_stay() -> None:
    # n accelerated kernels in a row save n - 1 set-ups and the transfers between them
    setup, transfer, kernels = 2.0, 1.0, 5
    options = [np.array([[4.0, 0.0], [setup + 2 * transfer + 0.5, 1.0]])] * kernels
    edge = np.zeros((2, 2, 2))
    edge[1, 1, 0] = -(setup + 2 * transfer)
    parents = [*range(1, kernels), -1]
    front = Tree(options, [np.array([0, 1])] * kernels, parents, [edge] * kernels).front()
    time = {area: time for time, area in front.sums.tolist()}
    assert time[0] == 4 * kernels and time[kernels] == setup + 2 * transfer + 0.5 * kernels
    assert 1 not in time  # alone, no kernel is faster


def test_an_engine_of_two_kernels_counts_once_in_a_portfolio() -> None:
    engine = np.array([[0.0, 0.0], [0.0, 5.0]])  # not built, or 5 of area
    kernel = np.array([[9.0, 0.0], [3.0, 1.0]])  # on the host, or in a mode of the engine
    edge = np.zeros((2, 2, 2))
    edge[1, 0] = np.inf  # no mode without the engine
    label = np.array([0, 1])
    group = Tree([engine, kernel, kernel], [label] * 3, [-1, 0, 0], [edge] * 3).front()
    other = np.array([[4.0, 0.0], [1.0, 3.0]])
    portfolio = Portfolio((group.sums, other), np.array([np.inf, 8.0]), evaluate_sums)
    front = merge(portfolio)
    assert front.objectives.tolist() == [[10, 7], [16, 6], [19, 3], [22, 0]]
    assert group.choices[front.choices[0, 0]].tolist() == [1, 1, 1]


def test_a_tree_whose_edges_forbid_all_has_no_front() -> None:
    rows, label = np.zeros((1, 2)), np.zeros(1, dtype=np.int64)
    tree = Tree([rows] * 3, [label] * 3, [1, 2, -1], [np.full((1, 1, 2), np.inf)] * 3)
    assert tree.front().choices.shape == (0, 3)


@pytest.mark.parametrize("parents", [[-1, -1], [1, 0]])
def test_parents_that_are_no_tree_are_refused(parents: list[int]) -> None:
    rows, label = np.zeros((1, 1)), np.zeros(1, dtype=np.int64)
    with pytest.raises(ValueError, match="no tree"):
        Tree([rows] * 2, [label] * 2, parents, [np.zeros((1, 1, 1))] * 2)
