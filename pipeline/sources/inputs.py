"""Rows of planned rollouts → columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline import names
from pipeline.sources import rows
from pipeline.sources.reading import PLACE, Builder, Chunk, Job, digest, index, last_places, read
from pipeline.sources.readings import Reading, begin

if TYPE_CHECKING:
    from pipeline.sources.files import Source
    from pipeline.sources.workers import Pool


def read_inputs(job: Job) -> Chunk:
    """Reads planned rollouts: both indices, agent, server and the place of each line."""
    return read(job, Inputs(digests=job.digests))


def begin_inputs(sources: Sequence[Source], *, workers: int, pool: Pool | None = None) -> Reading:
    """Begins to read planned rollouts."""
    template = Job((), digests=len(sources) > 1)
    return begin(read_inputs, sources, template=template, workers=workers, pool=pool)


class Inputs(Builder):
    """Planned rollouts: both indices, agent and server."""

    columns = (*names.KEY, *PLACE, "_labels", "_digest")
    labels = ("_agent", "_server")

    def __init__(self, *, digests: bool) -> None:
        super().__init__()
        self.digests = digests
        self.places: dict[tuple[str, ...], tuple[int, ...]] = {}

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        """Adds the row on a line."""
        row = rows.parse(view)
        keys, values = tuple(row), tuple(row.values())
        places = self.places.get(keys)
        if places is None:
            places = self.places[keys] = last_places(keys, (*names.KEY, names.AGENT_REF, names.ENVIRONMENT_SERVER))
        task, rollout, agent, server = places
        name = None if agent < 0 else rows.agent_name(values[agent])
        served_by = None if server < 0 else rows.label_text(values[server])
        self.cells += self.pack(
            index(values, task, names.TASK),
            index(values, rollout, names.ROLLOUT),
            source,
            line,
            offset,
            len(view),
            self.label(name, served_by or None),
            digest(bytes(view).rstrip()) if self.digests else 0,
        )
