"""Means of tasks that are drawn again with replacement: numbers in, limits out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.rounding import NOISE

BLOCK = 1 << 17
"""Tasks drawn at a time: their counts, 1 MB, stay near the processor."""
FEW = 10
"""Tasks of a kind, on average, from which on drawing kinds is quicker than drawing tasks."""

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
        The two limits of each ratio, or None: fewer than two tasks have a weight, or no draw differs. They are not
        finite where sums are beyond the range of doubles.
    """
    several = [np.count_nonzero(sums[:, weight] > 0) > 1 for _, weight in pairs]
    with np.errstate(over="ignore", invalid="ignore"):
        drawn = _drawn_sums(sums, draws, seed)
        return [
            _limits(drawn[:, total], drawn[:, weight], upper) if enough else None
            for (total, weight), enough in zip(pairs, several, strict=True)
        ]


def _drawn_sums(sums: Numbers, draws: int, seed: int) -> Numbers:
    """The sums of each draw: how often each task was drawn, times its quantities.

    Columns that are the same are added up once. The product is einsum's, whose last digits, unlike those of a matrix
    product, do not depend on threads.
    """
    columns = [np.ascontiguousarray(column) for column in sums.T]
    first = {column.tobytes(): place for place, column in reversed(list(enumerate(columns)))}
    chosen = sorted(first.values())
    rows, sizes = _kinds(sums[:, chosen])
    generator = np.random.Generator(np.random.PCG64(seed))
    if len(rows) * FEW <= len(sums):
        counted = _counts_of_kinds(sizes, draws, generator)
    else:
        rows, counted = sums[:, chosen], _counts_of_tasks(len(sums), draws, generator)
    quantities = np.ascontiguousarray(rows.T)
    added = np.concatenate([np.einsum("dt,ct->dc", counts, quantities) for counts in counted])
    return added[:, [chosen.index(first[column.tobytes()]) for column in columns]]


def _kinds(rows: Numbers) -> tuple[Numbers, NDArray[np.int64]]:
    """The different rows in order, and how many there are of each."""
    ordered = rows[np.lexsort(rows.T)]
    starts = np.flatnonzero(np.append(np.ones(1, np.bool_), (ordered[1:] != ordered[:-1]).any(axis=1)))
    return ordered[starts], np.diff(np.append(starts, len(rows)))


def _counts_of_kinds(sizes: NDArray[np.int64], draws: int, generator: np.random.Generator) -> Iterator[Numbers]:
    """How often tasks of each kind are in each draw: of kinds that are few, all at once, with the same chances."""
    height = max(1, BLOCK // len(sizes))
    for start in range(0, draws, height):
        drawn = generator.multinomial(sizes.sum(), sizes / sizes.sum(), size=min(height, draws - start))
        yield drawn.astype(np.float64)


def _counts_of_tasks(tasks: int, draws: int, generator: np.random.Generator) -> Iterator[Numbers]:
    """How often each task is in each draw, a block of draws at a time."""
    height = max(1, BLOCK // tasks)
    for start in range(0, draws, height):
        several = min(height, draws - start)
        drawn = generator.integers(0, tasks, size=(several, tasks))
        drawn += np.arange(several)[:, None] * tasks
        counts = np.bincount(drawn.ravel(), minlength=several * tasks)
        yield counts.reshape(several, tasks).astype(np.float64)


def _limits(totals: Numbers, weights: Numbers, upper: float) -> tuple[float, float] | None:
    there = weights > 0
    if not there.any():
        return None
    means = totals[there] / weights[there]
    low, high = np.quantile(means, [1 - upper, upper])
    if means.max() - means.min() <= NOISE * np.abs(means).max():
        return None
    return float(low), float(high)
