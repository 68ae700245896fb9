"""Print the table of docs/portfolio.md: models of several kernels against the simulation.

Run with ``python -m benchmarks.portfolio``.
"""

from __future__ import annotations

import numpy as np

from tests.objectives.portfolio.systems import model_system, random_system
from tests.oracles.portfolio import simulate

SYSTEMS, CALLS = 100, 100_000
POLLING = 5  # times fewer systems: their simulation is slower
ROWS = [  # cores, utilization of host, link and engines, factor between times on the host, polling
    (1, 0.5, 0.3, 0.6, 20, False),
    (1, 0.7, 0.5, 0.7, 20, False),
    (1, 0.3, 0.3, 0.6, 400, False),
    (1, 0.5, 0.3, 0.6, 400, False),
    (2, 0.6, 0.4, 0.6, 20, False),
    (2, 0.7, 0.5, 0.7, 20, False),
    (2, 0.3, 0.4, 0.6, 400, False),
    (2, 0.5, 0.4, 0.6, 400, False),
    (4, 0.7, 0.5, 0.7, 20, False),
    (4, 0.8, 0.6, 0.8, 20, False),
    (4, 0.5, 0.5, 0.7, 400, False),
    (4, 0.7, 0.5, 0.7, 400, False),
    (1, 0.5, 0.3, 0.3, 20, True),
    (2, 0.5, 0.3, 0.3, 20, True),
    (4, 0.6, 0.4, 0.6, 20, True),
]


def main() -> None:
    """Print a row per range, and the largest standard error of all."""
    print("| cores | host | link | engines | times differ by | polling | `mix_time` |")
    print("|--:|--:|--:|--:|--:|---|---|")
    noise = 0.0
    for cores, host, link, engine, spread, polling in ROWS:
        rng = np.random.default_rng(7)
        errors: list[float] = []
        while len(errors) < SYSTEMS // (POLLING if polling else 1):
            system = random_system(rng, cores, host, link, engine, polling, spread)
            modelled = model_system(system)
            if modelled.host_utilization < host:
                observed = simulate(system, CALLS, len(errors))
                errors.append(100 * (modelled.mix_time / observed.mix_time - 1))
                noise = max(noise, 100 * observed.standard_error / observed.mix_time)
        found = f"{min(errors):+.1f} to {max(errors):+.1f} %".replace("-", "−")
        yes = "yes" if polling else "no"
        print(f"| {cores} | {host} | {link} | {engine} | {spread} | {yes} | {found} |", flush=True)
    print(f"\nThe largest standard error is {noise:.1f} % of the time.")


if __name__ == "__main__":
    main()
