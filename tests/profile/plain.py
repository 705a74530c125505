"""The figures of a few numbers, in plain Python."""

import math
import statistics
from collections.abc import Mapping, Sequence

import pytest

T_QUANTILES = {
    1: math.tan(math.pi * 0.475),
    2: 0.95 * math.sqrt(2 / 0.0975),
    3: 3.182446305284263,
    4: 2.7764451051977987,
}
"""t(0.975) by degrees of freedom: closed forms, else from a printed table."""
Numbers = Sequence[float]


def five(metrics: Mapping[str, Numbers], *, rows: int) -> dict[str, float]:
    """mean, max, min, median and std of each metric of a group of this many rows."""
    figures = {
        "mean": {name: math.fsum(values) / len(values) for name, values in metrics.items()},
        "max": {name: max(values) for name, values in metrics.items()},
        "min": {name: min(values) for name, values in metrics.items()},
        "median": {name: statistics.median(values) for name, values in metrics.items()},
        "std": {name: deviation(values) for name, values in metrics.items() if len(values) > 1 or rows == 1},
    }
    return {f"{statistic}/{name}": float(value) for statistic, of in figures.items() for name, value in of.items()}


def deviation(values: Numbers) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def spread(values: Numbers) -> dict[str, float]:
    """What is said of a metric over tasks or over repeats."""
    count, mean, std = len(values), math.fsum(values) / len(values), deviation(values)
    figures = {
        "mean": mean,
        "median": statistics.median(values),
        "std": std,
        "sem": std / math.sqrt(count),
        "min": min(values),
        "max": max(values),
        "p25": share(values, 0.25),
        "p75": share(values, 0.75),
    }
    if count > 1:
        reach = T_QUANTILES[count - 1] * figures["sem"]
        figures |= {"ci_low_95": mean - reach, "ci_high_95": mean + reach}
    return {name: float(value) for name, value in figures.items()}


def share(values: Numbers, part: float) -> float:
    """A percentile by linear interpolation."""
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def close(figures: Mapping[str, float]) -> object:
    """Equal to these figures within what doubles allow."""
    return pytest.approx(dict(figures), rel=1e-12, abs=1e-12)
