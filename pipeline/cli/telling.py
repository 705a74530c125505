"""What is told of a profile: the summary, the warnings, and the refusals."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any, NamedTuple

import polars as pl

from pipeline import names
from pipeline.cli.called import command_line
from pipeline.cli.console import Console
from pipeline.completion import UNKNOWN, Completion, accounting
from pipeline.errors import GateError
from pipeline.frames.lazy import collect
from pipeline.options import ProfileOptions
from pipeline.output.jsonl import agent_entries
from pipeline.output.profile_files import Written
from pipeline.report.faults import refusal
from pipeline.report.notices import notices, null_notice
from pipeline.report.remedies import There
from pipeline.report.summary import agents_text, completion_text, other_metrics_text
from pipeline.sources.runs import RunFiles


class Summary(NamedTuple):
    """How much of a run is there.

    Attributes:
        completion: Counts, as `Completion` gives them, and of extra rollouts.
        fates: What became of the rest, as `accounting` gives it; empty without a sidecar.
    """

    completion: dict[str, Any]
    fates: pl.DataFrame


def summed_up(frame: pl.DataFrame, problems: pl.DataFrame, failures: pl.DataFrame, *, sidecar: bool) -> Summary:
    """Sums up a run."""
    fates = collect(accounting(frame.lazy(), failures.lazy()))
    extra = int((problems["_kind"] == "extra_rollouts").sum())
    completion = Completion(frame.lazy()).counts | {"extra_rollout_rows": extra}
    return Summary(completion, fates if sidecar else fates.clear())


def refuse_faults(problems: pl.DataFrame, summary: Summary, options: ProfileOptions, files: RunFiles) -> None:
    """Raises the refusal that the problems call for, with the completeness where rollouts are missing.

    Args:
        problems: As `align` gives them.
        summary: How much is there.
        options: Which problems are allowed.
        files: The files of the run, which say how it goes on.

    Raises:
        FaultsError: Lines or keys break the contract.
    """
    counts = summary.completion
    there = There(planned=counts["expected_rollout_rows"], finished=counts["completed_rollout_rows"])
    error = refusal(problems, options, there)
    if error is None:
        return
    if "missing_rollouts" in error.counts:
        error.message += "\n\n" + completion_text(summary.completion, summary.fates, options)
        if len(error.counts) == 1:
            again = command_line(*sys.argv[1:], "--partial")
            error.hint += f"\nWith what is there: {again}"
        from pipeline.output.resuming import commands_for_the_rest

        for command in commands_for_the_rest(files):
            error.hint += f"\nThe rest:           {command}"
        error.facts = {"completion": summary.completion, "accounting": _accounting(summary)}
    raise error


def tell(
    console: Console,
    frame: pl.DataFrame,
    problems: pl.DataFrame,
    failures: pl.DataFrame,
    summary: Summary,
    written: Written,
    options: ProfileOptions,
) -> None:
    """Tells people or programs what was written, and what to know of it.

    Raises:
        GateError: Fewer rollouts finished than were asked for.
    """
    told = [*notices(frame, problems, failures, options), null_notice(written.nulls)]
    warnings = [notice for notice in told if notice is not None]
    console.result(completion_text(summary.completion, summary.fates, options))
    if text := agents_text(written.agents, frame):
        console.result(f"\n{text}")
    if others := other_metrics_text(written.agents):
        question = command_line("query", "metric_table", written.paths[0], "--by", "agent")
        console.result(f"\nOther metrics: {others} ({question})")
    console.result("\nWritten\n" + "\n".join(f"  {names.shown(path)}" for path in written.paths))
    if "mean/reward" in written.agents.columns:
        question = command_line("query", "hardest", written.paths[0])
        console.result(f"\nNext: the hardest tasks\n  {question}")
    for notice in warnings:
        console.warn(str(notice))
    facts = {
        "completion": summary.completion,
        "masked": options.masked,
        "accounting": _accounting(summary),
        "agents": agent_entries(written.agents, written.repeats),
        "outputs": [names.shown(path) for path in written.paths],
        "warnings": [asdict(notice) for notice in warnings],
    }
    if (missed := _missed_gate(summary.completion, options)) is not None:
        missed.facts = facts
        raise missed
    console.object(facts)


def _accounting(summary: Summary) -> dict[str, Any]:
    """Expected = finished + failed + unknown, and the failures by class."""
    completion = summary.completion
    classes = {str(kind): int(number) for kind, number in summary.fates.iter_rows() if kind != UNKNOWN}
    failed = sum(classes.values())
    return {
        "expected": completion["expected_rollout_rows"],
        "finished": completion["completed_rollout_rows"],
        "failed": failed,
        "unknown": completion["missing_rollout_rows"] - failed,
        "failure_classes": classes,
    }


def _missed_gate(completion: dict[str, Any], options: ProfileOptions) -> GateError | None:
    done, planned = completion["completed_rollout_rows"], completion["expected_rollout_rows"]
    share = done / planned if planned else 1.0
    if options.min_completion is None or share >= options.min_completion:
        return None
    return GateError(
        f"{share:.4f} of the planned rollouts finished, fewer than --min-completion {options.min_completion}",
        hint="The profile was written all the same.",
    )
