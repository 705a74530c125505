"""Rollouts that were found → their lines → what is printed of them, one or several of them together."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline import names
from pipeline.cli.tables import form_of, print_content
from pipeline.report.rollout import as_text, blocks_of
from pipeline.report.values import without_nan
from pipeline.sources.fetching import Place, fetch, plain_row

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.cli.asked import TableAsked
    from pipeline.run import Run

BOLD, NORMAL = "\x1b[1m", "\x1b[0m"
FORMS_OF_ROLLOUT = ("table", "json", "jsonl")


class Part(NamedTuple):
    """One of several rollouts that are shown together: what it is, its run, and its row, or no row."""

    title: str
    run: Run
    found: pl.DataFrame


def print_parts(parts: Mapping[str, Part], table: TableAsked, *, full: bool, kept: Sequence[Path] = ()) -> None:
    """Prints rollouts one after another, or an object of them; null where there is none.

    Args:
        parts: The rollouts by the names that they have in an object.
        table: How they are printed.
        full: Whether nothing of them is left out.
        kept: Files that the output may not replace, beside those of the runs.

    Raises:
        SourceError: A line is no longer there, or the output cannot be written.
    """
    there = {name: part for name, part in parts.items() if len(part.found)}
    lines = {name: rollout_lines(part.run, part.found)[0] for name, part in there.items()}
    files = [part.run.files for part in parts.values()]
    if form_of(table) == "table":
        texts = [rollout_text(part.found, lines[name], full=full, about=part.title) for name, part in there.items()]
        print_content("\n\n".join(texts).encode(), table, files, kept)
        return
    objects = dict.fromkeys(parts, b"null") | {name: rollout_object(line) for name, line in lines.items()}
    members = (b'"%s":%s' % (name.encode(), text) for name, text in objects.items())
    print_content(b"{" + b",".join(members) + b"}\n", table, files, kept)


def rollout_lines(run: Run, frame: pl.DataFrame) -> list[bytes]:
    """The lines of rollouts, in the order of the frame."""
    about = frame.select(*names.PLACE, *names.KEY).with_row_index("_row")
    lines = [b""] * len(frame)
    for (shown,), part in about.partition_by("_source", as_dict=True, maintain_order=True).items():
        fetched = part.sort("_offset")
        places = [Place(*row) for row in fetched.select(*names.KEY, "_line", "_offset", "_length").iter_rows()]
        for row, line in zip(fetched["_row"], fetch(run.source_of(str(shown)), places), strict=True):
            lines[row] = line
    return lines


def rollout_object(line: bytes) -> bytes:
    """A rollout as an object on one line."""
    return without_nan(line.decode().strip(" \t\r")).encode()


def rollout_text(found: pl.DataFrame, line: bytes, *, full: bool, about: str = "") -> str:
    """A rollout in words, below a line of what is known of it."""
    row = found.row(0, named=True)
    reward = row.get(names.REWARD)
    facts = (
        about,
        f"rollout {row[names.TASK]}:{row[names.ROLLOUT]}",
        row["_agent"],
        None if reward is None else f"reward {reward:.6g}",
        "truncated" if row["_truncated"] else None,
        "masked" if row["_masked"] else None,
        row["_verdict"],
        f"{row['_source']}:{row['_line']}",
    )
    title = " · ".join(fact for fact in facts if fact)
    return as_text(title, blocks_of(plain_row(line), full=full), heading=_heading())


def _heading() -> Callable[[str], str]:
    """Bold on a terminal whose user wants colour."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    bold = is_terminal and not os.environ.get("NO_COLOR")
    return (lambda line: f"{BOLD}{line}{NORMAL}") if bold else str
