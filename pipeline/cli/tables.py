"""A frame → a table on standard output or in a file."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from pipeline import names
from pipeline.cli.choices import Format
from pipeline.cli.console import Console, print_bytes
from pipeline.cli.opening import check_kept, paths_of, placed
from pipeline.errors import UsageError
from pipeline.words import counted

if TYPE_CHECKING:
    import polars as pl

    from pipeline.cli.asked import TableAsked
    from pipeline.output.tables import Format as FormName
    from pipeline.sources.runs import RunFiles

AS_TEXT = ("", "txt")
"""Suffixes of files for people."""
SHOWN_TO_PEOPLE = 100


def print_table(
    frame: pl.DataFrame,
    asked: TableAsked,
    console: Console,
    files: RunFiles | None = None,
    more: Sequence[Path] = (),
) -> None:
    """Prints a table, or writes it to a file that appears whole or not at all; says when rows are not shown.

    Args:
        frame: The table.
        asked: How it is printed.
        console: Where to say what is not shown.
        files: The files that it is made from, none of which it may replace.
        more: Others that it may not replace.

    Raises:
        SourceError: The file cannot be written.
        UsageError: Parquet on a terminal.
    """
    from pipeline.output.tables import write_table

    form = _checked_form(asked)
    shown = _limited(frame, asked, form, console)
    replaced = Path(asked.output).is_file()
    _deliver(partial(write_table, shown, form=form), asked, form, files, more)
    if asked.output != "-":
        there = placed(Path(asked.output), replaced=replaced)
        console.say(f"{counted(len(shown), 'row')} in {there}")


def print_sections(
    sections: Sequence[tuple[str, pl.DataFrame]],
    asked: TableAsked,
    console: Console,
    files: RunFiles | None = None,
    more: Sequence[Path] = (),
) -> None:
    """Prints tables for people one after the other, each under its title, as `print_table` prints one.

    Args:
        sections: Titles and tables.
        asked: How they are printed: `table` or `md`; the limit is that of each.
        console: Where to say what is not shown.
        files: The files that they are made from, none of which they may replace.
        more: Others that they may not replace.

    Raises:
        SourceError: The file cannot be written.
    """
    from pipeline.output.tables import write_table

    form = _checked_form(asked)
    shown = [(title, _limited(frame, asked, form, console, title=title)) for title, frame in sections]

    def write(file: IO[bytes]) -> None:
        for place, (title, frame) in enumerate(shown):
            heading = f"## {title}\n\n" if form == "md" else f"{title}\n"
            file.write(("\n" * (place > 0) + heading).encode())
            write_table(frame, file, form)

    _deliver(write, asked, form, files, more)
    if asked.output != "-":
        console.say(f"{counted(len(shown), 'table')} in {asked.output}")


def print_content(content: bytes, asked: TableAsked, files: Sequence[RunFiles], more: Sequence[Path] = ()) -> None:
    """Prints what is no single table, or writes it to a file that appears whole or not at all.

    Args:
        content: What is printed.
        asked: Where to.
        files: The files of the runs that it is made from, none of which it may replace.
        more: Others that it may not replace.

    Raises:
        SourceError: The file cannot be written.
        UsageError: The file is one of these.
    """

    def write(file: IO[bytes]) -> None:
        file.write(content)

    others = [path for of_run in files[1:] for path in paths_of(of_run)]
    _deliver(write, asked, _checked_form(asked), files[0], [*others, *more])


def _checked_form(asked: TableAsked) -> FormName:
    if not asked.output:
        raise UsageError("-o needs a name", hint="-o - is standard output.")
    return form_of(asked)


def _limited(
    frame: pl.DataFrame, asked: TableAsked, form: FormName, console: Console, *, title: str = ""
) -> pl.DataFrame:
    """The rows to show; says when some are not."""
    limit = SHOWN_TO_PEOPLE if asked.limit is None and form in {"table", "md"} else asked.limit
    shown = frame.head(min(limit, len(frame))) if limit else frame
    if len(shown) < len(frame):
        console.say(f"{title}{': ' * bool(title)}{len(shown):,} of {len(frame):,} shown (--limit 0 for all)")
    return shown


def _deliver(
    write: Callable[[IO[bytes]], None],
    asked: TableAsked,
    form: FormName,
    files: RunFiles | None,
    more: Sequence[Path],
) -> None:
    """Writes to a file that appears whole or not at all, or to standard output."""
    from pipeline.output.files import check_folder, make_folder, whole_files

    if asked.output != "-":
        path = Path(asked.output)
        if files is not None:
            check_kept(path, files, more)
        check_folder(path)
        make_folder(path.parent)
        with whole_files(path) as (file,):
            write(file)
        return
    if form == "parquet" and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError("Parquet is not for a terminal", hint="Give a file with -o FILE.parquet.")
    content = io.BytesIO()
    write(content)
    print_bytes(content.getvalue())


def form_of(asked: TableAsked) -> FormName:
    """The format asked for: by --format or --json, else by the suffix of the file.

    Raises:
        UsageError: Options and suffix name several formats, or the suffix none.
    """
    if asked.as_json and asked.format not in {Format.table, Format.json}:
        raise UsageError(f"--json and --format {asked.format.value} exclude each other", hint="Leave one of them out.")
    given = Format.json if asked.as_json else asked.format
    suffix = Path(asked.output).suffix.removeprefix(".")
    named = Format.table if suffix in AS_TEXT else Format.__members__.get(suffix)
    if given is Format.table:
        if named is None:
            kinds = ", ".join(f".{one.value}" for one in Format if one is not Format.table)
            hint = f"Known are {kinds} and .txt; else say it with --format."
            raise UsageError(f".{suffix} is no format of a table", where=names.shown(asked.output), hint=hint)
        return named.value
    if suffix and named not in {None, given}:
        hint = "Rename the file, or leave the format to its name."
        raise UsageError(f"is to hold {given.value}, not {suffix}", where=names.shown(asked.output), hint=hint)
    return cast("FormName", given.value)
