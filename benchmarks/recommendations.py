"""Definitions of a recommended design: how often it changes although it stays, on eight fronts [%].

    python -m benchmarks.recommendations

A column is a change: the worst 5 to 50 % in an objective go, a design that is far worse in one
comes, its unit changes, its logarithm is taken, designs are copied, or copies differ by 0.01 %.
The last column is the part of the front [%] that is better in the worst objective of the choice.
"""

from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import moocore
import numpy as np
import pandas as pd

import dse
from dse.evaluate.front import find_distinct_front, is_nondominated


def unit(points: Any) -> Any:
    low, width = points.min(axis=0), np.ptp(points, axis=0)
    return (points - low) / np.where(width > 0, width, 1)


def logs(points: Any, worth: Any = 0.0) -> Any:
    gains = np.abs(points) - np.where(points < 0, worth, 0)  # maximized values are negative
    return np.sign(points) * np.log(np.maximum(gains, 1e-300))


def ranks(points: Any) -> Any:
    return np.transpose([np.searchsorted(np.sort(c), c) for c in points.T]).astype(float)


def bend(points: Any) -> Any:
    angles = np.zeros(len(points))
    for pair in combinations(unit(points).T, 2):  # it is defined for two objectives: all pairs
        rows = np.flatnonzero(find_distinct_front(np.transpose(pair)))
        x, y = np.transpose(pair)[rows := rows[np.argsort(pair[0][rows])]].T
        angles[rows] += np.arctan2(y - y[-1], x[-1] - x) - np.arctan2(y[0] - y, x - x[0])
    return angles


def trade_off(points: Any) -> Any:
    change = unit(points)[None] - unit(points)[:, None]
    loss, gain = (np.maximum(sign * change, 0).sum(axis=2) for sign in (1, -1))
    return -np.where(gain > 0, loss / np.maximum(gain, 1e-300), np.inf).min(axis=1)


LOSSES: dict[str, Any] = {
    "nearest to the ideal, linear": lambda p, _: (unit(p) ** 2).sum(axis=1),
    "nearest to the ideal, logarithms": lambda p, _: (unit(logs(p)) ** 2).sum(axis=1),
    "nearest to the ideal, ranks": lambda p, _: (ranks(p) ** 2).sum(axis=1),
    "least sum of ranks": lambda p, _: ranks(p).sum(axis=1),
    "bend angle": lambda p, _: bend(p),
    "marginal trade-off": lambda p, _: trade_off(p),
    "hypervolume up to 1.1": lambda p, _: -moocore.hv_contributions(unit(p), ref=1.1),
    "Nash product from the worst": lambda p, _: -np.log(1 + 1e-12 - unit(p)).sum(axis=1),
    "product": lambda p, _: logs(p).sum(axis=1),
    "Nash product from break-even": lambda p, worth: logs(p, worth).sum(axis=1),
}


def changes(p: Any, worth: Any, rng: Any) -> Any:
    """Yield a kind of change, the points, their first rows (-1 if new), and break-even values."""
    rows, columns = np.arange(len(p)), np.arange(p.shape[1])
    for i, part in product(columns, (0.05, 0.1, 0.2, 0.3, 0.5)):
        kept = np.flatnonzero(p[:, i] <= np.quantile(p[:, i], 1 - part))
        yield "poor gone", p[kept], kept, worth
    for (i, j), far in product(permutations(columns, 2), (1.5, 3.0, 10.0)):
        new = np.median(p, axis=0)
        new[i], new[j] = p[:, i].max() * far ** np.sign(p[0, i]), p[:, j].min()
        new[j] -= 0.01 * abs(new[j])  # no design dominates it
        yield "poor added", np.vstack([p, new]), np.append(rows, -1), worth
    for own in np.eye(len(columns), dtype=bool):
        yield "unit", p * np.where(own, 1e3, 1), rows, worth * np.where(own, 1e3, 1)
        least = np.abs(p).min(axis=0)
        ratios = np.where(own, np.sign(p) * (1 + np.log(np.abs(p) / least)), p)
        base = np.where(own & (worth > 0), 1 + np.log(np.maximum(worth, 1e-300) / least), worth)
        yield "logarithm", ratios, rows, base
    for _ in range(10):
        more = np.append(rows, rng.integers(len(p), size=5))
        yield "copies", p[more], more, worth
        near = p[more] * (1 + 1e-4 * rng.standard_normal(p[more].shape))
        front = is_nondominated(near)
        yield "near copies", near[front], more[front], worth


if __name__ == "__main__":
    trials = []
    for path in sorted((Path(__file__).parent / "studies").glob("*.toml")):
        result = dse.load(path).run()
        points = np.unique(result.front.points, axis=0)
        worth = np.array([o.worth or 0.0 for o in result.objectives])
        for name, losses in LOSSES.items():
            choice = losses(points, worth).argmin()
            rank = 100 * (points < points[choice]).mean(axis=0).max()
            trials.append((name, path.stem, "worst rank", rank))
            for kind, new, first, base in changes(points, worth, np.random.default_rng(0)):
                now = first[losses(new, base).argmin()]
                if choice in first and now >= 0:  # a new design may be better
                    trials.append((name, path.stem, kind, 100.0 * (now != choice)))
    table = pd.DataFrame(trials, columns=["definition", "study", "change", "value"])
    by_study = table.groupby(["definition", "change", "study"])["value"].mean().reset_index()
    means = by_study.pivot_table("value", "definition", "change", sort=False)
    print(means.loc[list(LOSSES)].round().astype(int).to_string())
