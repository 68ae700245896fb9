"""From measured times to a model: LogCA's parameters with intervals, and how far to trust them.

* `law`: the law of host and accelerated time: its terms, noise, robust fit, choice and errors.
* `intervals`: all values of a table, their intervals by profile likelihood, and their covariance.
* `series`: a table of measured times, its source and its series.
* `cpu_use`: the host's busy and freed time, bounded by CPU use.
* `measurement_fit`: the fit of a series with given values, and sentences and notes on it.
* `queue`: latency against load, and the queue that explains it.
* `rule`: a dispatch rule from a fit: curves of times, ranges, regret, and its facts in words.
* `emission`: rules as functions to paste in C, C++, Python and Rust, and their names.
* `design_rule`: the rule of a design of a study.
* `overview`: the fits of a table or of a folder, an overview of them, and thresholds of others.
* `page`: fits as a page with plots and lists of values.
* `command`: the steps of `dse fit`: fits as text and as rows of a catalog, and rules as files.
* `cli`: the command line.
"""
