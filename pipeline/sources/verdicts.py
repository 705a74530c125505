"""Rows of rollout verdicts → columns."""

from __future__ import annotations

import json
from typing import Any

from pipeline import names
from pipeline.sources import fields, rows
from pipeline.sources.reading import Builder, Chunk, Job, index, last_places, read


def read_verdicts(job: Job) -> Chunk:
    """Reads verdicts: both indices, the verdict and what was found, as a JSON list of texts."""
    return read(job, Verdicts())


class Verdicts(Builder):
    """What a quality check says of each rollout."""

    columns = (*names.KEY, *names.PLACE, "_labels")
    labels = names.FINDINGS

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        """Adds the row on a line."""
        row = rows.parse(view)
        keys, values = tuple(row), tuple(row.values())
        task, rollout, verdict, findings = last_places(keys, (*names.KEY, "verdict", "findings"))
        self.cells += self.pack(
            index(values, task, names.TASK),
            index(values, rollout, names.ROLLOUT),
            source,
            line,
            offset,
            len(view),
            self.label(
                None if verdict < 0 else rows.label_text(values[verdict]),
                None if findings < 0 else _texts(values[findings]),
            ),
        )
        self.height += 1


def _texts(findings: Any) -> str | None:
    """The findings as a JSON list of texts; one that is no text as its JSON."""
    if type(findings) not in rows.LISTS:
        return None
    plain = fields.plain(findings)
    texts = [one if isinstance(one, str) else json.dumps(one, sort_keys=True) for one in plain]
    return json.dumps(texts)
