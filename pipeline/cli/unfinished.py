"""A planned rollout that did not finish → its failed attempts, which are shown in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline import names
from pipeline.cli.console import Console
from pipeline.cli.opening import begun
from pipeline.cli.picking import Key
from pipeline.cli.rendering import FORMS_OF_ROLLOUT
from pipeline.cli.tables import form_of, print_content
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect_all
from pipeline.report.values import as_json, plain
from pipeline.sources import rows
from pipeline.sources.fetching import Place, fetch, plain_row
from pipeline.words import counted

if TYPE_CHECKING:
    from pipeline.cli.asked import RunAsked, TableAsked
    from pipeline.run import Run

SHOWN = 3


class Unfinished(NamedTuple):
    """A rollout that is not there.

    Attributes:
        run: Its run.
        key: Its task and rollout index.
        plan: Its planned row as `scan_inputs` gives it, or no row.
        attempts: Its failed attempts as `scan_failures` gives them, in their order.
    """

    run: Run
    key: Key
    plan: pl.DataFrame
    attempts: pl.DataFrame


def unfinished(asked: RunAsked, key: Key) -> list[Unfinished]:
    """What is known of a rollout that is not among those of a run, or of all those of a task of which none is.

    One a rollout that was planned or tried, by its index; none where there is no such.
    """
    if key.task not in rows.INDEX_RANGE or (key.rollout is not None and key.rollout not in rows.INDEX_RANGE):
        return []
    of_key = pl.col(names.TASK) == key.task
    if key.rollout is not None:
        of_key &= pl.col(names.ROLLOUT) == key.rollout
    with begun(replace(asked, rollouts_only=False), Console(quiet=True)) as run:
        wanted = [run.inputs.filter(of_key), run.failures.filter(of_key).sort("_file", "_line")]
        plan, attempts = collect_all(wanted)
    known = [attempts[names.ROLLOUT], *([plan[names.ROLLOUT]] if run.has_input_rows else [])]
    return [_of_index(run, key.task, index, plan, attempts) for index in pl.concat(known).unique().sort()]


def _of_index(run: Run, task: int, index: int, plan: pl.DataFrame, attempts: pl.DataFrame) -> Unfinished:
    mine = pl.col(names.ROLLOUT) == index
    return Unfinished(run, Key(task, index), plan.filter(mine), attempts.filter(mine))


def _none_finished(task: int, left: Sequence[Unfinished]) -> str:
    """That nothing of a task finished, with where it was planned."""
    places = [place for one in left if (place := _planned_at(one)) is not None]
    more = f" and {len(places) - SHOWN:,} more" if len(places) > SHOWN else ""
    planned = f"is planned at {', '.join(places[:SHOWN])}{more}" if places else "was tried"
    return f"task {task} {planned}, and none of its rollouts finished"


def show_task(task: int, left: Sequence[Unfinished], table: TableAsked, *, as_list: bool) -> None:
    """Shows every planned rollout of a task of which none finished.

    Raises:
        UsageError: Something else than a list of them was asked for, or a form that has no place for them.
    """
    form = form_of(table)
    if not as_list or form not in FORMS_OF_ROLLOUT:
        raise UsageError(_none_finished(task, left), hint="rollprof show RUN TASK shows what became of each.")
    if form == "table":
        content = "\n".join([f"{_none_finished(task, left)}\n", *map(as_text, left)]).encode()
    elif form == "jsonl":
        content = b"".join(map(as_object, left))
    else:
        content = b"[" + b",".join(as_object(one).rstrip() for one in left) + b"]\n"
    print_content(content, table, [left[0].run.files])


def as_text(left: Unfinished) -> str:
    """What became of it, in words."""
    number = len(left.attempts)
    tried = counted(number, "failed attempt") if number else "no attempt has left a line"
    planned = _planned_at(left)
    facts = (f"rollout {left.key.task}:{left.key.rollout}", "not finished", tried, planned and f"planned at {planned}")
    lines = [" · ".join(fact for fact in facts if fact)]
    for attempt in left.attempts.iter_rows(named=True):
        about = (
            attempt["_failure_class"] or names.UNNAMED_FAILURE,
            None if attempt["_status"] is None else f"status {attempt['_status']}",
            "final" if attempt["_terminal"] else None,
            f"{attempt['_source']}:{attempt['_line']}",
        )
        lines += ["", " · ".join(fact for fact in about if fact), plain(attempt["_message"] or "It says nothing.")]
    return "\n".join(lines) + "\n"


def as_object(left: Unfinished) -> bytes:
    """What became of it, as an object: its key, where it was planned, and the lines of its failed attempts."""
    about: dict[str, Any] = {
        names.TASK: left.key.task,
        names.ROLLOUT: left.key.rollout,
        "finished": False,
        "planned_at": _planned_at(left),
        "failed_attempts": [plain_row(line) for line in attempt_lines(left)],
    }
    return f"{as_json(about)}\n".encode()


def attempt_lines(left: Unfinished) -> list[bytes]:
    """The lines of its failed attempts, as they stand.

    Raises:
        SourceError: A line is no longer there.
    """
    lines: list[bytes] = []
    for source in left.run.files.failures:
        of_source = left.attempts.filter(pl.col("_source") == source.shown)
        places = of_source.select(*names.KEY, "_line", "_offset", "_length").iter_rows()
        lines += fetch(source, [Place(*place) for place in places])
    return lines


def _planned_at(left: Unfinished) -> str | None:
    if not left.run.files.inputs or not len(left.plan):
        return None
    source, line = left.plan.select("_source", "_line").row(0)
    return f"{source}:{line}"
