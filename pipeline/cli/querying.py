"""A question → a table."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import polars.selectors as cs
from pydantic import TypeAdapter, ValidationError

from pipeline.cli.opening import opened
from pipeline.cli.tables import print_table
from pipeline.errors import GateError, RollprofError, SourceError, UsageError
from pipeline.frames.lazy import collect
from queries import QUERIES, Query

if TYPE_CHECKING:
    from pipeline.cli.asked import FieldsAsked, RunAsked, TableAsked
    from pipeline.cli.console import Console
    from pipeline.run import Run

FRAMES = ("rollouts", "inputs", "tasks", "agents", "repeats", "failures")
READERS: dict[str, Callable[[str], pl.LazyFrame]] = {
    ".csv": pl.scan_csv,
    ".parquet": pl.scan_parquet,
    ".jsonl": pl.scan_ndjson,
    ".ndjson": pl.scan_ndjson,
}
BY = "by"
READS = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(?:select|with|from|show|explain)\b", re.IGNORECASE | re.DOTALL)


class Question(NamedTuple):
    """What was asked: SQL, or the parameters and groups of a query; and tables of the user's own."""

    sql: str | None
    parameters: tuple[str, ...]
    by: tuple[str, ...]
    tables: tuple[str, ...]


def ask(
    question: Question,
    asked: RunAsked,
    fields: FieldsAsked,
    table: TableAsked,
    console: Console,
    *,
    fail_if_rows: bool,
) -> None:
    """Answers a question with a table.

    Raises:
        GateError: There are rows, and there should be none.
        RollprofError: The question cannot be understood, or the run cannot be read.
    """
    words = list(asked.run or ())
    name = None if question.sql is not None else _take_name(words)
    asked = replace(asked, run=words)
    tables = _tables(question.tables)
    if name in QUERIES:
        query, given = QUERIES[name], _parameters(QUERIES[name], question)
        run = opened(asked, console, fields)
        answer = _asked(query, run, given)
    else:
        text = question.sql or ""
        if name is not None:
            text = name if READS.match(name) else _text(Path(name))
        if question.parameters or question.by:
            raise UsageError("--param and --by are for queries by name", hint="SQL says it itself: … group by …")
        if not READS.match(text):
            raise UsageError("SQL: only questions are answered", hint='It starts with "select" or "with".')
        run = opened(asked, console, fields)
        answer = _answer(run, text, tables)
    print_table(answer, table, console, run.files)
    if fail_if_rows and len(answer):
        missed = GateError(f"there are rows: {len(answer):,}", hint="--fail-if-rows wants none.")
        missed.answered = True
        raise missed


def list_queries(table: TableAsked, console: Console) -> None:
    """Prints the queries, what they answer, and their parameters."""
    rows = [
        {"query": name, "answers": (query.__doc__ or "").split("\n")[0], "parameters": ", ".join(_shown(query))}
        for name, query in QUERIES.items()
    ]
    print_table(pl.DataFrame(rows), table, console)


def _take_name(words: list[str]) -> str:
    """Takes the query's name or the file of SQL out of the words; what is left is the run."""
    for place, word in enumerate(words):
        if word in QUERIES or word.endswith(".sql") or READS.match(word):
            return words.pop(place)
    raise UsageError(
        f"no query is named {words[0]!r}" if words else "no query named",
        hint=f"There are {', '.join(QUERIES)}; rollprof query --list says more, --sql asks your own.",
    )


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot be read: {error}", where=str(path), hint="Name a file of SQL.") from error


def _columns(name: str, frame: pl.LazyFrame) -> str:
    """The columns of a table, as SQL names them."""
    columns = frame.collect_schema().names()
    return f"Columns of {name}: {', '.join(one if one.isidentifier() else json.dumps(one) for one in columns)}"


def _as_text(frame: pl.LazyFrame) -> pl.LazyFrame:
    """A frame whose categories are texts, which joins and functions of SQL want."""
    return frame.with_columns(cs.categorical().cast(pl.String))


def _shown(query: Query) -> list[str]:
    """The parameters of a query with their defaults."""
    parameters = list(inspect.signature(query).parameters.values())[1:]
    return [one.name if one.name == BY else f"{one.name}={_default(one.default)}" for one in parameters]


def _default(value: object) -> str:
    """A default as --param takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _parameters(query: Query, question: Question) -> dict[str, Any]:
    """The parameters of a query, each as the type that it has there."""
    known = {name: one.annotation for name, one in inspect.signature(query, eval_str=True).parameters.items()}
    takes = f"{query.__name__} takes {', '.join(_shown(query)) or 'no parameters'}."
    given: dict[str, Any] = {}
    for text in question.parameters:
        name, equals, value = text.partition("=")
        if name == BY:
            raise UsageError(f"--param {text!r}: groups have an option of their own", hint=f"--by {value}")
        if not equals or name not in list(known)[1:]:
            raise UsageError(f"--param {text!r} is not known", hint=takes)
        try:
            given[name] = _as_type(value, known[name])
        except ValidationError as error:
            raise UsageError(f"--param {text!r}: {error.errors()[0]['msg']}", hint=takes) from error
    if question.by:
        if BY not in known:
            raise UsageError(f"{query.__name__} takes no --by", hint=takes)
        given[BY] = question.by
    return given


def _as_type(text: str, wanted: Any) -> Any:
    """A text as a number, flag or text, or as several of them with commas between."""
    adapter: TypeAdapter[Any] = TypeAdapter(wanted)
    try:
        return adapter.validate_python(text)
    except ValidationError:
        return adapter.validate_python(text.split(","))


def _tables(asked: tuple[str, ...]) -> dict[str, pl.LazyFrame]:
    """Tables of the user's own by name."""
    tables = {}
    for text in asked:
        name, _, path = text.partition("=")
        if not name.isidentifier() or name in FRAMES or not path:
            hint = f"The name is a word, and none of {', '.join(FRAMES)}."
            raise UsageError(f"--table {text!r} is not NAME=FILE", hint=hint)
        reader = READERS.get(Path(path).suffix)
        if reader is None:
            raise UsageError(f"--table {text!r}: what kind of file is it?", hint=f"Known are {', '.join(READERS)}.")
        if not Path(path).is_file():
            raise SourceError("no such file", where=path, hint="Name a JSONL, CSV or Parquet file.")
        tables[name] = reader(path)
    return tables


def _asked(query: Query, run: Run, given: dict[str, Any]) -> pl.DataFrame:
    """The rows that a query by name gives."""
    try:
        return collect(query(run, **given))
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        where = f"queries/{query.__name__}.py"
        raise UsageError(
            f"cannot be answered: {reason}", where=where, hint="It asks for what this run has not."
        ) from error


def _answer(run: Run, text: str, tables: dict[str, pl.LazyFrame]) -> pl.DataFrame:
    """The rows that SQL selects."""
    frames = {name: _as_text(getattr(run, name)) for name in FRAMES} | tables
    with pl.SQLContext(frames=frames, eager=False) as context:
        try:
            return collect(context.execute(text))
        except RollprofError:
            raise
        except pl.exceptions.PolarsError as error:
            shown = {"rollouts": frames["rollouts"], **tables}
            hint = "\n".join([f"Tables: {', '.join(frames)}.", *(_columns(name, shown[name]) for name in shown)])
            reason = str(error).splitlines()[0].partition("; valid columns")[0]
            raise UsageError(f"SQL: {reason}", hint=hint) from error
