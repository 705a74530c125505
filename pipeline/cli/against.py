"""A task or rollout of one run beside the same one of another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from pipeline import names
from pipeline.cli.opening import opened
from pipeline.cli.picking import Key, best_and_worst, of_key
from pipeline.cli.rendering import Part, print_parts
from pipeline.errors import SourceError, UsageError
from pipeline.frames.lazy import collect

if TYPE_CHECKING:
    from pipeline.cli.asked import RunAsked, TableAsked
    from pipeline.cli.console import Console
    from pipeline.run import Run
    from pipeline.sources.contents import Of


def show_against(
    asked: RunAsked, against: RunAsked, key: Key, table: TableAsked, console: Console, *, full: bool = False
) -> None:
    """Shows a rollout of each of two runs: those that a key names, or the two that tell most of what changed.

    Of a task that is the best rollout where the mean reward is higher, and the worst one where it is lower; the best
    of both where they are equal, and the first where nothing is measured.

    Raises:
        RollprofError: There is no such task or rollout in one of them, or a run cannot be read.
    """
    run, base = opened(asked, console), opened(against, console)
    name = _name(against)
    mine = of_key(collect(run.rollouts), key)
    task = _same_task(run, base, key.task, name, console)
    try:
        theirs = of_key(collect(base.rollouts), key._replace(task=task))
    except UsageError as error:
        raise UsageError(error.message, where=name, hint=error.hint) from None
    first, second = (theirs, mine) if key.rollout is not None else _telling(theirs, mine)
    parts = {"base": Part(name, base, first), "candidate": Part(_name(asked), run, second)}
    print_parts(parts, table, full=full)


def _name(asked: RunAsked) -> str:
    return " ".join(map(names.shown, asked.run or asked.rollouts or ()))


def _same_task(run: Run, base: Run, task: int, name: str, console: Console) -> int:
    """The index in the base of what a task of the run asks; its own where nobody can tell, which is said."""
    of: Of = "row" if run.has_input_rows and base.has_input_rows else "prompt"
    try:
        mine, theirs = collect(run.contents(of=of)), collect(base.contents(of=of))
    except SourceError as error:
        console.warn(f"contents were not compared, for they cannot be read ({error.where}: {error.message})")
        return task
    content = mine.filter(pl.col(names.TASK) == task)["_content"]
    same = theirs.filter(pl.col("_content").is_in(content.implode()))[names.TASK]
    if task in same:
        return task
    if len(same):
        console.warn(f"task {task} is task {same[0]} in {name}, by its content")
        return int(same[0])
    console.warn(f"no task of {name} has the content of task {task}; its task {task} asks something else")
    return task


def _telling(base: pl.DataFrame, candidate: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rollouts that tell most of what changed, one of each."""
    before, after = _mean(base), _mean(candidate)
    fell = before is not None and after is not None and after < before
    rose = before is not None and after is not None and after > before
    return _picked(base, worst=rose), _picked(candidate, worst=fell)


def _mean(task: pl.DataFrame) -> float | None:
    if names.REWARD not in task.columns:
        return None
    mean: float | None = task.filter("_measured").select(pl.col(names.REWARD).cast(pl.Float64).mean()).item()
    return mean


def _picked(task: pl.DataFrame, *, worst: bool) -> pl.DataFrame:
    """The best or the worst of a task's measured rollouts; the first one where none has a reward."""
    best, _ = best_and_worst(task, threshold=-math.inf)
    _, last = best_and_worst(task, threshold=math.inf)
    chosen = last if worst else best
    return chosen if len(chosen) else task.head(1)
