"""From measured times to a model: LogCA's parameters with intervals, and how far to trust them.

* `law`: the law of host and accelerated time, its residuals and robust fit, the choice of terms.
* `intervals`: all values of a table, with intervals by profile likelihood and covariance.
* `series`: a table of measured times, and its series.
* `cpu_use`: the host's busy time, bounded by CPU use.
* `measurement_fit`: the fit of a series: given values as text, errors, and notes on poor fits.
* `queue`: latency against load, and the queue that explains it.
* `rule`: a dispatch rule from a fit: curves of times, ranges, regret, and its facts in words.
* `emission`: rules as functions to paste in C, C++, Python and Rust, and their names.
* `design_rule`: the rule of a design of a study.
* `overview`: all tables of a folder, and thresholds that others ship.
* `page`: fits as a page with plots.
* `command`: the steps of `dse fit`: fits as text and as rows of a catalog, and rules as files.
* `cli`: the command line.
"""
