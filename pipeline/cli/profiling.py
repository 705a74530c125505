"""A run → its profile files, step by step."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pipeline.cli.console import Console
from pipeline.cli.opening import check_kept
from pipeline.cli.reading import reading
from pipeline.errors import UsageError
from pipeline.sources.runs import RunFiles, find_run

if TYPE_CHECKING:
    import polars as pl

    from pipeline.options import ProfileOptions


class Named(NamedTuple):
    """What the user named: runs, rollouts and inputs files, and where the outputs go."""

    run: Sequence[str]
    rollouts: Sequence[str]
    inputs: Sequence[str]
    output: Path | None
    output_dir: Path | None


class Read(NamedTuple):
    """What was read: the aligned frame, the problems and the failed attempts."""

    frame: pl.DataFrame
    problems: pl.DataFrame
    failures: pl.DataFrame


def profile_run(named: Named, options: ProfileOptions, console: Console) -> None:
    """Looks for the files of a run, reads them, refuses what breaks the contract, writes the profile and tells.

    Raises:
        RollprofError: The run is refused, or a gate is not met.
    """
    if options.rollouts_only and named.inputs:
        raise UsageError("--rollouts-only and --inputs exclude each other", hint="Leave one of them out.")
    files = find_run(named.run, rollouts=named.rollouts, inputs=named.inputs, inputs_wanted=not options.rollouts_only)
    stem = _stem(files, named)
    for note in files.notes:
        console.say(note)
    if options.rollouts_only:
        console.say("no inputs: what finished is taken for what was planned")
    read = _read(files, options, console)
    from pipeline.cli.telling import refuse_faults, summed_up, tell
    from pipeline.output.profile_files import write_profile

    summary = summed_up(read.frame, read.problems, read.failures, sidecar=bool(files.failures))
    refuse_faults(read.problems, summary, options, files)
    written = write_profile(
        read.frame.lazy(),
        stem,
        counts=options.counts,
        rollouts_only=options.rollouts_only,
        sources=(*files.inputs, *files.rollouts),
    )
    tell(console, read.frame, read.problems, read.failures, summary, written, options)


def stem_of(output: str) -> Path:
    """The path that the outputs are to be named after.

    Raises:
        UsageError: It is said to be a folder.
    """
    if output.endswith(("/", os.sep)):
        raise UsageError("is a folder, not a name for the outputs", where=output, hint="For a folder use --output-dir.")
    return Path(output)


def folder_of(output_dir: str) -> Path:
    """The folder that the outputs go to.

    Raises:
        UsageError: It has no name.
    """
    if not output_dir:
        raise UsageError("--output-dir needs a name", hint="This folder is called `.`.")
    return Path(output_dir)


def _stem(files: RunFiles, named: Named) -> Path:
    """The path that the outputs are named after, which must not be in the way of what is read."""
    from pipeline import names
    from pipeline.options import output_stem
    from pipeline.output.files import check_folder

    first = files.rollouts[0]
    if named.output is None and first.named is not None and first.shown.startswith(("/dev/", "/proc/")):
        raise UsageError("a pipe gives the outputs no name", where=first.shown, hint="Give it with -o STEM.")
    if named.output is not None and named.output.is_absolute() and named.output_dir is not None:
        raise UsageError("-o is a whole path already, so --output-dir has no say", hint="Leave one of them out.")
    rollouts = tuple(source.named or source.path for source in files.rollouts)
    stem = output_stem(rollouts, stem=named.output, folder=named.output_dir)
    check_folder(stem, chosen=named.output is not None)
    for path in names.profile_paths(stem):
        check_kept(path, files)
    return stem


def _read(files: RunFiles, options: ProfileOptions, console: Console) -> Read:
    """Reads everything."""
    with reading(files, options, quiet=console.quiet, heavy="pipeline.output.profile_files") as begun:
        from pipeline.run import Run

        return Read(*Run(files, options, begun=begun).load())
