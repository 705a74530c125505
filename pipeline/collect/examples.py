"""Failed attempts → one of each class, which shows why rollouts failed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline import names
from pipeline.collect.keyed_rows import Key, key_of, keyed_rows
from pipeline.sources import rows


class Example(NamedTuple):
    """What a failed attempt says of itself, and its line; empty where it says nothing."""

    message: str
    line: int


def examples(failures: Path, classes: Mapping[Key, str]) -> dict[str, Example]:
    """The first attempt of each class, among rollouts whose last attempt was of that class.

    Args:
        failures: The failures beside a rollouts file; there may be none.
        classes: The class of the last attempt of each rollout that is looked at.

    Raises:
        SourceError: The file cannot be read.
        FaultsError: A line of it cannot be used.
    """
    found: dict[str, Example] = {}
    wanted = set(classes.values())
    if not wanted or not failures.exists():
        return found
    for line, _, _, row in keyed_rows(failures):
        kind = rows.label_text(rows.last(row, names.FAILURE_CLASS)) or names.UNNAMED_FAILURE
        if kind in wanted and classes.get(key_of(failures, line, row)) == kind:
            message = rows.last(row, names.FAILURE_MESSAGE)
            found[kind] = Example(message if isinstance(message, str) else "", line)
            wanted.remove(kind)
            if not wanted:
                break
    return found
