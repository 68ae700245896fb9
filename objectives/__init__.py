"""Models: plain annotated functions over arrays; the engine imports none of them.

Packages: ``accelerometer``, ``communication``, ``logca``, ``machine``, ``partition`` and
``sharing`` are models; ``programs`` reads profiles for them; ``drafts`` writes first studies.

Modules:

* ``energy``: the energy of a call;
* ``power_law``: granularities at which a power law and a line cross;
* ``quantities``: the quantities that several packages use;
* ``queues``: the waits of M/D/q queues.
"""
