"""A comparison → words and tables for people."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from pipeline import names
from pipeline.analysis.pairing import CONTENT, SIDES
from pipeline.cli.comparison_notes import Named, first_of
from pipeline.cli.tables import SHOWN_TO_PEOPLE
from pipeline.output.tables import cell, write_table
from pipeline.rounding import NOISE
from pipeline.words import counted

if TYPE_CHECKING:
    from pipeline.analysis.comparison import CompareOptions, Comparison
    from pipeline.output.tables import Format

SHARES = ("missing", "failed", "masked", "unscored", "truncated", "unhealthy")
Facts = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Shown:
    """How tables are shown."""

    form: Format
    flips: bool
    limit: int | None


def text_of(named: Named, found: Comparison, options: CompareOptions, shown: Shown) -> str:
    """A comparison for people."""
    facts = [
        *_verdict(found, options),
        *_tasks(named, found, options),
        *_sureness(found),
        *_passing(found, options),
        *_infrastructure(found),
    ]
    width = max(len(name) for name, _ in facts)
    is_text = shown.form == "table"
    lines = [f"{name.ljust(width)}  {text}" if is_text else f"- **{name}**: {text}" for name, text in facts]
    title = f"{names.shown(named.base)} → {names.shown(named.candidate)}"
    parts = [title if is_text else f"## {title}", "\n".join(lines)]
    parts.append(_table("Changes", found.changes.filter(~_says_nothing()), shown))
    if len(found.infrastructure) > 1:
        parts.append(_table("What the change is of", found.infrastructure, shown))
    if shown.flips:
        parts.append(_table("Flips", found.flips, shown) or "Flips: none")
    parts.append(_table("In one run only", found.alone, shown))
    return "\n\n".join(part for part in parts if part)


def _says_nothing() -> pl.Expr:
    """A share of nothing in both runs."""
    return (pl.col("kind") == "share") & (pl.col("base") == 0) & (pl.col("candidate") == 0)


def _verdict(found: Comparison, options: CompareOptions) -> Facts:
    change, score = found.change, options.rule.score
    if change.change is None:
        why = (
            f"the change of {score} is beyond a double" if found.facts.beyond else f"no task has a {score} in both runs"
        )
        return [("Verdict", f"{found.verdict}: {why}")]
    way = "rose" if change.change > 0 else "fell"
    moved = "did not move" if change.change == 0 else f"{way} by {cell(abs(change.change))}"
    row = found.changes.row(0, named=True)
    means = f"{cell(row['base'])} → {cell(row['candidate'])}"
    return [("Verdict", f"{found.verdict}: {score} {moved} on average over {counted(change.tasks, 'task')} ({means})")]


def _tasks(named: Named, found: Comparison, options: CompareOptions) -> Facts:
    facts = found.facts
    what = " pairs of task and agent" if facts.by_agent else ""
    about = [f"{facts.shared:,}{what} in both runs"]
    with_scores = facts.scored + facts.beyond
    if facts.by_agent:
        about.append(f"{counted(facts.scored, 'task')} with a score in both")
    elif with_scores < facts.shared:
        about.append(f"{with_scores:,} of them with a score in both")
    for side, word in zip(SIDES, named, strict=True):
        one = found.alone.filter(pl.col("run") == side)
        if len(one):
            first = first_of(one["task"].unique(maintain_order=True))
            about.append(f"{len(one):,} only in {names.shown(word)}{first}, which take no part")
    told = [("Tasks", "; ".join(about))]
    if matched := facts.matched:
        alone = f"; {matched.alone[0]:,} and {matched.alone[1]:,} in one run only" if any(matched.alone) else ""
        scored = f", {matched.scored:,} of them with a score in both" if matched.scored < len(matched.rollouts) else ""
        told.append(("Rollouts", f"{len(matched.rollouts):,} in both runs{scored}{alone}, paired by both indices"))
    else:
        by = {"row": "the content of their input rows", "prompt": "what was asked"}.get(facts.of or "row")
        told.append(("Paired by", str(by) if options.key == CONTENT else options.key))
    return told


def _sureness(found: Comparison) -> Facts:
    change, test = found.change, found.test
    if change.change is None or test is None:
        return []
    if change.se is None:
        interval = "none: it takes two tasks"
    elif change.low is None or change.high is None:
        interval = "none: all tasks changed alike"
    else:
        freedom = f"clustered by task, se {cell(change.se)}, t({change.tasks - 1}) = {change.change / change.se:.4g}"
        interval = f"{cell(change.low)} to {cell(change.high)} ({freedom})"
    signs = "all signs" if test.exact else f"{test.draws:,} random signs"
    row = found.changes.row(0, named=True)
    told = [
        ("95 % interval", interval),
        ("Sign flips", f"p = {test.p:.4g} ({signs})"),
        ("Improved", f"{counted(row['up'], 'task')}; worse {row['down']:,}, same {row['same']:,}"),
    ]
    if found.verdict == "no difference found" and found.smallest_effect is not None:
        effect = f"a change of {cell(found.smallest_effect)} would have been found with a probability of 0.8"
        told.append(("Could show", effect))
    return told


def _passing(found: Comparison, options: CompareOptions) -> Facts:
    what = "rollouts" if found.facts.matched is not None else "tasks (most of their rollouts)"
    counts = ", ".join(f"{name} {count:,}" for name, count in found.states.items())
    return [("Passes", f"{options.rule}; {what}: {counts}")]


def _infrastructure(found: Comparison) -> Facts:
    """How much of a change is what was lost or cut, in words."""
    if not len(found.infrastructure) or found.change.change is None:
        return []
    row = found.infrastructure.row(0, named=True)
    lost = "with missing, masked and unscored rollouts as 0, of which {} is lost rollouts"
    cut = "without truncated and unhealthy rollouts, so these are {} of the change"
    told = [
        ("Lost", _part(row["by_lost"], row["lost_as_zero_change"], lost, nothing="lost rollouts", unknown="lost")),
        (
            "Truncated",
            _part(
                row["by_troubled"],
                row["untroubled_change"],
                cut,
                nothing="truncated or unhealthy rollouts",
                unknown="truncated",
            ),
        ),
    ]
    known = {name: row[f"{name}_change"] for name in SHARES if row[f"{name}_change"] is not None}
    moved = [f"{name} {_signed(change)}" for name, change in known.items() if abs(change) > NOISE]
    if known:
        told.append(("Shares", ", ".join(moved) or f"none of {', '.join(known)} changed"))
    return told


def _part(part: float | None, change: float | None, text: str, *, nothing: str, unknown: str) -> str:
    """What part of a change is due to some rollouts, beside the change that there would be otherwise."""
    if part is None or change is None:
        return f"nobody knows what was {unknown}"
    if abs(part) <= NOISE:
        return f"no part of the change is {nothing}"
    return f"{_signed(change)} {text.format(_signed(part))}"


def _table(title: str, frame: pl.DataFrame, shown: Shown) -> str:
    """A table below its title; columns that say nothing are left out, and rows beyond the limit are counted."""
    if not len(frame):
        return ""
    empty = {name for name in frame.columns if frame[name].null_count() == len(frame)}
    if "scope" in frame.columns and frame["scope"].n_unique() == 1:
        empty.add("scope")
    said = frame.select(frame[name] for name in frame.columns if name not in empty)
    limit = SHOWN_TO_PEOPLE if shown.limit is None else shown.limit
    part = said.head(limit) if limit else said
    content = io.BytesIO()
    write_table(part, content, shown.form)
    more = f" ({len(part):,} of {len(frame):,}, --limit 0 for all)" if len(part) < len(frame) else ""
    head = f"### {title}{more}\n" if shown.form == "md" else f"{title}{more}"
    return f"{head}\n{content.getvalue().decode().rstrip()}"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{cell(value)}"
