"""Materialized inputs → what is still to be collected, and whether they are those of a dataset."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from pipeline import names
from pipeline.collect.materialize import Planned
from pipeline.errors import Exit, FaultsError, SourceError, UsageError
from pipeline.sources import rows
from pipeline.sources.files import open_source
from pipeline.sources.lines import lines_of
from pipeline.sources.text import members, without_indices

Key = tuple[int, int]
Kept = tuple[tuple[str, bytes], ...]
FROM_ROW = (names.AGENT_REF, names.ENVIRONMENT_SERVER, "skills_ref")
"""What a rollout takes over from its planned row, beside the key."""
SHOWN = 10


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


class Past(NamedTuple):
    """What became of rollouts before: those that are finished, failed attempts, and what the last of them was.

    Attributes:
        finished: The keys of finished rollouts.
        attempts: Failed attempts by key.
        classes: The failure class of the last attempt by key.
        terminal: Keys that are never to be asked again.
    """

    finished: set[Key]
    attempts: Counter[Key]
    classes: dict[Key, str]
    terminal: set[Key]

    def is_over(self, key: Key, max_attempts: int) -> bool:
        """Whether a rollout is not to be asked again."""
        return key in self.finished or key in self.terminal or self.attempts[key] >= max_attempts


def read_plan(path: Path) -> list[Slot]:
    """The planned rollouts of materialized inputs.

    Raises:
        SourceError: The file cannot be read.
        FaultsError: A line is no planned rollout, or plans one that another line plans already.
    """
    known: dict[Kept, Kept] = {}
    before, kept = b"", Kept()
    slots: list[Slot] = []
    lines: dict[Key, int] = {}
    for line, offset, text, row in _rows(path):
        key = _key(path, line, row)
        if key in lines:
            raise _bad_line(path, line, f"plans task {key[0]}, rollout {key[1]} as line {lines[key]} does")
        lines[key] = line
        agent = rows.agent_name(rows.last(row, names.AGENT_REF))
        if agent is None:
            raise _bad_line(path, line, "names no agent")
        row_text = without_indices(text, once=all(tuple(row).count(name) == 1 for name in names.KEY))
        if row_text != before:  # repeats of a row follow one another
            before, kept = row_text, tuple(_kept(row_text))
        slots.append(Slot(key, agent, known.setdefault(kept, kept), offset, len(text)))
    return slots


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


def read_past(rollouts: Path, failures: Path) -> Past:
    """What the rollouts file and the failures beside it say; either may be missing.

    Raises:
        SourceError: A file cannot be read.
        FaultsError: A line of them cannot be used.
    """
    past = Past(set(), Counter(), {}, set())
    if rollouts.exists():
        past.finished.update(_key(rollouts, line, row) for line, _, _, row in _rows(rollouts))
    if failures.exists():
        for line, _, _, row in _rows(failures):
            key = _key(failures, line, row)
            past.attempts[key] += 1
            past.classes[key] = rows.label_text(rows.last(row, names.FAILURE_CLASS)) or "failed"
            if rows.last(row, names.FAILURE_TERMINAL):
                past.terminal.add(key)
    return past


def check_past(past: Past, slots: Sequence[Slot], rollouts: Path) -> None:
    """Refuses rollouts that the materialized inputs do not plan.

    Raises:
        UsageError: There are some.
    """
    extra = sorted(past.finished - {slot.key for slot in slots})
    if extra:
        listed = ", ".join(f"{task}:{rollout}" for task, rollout in extra[:SHOWN])
        more = f" and {len(extra) - SHOWN:,} more" if len(extra) > SHOWN else ""
        raise UsageError(
            f"has rollouts that the materialized inputs beside it do not plan: {listed}{more}",
            where=names.shown(rollouts),
            hint="Choose another --output, or bring back the materialized inputs of this one.",
        )


def check_same(path: Path, plan: Iterable[Planned]) -> None:
    """Refuses a dataset or options that would plan something else than the materialized inputs hold.

    Raises:
        UsageError: They differ; the message says in what.
        SourceError: The file cannot be read.
    """
    there = ((_key(path, line, row), text) for line, _, text, row in _rows(path))
    mine = (((one.task, one.rollout), one.line.rstrip(b"\n")) for one in plan)
    counts, first = [0, 0], ""
    for wanted, found in zip_longest(mine, there):
        counts[0] += wanted is not None
        counts[1] += found is not None
        if wanted is not None and found is not None and not first:
            first = _difference(wanted, found)
    said = [] if counts[0] == counts[1] else [f"rollouts planned: {counts[0]:,} now, {counts[1]:,} then"]
    said += [first] if first else []
    if said:
        raise UsageError(
            f"the dataset or options do not fit these materialized inputs: {'; '.join(said)}",
            where=names.shown(path),
            hint="Give those of the first time, or leave --input and options of the plan out: "
            "--resume goes by the materialized inputs.\nAnother --output starts anew.",
        )


def _difference(wanted: tuple[Key, bytes], found: tuple[Key, bytes]) -> str:
    """In what two planned rollouts differ, in words; empty where they mean the same."""
    if wanted == found:
        return ""
    at = f"{found[0][0]}:{found[0][1]}"
    if wanted[0] != found[0]:
        return f"where {at} was, {wanted[0][0]}:{wanted[0][1]} is planned now"
    changes = list(_changes(json.loads(found[1]), json.loads(wanted[1]), ""))
    return f"in {at} {', '.join(changes[:3])}" if changes else ""


def _changes(then: Any, now: Any, path: str) -> Iterator[str]:
    """The fields that differ, each with what it was and is."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in [*then, *(key for key in now if key not in then)]:
            missing = "not there"
            yield from _changes(then.get(key, missing), now.get(key, missing), f"{path}.{key}" if path else key)
    elif then != now:
        yield f"{path} was {_short(then)} and is {_short(now)} now"


def _short(value: Any) -> str:
    text = value if value == "not there" else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"  # noqa: PLR2004 - a line of a terminal holds two of them


def _rows(path: Path) -> Iterator[tuple[int, int, bytes, Any]]:
    """Line, offset, text and object of each row."""
    with rows.numbers_of_any_length():
        for line, (offset, view, _) in enumerate(lines_of(open_source(path).whole()), 1):
            text = bytes(view)
            if not text.strip(rows.SPACE):
                continue
            try:
                row = rows.parse(memoryview(text))
            except (rows.BadLineError, RecursionError) as error:
                raise _bad_line(path, line, str(error)) from None
            yield line, offset, text, row


def _key(path: Path, line: int, row: Any) -> Key:
    try:
        task, rollout = (rows.whole_number(rows.last(row, name), name) for name in names.KEY)
    except rows.BadLineError as error:
        raise _bad_line(path, line, str(error)) from None
    return task, rollout


def _bad_line(path: Path, line: int, reason: str) -> FaultsError:
    where = f"{names.shown(path)}:{line}"
    return FaultsError(
        f"{where} {reason}",
        exit_code=Exit.UNREADABLE,
        counts={"malformed": 1},
        keys={},
        places={"malformed": [where]},
        hint="Mend the line; nothing was sent.",
    )
