"""Means of tasks that are drawn again with replacement: numbers in, limits out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 20
"""Tasks drawn at a time: their counts take 8 MB."""
NOISE = 1e-12
"""What is left of a spread that is none, relative to the values, when sums are rounded."""

Numbers = NDArray[np.float64]


def resampled_means(
    sums: Numbers, pairs: Sequence[tuple[int, int]], *, upper: float, draws: int, seed: int
) -> list[tuple[float, float] | None]:
    """The quantiles 1 - upper and upper of ratios of sums over tasks that are drawn with replacement.

    Args:
        sums: A row a task, in an order of its own, a column a quantity.
        pairs: The columns of each ratio: totals and weights.
        upper: The upper quantile.
        draws: How often to draw.
        seed: What the generator starts from.

    Returns:
        The two limits of each ratio, or None: fewer than two tasks have a weight, or no draw differs.
    """
    drawn = _drawn_sums(np.ascontiguousarray(sums.T), draws, seed)
    several = [np.count_nonzero(sums[:, weight] > 0) > 1 for _, weight in pairs]
    return [
        _limits(drawn[:, total], drawn[:, weight], upper) if enough else None
        for (total, weight), enough in zip(pairs, several, strict=True)
    ]


def _drawn_sums(columns: Numbers, draws: int, seed: int) -> Numbers:
    """The sums of each draw: how often each task was drawn, times its quantities.

    The product is einsum's, whose last digits, unlike those of a matrix product, do not depend on threads.
    """
    parts = [np.einsum("dt,ct->dc", counts, columns) for counts in _counts(columns.shape[1], draws, seed)]
    return np.concatenate(parts)


def _counts(tasks: int, draws: int, seed: int) -> Iterator[Numbers]:
    """How often each task is in each draw, a block of draws at a time."""
    generator = np.random.Generator(np.random.PCG64(seed))
    size = max(1, BLOCK // tasks)
    for start in range(0, draws, size):
        height = min(size, draws - start)
        drawn = generator.integers(0, tasks, size=(height, tasks))
        drawn += np.arange(height)[:, None] * tasks
        counts = np.bincount(drawn.ravel(), minlength=height * tasks)
        yield counts.reshape(height, tasks).astype(np.float64)


def _limits(totals: Numbers, weights: Numbers, upper: float) -> tuple[float, float] | None:
    there = weights > 0
    if not there.any():
        return None
    means = totals[there] / weights[there]
    low, high = np.quantile(means, [1 - upper, upper])
    if means.max() - means.min() <= NOISE * np.abs(means).max():
        return None
    return float(low), float(high)
