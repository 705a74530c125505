"""What passes by while files are read: their lines, and the fields of their rows."""

from __future__ import annotations

import contextlib
import json
from array import array
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pipeline.sources.files import Source
from pipeline.sources.reading import Chunk, Job
from pipeline.sources.readings import Reading

Place = tuple[int, int]
"""The number of a source, and a line in it."""


@dataclass
class Lines:
    """The lines of one source.

    Attributes:
        all: How many there are.
        blank: How many of them are empty or white space.
        content: Bytes after decompression.
    """

    all: int = 0
    blank: int = 0
    content: int = 0


@dataclass
class Types:
    """The types of one field.

    Attributes:
        rows: In how many rows it is of each type.
        first: Where the first of them is.
        repeated: In how many rows its name is there more than once.
    """

    rows: dict[str, int] = field(default_factory=dict)
    first: dict[str, Place] = field(default_factory=dict)
    repeated: int = 0


class Tally:
    """Counts of the lines of sources and of the fields in them; of fields only where the reading inspects them.

    Attributes:
        whole: Whether everything was read.
        lines: Those of each source.
        objects: How many lines hold an object.
        fields: The types of each field by where it stands (`row`, `usage`) and its name, in the order of the lines.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self.whole = False
        self.lines = [Lines() for _ in sources]
        self.objects = 0
        self.fields: dict[tuple[str, str], Types] = {}

    def watch(self, reading: Reading) -> Reading:
        """The same reading; what is taken from it is counted."""
        return replace(reading, chunks=self._watched(reading))

    def _watched(self, reading: Reading) -> Generator[Chunk, None, None]:
        with contextlib.closing(reading.chunks):
            for job, chunk in zip(reading.jobs, reading.chunks, strict=True):
                self._add(job, chunk)
                yield chunk
        self.whole = True

    def _add(self, job: Job, chunk: Chunk) -> None:
        self.objects += chunk.objects
        for met in chunk.met:
            types = self.fields.setdefault((met.at, met.field), Types())
            types.rows[met.type] = types.rows.get(met.type, 0) + met.rows
            types.first.setdefault(met.type, (met.source, self.lines[met.source].all + met.line))
            types.repeated += met.repeated
        used = _rows_of_sources(chunk) + Counter(bad.source for bad in chunk.bad)
        for segment, count in zip(job.segments, chunk.lines, strict=True):
            lines = self.lines[segment.source]
            lines.all += count
            lines.blank += count - used[segment.source]
            source = self._sources[segment.source]
            lines.content = source.size if source.seekable else lines.content + chunk.bytes

    def kept(self) -> bytes:
        """The counts as bytes to be kept."""
        fields = [[*where, types.rows, types.first, types.repeated] for where, types in self.fields.items()]
        return json.dumps([[vars(lines) for lines in self.lines], self.objects, fields]).encode()

    def take(self, kept: bytes) -> None:
        """Takes counts that were kept of the same sources."""
        lines, self.objects, fields = json.loads(kept)
        self.lines = [Lines(**one) for one in lines]
        for at, name, rows, first, repeated in fields:
            places = {kind: (source, line) for kind, (source, line) in first.items()}
            self.fields[at, name] = Types(rows, places, repeated)


def _rows_of_sources(chunk: Chunk) -> Counter[int]:
    """How many rows each source has in a chunk."""
    cells = array("q", chunk.cells)
    return Counter(cells[chunk.columns.index("_source") :: len(chunk.columns)])


class Watched(NamedTuple):
    """What is being read of a role, and its tally; no reading where the tally was kept from an earlier one."""

    tally: Tally
    reading: Reading | None
