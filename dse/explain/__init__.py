"""Explanations: the recommendation, the limits of a design, and how far to trust the answer.

The rule is LogCA's (Altaf and Wood, LogCA, ISCA 2017, section 3.2), for any model: an input is a
bottleneck if a 10x improvement of it improves the objective by at least 20 %. Both are settings.

* `recommendation`: the designs that a run names, with the reasons, and the size of a call there
* `explanation`: one design: its feasibility, violations, limits, curves, and slices along variables
* `system`: the kernels of a system, and the order in which to build them
* `advice`: the best trade, repairs, dominating designs, the next step up, or that nothing improves
* `changes`: variables in words, effects on the objectives, neighbouring designs and their number
* `benefit`: the designs that are better than no accelerator
* `targets`: the designs of a front that meet a target, and its obstacles
* `sensitivity`: which inputs may be improved, and the gain of improving one; bottlenecks
* `breakdown`: the parts of the time and of the area
* `curves`: lines of quantities and optimization regions along an input
* `switch_points`: designs at other values of inputs; where another one is recommended
* `limits`: the limits that decide the answer, and the gain of loosening one of them
* `provenance`: the sources of input values, and the front shift if they are off
* `robustness`: uncertain inputs: designs on the front, Sobol indices, and scenario discovery
* `certification`: the test of a certificate by independent evaluations, in a new process too
* `own_designs`: designs of a script, evaluated with every intermediate quantity
"""
