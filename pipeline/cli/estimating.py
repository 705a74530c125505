"""A run → its statistics as a table for programs, or as several for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from pipeline import names
from pipeline.analysis.statistics import StatsOptions, statistics
from pipeline.cli.opening import of_unknown, opened
from pipeline.cli.option_models import model_of
from pipeline.cli.rule_of_run import rule_of_run
from pipeline.cli.rules import thresholds
from pipeline.cli.tables import form_of, print_sections, print_table
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from pipeline.profile.expressions import column
from pipeline.report.notices import uneven_repeats
from pipeline.report.statistics import sections, shown_name

if TYPE_CHECKING:
    from pipeline.cli.asked import FieldsAsked, RuleAsked, RunAsked, TableAsked
    from pipeline.cli.console import Console
    from pipeline.run import Run


OF_GROUPS = ("mean score", "pass rate", "pass@k")
"""What people are shown of groups, of which there may be many."""
IS_COUNT = pl.col("part") == "completeness"


def stats_options(
    *,
    by: Sequence[str] | None,
    answer_field: str | None,
    group_size: str,
    draws: int,
    seed: int,
    confidence: float,
) -> StatsOptions:
    """What was asked for, as one model.

    Raises:
        UsageError: A size of groups or the confidence is out of range.
    """
    try:
        sizes = tuple(int(text) for text in group_size.split(","))
    except ValueError as error:
        raise UsageError(f"--group-size {group_size!r}: not whole numbers", hint="Write it like 4,8,16.") from error
    return model_of(
        StatsOptions,
        "stats",
        by=tuple(by or ()),
        answer_field=answer_field,
        group_sizes=sizes,
        draws=draws,
        seed=seed,
        confidence=confidence,
    )


def estimate(
    options: StatsOptions,
    figures: tuple[str, ...],
    rule_asked: RuleAsked,
    asked: RunAsked,
    fields: FieldsAsked,
    table: TableAsked,
    console: Console,
) -> None:
    """Prints the statistics of a run, all or the figures that were asked for.

    Raises:
        RollprofError: The run cannot be read, or has no such column or figure.
    """
    form = form_of(table)
    thresholds(rule_asked)  # a mistake is told before the run is read
    run = opened(asked, console, fields)
    rule, kept = rule_of_run(run, rule_asked, console)
    found = collect(statistics(run, rule, options))
    if (note := of_unknown("the run", run)) is not None:
        console.warn(note)
    if (uneven := uneven_repeats(_scored(run, rule.score))) is not None:
        console.warn(str(uneven))
    if not found.filter(part="completeness", figure="scored")["value"].sum():
        console.warn(f"no measured rollout has a number in {rule.score}: there are no figures")
    for_people = form in {"table", "md"}
    if figures:
        found = _only(found, figures)
    elif for_people and "group" in found["scope"]:
        found = found.filter((pl.col("scope") != "group") | pl.col("figure").is_in(OF_GROUPS) | IS_COUNT)
        console.say(f"groups have {', '.join(OF_GROUPS)} here (--figure NAME for others)")
    if for_people:
        print_sections(sections(found, rule=str(rule), confidence=options.confidence), table, console, run.files, kept)
    else:
        print_table(found, table, console, run.files, kept)


def _scored(run: Run, score: str) -> pl.DataFrame:
    """The rollouts that have a part in the figures, with what tells agents and repeats apart."""
    frame = run.aligned.frame
    has_score = column(score).is_not_null() if score in frame.collect_schema() else pl.lit(value=False)
    return collect(frame.filter("_measured", has_score).select(names.ROLLOUT, "_agent_order", "_agent"))


def _only(found: pl.DataFrame, figures: Sequence[str]) -> pl.DataFrame:
    """The rows of these figures: pass@2 is one, pass@k that of every k.

    Raises:
        UsageError: There is none of that name.
    """
    known = found.filter(~IS_COUNT & (pl.col("part") != "missing"))
    rows = pl.Series([shown_name(figure, k) for figure, k in known.select("figure", "k").iter_rows()], dtype=pl.String)
    there = rows.unique(maintain_order=True).to_list()
    for name in figures:
        if name not in there and name not in known["figure"]:
            hint = f"There are {', '.join(there)}; pass@k is all of that kind."
            raise UsageError(f"--figure {name!r}: there is no such figure", hint=hint)
    return known.filter(pl.col("figure").is_in(figures) | rows.is_in(figures))
