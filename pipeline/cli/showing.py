"""Rollouts that were asked for → their lines → what is printed of them."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline import names
from pipeline.cli.against import show_against
from pipeline.cli.asked import RuleAsked
from pipeline.cli.opening import begun, opened
from pipeline.cli.picking import (
    Key,
    Listed,
    NoRolloutError,
    best_and_worst,
    chosen,
    judged,
    of_key,
    split_key,
)
from pipeline.cli.rendering import FORMS_OF_ROLLOUT, Part, print_parts, rollout_lines, rollout_object, rollout_text
from pipeline.cli.rules import pass_rule, rules_file, thresholds
from pipeline.cli.tables import form_of, print_content, print_table
from pipeline.cli.unfinished import as_object, as_text, attempt_lines, show_task, unfinished
from pipeline.errors import SourceError, UsageError
from pipeline.frames.lazy import collect
from pipeline.groups import TOKENS
from pipeline.report.rollout import answer_of
from pipeline.report.values import as_json, cut, on_one_line, plain, value_at
from pipeline.sources import rows
from pipeline.sources.fetching import plain_row

if TYPE_CHECKING:
    from pipeline.cli.asked import RunAsked, TableAsked
    from pipeline.cli.console import Console
    from pipeline.run import Run

LISTED = 20
ANSWER_LETTERS = 60
EXTRACTED = ("_row.extracted_answer", "_row.extracted")
BRIEF = ("_agent", names.REWARD, TOKENS, "_truncated", "_verdict")


class View(NamedTuple):
    """How one rollout is shown: its line as it stands, one field of it, or in words, whole or shortened."""

    raw: bool = False
    field: str | None = None
    full: bool = False


class Pick(NamedTuple):
    """Which two rollouts are shown together, if any.

    Attributes:
        contrast: A task, of which the best passing and the worst failing one are.
        against: Another run, of which the same task or rollout is.
        against_inputs: Its inputs files, where they are not found by name.
        rule: When a rollout passes.
    """

    contrast: int | None
    against: str | None
    against_inputs: tuple[str, ...]
    rule: RuleAsked


@rows.numbers_of_any_length()
def answer(
    asked: RunAsked,
    table: TableAsked,
    console: Console,
    *,
    view: View,
    listed: Listed,
    pick: Pick,
) -> None:
    """Shows what was asked for: a list of rollouts, one of them, two of a task, or one of each of two runs.

    Raises:
        RollprofError: The question cannot be understood, there is no such rollout, or the run cannot be read.
    """
    words, key = split_key(list(asked.run or ()))
    key = _key(key, pick)
    one = key is not None and key.rollout is not None and pick.against is None
    _check(table, view, listed, one=one, in_words=one or pick.contrast is not None or pick.against is not None)
    asked = replace(asked, run=words)
    try:
        if key is not None and pick.against is not None:
            base = replace(asked, run=[pick.against], inputs=list(pick.against_inputs), rollouts=None)
            show_against(asked, base, key, table, console, rule=pick.rule, full=view.full)
            return
        if key is not None and key.rollout is not None:
            _show_one(asked, key, view, table, console)
            return
        run = opened(asked, console)
        frame = collect(run.rollouts)
        try:
            found = frame if key is None else of_key(frame, key)
        except NoRolloutError:
            if key is None or not (left := unfinished(asked, key)):
                raise
            show_task(key.task, left, table, as_list=listed == Listed(None, None) and pick.contrast is None)
            return
        if pick.contrast is not None:
            _contrast(run, found, table, console, asked=pick.rule, full=view.full)
        else:
            _list(run, chosen(found, listed), table, console)
    except RecursionError:
        hint = "--raw prints its line as it stands."
        raise SourceError("a rollout is nested deeper than can be shown", hint=hint) from None


def _show_one(asked: RunAsked, key: Key, view: View, table: TableAsked, console: Console) -> None:
    """Shows one rollout; of one that did not finish the failed attempts."""
    in_words = form_of(table) == "table"
    try:
        run, found = _located(asked, key, console)
    except NoRolloutError:
        found_left = unfinished(asked, key)
        if not found_left or view.field is not None:
            raise
        (left,) = found_left
        lines = b"".join(line + b"\n" for line in attempt_lines(left)) if view.raw else None
        content = lines if lines is not None else as_text(left).encode() if in_words else as_object(left)
        print_content(content, table, [left.run.files])
        return
    print_content(_shown(run, found, view, as_object=not in_words), table, [run.files])


def _key(key: Key | None, pick: Pick) -> Key | None:
    """What is shown: the key, or the task that is picked from.

    Raises:
        UsageError: The options do not fit together.
    """
    thresholds(pick.rule)  # a mistake is told before the run is read
    if pick.rule != RuleAsked() and pick.contrast is None and pick.against is None:
        hint = "They go with --contrast and --against."
        raise UsageError("--score, --pass-threshold and --rules say which rollouts of a task are shown", hint=hint)
    if pick.contrast is not None and key is not None:
        raise UsageError("--contrast names its task itself", hint="Leave out the key.")
    if pick.against is not None and pick.contrast is not None:
        raise UsageError("--contrast is within one run", hint="Leave out --against, or --contrast.")
    if pick.against_inputs and pick.against is None:
        raise UsageError("--against-inputs goes with --against", hint="Name the other run.")
    if pick.against is not None and key is None:
        raise UsageError("--against is for a task or rollout", hint="Name it: CAND 12 --against BASE")
    return key if pick.contrast is None else Key(pick.contrast)


def _located(asked: RunAsked, key: Key, console: Console) -> tuple[Run, pl.DataFrame]:
    """One rollout, whatever else may be wrong with the run; inputs have no say in it."""
    with begun(replace(asked, rollouts_only=True), console) as run:
        found = of_key(collect(run.as_read), key)
    if len(found) > 1:
        places = ", ".join(f"{source}:{line}" for source, line in found.select("_source", "_line").head(3).iter_rows())
        console.warn(f"{len(found):,} rollouts share this key ({places}); the first is shown")
    return run, found.head(1)


def _check(table: TableAsked, view: View, listed: Listed, *, one: bool, in_words: bool) -> None:
    """Refuses options that say nothing of what was asked for."""
    if view.raw and (view.field is not None or view.full or table.as_json):
        raise UsageError("--raw is the line as it stands", hint="Leave out --field, --full and --json.")
    if (view.raw or view.field is not None) and not one:
        raise UsageError(f"{'--raw' if view.raw else '--field'} is for one rollout", hint="Name it: RUN 12:3")
    if view.full and not in_words:
        raise UsageError("--full is for one rollout", hint="Name it: RUN 12:3")
    if in_words and (listed.where is not None or listed.sort is not None or table.limit is not None):
        raise UsageError("--where, --sort and --limit are for lists", hint="Leave out the rollout, or leave out them.")
    if in_words and form_of(table) not in FORMS_OF_ROLLOUT:
        raise UsageError(f"a rollout is no table: {form_of(table)} is for lists", hint="It can be text or --json.")


def _shown(run: Run, found: pl.DataFrame, view: View, *, as_object: bool) -> bytes:
    """One rollout, as it is to be shown."""
    (line,) = rollout_lines(run, found)
    if view.raw:
        return line + b"\n"
    if view.field is None:
        return rollout_object(line) + b"\n" if as_object else rollout_text(found, line, full=view.full).encode()
    value = value_at(plain_row(line), view.field)
    if isinstance(value, str) and not as_object:
        return f"{plain(value)}\n".encode()
    return f"{as_json(value, indent=None if as_object else 2)}\n".encode()


def _contrast(
    run: Run, task: pl.DataFrame, table: TableAsked, console: Console, *, asked: RuleAsked, full: bool
) -> None:
    """Shows the best passing and the worst failing rollout of a task, as far as there are."""
    path = rules_file(asked, run.files)
    rule = pass_rule(asked, path, console)
    best, worst = best_and_worst(judged(run, rule, task))
    pair = {"passing": Part("best passing", run, best), "failing": Part("worst failing", run, worst)}
    for kind in (kind for kind, part in pair.items() if not len(part.found)):
        console.say(f"task {task[names.TASK][0]} has no {kind} rollout (a rollout passes if {rule})")
    print_parts(pair, table, full=full, kept=[path] if path else [])


def _list(run: Run, frame: pl.DataFrame, table: TableAsked, console: Console) -> None:
    """Prints rollouts in brief, one a line."""
    limit = LISTED if table.limit is None else table.limit
    answers = _answers(run, frame.head(limit) if limit else frame, console)
    brief = frame.select(
        pl.concat_str(pl.col(names.KEY).cast(pl.String), separator=":").alias("key"),
        *(pl.col(name) if name in frame.columns else pl.lit(None, pl.Float64).alias(name) for name in BRIEF),
        answer=pl.Series(answers, dtype=pl.String).extend_constant(None, len(frame) - len(answers)),
    )
    print_table(brief, replace(table, limit=limit), console, run.files)


def _answers(run: Run, frame: pl.DataFrame, console: Console) -> list[str | None]:
    """The first words of each rollout's answer; those that are no column are looked up in their lines."""
    known = [pl.col(name).cast(pl.String) for name in EXTRACTED if name in frame.columns]
    answers = frame.select(pl.coalesce(*known).alias("answer"))["answer"].to_list() if known else [None] * len(frame)
    missing = [row for row, text in enumerate(answers) if not text]
    try:
        lines = rollout_lines(run, frame[missing])
    except SourceError as error:
        if all(source.is_dump for source in run.files.rollouts):
            raise
        console.say(f"without answers: {error}")
        lines = []
    for row, line in zip(missing, lines, strict=bool(lines)):
        with contextlib.suppress(RecursionError):  # a list need not say all
            answers[row] = answer_of(plain_row(line))
    return [None if text is None else cut(on_one_line(text), ANSWER_LETTERS) for text in answers]
