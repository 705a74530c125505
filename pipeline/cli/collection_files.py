"""The files of a collection, and which of them may be there before it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pipeline import names
from pipeline.errors import SourceError, UsageError

if TYPE_CHECKING:
    from pipeline.cli.collecting_asked import AskAsked, PlanAsked
    from pipeline.cli.console import Console

RESUME_HINT = "Go on with it by --resume, choose another --output, or remove its files."


class Paths(NamedTuple):
    """The files of a collection."""

    rollouts: Path
    inputs: Path
    failures: Path

    @property
    def begun_with(self) -> Path:
        """The file that says what the collection was begun with."""
        return names.sibling(names.stem_of(self.rollouts), f"{names.BEGUN_WITH}.json")

    def there(self) -> list[Path]:
        """Those that exist."""
        return [path for path in self if os.path.lexists(path)]


def paths_of(ask: AskAsked) -> Paths:
    """The files of the collection that was asked for.

    Raises:
        UsageError: No name for the rollouts was given, or one that is none.
    """
    path = ask.output
    if path is None:
        raise UsageError("where do the rollouts go?", hint="Name a file: --output R.jsonl")
    if path.suffix != ".jsonl" or not names.without_suffix(path.name) or names.is_beside_a_run(path.name):
        raise UsageError(f"--output {names.shown(path)} is no name for rollouts", hint="Write it like runs/R.jsonl.")
    stem = names.stem_of(path)
    inputs, failures = (names.sibling(stem, f"{ending}.jsonl") for ending in (names.INPUTS, names.FAILURES))
    return Paths(path, inputs, failures)


def check_there(paths: Paths, plan: PlanAsked, ask: AskAsked, console: Console) -> None:
    """Refuses files that are there without --resume, and --resume where they do not belong together.

    Raises:
        SourceError: Something is there, or missing.
        UsageError: Options of a plan were given where there is one already.
    """
    there = paths.there()
    if not ask.resume and there:
        raise SourceError("there is such a file already", where=names.shown(there[0]), hint=RESUME_HINT)
    if ask.resume and not there:
        console.say("there is nothing to resume yet: the collection begins")
    if not paths.inputs.exists() and any(path.exists() and path.stat().st_size for path in there):
        raise SourceError(
            "has lines already, but what was planned is not there",
            where=names.shown(there[0]),
            hint=f"Bring back {names.shown(paths.inputs)}, or choose another --output.",
        )
    if paths.inputs.exists() and plan.input is None and plan.options:
        raise UsageError(
            f"options of the plan go with --input: {', '.join(plan.options)}",
            hint="Without it, --resume goes by the materialized inputs; leave these options out.",
        )
