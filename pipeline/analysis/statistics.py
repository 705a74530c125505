"""Everything that can be said of how good the agents of a run are, and how sure it is: one row a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, field_validator

from pipeline import names
from pipeline.analysis import estimates
from pipeline.analysis.majority import answers, with_majority
from pipeline.analysis.missing import COUNTS, completeness, mean_bounds, unknown_bounds, unknown_counts, without_score
from pipeline.analysis.passing import doubling, with_passing
from pipeline.analysis.scoring import PassRule, voting
from pipeline.analysis.signal import with_signal
from pipeline.analysis.tasks import by_task
from pipeline.analysis.variance import variance_components
from pipeline.columns import by_columns, need, planned
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from pipeline.groups import aliased, aliases, need_apart, own_names, within
from pipeline.profile.expressions import column, finite
from pipeline.run import Run

ANSWER = "extracted_answer"
FIGURES: dict[str, pl.DataType] = {
    "part": pl.String(),
    "figure": pl.String(),
    "k": pl.Int64(),
    "failure_class": pl.String(),
    "value": pl.Float64(),
    "se": pl.Float64(),
    "interval": pl.String(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "tasks": pl.UInt32(),
    "rollouts": pl.UInt32(),
    "pass_rule": pl.String(),
    "note": pl.String(),
}
EVERYTHING = "_everything"
"""A column that is the same in all rows: the group of all rollouts."""


class StatsOptions(BaseModel):
    """What to work out.

    Attributes:
        by: Columns that make groups of each agent's rollouts.
        answer_field: The field whose values vote; None for `extracted_answer`, which need not be there.
        group_sizes: How many rollouts a group has of which the expected signal is worked out.
        draws: How often the bootstrap draws.
        seed: What the draws start from, those of the bootstrap and of majority@k.
        confidence: How much of the distribution an interval covers.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: tuple[str, ...] = ()
    answer_field: str | None = None
    group_sizes: tuple[int, ...] = (4, 8, 16)
    draws: int = Field(default=2000, ge=1, le=1_000_000)
    seed: int = Field(default=0, ge=0)
    confidence: float = Field(default=0.95, gt=0, lt=1)

    @field_validator("group_sizes")
    @classmethod
    def _groups(cls, sizes: tuple[int, ...]) -> tuple[int, ...]:
        if any(not 1 < size < 1 << 31 for size in sizes):
            raise UsageError("--group-size: a group has two rollouts or more", hint="Write it like 4,8,16.")
        return tuple(dict.fromkeys(sizes))


class _Rows(NamedTuple):
    """The rollouts of a run, with the columns that groups are made of under the names of `aliased`."""

    votes: pl.LazyFrame
    planned: pl.LazyFrame
    failures: pl.LazyFrame
    ks: tuple[int, ...]
    unknown: tuple[str, ...]


def statistics(run: Run, rule: PassRule, options: StatsOptions | None = None) -> pl.LazyFrame:
    """How good each agent is and how sure that is: over all agents, each agent, and each of its groups.

    The rollouts of the run are put together when this is called, for k goes up to the largest number of repeats.

    Columns: `scope` (String): `all` agents (where there are several), `agent`, or `group`; `_agent`; those of
    `by`, null but in `group`; `part` (String): completeness, missing, means, passing, majority, variance or signal;
    `figure` (String), `k` (Int64, null for figures of all rollouts); `failure_class` (String); `value`, `se` (Float64);
    `interval` (String): what `low` and `high` (Float64) are; `tasks`, `rollouts` (UInt32): what the value is over;
    `pass_rule` (String): the score, or the rule by which it passes; `note` (String): why a number is null.

    Args:
        run: What is asked about.
        rule: Which metric is the score, and when a rollout passes.
        options: What to work out.

    Raises:
        UsageError: There is no such column, or its name is one of these.
    """
    chosen = options or StatsOptions()
    group = [name for name in by_columns(run.rollouts, chosen.by) if name != "_agent"]
    need_apart(group, ("scope", *FIGURES))
    rows = _rows(run, rule, chosen, group)
    several = collect(rows.planned.select(pl.col("_agent").n_unique())).item() > 1
    scopes = {"all": [EVERYTHING], "agent": ["_agent"]} if several else {"agent": ["_agent"]}
    if group:
        scopes["group"] = ["_agent", *aliases(group)]
    parts = [
        collect(_typed(part, scope, keys, rows.planned, group)).lazy()
        for scope, keys in scopes.items()
        for part in _parts(rows, keys, rule, chosen)
    ]
    return pl.concat(parts)


def _rows(run: Run, rule: PassRule, options: StatsOptions, group: Sequence[str]) -> _Rows:
    rollouts = voting(run, rule)
    answer = answers(rollouts, options.answer_field or ANSWER)
    if answer is None and options.answer_field is not None:
        need(rollouts, options.answer_field)
    chosen = pl.lit(None, pl.String) if answer is None else answer
    own = [pl.col("_agent"), *aliased(group), pl.lit(0, pl.Int8).alias(EVERYTHING)]
    votes = rollouts.select(*names.KEY, *own, "_score", "_passed", _answer=chosen)
    every = planned(run)
    scored = column(rule.score).is_not_null() if rule.score in every.collect_schema() else pl.lit(value=False)
    plan = every.select(*names.KEY, *own, "_finished", "_measured", _scored=scored)
    kept, kept_plan = collect(votes).lazy(), collect(plan).lazy()
    largest = kept.group_by(within([])).len().select(pl.col("len").max())
    return _Rows(kept, kept_plan, run.failures, doubling(collect(largest).item() or 0), run.unknown)


def _parts(rows: _Rows, by: Sequence[str], rule: PassRule, options: StatsOptions) -> Iterator[pl.LazyFrame]:
    """The parts of one scope: the columns of `by`, and some of `FIGURES`."""
    complete = collect(completeness(rows.planned, by)).lazy()
    lost = collect(without_score(rows.planned, rows.failures, by)).lazy()
    score = pl.lit(rule.score)
    yield unknown_counts(_counts(complete, lost, by), rows.unknown).with_columns(pass_rule=score)
    bounds = unknown_bounds(mean_bounds(complete, lost, rows.votes, by), rows.unknown)
    yield bounds.with_columns(part=pl.lit("missing"), pass_rule=score)
    tasks = (
        by_task(rows.votes, by)
        .pipe(with_passing, rows.ks)
        .pipe(with_majority, rows.votes, within(by), rows.ks, seed=options.seed)
        .pipe(with_signal, options.group_sizes)
    )
    kept = collect(tasks).lazy()
    drawn = estimates.Drawn(options.confidence, options.draws, options.seed)
    known = estimates.catalogue(rule, ks=rows.ks, sizes=options.group_sizes, answer=options.answer_field or ANSWER)
    yield estimates.with_intervals(kept, rows.votes, by, known, drawn)
    yield variance_components(kept, by).with_columns(part=pl.lit("variance"), pass_rule=score)


def _counts(complete: pl.LazyFrame, lost: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """The numbers of planned rollouts by what became of them, a row a number."""
    own = list(map(column, by))
    over = {"tasks": pl.col("tasks"), "rollouts": pl.col("planned")}
    counted = [
        complete.select(*own, figure=pl.lit(name), failure_class=pl.lit(None, pl.String), value=name, **over)
        for name in COUNTS
    ]
    classes = lost.join(complete.select(*own, "tasks", "planned"), on=by, how="left", nulls_equal=True)
    without = classes.sort(*own, "failure_class").select(
        *own, "failure_class", "tasks", figure=pl.lit("without score"), value="rollouts", rollouts="planned"
    )
    return pl.concat([*counted, without], how="diagonal_relaxed").with_columns(part=pl.lit("completeness"))


def _typed(
    part: pl.LazyFrame, scope: str, by: Sequence[str], planned_rows: pl.LazyFrame, group: Sequence[str]
) -> pl.LazyFrame:
    """The rows of a part with all columns of the table, in order."""
    schema, types = part.collect_schema(), planned_rows.collect_schema()
    keys = ["_agent", *aliases(group)]
    about = [pl.col(key) if key in by else pl.lit(None, types[key]).alias(key) for key in keys]
    figures = [
        pl.col(name).cast(dtype) if name in schema else pl.lit(None, dtype).alias(name)
        for name, dtype in FIGURES.items()
    ]
    whole = part.select(pl.lit(scope).alias("scope"), *about, *figures).pipe(_finite)
    return whole.select("scope", "_agent", *own_names(group), *FIGURES)


def _finite(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows without numbers that no double can hold: it is said that there were some."""
    numbers = [name for name, dtype in FIGURES.items() if dtype == pl.Float64]
    beyond = pl.any_horizontal(~pl.col(name).is_finite() for name in numbers).fill_null(value=False)
    said = pl.when(beyond).then(pl.lit("beyond the range of numbers")).otherwise("note")
    return rows.with_columns(*(finite(pl.col(name)).alias(name) for name in numbers), note=said)
