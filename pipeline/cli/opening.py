"""What was asked → an opened run, read and checked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pipeline import names
from pipeline.cli.reading import reading
from pipeline.errors import UsageError
from pipeline.sources.runs import find_run
from pipeline.sources.workers import usable_cores

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from pipeline.cli.asked import FieldsAsked, RunAsked
    from pipeline.cli.console import Console
    from pipeline.options import ProfileOptions
    from pipeline.report.remedies import There
    from pipeline.run import Run
    from pipeline.sources.files import Source
    from pipeline.sources.runs import RunFiles

MOST_THREADS = 1024
THREADS_AN_ARENA = 4
OF_FIGURES = frozenset({"uneven_repeats", "nothing_measured", "nothing_scored"})
"""Warnings that are about a profile's figures, not about what was read."""


def limit_threads(workers: int) -> None:
    """Polars' threads follow --jobs, up to the cores there are; they are fixed when it is first imported.

    A few threads share an arena of its allocator: what is freed in one arena is of no use to the others, which takes
    a sixth more memory and saves no time.
    """
    given = os.environ.get("POLARS_MAX_THREADS", "")
    wanted = int(given) if re.fullmatch("[0-9]{1,4}", given) else 0
    if not 0 < wanted <= MOST_THREADS:  # Polars would panic, take all cores, or be busy with their start for hours
        wanted = min(workers, usable_cores())
        os.environ["POLARS_MAX_THREADS"] = str(wanted)
    os.environ.setdefault("_RJEM_MALLOC_CONF", f"narenas:{max(1, wanted // THREADS_AN_ARENA)}")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def paths_of(files: RunFiles) -> list[Path]:
    """Every file of a run."""
    return [source.path for source in _sources(files)]


def check_kept(path: Path, files: RunFiles, more: Sequence[Path] = ()) -> None:
    """Refuses an output that would take the place of what it is made from.

    Raises:
        UsageError: The output is a file of the run.
    """
    inode = None
    with suppress(FileNotFoundError, NotADirectoryError):  # no file of the run, but one of the others may be to come
        inode = path.stat().st_ino
    alike = (source.path for source in _sources(files) if source.inode == inode)
    kept = {os.path.realpath(one) for one in (*alike, *more)}
    if os.path.realpath(path) in kept:
        where = names.shown(path)
        raise UsageError("would overwrite what it is made from", where=where, hint="Choose another name with -o.")


def _sources(files: RunFiles) -> tuple[Source, ...]:
    return (*files.rollouts, *files.inputs, *files.failures, *files.verdicts)


def placed(path: Path, *, replaced: bool) -> str:
    """Where an output is, in words that say whether it took the place of a file."""
    return f"{names.shown(path)}{' (a file of this name was replaced)' if replaced else ''}"


def of_unknown(name: str, run: Run) -> str | None:
    """What to say of a run that does not hold all facts; None for one that does."""
    if not run.unknown:
        return None
    kinds = {
        "a profile": not run.knows_rollouts,
        "an export without its inputs": any(source.is_export for source in run.files.rollouts),
        "read without its inputs": True,
    }
    kind = next(kind for kind, holds in kinds.items() if holds)
    told = {
        "planned": "which rollouts were planned and are missing",
        "masked": "masked",
        "truncated": "truncated",
        "verdicts": "judged",
    }
    facts = [told[one] for one in run.unknown]
    whole = " or ".join([", ".join(facts[:-1]), facts[-1]] if len(facts) > 1 else facts)
    return f"{name} is {kind}: nobody knows {whole}, and figures that rest on it are left out"


@contextmanager
def begun(
    asked: RunAsked,
    console: Console,
    fields: FieldsAsked | None = None,
    *,
    needed: Sequence[str] = (),
    ahead: int | None = None,
) -> Iterator[Run]:
    """A run with its context that is begun to be read; its inputs file may be missing.

    Args:
        asked: Which run, and how it is read.
        console: Where to say what was taken for what.
        fields: The fields that the user asked for.
        needed: More of them that the command needs, each `NAME=PATH`.
        ahead: How many chunks a worker may be read before they are taken; None for all.

    Raises:
        RollprofError: A file is missing, or the options do not fit together.
    """
    limit_threads(asked.workers)
    files = find_run(
        asked.run or (),
        rollouts=asked.rollouts or (),
        inputs=asked.inputs or (),
        inputs_wanted=not (asked.rollouts_only or asked.assign_indices),
        inputs_needed=False,
        profiles=True,
    )
    from pipeline.options import DETAILS, ProfileOptions

    about = asked.options()
    about["nested"] = (*DETAILS, *about["nested"])
    about["rollouts_only"] = asked.rollouts_only or asked.assign_indices
    more = (*((fields.field if fields else None) or ()), *needed)
    options = ProfileOptions(**about, partial=True, context=True, fields=more)
    for note in files.notes:
        console.say(note)
    with reading(files, options, quiet=console.quiet, ahead=ahead) as readings:
        from pipeline.run import Run

        yield Run(files, options, begun=readings)


def opened(asked: RunAsked, console: Console, fields: FieldsAsked | None = None, *, needed: Sequence[str] = ()) -> Run:
    """Reads a run with its context; planned rollouts may be missing, and so may the inputs file.

    Args:
        asked: Which run, and how it is read.
        console: Where to warn.
        fields: The fields that the user asked for.
        needed: More of them that the command needs, each `NAME=PATH`; it looks itself whether they are there.

    Raises:
        RollprofError: A file cannot be read, or its lines or keys break the contract.
    """
    with begun(asked, console, fields, needed=needed) as run:
        frame, problems, failures = run.load()
    check(run, frame, problems, failures, asked, console, needed=needed)
    return run


def check(
    run: Run,
    frame: pl.DataFrame,
    problems: pl.DataFrame,
    failures: pl.DataFrame,
    asked: RunAsked,
    console: Console,
    *,
    needed: Sequence[str] = (),
    there: There | None = None,
) -> None:
    """Refuses a run whose lines or keys break the contract, and tells of what a user may not expect.

    Args:
        run: The run.
        frame: The aligned frame; rows that no notice is about may be missing.
        problems: As `align` gives them.
        failures: As `scan_failures` gives them.
        asked: How it was to be read.
        console: Where notices go.
        needed: Fields that the command itself needs; it looks whether they are there.
        there: How much could be used; None for what the frame says.

    Raises:
        FaultsError: Its lines or keys break the contract.
    """
    from pipeline.frames.lazy import collect
    from pipeline.report.faults import refusal
    from pipeline.report.notices import notices, verdict_notices
    from pipeline.report.remedies import There

    if error := refusal(problems, run.options, there or There.of(frame)):
        raise error
    if run.files.verdicts:
        for notice in verdict_notices(collect(run.verdict_lines)):
            console.warn(str(notice))
    own = {names.internal(text.partition("=")[0]) for text in needed}
    for column in _nowhere(frame, run.options):
        if column not in own:
            console.warn(f"--field {column.removeprefix(names.INTERNAL)}: no row has anything there")
    asked_for = run.options.model_copy(update={"nested": tuple(asked.nested or ())})
    for notice in notices(frame, problems, failures, asked_for):
        if notice.code not in OF_FIGURES:
            console.warn(str(notice))


def _nowhere(frame: pl.DataFrame, options: ProfileOptions) -> Iterator[str]:
    """The fields asked for that are in no row."""
    for column, _ in (*options.asked("_input."), *options.asked("_row.")):
        if len(frame) and (column not in frame.columns or not frame[column].count()):
            yield column
