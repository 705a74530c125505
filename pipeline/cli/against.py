"""A task or rollout of one run beside the same one of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline import names
from pipeline.analysis.pairing import content_of_both
from pipeline.analysis.pairs import best_first, worst_first
from pipeline.cli.opening import opened
from pipeline.cli.picking import Key, judged, of_key
from pipeline.cli.rendering import Part, print_parts
from pipeline.cli.rules import pass_rule, rules_file
from pipeline.errors import SourceError, UsageError
from pipeline.frames.lazy import collect

if TYPE_CHECKING:
    from pipeline.analysis.scoring import PassRule
    from pipeline.cli.asked import RuleAsked, RunAsked, TableAsked
    from pipeline.cli.console import Console
    from pipeline.run import Run


def show_against(
    asked: RunAsked,
    against: RunAsked,
    key: Key,
    table: TableAsked,
    console: Console,
    *,
    rule: RuleAsked,
    full: bool = False,
) -> None:
    """Shows a rollout of each of two runs: those that a key names, or the two that tell most of what changed.

    Of a task that is the best rollout where more of them pass, or as many with a higher mean score, and the worst one
    of the other run; the best of both where they are equal, and the first where nothing is measured. What passes is
    said by the options, else by the rules of the other run, as in a comparison with it.

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
    path = rules_file(rule, base.files)
    before, after = Part(name, base, theirs), Part(_name(asked), run, mine)
    if key.rollout is None:
        first, second = _telling(before, after, pass_rule(rule, path, console))
        before, after = before._replace(found=first), after._replace(found=second)
    print_parts({"base": before, "candidate": after}, table, full=full, kept=[path] if path else [])


def _name(asked: RunAsked) -> str:
    return " ".join(map(names.shown, asked.run or asked.rollouts or ()))


def _same_task(run: Run, base: Run, task: int, name: str, console: Console) -> int:
    """The index in the base of what a task of the run asks; its own where nobody can tell, which is said."""
    of = content_of_both(run, base)
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


def _telling(base: Part, candidate: Part, rule: PassRule) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rollouts that tell most of what changed, one of each."""
    votes = [_votes(part, rule) for part in (base, candidate)]
    before, after = map(_standing, votes)
    fell = before is not None and after is not None and after < before
    rose = before is not None and after is not None and after > before
    return _picked(base, votes[0], worst=rose), _picked(candidate, votes[1], worst=fell)


def _votes(part: Part, rule: PassRule) -> pl.DataFrame:
    try:
        return collect(judged(part.run, rule, part.found))
    except UsageError as error:
        raise UsageError(error.message, where=part.title, hint=error.hint) from None


def _standing(votes: pl.DataFrame) -> tuple[float, float] | None:
    """The share of a task's rollouts that pass, then their mean score; None where none votes."""
    return votes.select(pl.col("_passed").mean(), pl.col("_score").mean()).row(0) if len(votes) else None


def _picked(part: Part, votes: pl.DataFrame, *, worst: bool) -> pl.DataFrame:
    """The best or the worst of the rollouts that vote; the first one where none does."""
    ordered = worst_first if worst else best_first
    chosen = collect(ordered(votes.with_columns(_passed=pl.lit(not worst)).lazy()).head(1))
    return chosen if len(chosen) else part.found.head(1)
