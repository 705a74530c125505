"""A dataset → its rows, each fit to be planned; rows that are not are all named at once, before anything is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline import names
from pipeline.collect.extra_body import extra_body
from pipeline.collect.options import PlanOptions
from pipeline.errors import Exit, FaultsError, SourceError
from pipeline.sources import rows
from pipeline.sources.files import open_source
from pipeline.sources.lines import lines_of
from pipeline.sources.text import with_nulls

SHOWN = 10
HINT = "Name a dataset, a JSON object on each line."


class Row(NamedTuple):
    """A row of a dataset.

    Attributes:
        text: Its JSON as it stands in the file.
        task: Its own task index, if it has one.
        agent: The name of its agent.
        names_agent: Whether it names that agent itself.
        repeats: How many rollouts it gets.
    """

    text: bytes
    task: int | None
    agent: str
    names_agent: bool
    repeats: int


def read_dataset(path: Path, options: PlanOptions) -> list[Row]:
    """The rows of a dataset, up to the limit.

    Raises:
        FaultsError: Rows cannot be planned; all of them are named.
        SourceError: The file cannot be read, or holds no rows.
    """
    found: list[Row] = []
    bad: list[tuple[int, str]] = []
    with rows.numbers_of_any_length():
        for line, text in _texts(path):
            try:
                found.append(_row(text, options))
            except (rows.BadLineError, RecursionError) as error:
                bad.append((line, str(error)))
            if options.limit is not None and len(found) + len(bad) >= options.limit:
                break
    if bad:
        raise _refusal(path, bad)
    if not found:
        raise SourceError("holds no rows", where=names.shown(path), hint=HINT)
    return found


def _texts(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers."""
    _check_file(path)
    for line, (_, view, _) in enumerate(lines_of(open_source(path, hint=HINT).whole()), 1):
        if text := bytes(view).strip(rows.SPACE):
            yield line, text


def _check_file(path: Path) -> None:
    """Refuses what cannot be read again, which --resume does with a dataset that it is given."""
    if str(path) == "-" or (os.path.exists(path) and not os.path.isfile(path)):  # noqa: PTH110, PTH113 - raise nothing
        raise SourceError(
            "a dataset has to be a file, which --resume can read again",
            where=names.shown(path),
            hint="Write what comes through a pipe to a file first, and name that.",
        )


def _row(text: bytes, options: PlanOptions) -> Row:
    row = rows.parse(memoryview(text))
    if with_nulls(text)[1]:
        raise rows.BadLineError("holds NaN or Infinity, which no server takes")
    task = rows.last(row, names.TASK)
    task = None if task is None else rows.whole_number(task, names.TASK)
    params = rows.last(row, names.PARAMS)
    asked = rows.last(params, "input") if isinstance(params, rows.OBJECTS) else None
    if asked is None:
        raise rows.BadLineError(f"has no {names.PARAMS}.input")
    if not isinstance(asked, (str, *rows.LISTS)):
        raise rows.BadLineError(f"has {rows.kind_of(asked)} as {names.PARAMS}.input, which is text or a list")
    if options.add_seed:
        extra_body(params)
    own = _own_agent(rows.last(row, names.AGENT_REF))
    agent = own or options.agent
    if not agent:
        raise rows.BadLineError("names no agent (--agent NAME is for such rows)")
    repeats = options.repeats_of(agent)
    if repeats is None:
        raise rows.BadLineError(f"is for {agent}, whose repeats --num-repeats does not say")
    return Row(text, task, agent, bool(own), repeats)


def _own_agent(reference: object) -> str | None:
    """The agent that a row names itself; none where it names none, which is not the same as naming it by no text."""
    name = rows.last(reference, "name") if isinstance(reference, rows.OBJECTS) else reference
    if name is not None and not isinstance(name, str):
        raise rows.BadLineError(f"names its agent by {rows.kind_of(name)} in {names.AGENT_REF}, which no server has")
    return rows.agent_name(reference)


def _refusal(path: Path, bad: Sequence[tuple[int, str]]) -> FaultsError:
    where = names.shown(path)
    listed = [f"  {where}:{line} {reason}" for line, reason in bad[:SHOWN]]
    if len(bad) > SHOWN:
        listed.append(f"  and lines {ranges([line for line, _ in bad[SHOWN:]])}")
    number = "1 row" if len(bad) == 1 else f"{len(bad):,} rows"
    return FaultsError(
        f"{number} cannot be collected:\n" + "\n".join(listed),
        exit_code=Exit.UNREADABLE,
        counts={"malformed": len(bad)},
        keys={},
        places={"malformed": [f"{where}:{line}" for line, _ in bad]},
        hint="Mend them; nothing was sent.",
    )


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers in words: `3, 7-9`."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
