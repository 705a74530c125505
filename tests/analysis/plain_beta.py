"""The beta distribution in slow plain Python: sums over small steps, and halving."""

import math
from functools import cache

STEPS = 300


@cache
def cumulative(a: float, b: float, x: float) -> float:
    """P(X <= x) for X ~ Beta(a, b), a and b at least ½: Simpson's rule over the angle t with x = sin² t."""
    return _integral(a, b, math.asin(math.sqrt(x))) / _integral(a, b, math.pi / 2)


def _integral(a: float, b: float, end: float) -> float:
    step = end / STEPS
    total = 0.0
    for number in range(STEPS + 1):
        weight = 1 if number in {0, STEPS} else 4 if number % 2 else 2
        angle = number * step
        total += weight * _power(math.sin(angle), 2 * a - 1) * _power(math.cos(angle), 2 * b - 1)
    return total * step / 3


def _power(base: float, exponent: float) -> float:
    return 1.0 if exponent == 0 else max(base, 0.0) ** exponent


def quantile(a: float, b: float, share: float) -> float:
    """The x with P(X <= x) = share, by halving."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        if cumulative(a, b, middle) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2
