"""Rows of planned rollouts → columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline import names
from pipeline.sources import rows
from pipeline.sources.census import Census
from pipeline.sources.context import Context
from pipeline.sources.reading import Builder, Chunk, Job, digest, index, last_places, read

if TYPE_CHECKING:
    from pipeline.options import ReadOptions
    from pipeline.sources.files import Source
    from pipeline.sources.readings import Request

ROOT = "_input."


def read_inputs(job: Job) -> Chunk:
    """Reads planned rollouts: both indices, agent, server and the place of each line."""
    inputs = Inputs(digests=job.digests, context=Context(ROOT, job.fields) if job.context else None)
    return read(job, Census(inputs) if job.inspect else inputs)


def request_inputs(sources: Sequence[Source], options: ReadOptions | None = None) -> Request:
    """What it takes to read planned rollouts; `options` say whether their context is wanted."""
    from pipeline.sources.readings import Request

    template = Job((), digests=len(sources) > 1)
    if options is not None and options.context:
        template = template._replace(context=True, fields=options.asked(ROOT))
    return Request(read_inputs, tuple(sources), template)


class Inputs(Builder):
    """Planned rollouts: both indices, agent and server."""

    columns = (*names.KEY, *names.PLACE, "_labels", "_line_digest")
    labels = ("_agent", "_server")

    def __init__(self, *, digests: bool, context: Context | None = None) -> None:
        super().__init__(context=context)
        self.digests = digests
        self.places: dict[tuple[str, ...], tuple[int, ...]] = {}

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        """Adds the row on a line."""
        row = self.parse(view)
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
        if self.context is not None:
            self.context.add(self.height, row, keys, values)
        self.height += 1
