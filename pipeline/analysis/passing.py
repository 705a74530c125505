"""What the chance is that k rollouts of a task hold a passing one, or only such."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import comb

import polars as pl

Share = Callable[[int, int, int], float]
"""A share of the ways to take rollouts: of n, of which so many are marked, k."""


def doubling(largest: int) -> tuple[int, ...]:
    """1, 2, 4, … up to the largest number, which comes last whether it is one of them or not."""
    powers = [1 << exponent for exponent in range(largest.bit_length())]
    return tuple(dict.fromkeys((*powers, largest))) if largest > 0 else ()


def at(figure: str, k: int) -> str:
    """The column of a figure of k rollouts."""
    return f"{figure}{k}"


def with_passing(tasks: pl.LazyFrame, ks: Sequence[int]) -> pl.LazyFrame:
    """Adds pass@k, pass^k and avg@k of each task, without bias over all ways to take k of its n rollouts.

    With c passing rollouts, pass@k = 1 - C(n - c, k) / C(n, k): that at least one of k passes; pass^k = C(c, k) /
    C(n, k): that all of k pass. avg@k, the mean score of k rollouts, is the mean of all on average. None of them has
    a value where n < k.

    Source: pass@k: M. Chen et al., Evaluating Large Language Models Trained on Code, arXiv 2107.03374, equation 1;
    pass^k: S. Yao et al., τ-bench, arXiv 2406.12045, section 3.

    Args:
        tasks: `rollouts`, `passed` (whole numbers) and `mean_score` (Float64) of each task.
        ks: How many rollouts are taken.

    Returns:
        The tasks in their order, with `pass@K`, `pass^K` and `avg@K` (Float64) for each k.
    """
    shares = with_shares(tasks, "passed", {"pass@": some_of, "pass^": only_of}, ks)
    return shares.with_columns(pl.when(pl.col("rollouts") >= k).then("mean_score").alias(at("avg@", k)) for k in ks)


def some_of(n: int, marked: int, k: int) -> float:
    """The share of the ways to take k of n rollouts that take a marked one: right to the last digit."""
    return (comb(n, k) - comb(n - marked, k)) / comb(n, k)


def only_of(n: int, marked: int, k: int) -> float:
    """The share of the ways to take k of n rollouts that take marked ones only: right to the last digit."""
    return comb(marked, k) / comb(n, k)


def with_shares(tasks: pl.LazyFrame, marked: str, shares: Mapping[str, Share], ks: Sequence[int]) -> pl.LazyFrame:
    """Adds shares of the ways to take k of each task's rollouts.

    Args:
        tasks: `rollouts` and the number of marked ones of each task.
        marked: The column of the number of marked ones.
        shares: What the new columns (Float64) are called, with k behind, and what they are; null where n < k.
        ks: How many rollouts are taken.
    """
    kinds = tasks.select("rollouts", marked).unique()
    new = {at(figure, k): pl.Float64() for figure in shares for k in ks}

    def table(found: pl.DataFrame) -> pl.DataFrame:
        pairs = list(found.iter_rows())
        columns = [
            pl.Series(at(figure, k), [share(n, m, k) if n >= k else None for n, m in pairs], pl.Float64)
            for figure, share in shares.items()
            for k in ks
        ]
        return found.with_columns(columns)

    worked_out = kinds.map_batches(table, schema=pl.Schema({**kinds.collect_schema(), **new}))
    return tasks.join(worked_out, on=["rollouts", marked], how="left", maintain_order="left")
