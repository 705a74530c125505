"""A plan of repeats → the files of a run that are written anew for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from pipeline import names
from pipeline.errors import UsageError
from pipeline.output.resuming import Pair
from pipeline.output.rewriting import append_lines, backup_of, check_rewritable, set_aside
from pipeline.sources import rows
from pipeline.sources.fetching import Place, fetched
from pipeline.sources.files import Source
from pipeline.sources.repeats import template_of


def check_top_up(repeats: pl.DataFrame, redone: pl.DataFrame, pairs: Mapping[str, Pair]) -> None:
    """Finds out before anything is written whether all of it can be.

    Raises:
        SourceError: A file or its folder is read-only.
        UsageError: A task has no rollout indices left.
    """
    last = repeats.filter(pl.col("first") + (pl.col("more") - 1) < pl.col(names.ROLLOUT))
    for task in last[names.TASK].head(1):
        raise UsageError(f"task {task} has no rollout index left", hint="They are whole numbers of 64 bits.")
    for pair in pairs_of(repeats, pairs):
        check_rewritable(pair.inputs.path)
        check_rewritable(backup_of(pair.inputs.path))
    for pair in pairs_of_rollouts(redone, pairs):
        check_rewritable(pair.path)
        check_rewritable(pair.side)


def write_top_up(repeats: pl.DataFrame, redone: pl.DataFrame, pairs: Mapping[str, Pair]) -> list[Path]:
    """Sets rollouts aside that are to be collected again, then adds the rows of new repeats to the inputs.

    Every file is there whole at every moment, the old or the new one, and no rollout is ever in none. Cut short, the
    same plan can be made and written again: what is done already counts as still to come.

    Args:
        repeats: As `new_repeats` gives them.
        redone: Rollouts with both indices, `_source`, `_line`, `_offset`, `_length`.
        pairs: The files by the name of the inputs, as `resumable` gives them.

    Returns:
        What was written.

    Raises:
        SourceError: A file cannot be written, or was changed since it was read.
    """
    written = []
    for pair in pairs_of_rollouts(redone, pairs):
        of_source = redone.filter(pl.col("_source") == pair.rollouts.shown).sort("_offset")
        set_aside(pair.rollouts, list(_places(of_source)), pair.side)
        written += [pair.side, pair.path]
    for pair in pairs_of(repeats, pairs):
        of_source = repeats.filter(pl.col("_source") == pair.inputs.shown).sort("_offset")
        append_lines(pair.inputs, _rows(pair.inputs, of_source))
        written += [pair.inputs.path, backup_of(pair.inputs.path)]
    return written


def pairs_of(repeats: pl.DataFrame, pairs: Mapping[str, Pair]) -> list[Pair]:
    """The files that get rows, in the order of the run."""
    wanted = set(repeats["_source"])
    return [pair for shown, pair in pairs.items() if shown in wanted]


def pairs_of_rollouts(redone: pl.DataFrame, pairs: Mapping[str, Pair]) -> list[Pair]:
    """The files that rollouts are taken from, in the order of the run."""
    wanted = set(redone["_source"])
    return [pair for pair in pairs.values() if pair.rollouts.shown in wanted]


def _rows(inputs: Source, repeats: pl.DataFrame) -> Iterator[bytes]:
    """The rows of new repeats, groups in the order of the rows that they are made from."""
    with rows.numbers_of_any_length():
        counts = zip(repeats["first"], repeats["more"], strict=True)
        for line, (first, more) in zip(fetched(inputs, list(_places(repeats))), counts, strict=True):
            template = template_of(line)
            yield from map(template.row, range(first, first + more))


def _places(frame: pl.DataFrame) -> Iterator[Place]:
    return map(Place._make, frame.select(*names.KEY, "_line", "_offset", "_length").iter_rows())
