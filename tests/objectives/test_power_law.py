"""The exact granularities against 50-digit arithmetic: where they are, how many, and if any."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from objectives.logca import break_even, half_acceleration, target
from objectives.power_law import entropy, solve_interval

COUNT = 3_000


def draw(count: int) -> dict[str, np.ndarray]:
    """Designs with either latency, both or none; β from 0.1 to 3, a quarter of them close to 1."""
    rng = np.random.default_rng(20)

    def wide(low: float, high: float) -> np.ndarray:
        return np.exp(rng.uniform(np.log(low), np.log(high), count))

    near_one = 1.0 + rng.choice([-1, 1], count) * wide(1e-3, 0.1)
    columns = {
        "overhead": np.where(rng.random(count) < 0.2, 0.0, wide(1, 1e9)),
        "latency": np.where(rng.random(count) < 0.3, 0.0, wide(1, 1e5)),
        "latency_per_byte": np.where(rng.random(count) < 0.3, 0.0, wide(1e-3, 1e3)),
        "computational_index": wide(0.1, 1e5),
        "complexity": np.where(rng.random(count) < 0.25, near_one, rng.uniform(0.1, 3, count)),
        "acceleration": np.where(rng.random(count) < 0.1, 1 + wide(1e-9, 1), wide(0.8, 1e3)),
    }
    columns["complexity"][rng.random(count) < 0.1] = 1.0
    return columns


def test_three_thousand_designs_against_high_precision() -> None:
    columns = draw(COUNT)
    rng = np.random.default_rng(21)
    a = columns["acceleration"]
    pick = rng.integers(0, 3, COUNT)
    s = np.choose(pick, [np.ones(COUNT), a / 2, a * rng.uniform(0.001, 1.2, COUNT)])
    lower, upper = vars(target(target_speedup=s, **columns)).values()
    tally = dict.fromkeys(("always", "never", "one", "two"), 0)
    with mp.workdps(50):
        for i in range(COUNT):
            o, fixed, line, c, b, acc = (mpf(float(v[i])) for v in columns.values())
            gain, k = c * (1 / mpf(float(s[i])) - 1 / acc), o + fixed
            tally[judge(gain, line, k, b, float(lower[i]), float(upper[i]))] += 1
    assert min(tally.values()) > 30, tally

    first, half = break_even(**columns), half_acceleration(**columns)
    for got, chosen in ((first, pick == 0), (half, pick == 1)):
        for end, want in zip(vars(got).values(), (lower, upper), strict=True):
            np.testing.assert_allclose(end[chosen], want[chosen], rtol=1e-12)


def judge(gain: mpf, line: mpf, k: mpf, b: mpf, lower: float, upper: float) -> str:
    """Say how many crossings F has, and assert that the answer says the same and where."""

    def f(log_g: mpf) -> mpf:
        return gain * mpmath.exp(b * log_g) - line * mpmath.exp(log_g) - k

    def changes_sign_at(root: float) -> int:
        """Return +1 where F rises through zero within 1e-9 of the root, −1 where it falls."""
        log_g = mpmath.log(mpf(root))
        below, above = f(log_g - mpf("1e-9")), f(log_g + mpf("1e-9"))
        assert below * above < 0, (gain, line, k, b, root)
        return 1 if above > 0 else -1

    bends = line > 0 and b < 1
    slope = gain - line if b == 1 else gain
    if slope < 0 or (slope == 0 and (k > 0 or (line > 0 and b != 1))):
        never = True
    elif bends:
        top = mpmath.log(gain * b / line) / (1 - b)
        never = f(top) < 0 if k > 0 else False
    else:
        never = False
    if never:
        assert lower == upper == np.inf, (gain, line, k, b, lower, upper)
        return "never"
    if k == 0 and (line == 0 or b == 1):
        assert (lower, upper) == (0, np.inf)
        return "always"
    if k == 0 and bends and lower == np.inf:  # up to an end below the floats: never
        assert upper == np.inf
        assert f(mpmath.log(mpf("5e-324"))) < 0
        return "never"
    crossings = 0
    if k == 0 and bends:
        assert lower == 0  # F > 0 up to its only crossing
    elif lower == np.inf:  # beyond the floats
        assert f(mpmath.log(mpf("1.79e308"))) < 0
    elif lower == 0:
        assert f(mpmath.log(mpf("5e-324"))) > 0
    else:
        assert changes_sign_at(lower) == 1
        crossings += 1
    if not bends:  # F is linear or convex in g or g**β, and negative at g = 0: one crossing
        assert upper == np.inf
    elif np.isinf(upper):  # beyond the floats
        assert f(mpmath.log(mpf("1.79e308"))) > 0
    else:
        assert lower < mpmath.exp(top) < upper or k == 0
        assert changes_sign_at(upper) == -1
        crossings += 1
    return "two" if crossings == 2 else "one"


@pytest.mark.parametrize(
    ("above_tangent", "relative"),
    [(1e-2, 1e-12), (1e-4, 1e-11), (1e-6, 1e-10), (1e-9, 1e-9), (1e-12, 1e-8)],
)
def test_close_crossings(above_tangent: float, relative: float) -> None:
    """Two ends a distance √(8 ε / (β (1 − β))) apart, in log g, where the peak is ε too high."""
    rng = np.random.default_rng(22)
    count = 15
    b = rng.uniform(0.05, 0.95, count)
    line, k = np.exp(rng.uniform(-5, 5, count)), np.exp(rng.uniform(2, 14, count))
    gain = np.exp(entropy(b) + above_tangent) * k * (line / k) ** b
    lower, upper = solve_interval(gain.copy(), line, k, b)
    with mp.workdps(50):
        for i in range(count):
            c, m, cost, power = (mpf(float(x[i])) for x in (gain, line, k, b))

            def f(x: mpf, c: mpf = c, m: mpf = m, cost: mpf = cost, power: mpf = power) -> mpf:
                return mpmath.log(c) + power * x - mpmath.log(m * mpmath.exp(x) + cost)

            top = mpmath.log(power * cost / ((1 - power) * m))
            assert f(top) > 0
            for got, side in ((lower[i], -1), (upper[i], 1)):
                inside, outside = top, top + side
                while f(outside) > 0:
                    outside = top + 2 * (outside - top)
                for _ in range(110):
                    middle = (inside + outside) / 2
                    inside, outside = (middle, outside) if f(middle) > 0 else (inside, middle)
                assert abs(mpf(float(got)) / mpmath.exp(inside) - 1) < relative


def test_peak_below_the_target_by_a_hair_is_never() -> None:
    b = np.linspace(0.05, 0.95, 19)
    gain = np.exp(entropy(b)) * 1000.0 * (0.5 / 1000.0) ** b
    line, k = np.full(19, 0.5), np.full(19, 1000.0)
    assert np.isinf(solve_interval(gain * (1 - 1e-13), line, k, b)).all()
    assert np.isfinite(solve_interval(gain * (1 + 1e-13), line, k, b)).all()


@pytest.mark.parametrize("distance", [1e-12, 1e-9, 1e-6])
def test_complexity_next_to_one(distance: float) -> None:
    """The equation is ill-conditioned there, the residual is not: F is zero to its rounding."""
    rng = np.random.default_rng(23)
    count = 200
    b = 1 + rng.choice([-1, 1], count) * distance
    line, k = rng.uniform(0.5, 2, count), np.exp(rng.uniform(0, 10, count))
    gain = line * rng.uniform(1.01, 3, count)
    lower, _ = solve_interval(gain.copy(), line, k, b)
    np.testing.assert_allclose(gain * lower**b, line * lower + k, rtol=1e-12)
    np.testing.assert_allclose(lower, k / (gain - line), rtol=distance * 1e4 + 1e-11)
