"""Chosen tasks → the lines that can be collected again, each set in a file of its own, with a manifest."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import polars as pl

from pipeline import names
from pipeline.errors import SourceError
from pipeline.groups import GROUP
from pipeline.output.files import whole_files
from pipeline.output.originals import Key, Line, too_deep
from pipeline.output.samples import Samples, Shape, sample_of_input, sample_of_profile, sample_of_rollout, whole_line
from pipeline.profile.tasks import SAMPLE_PLACE
from pipeline.run import Run
from pipeline.sources import rows
from pipeline.sources.asking import Asking, RunLevel, asking_of
from pipeline.sources.fields import plain
from pipeline.sources.profiled_text import with_reward_profile

PARQUET = ".parquet"
LINE = "line"
BATCH_TASKS = 2_000
BATCH_PAIRS = 64
LOOKED_AT = 100
MANIFEST = ".manifest.json"


class TaskSet(NamedTuple):
    """Tasks that are written to a file, JSON lines or Parquet by its name.

    Attributes:
        path: The file.
        tasks: Candidates; Parquet has their columns too.
    """

    path: Path
    tasks: pl.DataFrame


class Wrote(NamedTuple):
    """What was written to a file: how many lines, and the SHA-256 of its bytes."""

    path: Path
    lines: int
    sha256: str


def has_fields(run: Run) -> bool:
    """Whether a run's samples have the fields of the rows that were planned; rollouts have only what was asked."""
    return bool(run.files.inputs) or _is_profile(run)


def samples(run: Run, tasks: pl.DataFrame, level: RunLevel) -> Iterator[Line]:
    """The sample of each task, in their order; they come as they are asked for.

    Args:
        run: What they are of.
        tasks: Candidates with the places of their samples.
        level: Is told of every row.

    Raises:
        SourceError: A source is no longer what it was when it was read.
    """
    with _opened(run, tasks) as found:
        for batch in tasks.iter_slices(BATCH_TASKS):
            texts = found.texts(batch)
            level.nulls = found.nulls
            for key, text in zip(_keys(batch), texts, strict=True):
                line: bytes = text.encode()
                level.add(rows.parse(memoryview(line)), line)
                yield Line((key,), line, f"the sample of task {key[0]}")


def asked_by(run: Run, tasks: pl.DataFrame) -> dict[Key, Asking]:
    """What each task asks, by its sample.

    Raises:
        SourceError: A source is no longer what it was when it was read.
    """
    fields = has_fields(run)
    asked: dict[Key, Asking] = {}
    with _opened(run, tasks) as found:
        for batch in tasks.iter_slices(BATCH_TASKS):
            for key, text in zip(_keys(batch), found.texts(batch), strict=True):
                try:
                    asked[key] = asking_of(rows.parse(memoryview(text.encode())), fields=fields)
                except RecursionError:
                    raise too_deep(f"the sample of task {key[0]}") from None
    return asked


def fields_of(run: Run, tasks: pl.DataFrame) -> list[str]:
    """The fields that single values of some tasks' samples have, by their dotted paths, in the order they are met."""
    some = tasks.filter(pl.col("_input_source").is_not_null()).head(LOOKED_AT)
    with _opened(run, some) as found:
        read = [plain(rows.parse(memoryview(text.encode()))) for text in found.texts(some)]
    return list(dict.fromkeys(path for row in read for path in _paths(row)))


def pair_lines(run: Run, ends: pl.DataFrame, level: RunLevel) -> Iterator[Line]:
    """A line for each task with its best and its worst rollout as they stand in the dump.

    Args:
        run: What they are of.
        ends: As `pairs` gives them.
        level: Is told of NaN and Infinity, which become null.

    Raises:
        SourceError: A dump is no longer what it was, or is not there.
    """
    sources = [run.source_of(shown) for shown in ends["_input_source"].unique(maintain_order=True)]
    with Samples(ends, sources, whole_line) as found:
        for batch in ends.iter_slices(2 * BATCH_PAIRS):
            texts = found.texts(batch).to_list()
            level.nulls = found.nulls
            for key, best, worst in zip(_keys(batch.gather_every(2)), texts[::2], texts[1::2], strict=True):
                pair = f'{{"chosen": {best.strip()}, "rejected": {worst.strip()}}}'
                yield Line((key,), pair.encode(), f"the rollouts of task {key[0]}")


def profiled(lines: Iterable[Line], tasks: pl.DataFrame, model: str) -> Iterator[Line]:
    """The lines with what this run made of them in their `reward_profiles`, the rest of their text unchanged.

    A line that is several agents' has the figures over the rollouts of all of them.

    Args:
        lines: Lines of these tasks.
        tasks: Candidates.
        model: The name of the model.

    Raises:
        SourceError: A row has something else there.
    """
    votes = {(task, agent): counts for task, agent, *counts in tasks.select(*GROUP, "rollouts", "passed").iter_rows()}
    for line in lines:
        rollouts, passed = (sum(counts) for counts in zip(*(votes[key] for key in line.keys), strict=True))
        rate = passed / rollouts if rollouts else None
        entry = {"model_hf_path": model, "num_generations": rollouts, "pass_rate": rate}
        try:
            yield line._replace(text=with_reward_profile(line.text, entry))
        except rows.BadLineError as error:
            hint = "Mend it, or write the data set without --write-back."
            raise SourceError(str(error), where=line.where, hint=hint) from error


def write_sets(
    sets: Sequence[TaskSet], lines: Iterable[Line], manifest: Path, about: Callable[[list[Wrote]], dict[str, Any]]
) -> list[Wrote]:
    """Writes sets of tasks and the manifest; all files appear together, or none does.

    Args:
        sets: Which tasks go to which file.
        lines: The lines of all of these tasks, each once.
        manifest: The path of the manifest.
        about: Its content, when it is known what was written.

    Raises:
        SourceError: A file cannot be written, or a line cannot be had.
    """
    with whole_files(*(one.path for one in sets), manifest) as files:
        sinks = [_Sink(one, file) for one, file in zip(sets, files, strict=False)]
        for line in lines:
            for sink in sinks:
                sink.take(line)
        wrote = [sink.finished() for sink in sinks]
        files[-1].write(manifest_text(about(wrote)))
    return wrote


def manifest_text(content: dict[str, Any]) -> bytes:
    """A manifest as JSON for people and programs."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1).encode() + b"\n"


class _Sink:
    """Takes the lines of one set; those for Parquet are kept until all are there."""

    def __init__(self, of: TaskSet, file: IO[bytes]) -> None:
        self._of = of
        self._file = file
        self._wanted = set(_keys(of.tasks))
        self._hash = hashlib.sha256()
        self._texts: dict[Key, str] = {}
        self._lines = 0

    def take(self, line: Line) -> None:
        mine = [key for key in line.keys if key in self._wanted]
        if not mine:
            return
        self._lines += 1
        if self._of.path.suffix == PARQUET:
            self._texts.update(dict.fromkeys(mine, line.text.decode()))
        else:
            self._write(line.text + b"\n")

    def finished(self) -> Wrote:
        if self._of.path.suffix == PARQUET:
            texts = [self._texts[key] for key in _keys(self._of.tasks)]
            content = io.BytesIO()
            told = self._of.tasks.drop(SAMPLE_PLACE)
            told.with_columns(pl.Series(LINE, texts, dtype=pl.String)).write_parquet(content)
            self._write(content.getbuffer())
        return Wrote(self._of.path, self._lines, self._hash.hexdigest())

    def _write(self, content: bytes | memoryview) -> None:
        self._hash.update(content)
        self._file.write(content)


def manifest_path(output: Path) -> Path:
    """Where the manifest of an output lies."""
    return names.sibling(names.stem_of(output), MANIFEST)


def _opened(run: Run, tasks: pl.DataFrame) -> Samples:
    """The samples of a run's tasks; opened, they can be asked for their texts."""
    return Samples(tasks, (*run.files.inputs, *run.files.rollouts), _shape(run))


def _shape(run: Run) -> Shape:
    if run.files.inputs:
        return sample_of_input
    return sample_of_profile if _is_profile(run) else sample_of_rollout


def _is_profile(run: Run) -> bool:
    return not run.files.inputs and all(source.is_profile for source in run.files.rollouts)


def _paths(row: dict[str, Any], before: str = "") -> Iterator[str]:
    for key, value in row.items():
        if isinstance(value, dict):
            yield from _paths(value, f"{before}{key}.")
        elif not isinstance(value, list):
            yield before + key


def _keys(tasks: pl.DataFrame) -> Iterator[Key]:
    return tasks.select(GROUP).iter_rows()
