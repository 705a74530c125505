"""Chosen tasks → the lines that can be collected again, each set in a file of its own, with a manifest."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import polars as pl

from pipeline import names
from pipeline.output.files import whole_files
from pipeline.output.originals import Key, Line
from pipeline.output.task_lines import keys_of

PARQUET = ".parquet"
LINE = "line"
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
    """What was written to a file: how many lines, the SHA-256 of its bytes, and whether a file was there before."""

    path: Path
    lines: int
    sha256: str
    replaced: bool


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
        self._wanted = set(keys_of(of.tasks))
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
            texts = [self._texts[key] for key in keys_of(self._of.tasks)]
            content = io.BytesIO()
            told = self._of.tasks.drop(names.INPUT_PLACE)
            told.with_columns(pl.Series(LINE, texts, dtype=pl.String)).write_parquet(content)
            self._write(content.getbuffer())
        return Wrote(self._of.path, self._lines, self._hash.hexdigest(), self._of.path.is_file())

    def _write(self, content: bytes | memoryview) -> None:
        self._hash.update(content)
        self._file.write(content)


def manifest_path(output: Path) -> Path:
    """Where the manifest of an output lies."""
    return names.sibling(names.stem_of(output), MANIFEST)
