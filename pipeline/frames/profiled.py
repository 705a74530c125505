"""Profile rows → the rollouts they were made of, as far as a profile tells them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from pipeline import names
from pipeline.errors import SourceError
from pipeline.frames.metrics import raw_column, shape_text
from pipeline.sources import fields, rows
from pipeline.sources.files import Source
from pipeline.sources.lines import lines_of

IDENTITY = frozenset((names.ROLLOUT_ID, *names.KEY))


class ProfileRow(NamedTuple):
    """A profile row: its place, task, agent, how many rollouts were planned, and the infos of those that finished."""

    line: int
    offset: int
    length: int
    task: int = 0
    agent: str | None = None
    expected: int = 0
    infos: Sequence[dict[str, Any]] = ()


def profiled_rows(sources: Sequence[Source], *, first_number: int = 0) -> pl.DataFrame:
    """The measured rollouts of profiles, as `Gathered.frame` gives those of a dump; their place is that of their task.

    Args:
        sources: `*_reward_profiling.jsonl`.
        first_number: The number of the first of them among all sources of the run.

    Raises:
        SourceError: A file cannot be read, or is no profile.
    """
    return pl.concat(profiled_slices(sources, first_number=first_number), how="diagonal_relaxed")


def profiled_slices(
    sources: Sequence[Source], *, first_number: int = 0, values: int | None = None
) -> Iterator[pl.DataFrame]:
    """The rollouts of profiles as `profiled_rows` gives them, about so many values at a time; at least one slice.

    Args:
        sources: `*_reward_profiling.jsonl`.
        first_number: The number of the first of them among all sources of the run.
        values: About how many values a slice has; None for all.

    Raises:
        SourceError: A file cannot be read, or is no profile.
    """
    found: list[dict[str, Any]] = []
    gathered = 0
    for number, source in enumerate(sources, first_number):
        for row in _profile_rows(source):
            found += [_rollout(source, number, row, info) for info in row.infos]
            gathered += sum(map(len, found[len(found) - len(row.infos) :]))
            if values is not None and gathered >= values:
                yield _frame(found)
                found, gathered = [], 0
    yield _frame(found)


def _frame(found: list[dict[str, Any]]) -> pl.DataFrame:
    blank: dict[str, Any] = {"_line": pl.Int64, "_offset": pl.Int64, "_length": pl.Int64, "_agent": pl.String}
    blank |= {
        "_server": pl.String,
        "_source": pl.String,
        "_file": pl.UInt32,
        "_problem": pl.String,
        "_torn": pl.Boolean,
    }
    schema = blank | {"_masked": pl.Boolean, "_flags": pl.UInt8, "_shape": pl.String}
    read = pl.from_dicts(found, schema_overrides=schema, infer_schema_length=None) if found else pl.DataFrame()
    return pl.concat([pl.DataFrame(schema=schema), read], how="diagonal_relaxed")


def planned_rows(sources: Sequence[Source]) -> pl.DataFrame:
    """The planned rollouts of profiles, as `scan_inputs` gives them; those that are missing have free indices."""
    read = [(source.shown, row) for source in sources for row in _profile_rows(source)]
    there: dict[int, set[int]] = {}
    for _, row in read:
        there.setdefault(row.task, set()).update(info[names.ROLLOUT] for info in row.infos)
    found = []
    for shown, row in read:
        mine = [info[names.ROLLOUT] for info in row.infos]
        free = (index for index in itertools.count() if index not in there[row.task])
        missing = list(itertools.islice(free, max(0, row.expected - len(mine))))
        there[row.task].update(missing)
        found += [
            (row.task, index, shown, 0, row.line, row.offset, row.length, row.agent) for index in (*mine, *missing)
        ]
    types = {"_source": pl.String, "_file": pl.UInt32, "_line": pl.Int64, "_offset": pl.Int64, "_length": pl.Int64}
    schema = {names.TASK: pl.Int64, names.ROLLOUT: pl.Int64, **types, "_agent": pl.String}
    rest = {"_server": pl.String, "_problem": pl.String, "_torn": pl.Boolean}
    empty = [pl.lit(None, dtype).alias(name) for name, dtype in rest.items()]
    return pl.DataFrame(found, schema=schema, orient="row").with_columns(empty)


def _rollout(source: Source, number: int, row: ProfileRow, info: dict[str, Any]) -> dict[str, Any]:
    metrics = [("row", name) for name, value in info.items() if name not in IDENTITY and type(value) in rows.NUMBERS]
    return {
        names.TASK: row.task,
        names.ROLLOUT: info[names.ROLLOUT],
        "_source": source.shown,
        "_file": number,
        "_line": row.line,
        "_offset": row.offset,
        "_length": row.length,
        "_agent": row.agent,
        "_masked": False,
        "_flags": 0,
        "_shape": shape_text((tuple(metrics), ())),
        **{raw_column(metric): info[metric[1]] for metric in metrics},
    }


def _profile_rows(source: Source) -> Iterator[ProfileRow]:
    for line, (offset, view, _) in enumerate(lines_of(source.whole()), 1):
        if not bytes(view).strip(rows.SPACE):
            continue
        try:
            yield _profile_row(view, ProfileRow(line, offset, len(view)))
        except (rows.BadLineError, KeyError, TypeError, AttributeError) as error:
            reason = str(error) if isinstance(error, rows.BadLineError) else "is no profile row"
            hint = "Make the profile again with rollprof profile."
            raise SourceError(reason, where=f"{source.shown}:{line}", hint=hint) from error


def _profile_row(view: memoryview, place: ProfileRow) -> ProfileRow:
    row = fields.plain(rows.parse(view))
    infos = row["rollout_infos"]
    for info in infos:
        rows.whole_number(info[names.ROLLOUT], names.ROLLOUT)
    return place._replace(
        task=rows.whole_number(row[names.TASK], names.TASK),
        agent=_agent(row),
        expected=int(row.get("expected_num_rollouts", len(infos))),
        infos=infos,
    )


def _agent(row: dict[str, Any]) -> str | None:
    """The agent of a profile row: its own, else that of its sample."""
    sample = row.get("sample")
    inner = sample if isinstance(sample, dict) else {}
    return rows.agent_name(row.get(names.AGENT_REF)) or rows.agent_name(inner.get(names.AGENT_REF))
