"""Rows of failed attempts → columns."""

from __future__ import annotations

from pipeline import names
from pipeline.sources import rows
from pipeline.sources.reading import PLACE, Builder, Chunk, Job, index, last_places, read


def read_failures(job: Job) -> Chunk:
    """Reads failed attempts: both indices, failure class and the place of each line."""
    return read(job, Failures())


class Failures(Builder):
    """Failed attempts: both indices and the failure class."""

    columns = (*names.KEY, *PLACE, "_labels")
    labels = ("_failure_class",)

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        """Adds the row on a line."""
        row = rows.parse(view)
        keys, values = tuple(row), tuple(row.values())
        task, rollout, reason = last_places(keys, (*names.KEY, names.FAILURE_CLASS))
        named = None if reason < 0 else rows.label_text(values[reason])
        self.cells += self.pack(
            index(values, task, names.TASK),
            index(values, rollout, names.ROLLOUT),
            source,
            line,
            offset,
            len(view),
            self.label(named),
        )
        self.height += 1
