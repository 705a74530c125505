"""A question → a table."""

from __future__ import annotations

import difflib
import inspect
import math
import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import polars.selectors as cs
from pydantic import TypeAdapter, ValidationError

from pipeline import names
from pipeline.cli.opening import opened
from pipeline.cli.rule_of_run import threshold_of_run
from pipeline.cli.selecting import columns_hint, quotes_hint, sql_names, sql_reason, unread_reason
from pipeline.cli.tables import form_of, print_table
from pipeline.errors import GateError, RollprofError, SourceError, UsageError
from pipeline.frames.lazy import collect
from queries import QUERIES, Query

if TYPE_CHECKING:
    from pipeline.cli.asked import FieldsAsked, RunAsked, TableAsked
    from pipeline.cli.console import Console
    from pipeline.run import Run

FRAMES = ("rollouts", "inputs", "tasks", "agents", "repeats", "failures")
READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".csv": partial(pl.read_csv, infer_schema_length=None, glob=False),
    ".parquet": partial(pl.read_parquet, glob=False),
    ".jsonl": partial(pl.read_ndjson, infer_schema_length=None),
    ".ndjson": partial(pl.read_ndjson, infer_schema_length=None),
}
BY = "by"
THRESHOLD = "threshold"
COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
READS = re.compile(r"[\s(]*(?:select|with|from|show|explain)\b", re.IGNORECASE)


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
    form_of(table)  # a mistake is told before the run is read
    words = list(asked.run or ())
    name = None if question.sql is not None else _take_name(words)
    asked = replace(asked, run=words)
    tables = _tables(question.tables)
    rules: list[Path] = []
    if name in QUERIES:
        query, given = QUERIES[name], _parameters(QUERIES[name], question)
        run = opened(asked, console, fields)
        if THRESHOLD in _known(query) and THRESHOLD not in given:
            given[THRESHOLD], rules = threshold_of_run(run, console)
        answer = _asked(query, run, given)
    else:
        text = question.sql or ""
        if name is not None:
            text = name if _is_sql(name) else _text(Path(name))
        if question.parameters or question.by:
            raise UsageError("--param and --by are for queries by name", hint="SQL says it itself: … group by …")
        if not _is_sql(text):
            raise UsageError("SQL: only questions are answered", hint='It starts with "select" or "with".')
        run = opened(asked, console, fields)
        answer = _answer(run, text, tables)
    mine = [Path(text.partition("=")[2]) for text in question.tables]
    print_table(answer, table, console, run.files, [*mine, *rules])
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
        if word in QUERIES or word.endswith(".sql") or _is_sql(word):
            return words.pop(place)
    hint = f"There are {', '.join(QUERIES)}; rollprof query --list says more, --sql asks your own."
    if not words:
        raise UsageError("no query named", hint=hint)
    if all(os.path.lexists(word) for word in words):
        raise UsageError(f"{names.shown(words[0])} is a run; name a query before it", hint=hint)
    close = difflib.get_close_matches(words[0], QUERIES, 3, 0.5)
    guess = f"Did you mean {' or '.join(close)}? " if close else ""
    raise UsageError(f"no query is named {words[0]!r}", hint=guess + hint)


def _is_sql(text: str) -> bool:
    """Whether a text is an SQL question, be there comments before it."""
    return READS.match(COMMENT.sub(" ", text)) is not None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason, hint = unread_reason(error), "Name a file of SQL."
        raise SourceError(f"cannot be read: {reason}", where=names.shown(path), hint=hint) from error


def _for_sql(frame: pl.LazyFrame) -> pl.LazyFrame:
    """A frame whose categories are texts, which joins and functions want, and whose names are no patterns."""
    renamed = sql_names(frame.collect_schema().names())
    return frame.with_columns(cs.categorical().cast(pl.String)).rename(renamed)


def _shown(query: Query) -> list[str]:
    """The parameters of a query with their defaults."""
    parameters = list(inspect.signature(query).parameters.values())[1:]
    return [one.name if one.name == BY else f"{one.name}={_default(one.default)}" for one in parameters]


def _known(query: Query) -> dict[str, Any]:
    """The parameters of a query with their types."""
    parameters = list(inspect.signature(query, eval_str=True).parameters.items())[1:]
    return {name: one.annotation for name, one in parameters}


def _default(value: object) -> str:
    """A default as --param takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _parameters(query: Query, question: Question) -> dict[str, Any]:
    """The parameters of a query, each as the type that it has there."""
    known = _known(query)
    takes = f"{query.__name__} takes {', '.join(_shown(query)) or 'no parameters'}."
    given: dict[str, Any] = {}
    for text in question.parameters:
        name, equals, value = text.partition("=")
        if name == BY:
            raise UsageError(f"--param {text!r}: groups have an option of their own", hint=f"--by {value}")
        if not equals or name not in known:
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
        value = adapter.validate_python(text)
    except ValidationError:
        return adapter.validate_python(text.split(","))
    if isinstance(value, float) and math.isnan(value):
        raise UsageError(f"--param …={text} is no number", hint="Give a number.")
    return value


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
        tables[name] = _table(reader, Path(path)).lazy()
    return tables


def _table(reader: Callable[[Path], pl.DataFrame], path: Path) -> pl.DataFrame:
    try:
        return reader(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = "it is a folder" if path.is_dir() else unread_reason(error)
        hint = "Name a JSONL, CSV or Parquet file."
        raise SourceError(f"cannot be read: {reason}", where=names.shown(path), hint=hint) from error


def _asked(query: Query, run: Run, given: dict[str, Any]) -> pl.DataFrame:
    """The rows that a query by name gives."""
    try:
        return collect(query(run, **given))
    except pl.exceptions.PolarsError as error:
        where, hint = f"queries/{query.__name__}.py", "It asks for what this run has not."
        raise UsageError(f"cannot be answered: {sql_reason(error)}", where=where, hint=hint) from error


def _answer(run: Run, text: str, tables: dict[str, pl.LazyFrame]) -> pl.DataFrame:
    """The rows that SQL selects."""
    frames = {name: _for_sql(getattr(run, name)) for name in FRAMES} | tables
    with pl.SQLContext(frames=frames, eager=False) as context:
        try:
            return collect(context.execute(text))
        except RollprofError:
            raise
        except pl.exceptions.PolarsError as error:
            schemas = {name: frames[name].collect_schema().names() for name in ("rollouts", *tables)}
            columns = [columns_hint(name, schema) for name, schema in schemas.items()]
            quotes = quotes_hint(text, [name for schema in schemas.values() for name in schema])
            hint = "\n".join([*quotes, f"Tables: {', '.join(frames)}.", *columns])
            raise UsageError(f"SQL: {sql_reason(error)}", hint=hint) from error
