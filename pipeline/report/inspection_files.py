"""The files of a run → their lines, and which of them cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from pipeline.frames.tally import Tally
from pipeline.sources.files import Source


@dataclass(frozen=True)
class File:
    """One file.

    Attributes:
        role: rollouts, inputs, failures or verdicts.
        file: Its name.
        bytes: Its size.
        compression: gz, zst, parquet, or empty.
        content_bytes: Its size after decompression.
        lines: How many lines it has.
        usable: Lines that are rows of its role.
        blank: Lines that are empty or white space.
        malformed: Lines that cannot be used.
        torn: Lines that are cut off.
        unreadable: Why it cannot be read to its end; its lines are those that could be unpacked, or not known.
    """

    role: str
    file: str
    bytes: int
    compression: str
    content_bytes: int | None
    lines: int | None
    usable: int | None
    blank: int | None
    malformed: int | None
    torn: int | None
    unreadable: str | None = None


@dataclass(frozen=True)
class BadLines:
    """Lines that cannot be used for one reason.

    Attributes:
        role: rollouts, inputs, failures or verdicts.
        reason: Why.
        torn: Whether they are cut off.
        lines: How many there are.
        first: The first of them, as `file:line`.
    """

    role: str
    reason: str
    torn: bool
    lines: int
    first: str


def files_of(
    role: str, sources: Sequence[Source], tally: Tally, frame: pl.DataFrame, *, unreadable: str | None = None
) -> list[File]:
    """The files of a role.

    Args:
        role: What they are.
        sources: The files.
        tally: What was counted of those that are lines.
        frame: Their rows: `_file`, `_problem`, `_torn`.
        unreadable: Why none of them could be read.
    """
    if unreadable is not None:
        blank = (None,) * 6
        return [File(role, one.shown, one.size, one.compression, *blank, unreadable) for one in sources]
    torn = pl.col("_torn").fill_null(value=False)
    bad = frame.filter(pl.col("_problem").is_not_null()).group_by("_file").agg(torn=torn.sum(), malformed=(~torn).sum())
    counts = {number: (malformed, cut) for number, cut, malformed in bad.iter_rows()}
    found = []
    of_lines = [source for source in sources if not source.is_export]
    for number, (source, lines) in enumerate(zip(of_lines, tally.lines, strict=True)):
        malformed, cut = counts.get(number, (0, 0))
        usable = lines.all - lines.blank - malformed - cut
        about = (role, source.shown, source.size, source.compression, lines.content)
        found.append(File(*about, lines.all, usable, lines.blank, malformed, cut))
    for number, source in enumerate((source for source in sources if source.is_export), len(of_lines)):
        rows = int((frame["_file"] == number).sum())
        found.append(File(role, source.shown, source.size, source.compression, None, None, rows, None, None, None))
    return found


def bad_lines(role: str, frame: pl.DataFrame) -> list[BadLines]:
    """Lines that cannot be used, by reason, most first.

    Args:
        role: What the lines are of.
        frame: `_file`, `_source`, `_line`, `_problem`, `_torn`.
    """
    reasons = (
        frame.filter(pl.col("_problem").is_not_null())
        .sort("_file", "_line")
        .group_by("_problem", pl.col("_torn").fill_null(value=False), maintain_order=True)
        .agg(pl.len(), pl.first("_source"), pl.first("_line"))
        .sort("len", descending=True, maintain_order=True)
    )
    return [
        BadLines(role, reason, torn, count, f"{source}:{line}")
        for reason, torn, count, source, line in reasons.iter_rows()
    ]
