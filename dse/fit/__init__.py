"""From measured times to a model: LogCA's parameters with intervals, and how far to trust them.

* `law`: the law of host and accelerated time, and where the two cross.
* `least_squares`: robust least squares in relative error, by SciPy.
* `selection`: the terms that the times support, and the noise of the times.
* `profile_likelihood`: intervals of values.
* `analysis`: all values of a table, with intervals and covariance.
* `diagnostics`: errors of sizes left out, outliers, kinks, and notes in sentences.
* `series`: a table of measured times, and its series.
* `known_values`: values that `--given` adds.
* `measurement_fit`: the fit of a series.
* `queue`: latency against load, and the queue that explains it.
* `values`: fitted values with their units, as text.
* `catalog`: a fit as text, and as a catalog for studies.
* `page`: fits as a page with plots.
* `command`: the steps of `dse fit`.
* `cli`: the command line.
"""
