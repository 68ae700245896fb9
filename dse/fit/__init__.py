"""From measured times to a model: LogCA's parameters with intervals, and how far to trust them.

* `series`, `reading`: a table of times, its columns, units and series, and what is refused.
* `law`, `crossing`: the law of host and accelerated time, and where the two cross.
* `solve`: many robust least-squares problems at once.
* `choose`, `intervals`, `analysis`: which terms the times bear, intervals, all values of tables.
* `given`, `checks`, `remarks`, `fitting`: known values, errors of points left out, outliers and
  kinks, sentences, the fit of a series.
* `written`, `plot`, `page`, `command`, `cli`: text, JSON, catalog, page; the command.
"""
