"""The options that commands share: which run and how to read it, and how to print a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from pipeline.cli.choices import Format, Masked, OnBadLine, OnDuplicate, OnExtra
from pipeline.sources.workers import usable_cores

_SEED = typer.Option("--seed", min=0, help="What every draw starts from; else 0.")
Seed = Annotated[int, _SEED]
SeedIfGiven = Annotated[int | None, _SEED]
MaxAttempts = Annotated[
    int, typer.Option("--max-attempts", min=1, help="Attempts before a rollout is given up, earlier ones included.")
]


@dataclass(frozen=True)
class RunAsked:
    """Which run, and how it is read."""

    run: Annotated[
        list[str] | None,
        typer.Argument(help="Rollouts files, a run folder, quoted globs or -; inputs beside them are found by name."),
    ] = None
    rollouts: Annotated[
        list[str] | None, typer.Option("--rollouts", "-r", help="Rollouts file or quoted glob; repeatable.")
    ] = None
    inputs: Annotated[
        list[str] | None, typer.Option("--inputs", "-i", help="Materialized inputs file or quoted glob; repeatable.")
    ] = None
    masked: Annotated[Masked, typer.Option(help="Rollouts with a truthy mask_sample.")] = Masked.exclude
    on_duplicate: Annotated[OnDuplicate, typer.Option(help="Rollouts that share a key.")] = OnDuplicate.error
    on_extra: Annotated[OnExtra, typer.Option(help="Rollouts without an input row.")] = OnExtra.error
    on_bad_line: Annotated[OnBadLine, typer.Option(help="Lines that cannot be used.")] = OnBadLine.error
    nested: Annotated[
        list[str] | None,
        typer.Option(help="Object field whose numbers are metrics too, dotted; usage is response.usage; repeatable."),
    ] = None
    rollouts_only: Annotated[bool, typer.Option("--rollouts-only", help="Do without an inputs file.")] = False
    assign_indices: Annotated[
        bool,
        typer.Option("--assign-indices", help="With --rollouts-only: number rows that have no indices."),
    ] = False
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither use nor fill the cache of numbers.")] = False
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Processes; else the cores this process may use.")
    ] = None
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No narration and no summary.")] = False

    @property
    def workers(self) -> int:
        """How many processes may read."""
        return self.jobs or usable_cores()

    def options(self) -> dict[str, Any]:
        """The fields of `ProfileOptions` that were asked for."""
        return {
            "nested": tuple(self.nested or ()),
            "masked": self.masked.value,
            "on_duplicate": self.on_duplicate.value,
            "on_extra": self.on_extra.value,
            "on_bad_line": self.on_bad_line.value,
            "rollouts_only": self.rollouts_only,
            "assign_indices": self.assign_indices,
            "cache": not self.no_cache,
            "jobs": self.workers,
        }


@dataclass(frozen=True)
class FieldsAsked:
    """Which fields of the rows are columns too."""

    field: Annotated[
        list[str] | None,
        typer.Option(help="NAME=PATH: a field of input. or row. as a column, dotted; repeatable."),
    ] = None


@dataclass(frozen=True)
class TableAsked:
    """How a table is printed."""

    format: Annotated[Format, typer.Option("--format", "-f", help="How the table is written.")] = Format.table
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="File for the table, its suffix says the format; - is standard output."),
    ] = "-"
    limit: Annotated[
        int | None, typer.Option(min=0, help="Rows at most, 0 for all; else all, but 100 in a table for people.")
    ] = None


@dataclass(frozen=True)
class RuleAsked:
    """When a rollout passes."""

    pass_threshold: Annotated[
        list[str] | None,
        typer.Option(help="X: a score >= X passes (1.0), or AGENT=X for one agent's; repeatable."),
    ] = None
    score: Annotated[str | None, typer.Option(help="The metric that is the score (reward).")] = None
    rules: Annotated[
        str | None,
        typer.Option(help="YAML file with score, pass_threshold, agents; else rollprof.yaml in the folder of the run."),
    ] = None
