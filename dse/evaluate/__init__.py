"""Evaluation: designs as columns in, objectives and constraints as columns out.

* `space`: kinds of variables with their ranges; designs as points, numbers, labels and columns.
* `table_space`: designs that were evaluated elsewhere, as rows of a table with column variables.
* `totals`: quantities that add up over the kernels of a system, and the system as its parts.
* `samples`: uncertain inputs: sources, distributions, and samples of them as scenarios.
* `criteria`: objectives, constraints and their violations; conditions, scenarios, reductions.
* `model_graph`: models joined by quantity name: calls, errors, missing values, conflicts and
  requirements.
* `evaluator`: models, space, objectives and constraints together; batches of evaluated designs,
  and designs in words.
* `failures`: evaluation of designs for which a model raises: it names or skips the designs.
* `lookup_tables`: tables of models with few variables, and the outputs looked up in them.
* `pace`: the measured processor seconds per design, which separate formulas from simulators.
* `audit`: models checked against their contract, and designs evaluated twice and compared.
* `input_variation`: uncertain inputs at their middles, and one input at a time at its limits.
* `target`: the bounds of a target: their texts, objectives, and which the front answers.
* `preferences`: weights, bounds and excluded options, which select among the designs on the front.
* `graph_summary`: the steps of an evaluation in order, and the objectives each variable affects.
* `front`: the designs that no other dominates; ranks, hypervolume, scaling and the Nash design.
"""
