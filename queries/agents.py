"""How the agents of a run do."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.columns import by_columns, measured
from pipeline.groups import mean_tokens, per_group
from pipeline.run import Run


def agents(run: Run, *, threshold: float = 1.0, by: Sequence[str] = ()) -> pl.LazyFrame:
    """How each agent does: tasks, rollouts, mean reward, pass rate, tokens; with --by in each group.

    Over measured rollouts; an agent of whom all are masked has no row (`coverage` shows it).

    Columns: `_agent` (String) and those of `by`; `tasks`, `rollouts` (UInt32): measured ones; `scored`, `passed`
    (UInt32): rollouts with a reward and with reward >= threshold; `mean_reward`, `pass_rate` (Float64): over scored
    ones; `mean_output_tokens` (Float64) over those that have them, `rollouts_with_tokens` (UInt32) of them.

    Args:
        run: What is asked about.
        threshold: The reward from which on a rollout passes.
        by: Columns that make groups of an agent's rollouts.

    Raises:
        UsageError: The run has no rewards, or there is no column of `by`.
    """
    rollouts = measured(run, names.REWARD)
    reward = pl.col(names.REWARD)
    passed = reward >= threshold
    return per_group(
        rollouts,
        by_columns(rollouts, ["_agent", *by]),
        tasks=pl.col(names.TASK).n_unique(),
        rollouts=pl.len(),
        scored=reward.count(),
        passed=passed.sum(),
        mean_reward=reward.mean(),
        pass_rate=passed.mean(),
        **mean_tokens(rollouts),
    )
