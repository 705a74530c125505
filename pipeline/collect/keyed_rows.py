"""The rows of a file that have keys: planned rollouts, finished ones, failed attempts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline import names
from pipeline.errors import Exit, FaultsError, SourceError
from pipeline.sources import rows
from pipeline.sources.files import open_source
from pipeline.sources.lines import compression_of, lines_of

Key = tuple[int, int]


def keyed_rows(path: Path) -> Iterator[tuple[int, int, bytes, Any]]:
    """Line, offset, text and object of each row.

    Raises:
        SourceError: The file cannot be read.
        FaultsError: A line holds no object.
    """
    with rows.numbers_of_any_length():
        for line, (offset, view, _) in enumerate(lines_of(open_source(path).whole()), 1):
            text = bytes(view)
            if not text.strip(rows.SPACE):
                continue
            try:
                row = rows.parse(memoryview(text))
            except (rows.BadLineError, RecursionError) as error:
                raise bad_line(path, line, str(error)) from None
            yield line, offset, text, row


def key_of(path: Path, line: int, row: Any) -> Key:
    """The task and rollout index of the row on a line.

    Raises:
        FaultsError: One of them is missing, or no whole number.
    """
    try:
        task, rollout = (rows.whole_number(rows.last(row, name), name) for name in names.KEY)
    except rows.BadLineError as error:
        raise bad_line(path, line, str(error)) from None
    return task, rollout


def check_plain(path: Path, head: bytes) -> None:
    """Refuses a file whose bytes are not those of its lines.

    Args:
        path: The file.
        head: Its first four bytes.

    Raises:
        SourceError: It is compressed.
    """
    if kind := compression_of(head):
        raise SourceError(
            f"is compressed ({kind}), but a collection goes on with plain lines",
            where=names.shown(path),
            hint="Decompress it under this name first; nothing was changed or sent.",
        )


def bad_line(path: Path, line: int, reason: str) -> FaultsError:
    """The refusal for a line that cannot be used."""
    where = f"{names.shown(path)}:{line}"
    return FaultsError(
        f"{where} {reason}",
        exit_code=Exit.UNREADABLE,
        counts={"malformed": 1},
        keys={},
        places={"malformed": [where]},
        hint="Mend the line; nothing was sent.",
    )
