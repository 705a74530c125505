"""Which of a run's rollouts were asked for: frames → frames."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.analysis.pairs import best_first, worst_first
from pipeline.cli.selecting import columns_hint, selected, sql_reason
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect_all
from pipeline.profile.expressions import column
from pipeline.report.values import plain
from pipeline.sources import rows

KEY = re.compile(r"(-?[0-9]{1,100})(?::(-?[0-9]{1,100}))?")
NUMBERS_SHOWN = 20


class Key(NamedTuple):
    """A task, or one of its rollouts."""

    task: int
    rollout: int | None = None


class Listed(NamedTuple):
    """Which rollouts are listed, and in which order."""

    where: str | None
    sort: str | None


def split_key(words: list[str]) -> tuple[list[str], Key | None]:
    """The words of the run and the key, which is the last word that looks like one and is no file.

    Raises:
        UsageError: A word is an option that there is not.
    """
    key = None
    for place in range(len(words) - 1, -1, -1):
        if (found := KEY.fullmatch(words[place])) and not os.path.lexists(words[place]):
            key = Key(int(found[1]), None if found[2] is None else int(found[2]))
            words = [*words[:place], *words[place + 1 :]]
            break
    for word in words:
        if word.startswith("-") and word != "-" and not os.path.lexists(word):
            raise UsageError(f"No such option: {word}", hint="See rollprof show --help.")
    return words, key


def of_key(frame: pl.DataFrame, key: Key) -> pl.DataFrame:
    """The rollouts of a key.

    Raises:
        UsageError: There is none; what there is is named.
    """
    task = _where_index(frame, names.TASK, key.task)
    if not len(task):
        tasks = frame[names.TASK].unique().sort()
        there = f"Its {len(tasks):,} tasks: {_numbers(tasks)}." if len(tasks) else "It has no rollouts."
        raise UsageError(f"no task {key.task} in this run", hint=there)
    if key.rollout is None:
        return task
    found = _where_index(task, names.ROLLOUT, key.rollout)
    if not len(found):
        there = f"The {len(task):,} rollouts of task {key.task}: {_numbers(task[names.ROLLOUT].sort())}."
        raise UsageError(f"no rollout {key.task}:{key.rollout} in this run", hint=there)
    return found


def chosen(frame: pl.DataFrame, listed: Listed) -> pl.DataFrame:
    """The rollouts that are listed, in their order; values that are missing come last.

    Raises:
        UsageError: The SQL cannot be understood, or there is no such column.
    """
    try:
        frame = selected(frame, listed.where)
        if listed.sort is None:
            return frame
        name = listed.sort if listed.sort in frame.columns else listed.sort.removeprefix("-")
        if name not in frame.columns:
            raise UsageError(f"--sort {plain(listed.sort)}: there is no such column", hint=_columns(frame))
        return frame.sort(column(name), descending=name != listed.sort, nulls_last=True, maintain_order=True)
    except pl.exceptions.PolarsError as error:
        raise UsageError(f"--sort: {sql_reason(error)}", hint=_columns(frame)) from error


def best_and_worst(task: pl.DataFrame, *, threshold: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The best passing and the worst failing of a task's measured rollouts, none where there is none.

    By reward, then output tokens, then rollout index: a pass is best with few tokens, a failure worst with many.
    """
    if names.REWARD not in task.columns:
        return task.head(0), task.head(0)
    judged = task.filter("_measured").with_columns(_score=pl.col(names.REWARD))
    rollouts = judged.with_columns(_passed=pl.col("_score") >= threshold).lazy()
    best, worst = collect_all([best_first(rollouts).head(1), worst_first(rollouts).head(1)])
    return best.drop("_score", "_passed"), worst.drop("_score", "_passed")


def _where_index(frame: pl.DataFrame, name: str, index: int) -> pl.DataFrame:
    return frame.filter(pl.col(name) == index) if index in rows.INDEX_RANGE else frame.head(0)


def _numbers(ordered: pl.Series) -> str:
    """Whole numbers in words: a range without gaps, a few, or the first and the last."""
    first, last = ordered[0], ordered[-1]
    if len(ordered) > 1 and last - first + 1 == len(ordered):
        return f"{first} to {last}"
    if len(ordered) <= NUMBERS_SHOWN:
        return ", ".join(map(str, ordered))
    return f"from {first} to {last}, with gaps"


def _columns(frame: pl.DataFrame) -> str:
    return columns_hint("rollouts", frame.columns)
