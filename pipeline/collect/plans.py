"""Materialized inputs → the rollouts that are planned, and where their rows stand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline import names
from pipeline.collect.keyed_rows import Key, bad_line, check_plain, key_of, keyed_rows
from pipeline.errors import SourceError
from pipeline.sources import rows
from pipeline.sources.lines import unreadable
from pipeline.sources.text import members, without_indices

Kept = tuple[tuple[str, bytes], ...]
FROM_ROW = (names.AGENT_REF, names.ENVIRONMENT_SERVER, names.SKILLS_REF)
"""What a rollout takes over from its planned row, beside the key."""


class Slot(NamedTuple):
    """A planned rollout.

    Attributes:
        key: Its task and rollout index.
        agent: The name of its agent.
        kept: Members of its row that the rollout has too, as JSON text.
        offset: Where its line starts in the materialized inputs.
        length: Bytes of that line, without the line feed.
    """

    key: Key
    agent: str
    kept: Kept
    offset: int
    length: int


def read_plan(path: Path) -> list[Slot]:
    """The planned rollouts of materialized inputs.

    Raises:
        SourceError: The file cannot be read, or is compressed: places in it would mean nothing.
        FaultsError: A line is no planned rollout, or plans one that another line plans already.
    """
    _check_plain(path)
    known: dict[Kept, Kept] = {}
    before, kept = b"", Kept()
    slots: list[Slot] = []
    lines: dict[Key, int] = {}
    for line, offset, text, row in keyed_rows(path):
        key = key_of(path, line, row)
        if key in lines:
            raise bad_line(path, line, f"plans task {key[0]}, rollout {key[1]} as line {lines[key]} does")
        lines[key] = line
        agent = rows.agent_name(rows.last(row, names.AGENT_REF))
        if agent is None:
            raise bad_line(path, line, "names no agent")
        row_text = without_indices(text, once=all(tuple(row).count(name) == 1 for name in names.KEY))
        if row_text != before:  # repeats of a row follow one another
            before, kept = row_text, tuple(_kept(row_text))
        slots.append(Slot(key, agent, known.setdefault(kept, kept), offset, len(text)))
    return slots


def _check_plain(path: Path) -> None:
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise unreadable(names.shown(path), error) from error
    check_plain(path, head)


def _kept(row: bytes) -> Iterator[tuple[str, bytes]]:
    return ((one.key, row[one.value : one.end]) for one in members(row) if one.key in FROM_ROW)


def line_of(plan: int, slot: Slot) -> bytes:
    """The text of a planned row, from the open file of materialized inputs.

    Raises:
        SourceError: It is not there any more.
    """
    text = os.pread(plan, slot.length, slot.offset)
    if len(text) < slot.length:
        raise SourceError(
            "the materialized inputs were changed while they were being collected", hint="Collect again with --resume."
        )
    return text
