"""Faults of keys → how many, where, and whether lines that share a key say the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from pipeline import names
from pipeline.errors import SourceError
from pipeline.report.faults import SHOWN
from pipeline.sources.files import Source
from pipeline.sources.lines import lines_of

COMPARED = 1000
IDENTICAL, CONFLICTING, UNKNOWN = "identical", "conflicting", "unknown"


@dataclass(frozen=True)
class FaultyKey:
    """A key with a fault.

    Attributes:
        task: Its task index.
        rollout: Its rollout index.
        lines: The lines that have it, up to ten, as `file:line`.
        content: Of a duplicate: identical, conflicting, or unknown where the lines could not be compared.
    """

    task: int
    rollout: int
    lines: tuple[str, ...]
    content: str | None = None


@dataclass(frozen=True)
class KeyFaults:
    """One kind of fault.

    Attributes:
        kind: duplicate_rollouts, duplicate_inputs, extra_rollouts or missing_rollouts.
        rows: How many lines have it.
        keys: How many keys have it.
        first: The first keys, up to ten.
        compared: Of duplicates: how many keys had their lines compared, the first thousand at most.
        identical: How many of these are the same text on every line.
        conflicting: How many are not.
    """

    kind: str
    rows: int
    keys: int
    first: tuple[FaultyKey, ...]
    compared: int | None = None
    identical: int | None = None
    conflicting: int | None = None


def key_faults(
    kind: str, problems: pl.DataFrame, frame: pl.DataFrame | None = None, sources: Sequence[Source] = ()
) -> Iterator[KeyFaults]:
    """The faults of a kind, if there are any.

    Args:
        kind: Which.
        problems: As `align` gives them.
        frame: For duplicates, the rows with their places.
        sources: For duplicates, the files that the rows are read from.
    """
    rows = problems.filter(pl.col("_kind") == kind)
    if rows.is_empty():
        return
    if frame is not None:
        yield _duplicates(kind, rows, frame, sources)
        return
    first = (
        FaultyKey(task, rollout, (f"{source}:{line}",))
        for task, rollout, source, line in rows.select(*names.KEY, "_source", "_line").head(SHOWN).iter_rows()
    )
    yield KeyFaults(kind, len(rows), len(rows.select(names.KEY).unique()), tuple(first))


def _duplicates(kind: str, rows: pl.DataFrame, frame: pl.DataFrame, sources: Sequence[Source]) -> KeyFaults:
    keys = rows.select(names.KEY).unique().sort(names.KEY)
    lines = frame.filter(pl.col("_problem").is_null()).join(keys.head(COMPARED), on=names.KEY, how="semi")
    lines = lines.select(*names.KEY, "_source", "_file", "_line", "_offset", "_length").sort(
        *names.KEY, "_file", "_line"
    )
    by_key: dict[tuple[int, int], list[tuple[str, bytes | None]]] = {}
    places = lines.select(*names.KEY, "_source", "_line").iter_rows()
    for (task, rollout, source, line), text in zip(places, _digests(lines, sources), strict=True):
        by_key.setdefault((task, rollout), []).append((f"{source}:{line}", text))
    found = [
        FaultyKey(*key, tuple(place for place, _ in of_key[:SHOWN]), _compared([text for _, text in of_key]))
        for key, of_key in by_key.items()
    ]
    contents = [key.content for key in found]
    same, different = contents.count(IDENTICAL), contents.count(CONFLICTING)
    return KeyFaults(kind, len(rows), len(keys), tuple(found[:SHOWN]), same + different, same, different)


def _compared(texts: list[bytes | None]) -> str:
    if None in texts:
        return UNKNOWN
    return IDENTICAL if len(set(texts)) == 1 else CONFLICTING


def _digests(lines: pl.DataFrame, sources: Sequence[Source]) -> list[bytes | None]:
    """A digest of the text of each line, without white space around it; None where it cannot be fetched again."""
    numbered = [one for one in sources if not one.is_export]  # rows of exports have no text, and the last numbers
    wanted: dict[int, dict[int, int]] = {}
    for number, offset, length in lines.select("_file", "_offset", "_length").iter_rows():
        wanted.setdefault(number, {})[offset] = length
    found = {
        (number, offset): text
        for number, places in wanted.items()
        if number < len(numbered)
        for offset, text in _digests_in(numbered[number], places)
    }
    return [found.get(place) for place in lines.select("_file", "_offset").iter_rows()]


def _digests_in(source: Source, places: dict[int, int]) -> Iterator[tuple[int, bytes]]:
    """Offset and digest of lines of a source, given their lengths by their offsets."""
    try:
        if source.seekable:
            with source.path.open("rb") as file:
                for offset, length in places.items():
                    file.seek(offset)
                    yield offset, _digest(file.read(length))
        else:
            for offset, view, _ in lines_of(source.whole()):
                if offset in places:
                    yield offset, _digest(bytes(view))
    except (OSError, SourceError):  # what was read a moment ago is gone
        return


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text.strip(), digest_size=16).digest()
