"""Which files of a run a collection can go on with, and the commands that have it go on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.errors import SourceError
from pipeline.frames.lazy import collect
from pipeline.output.locking import lock
from pipeline.run import Run
from pipeline.sources.files import Source, open_source
from pipeline.sources.runs import RunFiles
from pipeline.words import counted

PLAIN = ".jsonl"
SHOWN = 5
UNKNOWN_REST = "gym eval run --no-serve --resume, or rollprof eval run --resume, with what it was begun with"


class Pair(NamedTuple):
    """A rollouts file and the inputs beside it that plan it.

    Attributes:
        path: The rollouts file, as a collection finds it.
        rollouts: The same, as it was when it was read.
        inputs: The inputs.
    """

    path: Path
    rollouts: Source
    inputs: Source

    @property
    def side(self) -> Path:
        """Where rollouts go whose keys are collected again."""
        return names.sibling(names.stem_of(self.path), names.REDONE + PLAIN)

    def commands(self, *, rollprof: str = "rollprof") -> list[str]:
        """What collects the planned rollouts that are not finished: NeMo Gym's command, and ours.

        NeMo Gym wants `--input` even where it does not read it; the inputs themselves are what it would read if the
        rollouts file were gone.

        Args:
            rollprof: How our command is typed in a shell.
        """
        inputs, rollouts = map(names.quoted, (self.inputs.path, self.path))
        return [
            f"gym eval run --no-serve --resume --input {inputs} --output {rollouts}",
            f"{rollprof} eval run --no-serve --resume --output {rollouts}",
        ]


def commands_for_the_rest(files: RunFiles) -> list[str]:
    """What collects the planned rollouts of a run that are not finished, as far as the names of its files tell."""
    pairs = []
    for inputs in files.inputs:
        with contextlib.suppress(SourceError):  # no collection would find these
            pairs.append(_pair(inputs, files.rollouts))
    return [command for pair in pairs for command in pair.commands()] or [UNKNOWN_REST]


def resumable(run: Run) -> dict[str, Pair]:
    """The inputs files of a run by name, each with the rollouts file that a resumed collection goes on with.

    A collection finds `S_materialized_inputs.jsonl` beside `S.jsonl`, asks for what is planned there and is not
    finished in `S.jsonl`, and reads neither from anywhere else.

    Raises:
        SourceError: There are no inputs, their file is no plain text, has a line that cannot be used, or is not where a
            collection looks; there are more rollouts files than inputs; or a rollout finished in another file than the
            one beside its inputs.
    """
    if not run.files.inputs:
        hint = "Repeats are planned in the materialized inputs; name them with --inputs."
        raise SourceError("has no inputs file", where=run.files.rollouts[0].shown, hint=hint)
    _check_joined(run.files.inputs, run.files.rollouts)
    pairs = {source.shown: _pair(source, run.files.rollouts) for source in run.files.inputs}
    _check_lines(run)
    _check_finished(run, pairs)
    return pairs


@contextlib.contextmanager
def locked(pairs: Iterable[Pair]) -> Iterator[None]:
    """Keeps collectors away from rollouts files for a while; they lock the file they write to.

    Raises:
        SourceError: One of them is being written to, or cannot be locked.
    """
    with contextlib.ExitStack() as stack:
        for pair in pairs:
            path = pair.rollouts.path
            mode = "r+b" if os.access(path, os.W_OK) else "rb"  # some network disks lock only what may be written
            file = stack.enter_context(path.open(mode))
            lock(file.fileno(), path)
        yield


def _check_joined(inputs: Sequence[Source], rollouts: Sequence[Source]) -> None:
    """Refuses several rollouts files of one inputs file, and says how to make one of them."""
    if len(inputs) != 1 or len(rollouts) == 1:
        return
    for source in (*inputs, *rollouts):
        _check_plain(source)
    ending, plan = names.INPUTS + PLAIN, inputs[0].path
    named = plan.name.endswith(ending) and plan.name != ending
    whole = _rollouts_of(inputs[0]) if named else plan.with_name(f"rollouts{PLAIN}")
    parts = [source.path for source in rollouts]
    others = [path for path in parts if os.path.realpath(path) != os.path.realpath(whole)]
    joined = f"cat {' '.join(map(names.quoted, others))} {'>' if others == parts else '>>'} {names.quoted(whole)}"
    if not named:
        joined += f" && mv {names.quoted(plan)} {names.quoted(names.sibling(names.stem_of(whole), ending))}"
    raise SourceError(
        f"has {len(parts)} rollouts files, and a collection is resumed with one: {names.listed(parts, most=SHOWN)}",
        where=inputs[0].shown,
        hint=f"Join them: {joined}\nThen name {names.shown(whole)} alone, or move the others away.",
    )


def _rollouts_of(inputs: Source) -> Path:
    """The rollouts file that a collection would go on with, by the name of its inputs."""
    ending = names.INPUTS + PLAIN
    if not inputs.path.name.endswith(ending) or inputs.path.name == ending:
        hint = f"A collection is resumed from S{ending} beside S{PLAIN}: give them such names."
        raise SourceError("is not named after its rollouts", where=inputs.shown, hint=hint)
    return inputs.path.with_name(inputs.path.name.removesuffix(ending) + PLAIN)


def _pair(inputs: Source, rollouts: Sequence[Source]) -> Pair:
    """Inputs and the rollouts file that a collection would go on with."""
    _check_plain(inputs)
    path = _rollouts_of(inputs)
    if not path.is_file():
        for source in rollouts:
            if os.path.realpath(names.stem_of(source.path)) == os.path.realpath(names.stem_of(path)):
                _check_plain(source)
        hint = "A collection that is resumed would start anew. Put the rollouts there; an empty file will do for none."
        raise SourceError("is not there, but its inputs are", where=names.shown(path), hint=hint)
    of_run = (source for source in rollouts if os.path.realpath(source.path) == os.path.realpath(path))
    found = next(of_run, None) or open_source(path)
    _check_plain(found)
    return Pair(path, found, inputs)


def _check_plain(source: Source) -> None:
    if source.held is not None:
        raise SourceError("comes from a pipe, and cannot be changed", where=source.shown, hint="Name a file.")
    if source.compression:
        kind = {"gz": "gzip", "zst": "zstd"}.get(source.compression, source.compression)
        hint = f"A collection is resumed from plain files only: unpack it to a name that ends in {PLAIN}."
        raise SourceError(f"is a {kind} file, and cannot be resumed", where=source.shown, hint=hint)


def _check_lines(run: Run) -> None:
    bad = collect(
        run.aligned.problems.filter(pl.col("_role") == "inputs", pl.col("_kind").is_in(["malformed", "torn"]))
    )
    for source, line in bad.select("_source", "_line").head(1).iter_rows():
        hint = "A collection reads every line of its inputs. Mend or remove this one."
        raise SourceError(f"{counted(len(bad), 'input row')} cannot be used", where=f"{source}:{line}", hint=hint)


def _check_finished(run: Run, pairs: dict[str, Pair]) -> None:
    finished = run.aligned.frame.filter("_finished").select("_source", "_input_source").unique()
    for rollouts, inputs in sorted(collect(finished).iter_rows()):
        own = pairs[inputs]
        if rollouts != own.rollouts.shown:
            hint = f"A resumed collection looks in {names.shown(own.path)} only, and would repeat them. Put them there."
            raise SourceError(f"has rollouts that {inputs} plans", where=rollouts, hint=hint)
