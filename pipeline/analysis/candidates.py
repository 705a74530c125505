"""What a training set is chosen from: one row a task and agent, with all that a choice may rest on."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.analysis.scoring import PassRule, voting
from pipeline.analysis.tasks import by_task
from pipeline.frames.lazy import collect
from pipeline.groups import GROUP, number, per_group
from pipeline.profile.expressions import column, metrics_of
from pipeline.run import Run

MEAN = "mean/"
VERDICT = "verdict/"
TEXT = "_input."
FIELD = "_sample."
FIGURES = ("rollouts", "passed")


def candidates(run: Run, rule: PassRule, *metrics: str) -> pl.LazyFrame:
    """Every planned task and agent, sorted by both, whether or not any of its rollouts votes.

    Columns: `_ng_task_index` (Int64), `_agent` (String); `planned`, `rollouts`, `passed` (UInt32): planned rollouts,
    those that vote, and those of them that pass; `pass_rate` (Float64, passed / rollouts); `mean_score`, `min_score`,
    `max_score` (Float64); `mean/METRIC` (Float64) over the voting rollouts for every metric; `verdict/NAME` (UInt32):
    how many of them a quality check gave that verdict; `_input.NAME` (String): short texts of the row, and
    `_sample.FIELD` (String): the fields that were asked for; `_input_source`, `_input_line`, `_input_offset`,
    `_input_length`: the place of its sample. Figures are null where no rollout votes.

    Args:
        run: What is chosen from.
        rule: Which metric is the score, and when a rollout passes.
        metrics: Metrics that are needed.

    Raises:
        UsageError: There is no such metric, or it holds no numbers.
    """
    votes = voting(run, rule, *metrics)
    counted = by_task(votes).select(*GROUP, *FIGURES, "mean_score")
    figures = per_group(votes, GROUP, **_figures(votes))
    return (
        _planned(run)
        .join(counted, on=GROUP, how="left", nulls_equal=True, maintain_order="left")
        .join(figures, on=GROUP, how="left", nulls_equal=True, maintain_order="left")
        .join(_samples(run), on=GROUP, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.col(*FIGURES).fill_null(0))
        .with_columns(pass_rate=pl.when(pl.col("rollouts") > 0).then(pl.col("passed") / pl.col("rollouts")))
    )


def _figures(votes: pl.LazyFrame) -> dict[str, pl.Expr]:
    """What a choice may rest on beside the figures of `by_task`."""
    schema = votes.collect_schema()
    numeric = [name for name in metrics_of(schema) if schema[name].is_numeric()]
    known = collect(votes.select(pl.col("_verdict").cast(pl.String).unique()))["_verdict"].drop_nulls().sort()
    score = pl.col("_score")
    return {
        "min_score": score.min(),
        "max_score": score.max(),
        **{f"{MEAN}{name}": number(name).mean() for name in numeric},
        **{f"{VERDICT}{name}": (pl.col("_verdict").cast(pl.String) == name).sum() for name in known},
    }


def _planned(run: Run) -> pl.LazyFrame:
    """How many rollouts were planned, and what the planned rows are told apart by."""
    frame = run.aligned.frame
    texts = [name for name in frame.collect_schema() if name.startswith((TEXT, FIELD))]
    rows = frame.select(*GROUP, *map(column, texts))
    about = {name: column(name).first().cast(pl.String) for name in texts}
    return per_group(rows, GROUP, planned=pl.len(), **about)


def _samples(run: Run) -> pl.LazyFrame:
    """The place of each task's sample: the row of its lowest measured rollout index."""
    measured = run.aligned.frame.filter(pl.col("_measured")).select(*GROUP, names.ROLLOUT, *names.INPUT_PLACE)
    return per_group(measured, GROUP, **{name: pl.col(name).first() for name in names.INPUT_PLACE})


def field_column(field: str) -> str:
    """The column of a field of the sample that was asked for by its dotted path."""
    return FIELD + field


def fields_wanted(fields: Sequence[str]) -> list[str]:
    """What to ask for when a run is opened, so that these fields of its samples are columns."""
    return [f"{field_column(field)}=input.{field}" for field in dict.fromkeys(fields)]
