"""From measured times to a model: LogCA's parameters with intervals, and how far to trust them.

* `law`: the law of host and accelerated time, its robust fit, and the terms that times support.
* `intervals`: all values of a table, with intervals by profile likelihood and covariance.
* `series`: a table of measured times, and its series.
* `cpu_use`: the host's busy time, bounded by CPU use.
* `measurement_fit`: the fit of a series: given values, errors and notes.
* `queue`: latency against load, and the queue that explains it.
* `rule`: a dispatch rule from a fit, and its regret.
* `emission`: rules as text to paste, from templates.
* `design_rule`: the rule of a design of a study.
* `overview`: all tables of a folder, and thresholds that others ship.
* `page`: fits as a page with plots.
* `command`: the steps of `dse fit`, and fits as text and as a catalog.
* `cli`: the command line.
"""
