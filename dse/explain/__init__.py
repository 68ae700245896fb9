"""Explanations: the recommendation, what limits a design, and how far to trust the answer.

The rule is LogCA's (Altaf and Wood, LogCA, ISCA 2017, section 3.2), for any model: an input is a
bottleneck if a 10x improvement of it improves the objective by at least 20 %. Both are settings.

* `recommendation`: the designs that a run names, and why, in words
* `explanation`: one design: whether it is feasible, what limits it, what to change
* `advice`: changes of one variable, or of one part, that improve an objective
* `tradeoffs`: the effect of a change on the objectives, dominating designs, the next step up
* `feasibility`: the least changes that make a design feasible
* `targets`: which designs of a front meet a target, and what keeps the others from it
* `benefit`: the value of an objective above which a design is beneficial
* `sensitivity`: the gain of improving one input; bottlenecks
* `breakdown`: the parts of the time and of the area
* `regions`: the bottlenecks along an axis, with exact ends
* `curves`: quantities along an input, and the best value of each
* `provenance`: where the inputs come from, in words and tables
* `assumptions`: how far the front shifts if an assumed input is off
* `robustness`: in how many samples of uncertain inputs a design stays on the front
* `discovery`: first-order Sobol indices, and boxes of samples in which a design fails
* `certification`: the test of a certificate by independent evaluations
* `regression`: the effect of each variable of a table, which has no models
* `neighbours`: designs that differ from a design in one variable
* `own_designs`: designs of a script, evaluated with every quantity on the way
* `wording`: variables and their values in words
"""
