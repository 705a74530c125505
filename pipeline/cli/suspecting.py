"""A run → a table of tasks to distrust, each with the command that shows why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline import names
from pipeline.analysis.majority import answers
from pipeline.analysis.suspects.all_reasons import ANSWER_FIELD, Bounds, suspects
from pipeline.analysis.suspects.listing import REASONS, Reason
from pipeline.cli.called import command_line
from pipeline.cli.opening import opened
from pipeline.cli.option_models import model_of
from pipeline.cli.rule_of_run import rule_of_run
from pipeline.cli.rules import thresholds
from pipeline.cli.tables import print_table
from pipeline.columns import need
from pipeline.frames.lazy import collect
from pipeline.words import counted

if TYPE_CHECKING:
    from pipeline.cli.asked import FieldsAsked, RuleAsked, RunAsked, TableAsked
    from pipeline.cli.console import Console
    from pipeline.cli.suspects import SuspectsAsked
    from pipeline.run import Run

NEED_ANSWERS: frozenset[Reason] = frozenset(("wrong_key", "flaky_verifier"))


def list_suspects(
    wanted: SuspectsAsked, asked: RunAsked, fields: FieldsAsked, rule: RuleAsked, table: TableAsked, console: Console
) -> None:
    """Prints the tasks to distrust, the most suspect of each reason first.

    Raises:
        RollprofError: The options do not fit together, the run cannot be read, or the table cannot be written.
    """
    bounds = _bounds(wanted)
    thresholds(rule)  # a mistake is told before the run is read
    reasons: tuple[Reason, ...] = tuple(one.value for one in wanted.reason or ()) or REASONS
    run = opened(asked, console, fields)
    passing, rules = rule_of_run(run, rule, console)
    field = _answer_field(run, wanted.answer_field, reasons, console)
    found = collect(suspects(run, passing, bounds=bounds, answer_field=field, reasons=reasons))
    command = pl.concat_str(pl.lit(f"{command_line('show', *_words(asked))} "), names.TASK)
    print_table(found.with_columns(command=command), table, console, run.files, rules)
    counts = found["reason"].value_counts().sort("reason").iter_rows()
    told = ", ".join(f"{reason} {count:,}" for reason, count in counts) or "none"
    console.say(f"{counted(len(found), 'suspect')}: {told} (a rollout passes if {passing})")


def _bounds(wanted: SuspectsAsked) -> Bounds:
    return model_of(
        Bounds,
        "suspects",
        min_rollouts=wanted.min_rollouts,
        min_share=wanted.min_share,
        max_chance=wanted.max_chance,
        tolerance=wanted.tolerance,
    )


def _answer_field(run: Run, asked: str | None, reasons: tuple[Reason, ...], console: Console) -> str:
    """The field that holds the answers; where the usual one is not there, it is said what is not looked for.

    Raises:
        UsageError: The field that was asked for is not there.
    """
    field = asked or ANSWER_FIELD
    if not NEED_ANSWERS.isdisjoint(reasons) and answers(run.rollouts, field) is None:
        if asked is not None:
            need(run.rollouts, asked)
        missed = " and ".join(reason for reason in reasons if reason in NEED_ANSWERS)
        console.warn(f"no rollout has {field}, so {missed} are not looked for (--answer-field names another field)")
    return field


def _words(asked: RunAsked) -> list[str]:
    """The run as the user named it."""
    options = (("-r", asked.rollouts), ("-i", asked.inputs))
    return [*(asked.run or ()), *(one for option, words in options for word in words or () for one in (option, word))]
