"""Models: plain annotated functions over arrays; the engine imports none of them.

Packages: ``communication``, ``machine``, ``partition``, ``portfolio`` and ``sharing`` are models;
``programs`` reads profiles for them; ``drafts`` writes first studies.

Modules:

* ``accelerometer``: the throughput of a core that offloads;
* ``cost``: the cost and the embodied carbon of a die;
* ``energy``: the energy of a call;
* ``freed_time``: the host time that a call frees for other work;
* ``logca``: the speedup of an offload, and the granularities for which it is beneficial;
* ``power_law``: granularities at which a power law and a line cross;
* ``quantities``: the quantities that several packages use;
* ``queues``: the waits of M/D/q, M/G/1 and M/G/c queues;
* ``views``: one choice of functions in the views of three models of programs.
"""
