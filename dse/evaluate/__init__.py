"""Evaluation: designs as columns in, objectives and constraints as columns out.

* `space`: designs as points, numbers, labels and columns.
* `variables`: the values that a variable may have.
* `table_space`: designs that were evaluated elsewhere, as rows of a table.
* `wiring`: the model graph, joined by quantity name, and its evaluation.
* `conflicts`: models that cannot be joined.
* `conditions`: inputs bound for one objective or constraint, and scenarios as one number.
* `objective`: a quantity to maximize or minimize.
* `constraint`: a bound on a quantity, or a relation between quantities.
* `requirements`: the requirements of the models, as constraints.
* `target`: bounds on objectives, answered by the front.
* `trace`: which model feeds which, and which variables affect which objectives.
* `evaluator`: models, space, objectives and constraints together.
* `failures`: designs that a model raises for: found in their batch, named, or without a value.
* `undefined`: the reason why a quantity of a design is not a number.
* `audit`: models held to their contract on designs of the study, before a search.
* `repeatability`: designs evaluated again, in another way; they must give the same values.
* `prefilter`: constraints that are known before any model runs.
* `lookup_tables`: models that are run once for inputs that repeat.
* `samples`: uncertain inputs as scenarios.
* `distributions`: the distribution of an uncertain number.
* `nominal`: each uncertain input at its middle.
* `input_ranges`: input values moved to the limits of their ranges, one at a time.
* `sobol`: points that cover the unit cube evenly.
* `front`: the designs that no other dominates.
"""
