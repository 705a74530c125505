"""A run → a plan of repeats → the inputs that plan them, and the commands that collect them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline import names
from pipeline.analysis.bands import pass_rate_span
from pipeline.analysis.budget import RULE, within_budget
from pipeline.analysis.new_repeats import new_repeats
from pipeline.analysis.repeats_needed import Target
from pipeline.analysis.scoring import PassRule, voting
from pipeline.analysis.topping_up import given_up, topup_plan
from pipeline.cli.called import command_line
from pipeline.cli.opening import opened
from pipeline.cli.option_models import model_of
from pipeline.cli.rule_of_run import rule_of_run
from pipeline.cli.rules import thresholds
from pipeline.cli.selecting import selected
from pipeline.cli.tables import form_of, print_table
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from pipeline.output.resuming import Pair, locked, resumable
from pipeline.output.rewriting import backup_of
from pipeline.output.top_up_files import check_top_up, write_top_up
from pipeline.words import counted

if TYPE_CHECKING:
    from pipeline.cli.asked import FieldsAsked, RuleAsked, RunAsked, TableAsked
    from pipeline.cli.console import Console
    from pipeline.cli.topup import TopUpAsked
    from pipeline.run import Run

FOR_PEOPLE = ("table", "md")
EXACT = (*names.KEY, *names.PLACE)


class TopUp(NamedTuple):
    """What is done.

    Attributes:
        plan: Every task and agent, as `within_budget` gives it.
        repeats: The repeats to plan, as `new_repeats` gives them.
        redone: The rollouts to set aside, with their places.
        votes: How many of these have a score that counts.
        lost: How many of these no collection will try again.
    """

    plan: pl.DataFrame
    repeats: pl.DataFrame
    redone: pl.DataFrame
    votes: int
    lost: int


def top_up(
    wanted: TopUpAsked, asked: RunAsked, fields: FieldsAsked, rule: RuleAsked, table: TableAsked, console: Console
) -> None:
    """Plans the repeats that a run needs and, unless it is a dry run, writes its inputs anew.

    Raises:
        RollprofError: The options do not fit together, the run cannot be read or resumed, or a file cannot be written.
    """
    target = _target(wanted)
    thresholds(rule)  # a mistake is told before the run is read
    run = opened(asked, console, fields)
    passing, rules = rule_of_run(run, rule, console)
    pairs = {} if wanted.dry_run else resumable(run)
    done = _planned(run, wanted, target, passing)
    check_top_up(done.repeats, done.redone, pairs)
    _warn(done, run, console)
    if table.output != "-":
        kept = [path for pair in pairs.values() for path in (pair.side, backup_of(pair.inputs.path))]
        print_table(_shown(done.plan), table, console, run.files, rules + kept)
    written = [] if wanted.dry_run else _write(done, pairs)
    commands = _commands(done, pairs)
    if table.as_json:
        about = {"target": str(target), "pass_rule": str(passing), "dry_run": wanted.dry_run, **_sums(done, wanted)}
        rows = _shown(done.plan).head(table.limit or len(done.plan)).to_dicts()
        console.object({**about, "plan": rows, "written": written, "commands": commands})
        return
    if table.output == "-":
        print_table(_shown(done.plan), table, console)
    told = _told(done, wanted, target, passing)
    told += [("Written", path) for path in written] + [("Resume", line) for line in commands]
    if commands:
        told.append(("Resume", "where no servers run, say --config ENV.yaml in place of --no-serve"))
    tell = console.result if table.output != "-" or form_of(table) in FOR_PEOPLE else console.say
    tell("\n".join(f"{name:<9} {text}" for name, text in _once(told)))


def _warn(done: TopUp, run: Run, console: Console) -> None:
    """Warns of what doing rollouts again may lead to."""
    if done.votes:
        console.warn(
            f"{done.votes:,} of the rollouts to redo {'is' if done.votes == 1 else 'are'} measured and scored; if they "
            "were chosen by how they went, what is left says too much or too little of the task"
        )
    if len(done.redone) and run.files.verdicts:
        still = run.files.verdicts[0].shown
        console.warn(f"{still} still judges the rollouts to redo; judge the run again when they are collected")
    if done.lost:
        lost = f"{done.lost:,} of the rollouts to redo {'has' if done.lost == 1 else 'have'} failed too often"
        console.warn(f"{lost}: no collection asks for {'it' if done.lost == 1 else 'them'} again")


def _target(wanted: TopUpAsked) -> Target:
    if wanted.pass_rate is None and wanted.half_width is None and wanted.redo is None:
        hint = "Give --pass-rate 0.2:0.8, --half-width 0.1, --redo _masked, or several of them."
        raise UsageError("nothing to top up for", hint=hint)
    band = None if wanted.pass_rate is None else pass_rate_span(wanted.pass_rate)
    return model_of(
        Target,
        "topup",
        band=band,
        half_width=wanted.half_width,
        confidence=wanted.confidence,
        max_repeats=wanted.max_repeats,
    )


def _planned(run: Run, wanted: TopUpAsked, target: Target, rule: PassRule) -> TopUp:
    """Works out everything that there is to do."""
    keys = _redo(run, wanted.redo)
    plan = collect(topup_plan(run, rule, target, redo=keys.lazy(), max_attempts=wanted.max_attempts))
    if wanted.budget_tokens is not None and plan.filter(pl.col("more") > 0)["tokens"].has_nulls():
        hint = "There is no total_tokens in response.usage; leave out --budget-tokens."
        raise UsageError("no rollout says how many tokens it used", hint=hint)
    chosen = collect(within_budget(plan.lazy(), wanted.budget_tokens))
    redone = collect(run.as_read.select(EXACT).join(keys.lazy(), on=names.KEY, how="semi", maintain_order="left"))
    votes, lost = (
        len(collect(keys.lazy().join(among, on=names.KEY, how="semi")))
        for among in (voting(run, rule), given_up(run, max_attempts=wanted.max_attempts))
    )
    return TopUp(chosen, collect(new_repeats(run, chosen.lazy())), redone, votes, lost)


def _redo(run: Run, where: str | None) -> pl.DataFrame:
    """The keys of the rollouts that are to be collected again."""
    if where is None:
        return pl.DataFrame(schema=dict.fromkeys(names.KEY, pl.Int64))
    return selected(collect(run.rollouts), where, option="--redo").select(names.KEY)


def _write(done: TopUp, pairs: Mapping[str, Pair]) -> list[str]:
    """Writes what there is to write; the files that were."""
    if not len(done.repeats) and not len(done.redone):
        return []
    with locked(pairs.values()):
        return [names.shown(path) for path in write_top_up(done.repeats, done.redone, pairs)]


def _shown(plan: pl.DataFrame) -> pl.DataFrame:
    """The tasks that need anything."""
    return plan.filter(pl.col("reason").is_not_null()).drop("pending_tokens")


def _sums(done: TopUp, wanted: TopUpAsked) -> dict[str, Any]:
    """What there is to do, in numbers."""
    plan, chosen = done.plan, done.plan.filter("chosen")
    known = not plan.filter(pl.col("more") + pl.col("pending") > 0)["tokens_each"].has_nulls()
    return {
        "tasks": len(plan),
        "settled": len(plan.filter(pl.col("needed") == 0)),
        "open_at_limit": len(plan.filter(~pl.col("settled"))),
        "topped_up": len(chosen),
        "over_budget": len(plan.filter(pl.col("more") > 0)) - len(chosen),
        "repeats": int(chosen["more"].sum()),
        "redo": int(plan["redo"].sum()),
        "pending": int(plan["pending"].sum()),
        "repeats_tokens": int(chosen["tokens"].sum()) if known else None,
        "pending_tokens": int(plan["pending_tokens"].sum()) if known else None,
        "budget_tokens": wanted.budget_tokens,
    }


def _told(done: TopUp, wanted: TopUpAsked, target: Target, rule: PassRule) -> list[tuple[str, str]]:
    """The sums in words."""
    sums = _sums(done, wanted)
    cost = {name: _tokens(sums[f"{name}_tokens"]) for name in ("repeats", "pending")}
    still = f", {sums['open_at_limit']:,} stay open at {wanted.max_repeats:,} more" if sums["open_at_limit"] else ""
    told = [
        ("Repeats", f"{sums['repeats']:,} more, of {counted(sums['topped_up'], 'task')}{cost['repeats']}"),
        ("To come", f"{sums['pending']:,} planned and unfinished, {sums['redo']:,} of them to redo{cost['pending']}"),
    ]
    if wanted.pass_rate is not None or wanted.half_width is not None:
        about = [
            ("Target", f"{target}; a rollout passes if {rule}"),
            ("Tasks", f"{sums['tasks']:,}: {sums['settled']:,} are known well enough{still}"),
        ]
        told = about + told
    if wanted.budget_tokens is not None:
        left = f"{sums['over_budget']:,} that need more get none ({RULE})"
        told.append(("Budget", f"{counted(wanted.budget_tokens, 'token')} for all that is to come; {left}"))
    if not len(done.repeats) and not len(done.redone):
        told.append(("Written", "nothing, for there is nothing to add"))
    elif wanted.dry_run:
        told.append(("Written", "nothing, for this is a dry run"))
    return told


def _tokens(count: int | None) -> str:
    return "" if count is None else f", about {counted(count, 'token')}"


def _commands(done: TopUp, pairs: Mapping[str, Pair]) -> list[str]:
    """What collects all that is still to come."""
    if not len(done.repeats) and not done.plan["pending"].sum():
        return []
    return [line for pair in pairs.values() for line in pair.commands(rollprof=command_line())]


def _once(told: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The lines, each name only where it is another than before."""
    before = ["", *(name for name, _ in told)]
    return [("" if name == previous else name, text) for previous, (name, text) in zip(before, told, strict=False)]
