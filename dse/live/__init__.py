"""A study that answers at once: inputs, options and limits are changed, and the front follows.

* ``controls`` - the inputs, variables and limits that can be changed, and a changed study
* ``session`` - the search of the newest change, and the fronts before and after it
* ``server`` - the page on the loopback, for ``dse open``
* ``notebook`` - the controls as widgets, for ``study.explore()``
"""
