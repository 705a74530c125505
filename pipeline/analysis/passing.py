"""What the chance is that k rollouts of a task hold a passing one, or only such."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import comb

import polars as pl


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
    failed = pl.col("rollouts") - pl.col("passed")
    counted = tasks.with_columns(_failed=failed)
    every = with_subsets(with_subsets(counted, "passed", "pass^", ks), "_failed", "_fail^", ks)
    return every.with_columns(
        figure
        for k in ks
        for figure in (
            (1 - pl.col(at("_fail^", k))).alias(at("pass@", k)),
            pl.when(pl.col("rollouts") >= k).then("mean_score").alias(at("avg@", k)),
        )
    ).drop("_failed", *(at("_fail^", k) for k in ks))


def with_subsets(tasks: pl.LazyFrame, marked: str, figure: str, ks: Sequence[int]) -> pl.LazyFrame:
    """Adds C(m, k) / C(n, k) of each task: the share of the sets of k of its n rollouts that hold marked ones only.

    Args:
        tasks: `rollouts` and the number of marked ones, m, of each task.
        marked: The column of m.
        figure: What the new columns (Float64) are called, with k behind; null where n < k.
        ks: How many rollouts are taken.
    """
    kinds = tasks.select("rollouts", marked).unique()
    schema = tasks.select("rollouts", marked).collect_schema()
    found = pl.Schema({**schema, **{at(figure, k): pl.Float64() for k in ks}})
    table = kinds.map_batches(partial(_shares, figure=figure, ks=ks), schema=found)
    return tasks.join(table, on=["rollouts", marked], how="left", maintain_order="left")


def _shares(kinds: pl.DataFrame, *, figure: str, ks: Sequence[int]) -> pl.DataFrame:
    """The shares of each (n, m): quotients of whole numbers, right to the last digit."""
    pairs = list(kinds.iter_rows())
    return kinds.with_columns(
        pl.Series(at(figure, k), [comb(m, k) / comb(n, k) if n >= k else None for n, m in pairs], pl.Float64)
        for k in ks
    )
