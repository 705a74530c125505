"""Which of a run's rollouts were asked for: frames → frames."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.analysis.pairs import best_first, worst_first
from pipeline.analysis.scoring import PassRule, voting
from pipeline.cli.selecting import columns_hint, selected, sql_reason
from pipeline.columns import meant
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect_all
from pipeline.profile.expressions import column
from pipeline.report.values import plain
from pipeline.run import Run
from pipeline.sources import rows
from pipeline.words import counted

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


class NoRolloutError(UsageError):
    """A run has no such task or rollout."""


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
        NoRolloutError: There is none; what there is is named.
    """
    task = _where_index(frame, names.TASK, key.task)
    if not len(task):
        tasks = frame[names.TASK].unique().sort()
        there = f"Its {counted(len(tasks), 'task')}: {_numbers(tasks)}." if len(tasks) else "It has no rollouts."
        raise NoRolloutError(f"no task {key.task} in this run", hint=there)
    if key.rollout is None:
        return task
    found = _where_index(task, names.ROLLOUT, key.rollout)
    if not len(found):
        there = f"The {counted(len(task), 'rollout')} of task {key.task}: {_numbers(task[names.ROLLOUT].sort())}."
        raise NoRolloutError(f"no rollout {key.task}:{key.rollout} in this run", hint=there)
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
        name, descending = _order(frame.columns, listed.sort)
        if name not in frame.columns:
            raise UsageError(f"--sort {plain(listed.sort)}: there is no such column", hint=_columns(frame))
        return frame.sort(column(name), descending=descending, nulls_last=True, maintain_order=True)
    except pl.exceptions.PolarsError as error:
        raise UsageError(f"--sort: {sql_reason(error)}", hint=_columns(frame)) from error


def _order(there: list[str], text: str) -> tuple[str, bool]:
    """The column to sort by, and whether its largest values come first: a `-` that is no part of its name says so."""
    as_it_is = meant(text, there)
    if as_it_is in there:
        return as_it_is, False
    return meant(text.removeprefix("-"), there), text.startswith("-")


def judged(run: Run, rule: PassRule, rollouts: pl.DataFrame) -> pl.LazyFrame:
    """Those of some rollouts of a run that vote, as `voting` gives them; none where the run has no rewards at all.

    Raises:
        UsageError: The run has no such score, which is another than the reward.
    """
    run_rows = run.rollouts
    if rule.score == names.REWARD and names.REWARD not in run_rows.collect_schema():
        return run_rows.head(0).with_columns(_score=pl.lit(None, pl.Float64), _passed=pl.lit(value=False))
    return voting(run, rule).join(rollouts.lazy().select(names.KEY), on=names.KEY, how="semi", maintain_order="left")


def best_and_worst(votes: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The best passing and the worst failing of the rollouts of a task that vote, none where there is none.

    By score, then output tokens, then rollout index: a pass is best with few tokens, a failure worst with many.
    """
    best, worst = collect_all([best_first(votes).head(1), worst_first(votes).head(1)])
    return best, worst


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
