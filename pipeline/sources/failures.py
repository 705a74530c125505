"""Rows of failed attempts → columns."""

from __future__ import annotations

from pipeline import names
from pipeline.sources import rows
from pipeline.sources.reading import PLACE, Builder, Chunk, Job, index, last_places, read


def read_failures(job: Job) -> Chunk:
    """Reads failed attempts: both indices, failure class, whether it is the last, and the place of each line."""
    return read(job, Failures())


class Failures(Builder):
    """Failed attempts: both indices, the failure class, and whether it is terminal (0 or 1)."""

    columns = (*names.KEY, *PLACE, "_labels", "_terminal")
    labels = ("_failure_class",)

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        """Adds the row on a line."""
        row = rows.parse(view)
        keys, values = tuple(row), tuple(row.values())
        wanted = (*names.KEY, names.FAILURE_CLASS, names.FAILURE_TERMINAL)
        task, rollout, reason, terminal = last_places(keys, wanted)
        named = None if reason < 0 else rows.label_text(values[reason])
        self.cells += self.pack(
            index(values, task, names.TASK),
            index(values, rollout, names.ROLLOUT),
            source,
            line,
            offset,
            len(view),
            self.label(named),
            int(terminal >= 0 and rows.is_truthy(values[terminal])),
        )
        self.height += 1
