"""Two runs → what changed, how sure that is, and how much of it is infrastructure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from pipeline import names
from pipeline.analysis.change_tables import ALL, TAKEN, infrastructure, tables_of_changes
from pipeline.analysis.changes import differences
from pipeline.analysis.flips import rollout_flips, states, task_flips
from pipeline.analysis.judgement import Change, Verdict, change_of, smallest_effect, verdict_of
from pipeline.analysis.measures import (
    SCORE,
    measured_rollouts,
    measures_of,
    sums_by_task,
)
from pipeline.analysis.pairing import (
    CONTENT,
    INDEX,
    SIDES,
    Pairs,
    conflicts,
    content_of_both,
    paired,
    pooled,
    renumbered,
    task_keys,
)
from pipeline.analysis.permutation import SignFlip, sign_flip_test
from pipeline.analysis.same_rollouts import Matched, same_rollouts
from pipeline.analysis.scoring import PassRule
from pipeline.columns import by_columns
from pipeline.errors import SourceError, UsageError
from pipeline.frames.lazy import collect
from pipeline.groups import aliased, aliases, need_apart
from pipeline.run import Run
from pipeline.sources.contents import Of

Sides = tuple[pl.DataFrame, pl.DataFrame]


class CompareOptions(BaseModel):
    """How runs are compared.

    Attributes:
        rule: Which metric is the score, and when a rollout passes.
        key: What tasks are known by: `content`, `index`, or a field of the input row.
        pair: Whether tasks are paired, or the same rollouts scored twice.
        by: Columns of the base that make groups of tasks; a task's value is that of its first rollout with one.
        seed: What the random signs of the permutation test start from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: PassRule = Field(default_factory=PassRule)
    key: str = CONTENT
    pair: Literal["task", "rollout"] = "task"
    by: tuple[str, ...] = ()
    seed: int = Field(default=0, ge=0)


class Facts(NamedTuple):
    """What to know of how two runs were put together.

    Attributes:
        shared: Pairs of tasks in both runs; by agent, one for each agent of a task.
        by_agent: Whether tasks are paired by agent, for some task was tried by several.
        of_others: How many tasks are in both runs, and have agents in each that the other has not.
        scored: Tasks with a score in both, which the change is over.
        beyond: Pairs with a score in both whose means or change no double can hold, which are left out.
        of: What of the content was compared; None where it was not.
        pooled: Keys that several tasks have: of the base and of the candidate.
        conflicts: Pairs whose contents differ (`_task`, `_candidate_task`).
        renumbered: Task indices that stand for other contents (`_ng_task_index`).
        unread: Why contents could not be looked at, where that was not necessary.
        without_key: How many tasks have no such field: of the base and of the candidate.
        other_agents: How many pairs are of agents that are called differently.
        matched: How the rollouts were matched, where they were.
        unknown: What this kind of run does not say, as `Run.unknown`: of the base and of the candidate.
    """

    shared: int
    by_agent: bool
    of_others: int
    scored: int
    beyond: int
    of: Of | None
    pooled: Sides
    conflicts: pl.DataFrame
    renumbered: pl.DataFrame
    unread: str
    without_key: tuple[int, int]
    other_agents: int
    matched: Matched | None
    unknown: tuple[tuple[str, ...], tuple[str, ...]]


class Comparison(NamedTuple):
    """What two runs tell of each other.

    Attributes:
        verdict: Better, worse, no difference found, or too little data.
        change: The mean change of the score.
        test: The sign-flip test; None without a task.
        smallest_effect: What this much data would have shown with a probability of 0.8.
        states: How many tasks or rollouts pass in both, in neither, in one.
        changes: As `changes` gives them, overall, then by agent, then by the columns asked for.
        infrastructure: One row a group: what the change is of.
        alone: Tasks of one run only.
        flips: Tasks or rollouts that pass in one run only.
        facts: How they were put together.
    """

    verdict: Verdict
    change: Change
    test: SignFlip | None
    smallest_effect: float | None
    states: dict[str, int]
    changes: pl.DataFrame
    infrastructure: pl.DataFrame
    alone: pl.DataFrame
    flips: pl.DataFrame
    facts: Facts


def compare(base: Run, candidate: Run, options: CompareOptions | None = None) -> Comparison:
    """Compares a run with a base, task by task, or rollout by rollout.

    Raises:
        SourceError: A row whose content counts is no longer there.
        UsageError: There is no such score, key or group, or no content to know tasks by.
    """
    chosen = options or CompareOptions()
    by = [name for name in by_columns(base.aligned.frame, chosen.by) if name != "_agent"]
    need_apart(by, TAKEN)
    measures = measures_of(base, candidate, chosen.rule)
    twice = chosen.pair == "rollout"
    mine, theirs = (measured_rollouts(run, chosen.rule, measures, of_finished=twice) for run in (base, candidate))
    rollouts = (mine, theirs)
    matched = same_rollouts(base, candidate, rollouts, measures) if twice else None
    if matched is not None:
        rollouts = (matched.of(SIDES[0], measures), matched.of(SIDES[1], measures))
    of = content_of_both(base, candidate)
    key = chosen.key if matched is None else INDEX
    keys = (task_keys(base, key, of=of), task_keys(candidate, key, of=of))
    for run, known in zip((base, candidate), keys, strict=True):
        _need_keys(run, known, key)
    pairs = paired(sums_by_task(rollouts[0], measures), sums_by_task(rollouts[1], measures), keys, measures)
    pairs = pairs._replace(frame=_with_groups(pairs.frame, base, by))
    changed = tables_of_changes(pairs, measures, by)
    change = change_of(_overall(changed))
    lists = differences(pairs, measures[0]).to_list()
    test = sign_flip_test(lists, seed=chosen.seed) if lists else None
    return Comparison(
        verdict=verdict_of(change, test),
        change=change,
        test=test,
        smallest_effect=smallest_effect(change),
        states=states(pairs.frame if matched is None else matched.rollouts),
        changes=changed,
        infrastructure=infrastructure(changed, measures, by),
        alone=pairs.alone,
        flips=task_flips(pairs.frame) if matched is None else rollout_flips(matched.rollouts),
        facts=_facts(base, candidate, key=key, keys=keys, pairs=pairs, change=change, of=of, matched=matched),
    )


def _need_keys(run: Run, keys: pl.DataFrame, key: str) -> None:
    """Makes sure that a run whose tasks are known by what they ask says so anywhere."""
    if key == CONTENT and len(keys) and not keys["_key"].count():
        by_index = "tasks by --key index, if both runs number them alike."
        hint = f"Pair {by_index}" if run.files.inputs else f"Name its inputs with --inputs, or pair {by_index}"
        message = "no row has responses_create_params or other content, so tasks cannot be paired by it"
        raise UsageError(message, where=run.files.rollouts[0].shown, hint=hint)


def _with_groups(pairs: pl.DataFrame, base: Run, by: Sequence[str]) -> pl.DataFrame:
    """Adds the values that make groups, under the names that `aliases` gives them."""
    if not by:
        return pairs
    first = base.aligned.frame.select(pl.col(names.TASK).alias("_task"), "_agent", *aliased(by))
    values = first.group_by("_task", "_agent", maintain_order=True).agg(
        pl.col(name).drop_nulls().first() for name in aliases(by)
    )
    joined = pairs.lazy().join(values, on=["_task", "_agent"], how="left", nulls_equal=True, maintain_order="left")
    return collect(joined)


def _overall(changed: pl.DataFrame) -> dict[str, object] | None:
    """The row of the score over all tasks, which is the first."""
    row = next(iter(changed.head(1).to_dicts()), None)
    return row if row is not None and row["scope"] == ALL and row["kind"] == "score" else None


def _beyond(pairs: pl.DataFrame) -> int:
    """How many pairs have a score in both, and no change that a double can hold."""
    has_scores = pl.all_horizontal(pl.col(f"{side} count {SCORE}") > 0 for side in SIDES)
    change = pl.col(f"{SIDES[1]} {SCORE}") - pl.col(f"{SIDES[0]} {SCORE}")
    return pairs.filter(has_scores, ~change.is_finite().fill_null(value=False)).height


def _facts(
    base: Run,
    candidate: Run,
    *,
    key: str,
    keys: Sides,
    pairs: Pairs,
    change: Change,
    of: Of,
    matched: Matched | None,
) -> Facts:
    unread = ""
    contents: Sides | None = keys if key == CONTENT else None
    if contents is None:
        try:
            contents = (task_keys(base, CONTENT, of=of), task_keys(candidate, CONTENT, of=of))
        except SourceError as error:
            unread = f"{error.where}: {error.message}"
    nothing = pl.DataFrame(schema={names.TASK: pl.Int64, "_task": pl.Int64, "_candidate_task": pl.Int64})
    known = pl.col("_agent").is_not_null() & pl.col("_candidate_agent").is_not_null()
    return Facts(
        shared=len(pairs.frame),
        by_agent=pairs.by_agent,
        of_others=pairs.of_others,
        scored=change.tasks,
        beyond=_beyond(pairs.frame),
        of=of if contents is not None else None,
        pooled=(pooled(keys[0]), pooled(keys[1])),
        conflicts=conflicts(pairs.frame, contents) if contents is not None else nothing,
        renumbered=renumbered(contents) if contents is not None else nothing,
        unread=unread,
        without_key=(keys[0]["_key"].null_count(), keys[1]["_key"].null_count()),
        other_agents=pairs.frame.filter(known & (pl.col("_agent") != pl.col("_candidate_agent"))).height,
        matched=matched,
        unknown=(base.unknown, candidate.unknown),
    )
