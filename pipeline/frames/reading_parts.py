"""The files of a run → its rows in parts, read part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline.frames.chunks import Gathered
from pipeline.frames.exported import exported_slices
from pipeline.frames.numbering import MIXED, PROMPTS, numbered, unnumbered
from pipeline.frames.parts import Parts
from pipeline.frames.profiled import profiled_slices
from pipeline.frames.rollouts import with_place
from pipeline.frames.scanning import Progress, gather, keep_frame, kept_rows
from pipeline.frames.spill import Spill, slices
from pipeline.options import ProfileOptions
from pipeline.sources import cache
from pipeline.sources.files import Source, kinds_of
from pipeline.sources.inputs import request_inputs
from pipeline.sources.plans import UNNUMBERED
from pipeline.sources.readings import AHEAD, Reading, Request, begin
from pipeline.sources.rollouts import request_rollouts
from pipeline.sources.workers import usable_cores


def input_parts(
    sources: Sequence[Source],
    options: ProfileOptions,
    spill: Spill,
    *,
    progress: Progress | None = None,
    begun: Reading | None = None,
) -> Parts:
    """Planned rollouts in parts, as they were read.

    Raises:
        SourceError: A file or the temporary folder fails.
        WorkerError: A worker process ended before its work was done.
    """
    parts = Parts(spill)
    _read(request_inputs(sources, options), parts, options, progress=progress, begun=begun)
    return parts


def rollout_parts(
    sources: Sequence[Source],
    options: ProfileOptions,
    spill: Spill,
    *,
    progress: Progress | None = None,
    begun: Reading | None = None,
) -> Parts:
    """Finished rollouts in parts, as they were read, but numbered where that is asked for.

    Raises:
        SourceError: A file or the temporary folder fails.
        WorkerError: A worker process ended before its work was done.
    """
    dumps, exports, profiles = kinds_of(sources)
    parts = NumberedParts(spill) if options.assign_indices else Parts(spill)
    _read(request_rollouts(dumps, options), parts, options, progress=progress, begun=begun)
    values = spill.bounds.part
    for number, source in enumerate(exports, len(dumps)):
        for rows in exported_slices(source, number, options, values=values):
            parts.end(rows)
    if profiles:
        for rows in profiled_slices(profiles, first_number=len(dumps) + len(exports), values=values):
            parts.end(rows)
    if isinstance(parts, NumberedParts):
        parts.settle()
    return parts


class NumberedParts(Parts):
    """Rollouts of which those without indices are numbered by their prompt."""

    def __init__(self, spill: Spill) -> None:
        super().__init__(spill)
        self._met = PROMPTS
        self._rows = self._without = 0

    def add(self, rows: pl.DataFrame, fields: Mapping[str, type[pl.DataType]] | None = None) -> None:
        """Puts usable rows aside, numbered if none of them has indices."""
        placed = with_place(rows)
        without = int(unnumbered(placed).sum())
        self._rows, self._without = self._rows + len(rows), self._without + without
        if without == len(rows) > 0:
            rows, self._met = numbered(placed, self._met)
        super().add(rows, fields)

    def settle(self) -> None:
        """Where other rows have indices, those without are of no use."""
        if 0 < self._without < self._rows:
            self.refuse((pl.col("_flags") & UNNUMBERED) > 0, MIXED)


def _read(
    request: Request,
    parts: Parts,
    options: ProfileOptions,
    *,
    progress: Progress | None,
    begun: Reading | None,
) -> None:
    """Reads a request into parts, from the cache where it is kept there; what fits into one part is kept there."""
    key, bound = cache.key_of(request) if options.cache else None, parts.spill.bounds.part
    if begun is None and key is not None and (kept := kept_rows(key, parts.spill)) is not None:
        for rows in slices(kept, bound):
            parts.end(rows)
        if progress is not None:
            progress(request.size)
        return
    taken: dict[str, type[pl.DataType]] = {}
    several = False

    def put_aside(gathered: Gathered) -> None:
        nonlocal several
        if gathered.cells >= bound:
            parts.add(gathered.take(), taken)
            several = True

    reading = begun or begin(request, workers=options.jobs or usable_cores(), ahead=AHEAD)
    gathered = gather(reading, progress, full=put_aside)
    rest = gathered.frame()
    taken.update(gathered.fields)
    if key is not None and not several:
        keep_frame(key, rest)
    parts.end(rest)
