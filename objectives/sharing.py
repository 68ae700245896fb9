"""An engine shared by streams: schedule period, throughput and latency under load.

Source of the schedule and of the printed formulas: M. J. Hall, R. D. Chamberlain, "Performance
Modeling of Virtualized Custom Logic Computations", ASAP 2014. The exact latency and its optimum are
this package's own (docs/sharing.md).

:func:`round_robin` is the model, of three parts that also stand alone:
:func:`~objectives.sharing_schedule.printed_latency` (equations 1–5 as printed),
:func:`~objectives.sharing_exact.exact_latency` and
:func:`~objectives.sharing_optimum.best_schedule_period`.
:func:`~objectives.sharing_exact.latency_by_stream` takes streams with rates of their own.
:func:`~objectives.sharing_simulation.simulate` is the cycle-accurate simulation, for other arrivals
than Poisson too.
"""
