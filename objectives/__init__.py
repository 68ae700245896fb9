"""Models: plain annotated functions over arrays; the engine imports none of them.

Packages: ``communication``, ``machine``, ``partition``, ``portfolio`` and ``sharing`` are models;
``programs`` reads profiles for them; ``drafts`` writes first studies.

Modules:

* ``accelerometer``: a busy core that offloads: its throughput, waits and times of offloads;
* ``cost``: the area, the cost and the embodied carbon of a die;
* ``energy``: the energy of a call, greenup, and granularities that save energy;
* ``freed_time``: the host time that a call frees for other work;
* ``logca``: LogCA's host work and interface costs, the speedup of an offload, and the granularities
  for which it is beneficial;
* ``power_law``: granularities at which a power law and a line cross, and arrays of one shape;
* ``quantities``: the quantities that several models declare, their domains, and records of them;
* ``queues``: formulas for the waits of M/D/q, M/G/1 and M/G/c queues, and zeros of their
  generating functions;
* ``views``: one choice of functions in the views of three models of programs, with their speedups
  and equal assumptions.
"""
