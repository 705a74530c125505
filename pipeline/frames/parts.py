"""The rows of a role in parts, of which those of some tasks are taken at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.frames.chunks import with_fields
from pipeline.frames.lazy import collect
from pipeline.frames.spill import Spill


class Tasks(NamedTuple):
    """The tasks from one index to another, both of them too."""

    first: int
    last: int


class Part(NamedTuple):
    """Some rows, sorted by task, those of a task in the order they were read.

    Attributes:
        rows: The rows.
        fields: Those of their columns that are JSON, with the types of what it says.
    """

    rows: pl.LazyFrame
    fields: Mapping[str, type[pl.DataType]]


class Parts:
    """Rows that were read, put aside part by part; every row that can be used has a task.

    Attributes:
        spill: Where they are put aside.
        bad: The lines that cannot be used.
    """

    def __init__(self, spill: Spill) -> None:
        self.bad: list[pl.DataFrame] = []
        self.spill = spill
        self._parts: list[Part] = []
        self._head = pl.DataFrame()
        self._counts: list[pl.DataFrame] = []

    def add(self, rows: pl.DataFrame, fields: Mapping[str, type[pl.DataType]] | None = None) -> None:
        """Puts usable rows aside.

        Args:
            rows: The next rows in the order they are read.
            fields: Columns that are JSON, and the types of what it says; they may be told later.
        """
        if not rows.is_empty():
            self._counts.append(rows.group_by(names.TASK).agg(_rows=pl.len()))
            kept = self.spill.keep(rows.sort(names.TASK, maintain_order=True))
            self._parts.append(Part(kept, {} if fields is None else fields))

    def end(self, rest: pl.DataFrame) -> None:
        """Takes the last rows of a request, those that cannot be used too; they have every column of all of them."""
        self._head = pl.concat([self._head, rest.clear()], how="diagonal_relaxed")
        usable = rest["_problem"].is_null()
        self.add(rest.filter(usable))
        self.bad.append(rest.filter(~usable))

    def refuse(self, which: pl.Expr, problem: str) -> None:
        """Makes lines that cannot be used of some rows, whose indices are none."""
        parts, self._parts, self._counts = self._parts, [], []
        refused = []
        for part in parts:
            rows = collect(part.rows)
            refused.append(with_fields(rows.filter(which), part.fields))
            self.add(rows.filter(~which), part.fields)
        none = [pl.lit(0, pl.Int64).alias(name) for name in names.KEY]
        bad = pl.concat(refused, how="diagonal_relaxed").sort("_file", "_line")
        self.bad.insert(0, bad.with_columns(*none, _problem=pl.lit(problem)))

    def of(self, tasks: Tasks, *, bad: bool = False) -> pl.DataFrame:
        """The usable rows of some tasks, with the columns and types of all rows.

        Args:
            tasks: Which ones.
            bad: Whether the lines that cannot be used are wanted too, after them.
        """
        wanted = pl.col(names.TASK).is_between(*tasks)
        found = [with_fields(collect(part.rows.filter(wanted)), part.fields) for part in self._parts]
        frames: list[pl.DataFrame] = [self._head, *found, *(self.bad if bad else ())]
        return pl.concat(frames, how="diagonal_relaxed", rechunk=True)

    @property
    def width(self) -> int:
        """How many columns the rows have."""
        return self._head.width

    @property
    def counts(self) -> pl.DataFrame:
        """How many usable rows each task has: its index and `_rows` (UInt32), maybe in several rows."""
        none = pl.DataFrame(schema={names.TASK: pl.Int64, "_rows": pl.UInt32})
        return pl.concat([none, *self._counts])


def portions(roles: Sequence[Parts], values: int) -> list[Tasks]:
    """All tasks in portions, by index, each of about so many values unless a single task has more; at least one."""
    weights = [parts.counts.with_columns(_rows=pl.col("_rows").cast(pl.Int64) * parts.width) for parts in roles]
    total = pl.concat(weights).group_by(names.TASK).agg(pl.col("_rows").sum()).sort(names.TASK)
    before = pl.col("_rows").cum_sum() - pl.col("_rows")
    ends = (
        total.group_by(before // values, maintain_order=True)
        .agg(first=pl.col(names.TASK).min(), last=pl.col(names.TASK).max())
        .select("first", "last")
    )
    return [Tasks(*row) for row in ends.iter_rows()] or [Tasks(0, 0)]
