"""Evaluation: designs as columns in, objectives and constraints as columns out.

* `space`: variables, and designs as points, numbers, labels and columns.
* `table_space`: designs that were evaluated elsewhere, as rows of a table.
* `totals`: quantities that add up over the kernels of a system.
* `samples`: uncertain inputs: their distributions, and samples of them as scenarios.
* `criteria`: objectives and constraints, their conditions, and scenarios as one number.
* `model_graph`: models joined by quantity name: conflicts, requirements and evaluation.
* `evaluator`: models, space, objectives and constraints together.
* `failures`: designs that a model raises for: found in their batch, named, or without a value.
* `lookup_tables`: models that are run once for inputs that repeat.
* `pace`: processor seconds per design, which separate formulas from simulators.
* `audit`: models checked against their contract, before a search and after it.
* `input_variation`: uncertain inputs at their middles, and input values at the limits of a range.
* `target`: bounds on objectives, answered by the front.
* `preferences`: weights, bounds and excluded options, which select among the designs on the front.
* `graph_summary`: which model feeds which, and which variables affect which objectives.
* `front`: the designs that no other dominates.
"""
