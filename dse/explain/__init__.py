"""Explanations: what limits a design, where its time goes, and what to change next.

`explanation.explain` makes an `Explanation` of each design from these parts, each a module:

* `sensitivity`: what improving an input gives; who is a bottleneck; what to change next
* `breakdown`: where the time and the area go
* `regions`: where along an axis which inputs are bottlenecks, with exact ends
* `regression`: of a table, which has no models: what its variables do, and how far off that is
* `curves`: quantities along an input, the best of each

The rule is LogCA's (Altaf and Wood, LogCA, ISCA 2017, section 3.2), for any model: an input is a
bottleneck if a 10x improvement of it improves the objective by at least 20 %. Both are settings.
What to sweep is resolved with the study (`dse.study.resolve`); `dse.report` draws it.
"""
