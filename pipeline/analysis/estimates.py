"""Figures that are means over tasks, each with its intervals and with what it is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from pipeline.analysis import elections
from pipeline.analysis.intervals import BOOTSTRAP, CLUSTERED, REPEATS, across_repeats, bootstrap_means
from pipeline.analysis.passing import at
from pipeline.analysis.scoring import PassRule
from pipeline.analysis.signal import DIFFERENT, EXPECTED, MIXED
from pipeline.analysis.tasks import clusters, enough, with_enough
from pipeline.clustered import clustered_means
from pipeline.groups import per_group, together
from pipeline.profile.expressions import column

UNEVEN = "repeats, of different numbers of tasks"
OF_SCORE = "mean score"
OF_PASSING = "pass rate"


class Figure(NamedTuple):
    """A figure of tasks.

    Attributes:
        part: What it is about.
        figure: Its name.
        k: How many rollouts of a task it speaks of.
        total: The column of tasks that it is the mean of.
        weight: The column of their weights.
        least: How many rollouts a task needs to have a value.
        pass_rule: The score, or the rule by which it passes.
        lack: What to say where there is no value; else that tasks have too few rollouts.
    """

    part: str
    figure: str
    k: int | None
    total: str
    weight: str
    least: int
    pass_rule: str
    lack: str | None = None


class Drawn(NamedTuple):
    """How intervals are worked out."""

    confidence: float
    draws: int
    seed: int


def catalogue(rule: PassRule, *, ks: Sequence[int], sizes: Sequence[int], answer: str) -> list[Figure]:
    """The figures of a run, in the order in which they are shown."""
    passes, score = str(rule), rule.score
    silent = f"no rollout has an answer in {answer}"
    of_k = [
        ("passing", "pass@", passes, None),
        ("passing", "pass^", passes, None),
        ("passing", "avg@", score, None),
        ("majority", "majority@", passes, silent),
        ("majority", "no-answer@", answer, silent),
    ]
    return [
        Figure("means", OF_SCORE, None, "score", "rollouts", 1, score),
        Figure("means", OF_PASSING, None, "passed", "rollouts", 1, passes),
        *(
            Figure(part, f"{name}k", k, at(name, k), enough(k), k, on, lack)
            for part, name, on, lack in of_k
            for k in ks
        ),
        Figure("signal", MIXED, None, MIXED, enough(2), 2, passes),
        Figure("signal", DIFFERENT, None, DIFFERENT, enough(2), 2, score),
        *(Figure("signal", f"{EXPECTED}k", k, at(EXPECTED, k), enough(1), 1, passes) for k in sizes),
    ]


def with_intervals(
    tasks: pl.LazyFrame, votes: pl.LazyFrame, by: Sequence[str], figures: Sequence[Figure], drawn: Drawn
) -> pl.LazyFrame:
    """The means of figures over tasks with their intervals, a row an interval.

    Args:
        tasks: As `by_task` gives them, with the figures' columns, and `answered`.
        votes: As `voting` gives them.
        by: Columns that make a group, one at least.
        figures: What to work out.
        drawn: How.

    Returns:
        `by`, then `part`, `figure`, `k`, `value`, `se`, `interval`, `low`, `high`, `tasks`, `rollouts`, `pass_rule`,
        `note`, as `statistics` has them; by figure, group and interval.
    """
    known = _listed(figures)
    least = sorted({1, *(one.least for one in figures)})
    sums = list(dict.fromkeys(name for one in figures for name in (one.total, one.weight)))
    grouped = clusters(with_enough(tasks, least), by, sums)
    means = {str(place): (one.total, one.weight) for place, one in enumerate(figures)}
    clustered = clustered_means(grouped, by, means=means, confidence=drawn.confidence)
    resampled = bootstrap_means(
        grouped, by, means=means, confidence=drawn.confidence, draws=drawn.draws, seed=drawn.seed
    )
    on = [*by, "mean"]
    beside = clustered.drop("se", "low", "high").join(resampled, on=on, nulls_equal=True, maintain_order="left")
    rows = pl.concat(
        [
            clustered.with_columns(interval=pl.lit(CLUSTERED), order=0),
            beside.with_columns(interval=pl.lit(BOOTSTRAP), order=1),
            *_across(clustered, votes, by, drawn.confidence),
        ],
        how="diagonal",
    )
    told = rows.join(known, on="mean").join(_behind(tasks, by, least), on=[*by, "least"], nulls_equal=True)
    ordered = told.pipe(_with_notes).sort("place", "order", maintain_order=True)
    return together(ordered, by).select(
        *map(column, by),
        *("part", "figure", "k", "value", "se", "interval", "low", "high", "tasks", "rollouts", "pass_rule", "note"),
    )


def _listed(figures: Sequence[Figure]) -> pl.LazyFrame:
    """The figures as a frame, by the names that their means have."""
    columns = {
        "mean": [str(place) for place in range(len(figures))],
        "place": range(len(figures)),
        **{
            name: [getattr(one, name) for one in figures]
            for name in ("part", "figure", "k", "least", "pass_rule", "lack")
        },
    }
    return pl.LazyFrame(columns, schema_overrides={"k": pl.Int64, "lack": pl.String, "least": pl.Int64})


def _across(clustered: pl.LazyFrame, votes: pl.LazyFrame, by: Sequence[str], confidence: float) -> list[pl.LazyFrame]:
    """The across-repeats rows of the two means over rollouts, which come first in every catalogue."""
    found = []
    for place, value in enumerate(("_score", "_passed")):
        own = clustered.filter(pl.col("mean") == str(place)).select(*map(column, by), "mean", "tasks")
        spread = across_repeats(votes, by, value=value, confidence=confidence)
        joined = own.join(spread, on=by, nulls_equal=True, maintain_order="left")
        found.append(joined.with_columns(interval=pl.lit(REPEATS), order=2))
    return found


def _behind(tasks: pl.LazyFrame, by: Sequence[str], least: Sequence[int]) -> pl.LazyFrame:
    """How many rollouts stand behind figures that need so many of each task, and whether any has an answer."""
    size = pl.col("rollouts")
    counted = per_group(
        tasks,
        by,
        answered=pl.col("answered").sum(),
        **{f"least {k}": size.filter(size >= k).sum() for k in least},
    )
    return pl.concat(
        [counted.select(*map(column, by), "answered", least=pl.lit(k, pl.Int64), rollouts=f"least {k}") for k in least]
    )


def _with_notes(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Says why a number is not there, and takes figures on answers away where there are none."""
    silent = pl.col("lack").is_not_null() & (pl.col("answered") == 0)
    cleared = rows.with_columns(pl.when(~silent).then(name).alias(name) for name in ("value", "se", "low", "high"))
    of_repeats, no_limits = pl.col("interval") == REPEATS, pl.col("low").is_null()
    is_share = (pl.col("figure") != OF_SCORE) & ~pl.col("figure").str.starts_with("avg@")
    by_draws = (pl.col("part") == "majority") & (pl.col("k") > elections.EXACT_UP_TO)
    return cleared.with_columns(
        note=pl.when(silent)
        .then("lack")
        .when(pl.col("value").is_null())
        .then(
            pl.when(pl.col("least") == 1)
            .then(pl.lit("no task has a rollout with a score"))
            .otherwise(pl.format("no task has {} rollouts with a score", "least"))
        )
        .when(of_repeats & (pl.col("repeats") == 1))
        .then(pl.lit("one repeat"))
        .when(of_repeats & no_limits)
        .then(pl.lit("no repeat differs"))
        .when(of_repeats & pl.col("uneven"))
        .then(pl.format(f"{{}} {UNEVEN}", "repeats"))
        .when(of_repeats)
        .then(pl.format("{} repeats", "repeats"))
        .when(pl.col("tasks") == 1)
        .then(pl.lit("one task"))
        .when(no_limits & (pl.col("interval") == BOOTSTRAP))
        .then(pl.lit("no draw differs"))
        .when(no_limits)
        .then(pl.lit("no task differs"))
        .when(by_draws)
        .then(pl.lit(f"where a task has more rollouts, by {elections.DRAWS:,} seeded draws"))
        .when(is_share & ((pl.col("low") < 0) | (pl.col("high") > 1)))
        .then(pl.lit("few tasks"))
    )
