"""Which task of one run is which task of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.analysis.measures import Measure
from pipeline.analysis.plain import plain_text
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from pipeline.options import ROOTS
from pipeline.profile.expressions import column, finite
from pipeline.run import Run
from pipeline.sources.contents import Of

CONTENT, INDEX = "content", "index"
KEY_FIELD = "compare_key"
KEY_COLUMN = names.internal(KEY_FIELD)
SIDES = ("base", "candidate")


class Pairs(NamedTuple):
    """Two runs put together.

    Attributes:
        frame: One row a pair, by the base's task index: `_key`, `_task`, `_candidate_task` (Int64, the lowest index
            with that key), `_agent`, `_candidate_agent` (String), and for each measure the means of its rollouts as
            `base COLUMN` and `candidate COLUMN` (Float64) and their numbers as `base count COLUMN` and so on.
        alone: What is in one run only, by run and task: `run` (base or candidate), `task` (Int64), `agent` (String).
        by_agent: Whether a task of several agents is a pair for each of them.
        of_others: How many tasks are in both runs, and have agents in each that the other has not.
    """

    frame: pl.DataFrame
    alone: pl.DataFrame
    by_agent: bool
    of_others: int = 0


def field_of(key: str) -> str | None:
    """What `--field` takes to read a key that is a field; None for content and index."""
    if key in {CONTENT, INDEX}:
        return None
    return f"{KEY_FIELD}={_path_of(key)}"


def key_column(run: Run, key: str) -> str | None:
    """The column that holds a field, read as such or, in an export, among the short texts; None without a value."""
    there = run.aligned.frame.collect_schema()
    known = [name for name in (KEY_COLUMN, names.internal(_path_of(key))) if name in there]
    counts = collect(run.aligned.frame.select(column(name).count() for name in known)).row(0) if known else ()
    return next((name for name, count in zip(known, counts, strict=True) if count), None)


def _path_of(key: str) -> str:
    return key if key.startswith(ROOTS) else f"input.{key}"


def content_of_both(base: Run, candidate: Run) -> Of:
    """What of the contents of two runs can be compared: input rows where both have them, else what was asked."""
    return "row" if base.has_input_rows and candidate.has_input_rows else "prompt"


def task_keys(run: Run, key: str, *, of: Of | None = None) -> pl.DataFrame:
    """What each task is known by: `_ng_task_index` (Int64), `_key` (String; null where a task has no such field).

    Args:
        run: The run.
        key: `content`, `index`, or a field, which was read as `field_of` says.
        of: What of the content counts.

    Raises:
        SourceError: A row whose content counts is no longer there.
        UsageError: No row has the field.
    """
    if key == CONTENT:
        return collect(run.contents(of=of).rename({"_content": "_key"}))
    task = pl.col(names.TASK)
    if key == INDEX:
        return collect(run.inputs.filter(pl.col("_problem").is_null()).select(task.unique().sort())).with_columns(
            _key=task.cast(pl.String)
        )
    name = key_column(run, key)
    if name is None:
        raise UsageError(
            f"no row has {key}", hint="It is a field of the input row, dotted; row.NAME is one of the rollout."
        )
    values = run.aligned.frame.group_by(task, maintain_order=True).agg(_key=column(name).drop_nulls().first())
    return collect(values.with_columns(_key=plain_text(pl.col("_key"), values.collect_schema()["_key"])))


def paired(
    base: pl.LazyFrame, candidate: pl.LazyFrame, keys: tuple[pl.DataFrame, pl.DataFrame], measures: Sequence[Measure]
) -> Pairs:
    """Pairs the tasks of two runs by their keys; tasks of one run with the same key are one task.

    A task is paired with the same task of the same agent where any task of either run was tried by several agents,
    else with the same task whatever its agent is called.

    Args:
        base: As `sums_by_task` gives it.
        candidate: As `sums_by_task` gives it.
        keys: As `task_keys` gives them, of both.
        measures: What to keep of both.
    """
    sides = [
        collect(_units(one, known, measures, side))
        for one, known, side in zip((base, candidate), keys, SIDES, strict=True)
    ]
    by_agent = any(not one["_key"].is_unique().all() for one in sides)
    on = ["_key", "_agent"] if by_agent else ["_key"]
    theirs = sides[1].rename({"_task": "_candidate_task"}).with_columns(_candidate_agent="_agent")
    theirs = theirs if by_agent else theirs.drop("_agent")
    frame = sides[0].join(theirs, on=on, how="inner", nulls_equal=True, maintain_order="left")
    alone = [
        mine.join(other, on=on, how="anti", nulls_equal=True, maintain_order="left").select(
            "_key", run=pl.lit(side), task="_task", agent="_agent"
        )
        for mine, other, side in zip(sides, reversed(sides), SIDES, strict=True)
    ]
    return Pairs(
        frame.sort("_task", "_agent", nulls_last=True, maintain_order=True),
        pl.concat(alone).drop("_key"),
        by_agent,
        of_others=alone[0].join(alone[1], on="_key", how="semi")["_key"].n_unique(),
    )


def pooled(keys: pl.DataFrame) -> pl.DataFrame:
    """Keys that several tasks of a run have: `_key`, `tasks` (UInt32), `first` (Int64), by index."""
    groups = keys.filter(pl.col("_key").is_not_null()).group_by("_key", maintain_order=True)
    found = groups.agg(tasks=pl.len(), first=pl.col(names.TASK).min())
    return found.filter(pl.col("tasks") > 1).sort("first")


def conflicts(pairs: pl.DataFrame, contents: tuple[pl.DataFrame, pl.DataFrame]) -> pl.DataFrame:
    """Pairs whose contents differ, by index: `_task`, `_candidate_task`."""
    mine, theirs = contents
    found = pairs.select("_task", "_candidate_task").unique(maintain_order=True)
    found = found.join(mine.rename({names.TASK: "_task", "_key": "_base"}), on="_task", how="left")
    found = found.join(
        theirs.rename({names.TASK: "_candidate_task", "_key": "_other"}), on="_candidate_task", how="left"
    )
    return found.filter(pl.col("_base") != pl.col("_other")).sort("_task").select("_task", "_candidate_task")


def renumbered(contents: tuple[pl.DataFrame, pl.DataFrame]) -> pl.DataFrame:
    """Task indices that both runs have, with another content in each: `_ng_task_index` (Int64), sorted."""
    mine, theirs = contents
    both = mine.join(theirs, on=names.TASK, how="inner", suffix=" candidate")
    return both.filter(pl.col("_key") != pl.col("_key candidate")).select(names.TASK).sort(names.TASK)


def _units(tasks: pl.LazyFrame, keys: pl.DataFrame, measures: Sequence[Measure], side: str) -> pl.LazyFrame:
    """One row a key and agent, by task index, with the means of its rollouts."""
    known = tasks.join(keys.lazy(), on=names.TASK, how="inner", maintain_order="left")
    sums = [column(f"{what} {one.column}").sum() for one in measures for what in ("sum", "count")]
    units = (
        known.filter(pl.col("_key").is_not_null())
        .group_by("_key", "_agent", maintain_order=True)
        .agg(pl.col(names.TASK).min().alias("_task"), *sums)
    )
    means = [
        pl.when(pl.col(f"count {one.column}") > 0)
        .then(finite(pl.col(f"sum {one.column}") / pl.col(f"count {one.column}")))
        .alias(f"{side} {one.column}")
        for one in measures
    ]
    counts = [pl.col(f"count {one.column}").alias(f"{side} count {one.column}") for one in measures]
    return units.select("_key", "_task", "_agent", *means, *counts)
