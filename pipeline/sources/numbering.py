"""Rows of a dataset → the task index that collection gives each of them."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pipeline import names
from pipeline.sources import rows

DIGEST_BYTES = 16
Numbered = tuple[int | None, Hashable]
"""A row's own task index, if it has one, and what is the same for rows of the same text."""


class DatasetRow(NamedTuple):
    """What tells a row of a dataset from others.

    Attributes:
        own: The task index that it has itself.
        agent: The name of the agent that it names.
        text: A digest of its text without white space around it.
        around: The white space before and after it, the line feed too, CRLF as LF.
    """

    own: int | None
    agent: str | None
    text: bytes
    around: tuple[bytes, bytes]


def dataset_row(line: bytes, row: Any, *, terminated: bool) -> DatasetRow:
    """What tells a row from others.

    Args:
        line: Its line without the line feed.
        row: The object on it.
        terminated: Whether a line feed follows.

    Raises:
        BadLineError: Its task index is no whole number of 64 bits, or its agent cannot be written.
    """
    own, text = rows.last(row, names.TASK), line.strip(rows.SPACE)
    at = line.index(text)
    after = line[at + len(text) :].removesuffix(b"\r") + (b"\n" if terminated or line.endswith(b"\r") else b"")
    return DatasetRow(
        None if own is None else rows.whole_number(own, names.TASK),
        rows.agent_name(rows.last(row, names.AGENT_REF)),
        hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest(),
        (line[:at], after),
    )


def numbered_by_gym(dataset: Sequence[DatasetRow]) -> Iterator[int]:
    """The task of each row as NeMo Gym's collection numbers them.

    A row keeps the index that it has; the others are numbered from 0 in the order in which their whole line first
    appears, white space and line end included, whatever indices other rows have.
    """
    of_line: dict[Hashable, int] = {}
    for row in dataset:
        yield row.own if row.own is not None else of_line.setdefault((row.text, row.around), len(of_line))


def numbered_past_own(dataset: Iterable[Numbered]) -> Iterator[int]:
    """The task of each row as collection here numbers them: its own index, else that of its text, past the rows' own.

    Args:
        dataset: The own index of each row, and what is the same for rows of the same text.
    """
    pairs = list(dataset)
    own = {task for task, _ in pairs if task is not None}
    of_text: dict[Hashable, int] = {}
    free = 0
    for task, text in pairs:
        if task is not None:
            yield task
            continue
        if text not in of_text:
            while free in own:
                free += 1
            of_text[text] = free
            free += 1
        yield of_text[text]
