"""Rollouts that were asked for → their lines → what is printed of them."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline import names
from pipeline.cli.console import print_bytes
from pipeline.cli.opening import begun, check_kept, opened
from pipeline.cli.picking import Key, Listed, best_and_worst, chosen, of_key, split_key
from pipeline.cli.tables import form_of, print_table
from pipeline.errors import SourceError, UsageError
from pipeline.frames.lazy import collect
from pipeline.groups import TOKENS
from pipeline.report.rollout import answer_of, as_text, blocks_of
from pipeline.report.values import as_json, cut, on_one_line, plain, value_at, without_nan
from pipeline.sources import rows
from pipeline.sources.fetching import Place, fetch, plain_row

if TYPE_CHECKING:
    from pipeline.cli.asked import RunAsked, TableAsked
    from pipeline.cli.console import Console
    from pipeline.run import Run

LISTED = 20
ANSWER_LETTERS = 60
EXTRACTED = ("_row.extracted_answer", "_row.extracted")
BRIEF = ("_agent", names.REWARD, TOKENS, "_truncated", "_verdict")
FORMS_OF_ROLLOUT = ("table", "json", "jsonl")
BOLD, NORMAL = "\x1b[1m", "\x1b[0m"


class View(NamedTuple):
    """How one rollout is shown: its line as it stands, one field of it, or in words, whole or shortened."""

    raw: bool = False
    field: str | None = None
    full: bool = False


@rows.numbers_of_any_length()
def answer(
    asked: RunAsked,
    table: TableAsked,
    console: Console,
    *,
    view: View,
    listed: Listed,
    contrast: int | None,
    threshold: float,
) -> None:
    """Shows what was asked for: a list of rollouts, one of them, or two of a task.

    Raises:
        RollprofError: The question cannot be understood, there is no such rollout, or the run cannot be read.
    """
    words, key = split_key(list(asked.run or ()))
    if contrast is not None and key is not None:
        raise UsageError("--contrast names its task itself", hint="Leave out the key.")
    key = key if contrast is None else Key(contrast)
    one = key is not None and key.rollout is not None
    _check(table, view, listed, one=one, in_words=one or contrast is not None)
    asked = replace(asked, run=words)
    if math.isnan(threshold):
        raise UsageError("--threshold is no number", hint="A reward of at least that much passes.")
    try:
        if key is not None and key.rollout is not None:
            run, found = _located(asked, key, console)
            _print(_shown(run, found, view, as_object=form_of(table) != "table"), table, run)
            return
        run = opened(asked, console)
        frame = collect(run.rollouts)
        found = frame if key is None else of_key(frame, key)
        if contrast is not None:
            _contrast(run, found, table, console, threshold=threshold, full=view.full)
        else:
            _list(run, chosen(found, listed), table, console)
    except RecursionError:
        hint = "--raw prints its line as it stands."
        raise SourceError("a rollout is nested deeper than can be shown", hint=hint) from None


def _located(asked: RunAsked, key: Key, console: Console) -> tuple[Run, pl.DataFrame]:
    """One rollout, whatever else may be wrong with the run; inputs have no say in it."""
    with begun(replace(asked, rollouts_only=True), console) as run:
        found = of_key(collect(run.as_read), key)
    if len(found) > 1:
        places = ", ".join(f"{source}:{line}" for source, line in found.select("_source", "_line").head(3).iter_rows())
        console.warn(f"{len(found):,} rollouts share this key ({places}); the first is shown")
    return run, found.head(1)


def _check(table: TableAsked, view: View, listed: Listed, *, one: bool, in_words: bool) -> None:
    """Refuses options that say nothing of what was asked for."""
    if view.raw and (view.field is not None or view.full or table.as_json):
        raise UsageError("--raw is the line as it stands", hint="Leave out --field, --full and --json.")
    if (view.raw or view.field is not None) and not one:
        raise UsageError(f"{'--raw' if view.raw else '--field'} is for one rollout", hint="Name it: RUN 12:3")
    if view.full and not in_words:
        raise UsageError("--full is for one rollout", hint="Name it: RUN 12:3")
    if in_words and (listed.where is not None or listed.sort is not None or table.limit is not None):
        raise UsageError("--where, --sort and --limit are for lists", hint="Leave out the rollout, or leave out them.")
    if in_words and form_of(table) not in FORMS_OF_ROLLOUT:
        raise UsageError(f"a rollout is no table: {form_of(table)} is for lists", hint="It can be text or --json.")


def _lines(run: Run, frame: pl.DataFrame) -> list[bytes]:
    """The lines of rollouts, in the order of the frame."""
    about = frame.select(*names.PLACE, *names.KEY).with_row_index("_row")
    lines = [b""] * len(frame)
    for (shown,), part in about.partition_by("_source", as_dict=True, maintain_order=True).items():
        fetched = part.sort("_offset")
        places = [Place(*row) for row in fetched.select(*names.KEY, "_line", "_offset", "_length").iter_rows()]
        for row, line in zip(fetched["_row"], fetch(run.source_of(str(shown)), places), strict=True):
            lines[row] = line
    return lines


def _shown(run: Run, found: pl.DataFrame, view: View, *, as_object: bool) -> bytes:
    """One rollout, as it is to be shown."""
    (line,) = _lines(run, found)
    if view.raw:
        return line + b"\n"
    if view.field is None:
        return _object(line) + b"\n" if as_object else _text(found, line, full=view.full).encode()
    value = value_at(plain_row(line), view.field)
    if isinstance(value, str) and not as_object:
        return f"{plain(value)}\n".encode()
    return f"{as_json(value, indent=None if as_object else 2)}\n".encode()


def _object(line: bytes) -> bytes:
    return without_nan(line.decode().strip(" \t\r")).encode()


def _text(found: pl.DataFrame, line: bytes, *, full: bool, about: str = "") -> str:
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


def _contrast(
    run: Run, task: pl.DataFrame, table: TableAsked, console: Console, *, threshold: float, full: bool
) -> None:
    """Shows the best passing and the worst failing rollout of a task, as far as there are."""
    best, worst = best_and_worst(task, threshold=threshold)
    pair = {"passing": ("best passing", best), "failing": ("worst failing", worst)}
    there = {kind: about for kind, about in pair.items() if len(about[1])}
    for kind in (kind for kind in pair if kind not in there):
        console.say(f"task {task[names.TASK][0]} has no {kind} rollout (a reward of {threshold:g} passes)")
    lines = _lines(run, pl.concat([best, worst]))
    if form_of(table) == "table":
        about_lines = zip(there.values(), lines, strict=True)
        texts = [_text(found, line, full=full, about=about) for (about, found), line in about_lines]
        _print("\n\n".join(texts).encode(), table, run)
    else:
        objects = dict.fromkeys(pair, b"null") | dict(zip(there, map(_object, lines), strict=True))
        members = (b'"%s":%s' % (kind.encode(), text) for kind, text in objects.items())
        _print(b"{" + b",".join(members) + b"}\n", table, run)


def _list(run: Run, frame: pl.DataFrame, table: TableAsked, console: Console) -> None:
    """Prints rollouts in brief, one a line."""
    limit = LISTED if table.limit is None else table.limit
    answers = _answers(run, frame.head(limit) if limit else frame, console)
    brief = frame.select(
        pl.concat_str(pl.col(names.KEY).cast(pl.String), separator=":").alias("key"),
        *(pl.col(name) if name in frame.columns else pl.lit(None, pl.Float64).alias(name) for name in BRIEF),
        answer=pl.Series(answers, dtype=pl.String).extend_constant(None, len(frame) - len(answers)),
    )
    print_table(brief, replace(table, limit=limit), console, run.files)


def _answers(run: Run, frame: pl.DataFrame, console: Console) -> list[str | None]:
    """The first words of each rollout's answer; those that are no column are looked up in their lines."""
    known = [pl.col(name).cast(pl.String) for name in EXTRACTED if name in frame.columns]
    answers = frame.select(pl.coalesce(*known).alias("answer"))["answer"].to_list() if known else [None] * len(frame)
    missing = [row for row, text in enumerate(answers) if not text]
    try:
        lines = _lines(run, frame[missing])
    except SourceError as error:
        if all(source.is_dump for source in run.files.rollouts):
            raise
        console.say(f"without answers: {error}")
        lines = []
    for row, line in zip(missing, lines, strict=bool(lines)):
        with contextlib.suppress(RecursionError):  # a list need not say all
            answers[row] = answer_of(plain_row(line))
    return [None if text is None else cut(on_one_line(text), ANSWER_LETTERS) for text in answers]


def _print(content: bytes, table: TableAsked, run: Run) -> None:
    """Prints a rollout, or writes it to the file asked for."""
    if table.output == "-":
        print_bytes(content)
        return
    from pipeline.output.files import make_folder, whole_files

    path = Path(table.output)
    check_kept(path, run.files)
    make_folder(path.parent)
    with whole_files(path) as (file,):
        file.write(content)
