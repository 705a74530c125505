"""Rows of failed attempts → columns."""

from __future__ import annotations

from pipeline import names
from pipeline.sources import rows
from pipeline.sources.reading import Builder, Chunk, Job, index, last_places, read

TEXTS = (names.FAILURE_CLASS, names.FAILURE_MESSAGE, names.FAILURE_STATUS)
LONGEST_MESSAGE = 500


def read_failures(job: Job) -> Chunk:
    """Reads failed attempts: both indices, class, message, status, whether it is final, and the place of the line."""
    return read(job, Failures())


class Failures(Builder):
    """Failed attempts: both indices, failure class, start of the message, status, whether it is terminal (0 or 1)."""

    columns = (*names.KEY, *names.PLACE, "_labels", "_terminal")
    labels = ("_failure_class", "_message", "_status")

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        """Adds the row on a line."""
        row = rows.parse(view)
        keys, values = tuple(row), tuple(row.values())
        wanted = (*names.KEY, names.FAILURE_TERMINAL, *TEXTS)
        task, rollout, terminal, reason, message, status = last_places(keys, wanted)
        named = None if reason < 0 else rows.label_text(values[reason])
        told = None if message < 0 else _short(values[message])
        number = None if status < 0 or type(values[status]) is not int else str(values[status])
        self.cells += self.pack(
            index(values, task, names.TASK),
            index(values, rollout, names.ROLLOUT),
            source,
            line,
            offset,
            len(view),
            self.label(named, told, number),
            int(terminal >= 0 and rows.is_truthy(values[terminal])),
        )
        self.height += 1


def _short(message: object) -> str | None:
    """The start of a message, as text that can be written; None where it is no text."""
    if not isinstance(message, str):
        return None
    return message[:LONGEST_MESSAGE].encode("utf-8", "backslashreplace").decode()
