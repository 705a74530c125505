"""Rollouts, whatever of their files can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from pipeline import names
from pipeline.errors import SourceError
from pipeline.frames.lazy import collect
from pipeline.frames.rollouts import scan_rollouts
from pipeline.frames.tally import Tally, Watched
from pipeline.options import ProfileOptions
from pipeline.report.inspection_files import File, files_of
from pipeline.sources.damaged import before_the_cut, damage_of
from pipeline.sources.files import Source
from pipeline.sources.readings import begin
from pipeline.sources.rollouts import request_rollouts

ROLE = "rollouts"


@dataclass(frozen=True)
class RolloutsFound:
    """Rollouts as far as they can be read.

    Attributes:
        rows: As `scan_rollouts` gives them.
        sources: The files they are from.
        tally: What was counted of those that are lines.
        files: Each file with its lines, those that nothing could be read of last.
    """

    rows: pl.DataFrame
    sources: tuple[Source, ...]
    tally: Tally
    files: tuple[File, ...]


def rollouts_found(
    sources: Sequence[Source], options: ProfileOptions, *, begun: Watched, progress: Callable[[int], None] | None
) -> RolloutsFound:
    """Reads rollouts; where a compressed file of them is damaged, once more without what cannot be read.

    Raises:
        SourceError: A file that is not compressed cannot be read.
        WorkerError: A worker process ended before its work was done.
    """
    try:
        rows = collect(scan_rollouts(sources, options, progress=progress, begun=begun.reading))
    except SourceError as error:
        if error.where not in {names.shown(source.path) for source in sources if _is_packed(source)}:
            raise
        return _what_is_left(sources, options)
    return RolloutsFound(rows, tuple(sources), begun.tally, tuple(files_of(ROLE, sources, begun.tally, rows)))


def _what_is_left(sources: Sequence[Source], options: ProfileOptions) -> RolloutsFound:
    damage = {source: error.message for source in sources if _is_packed(source) and (error := damage_of(source))}
    left = {source: before_the_cut(source) if source in damage else source for source in sources}
    readable = tuple(source for source in left.values() if source is not None)
    uncached = options.model_copy(update={"cache": False})  # half a file must never be taken for all of it
    request = request_rollouts(readable, uncached)
    counting = replace(request, template=request.template._replace(inspect=True))
    tally = Tally(counting.sources)
    reading = tally.watch(begin(counting, workers=options.jobs or 1))
    rows = collect(scan_rollouts(readable, uncached, begun=reading))
    why = {source.shown: reason for source, reason in damage.items()}
    lost = [source for source in sources if left[source] is None]
    files = (*files_of(ROLE, readable, tally, rows), *files_of(ROLE, lost, tally, rows, unreadable=""))
    return RolloutsFound(rows, readable, tally, tuple(replace(one, unreadable=why.get(one.file)) for one in files))


def _is_packed(source: Source) -> bool:
    return source.is_dump and bool(source.compression)
