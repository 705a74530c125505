"""A run put together portion by portion: as many tasks at a time as fit into memory.

What a portion cannot know of the others is decided before: the names of the metrics, and who the agents are.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.alignment import agent_groups, agent_labels, align
from pipeline.frames.inputs import inputs_of_rollouts, planned_rollouts
from pipeline.frames.lazy import collect, collect_all
from pipeline.frames.metrics import RAW
from pipeline.frames.naming import Naming, named, naming, standing, together
from pipeline.frames.parts import Parts, Tasks, portions
from pipeline.frames.profiled import planned_rows
from pipeline.frames.reading_parts import input_parts, rollout_parts
from pipeline.frames.rollouts import Prepared, prepared, with_place
from pipeline.frames.spill import Spill, slices
from pipeline.options import ProfileOptions
from pipeline.run import Run
from pipeline.sources.plans import ODD_RESPONSE, TEXT_REWARD
from pipeline.sources.reading import Metric


class Assembled(NamedTuple):
    """A run that was put together.

    Attributes:
        pieces: Its rollouts as `Run.export` gives them, one piece after another; they all have the same columns.
        problems: As `align` gives them, without missing rollouts.
        telling: Of the aligned frame without its metrics, the rows that a notice may be about, and for each shape and
            each field asked for a row that has it.
        planned: How many rollouts are planned.
        finished: How many of these finished.
    """

    pieces: list[pl.LazyFrame]
    problems: pl.DataFrame
    telling: pl.DataFrame
    planned: int
    finished: int


class Decided(NamedTuple):
    """What holds for every portion."""

    naming: Naming
    labels: pl.LazyFrame


class RowsOfRun:
    """The rows of a run, which are read at once, in parts, of which those of some tasks are taken at a time.

    Attributes:
        run: The run, none of whose frames was read.
        spill: Where parts and pieces are put aside.
        portions: The tasks that are put together in one go.

    Raises:
        SourceError: A file cannot be read, or the temporary folder cannot be written.
        WorkerError: A worker process ended before its work was done.
    """

    def __init__(self, run: Run, spill: Spill) -> None:
        self.run, self.spill = run, spill
        begun, files, options = run.begun, run.files, run.options
        self._inputs = None
        if files.inputs:  # first, for they were begun to be read first
            self._inputs = input_parts(files.inputs, options, spill, progress=begun.progress, begun=begun.inputs)
        elif run.is_profile:
            self._inputs = Parts(spill)
            for some in slices(planned_rows(files.rollouts).lazy(), spill.bounds.part):
                self._inputs.end(some)
        self._rollouts = rollout_parts(files.rollouts, options, spill, progress=begun.progress, begun=begun.rollouts)
        roles = [parts for parts in (self._inputs, self._rollouts) if parts is not None]
        self.portions = portions(roles, spill.bounds.portion)

    def finished(self, tasks: Tasks) -> Prepared:
        """The finished rollouts of some tasks; lines that cannot be used go with the first."""
        read = self._rollouts.of(tasks, bad=tasks == self.portions[0])
        return prepared(with_place(read), self.run.options)

    def planned(self, tasks: Tasks, finished: pl.LazyFrame) -> pl.LazyFrame:
        """The planned rollouts of some tasks, as `Run.inputs` has them; `finished` are those that finished."""
        if self._inputs is None:
            return inputs_of_rollouts(finished, keep=self.run.kept)
        read = self._inputs.of(tasks, bad=tasks == self.portions[0])
        if self.run.is_profile:
            return read.lazy()
        return planned_rollouts(read, self.run.options, sources=len(self.run.files.inputs)).lazy()


def assembled(rows: RowsOfRun) -> Assembled:
    """Puts a run together that was read; in memory are a portion at a time, and a few bytes a task.

    Raises:
        SourceError: The temporary folder cannot be written.
    """
    decided = _decided(rows)
    by_agent: dict[int, list[pl.LazyFrame]] = {}
    first: list[pl.LazyFrame] = []
    problems = telling = pl.DataFrame()
    planned = finished = 0
    for tasks in rows.portions:
        aligned = align(*_named(rows, tasks, decided.naming), rows.run.options, labels=decided.labels)
        frame, faults = collect_all([aligned.frame, aligned.problems])
        problems = _copied(problems, faults.filter(pl.col("_kind") != "missing_rollouts"))
        telling = _copied(telling, _telling(frame, rows.run.options))
        rollouts = collect(rows.run.exported(frame.lazy()))
        planned, finished = planned + len(frame), finished + len(rollouts)
        first = first or [rollouts.clear().lazy()]  # the columns, where there is no rollout
        kept, start = rows.spill.keep(rollouts), 0
        for agent, height in rollouts.group_by("_agent_order", maintain_order=True).len().iter_rows():
            by_agent.setdefault(agent, []).append(kept.slice(start, height))
            start += height
    pieces = [piece for agent in sorted(by_agent) for piece in by_agent[agent]]
    return Assembled([*first, *pieces], problems, telling, planned, finished)


def _copied(before: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """Frames as one that does not hold the memory of larger ones."""
    return pl.concat([before, more], how="diagonal", rechunk=True)


def _decided(rows: RowsOfRun) -> Decided:
    """Names and labels, of what every portion has to say of them."""
    metrics: dict[Metric, None] = {}
    standings, groups = [], []
    for tasks in rows.portions:
        finished = rows.finished(tasks)
        metrics.update(dict.fromkeys(finished.raw))
        standings.append(standing(*finished))
        about = finished.rows.lazy()
        groups.append(collect(agent_groups(rows.planned(tasks, about), about, rows.run.options)))
    labels = collect(agent_labels(pl.concat(groups).lazy()))
    return Decided(naming(metrics, together(standings)), labels.lazy())


def _named(rows: RowsOfRun, tasks: Tasks, names_of: Naming) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """The planned and the finished rollouts of some tasks, as `align` takes them."""
    finished = rows.finished(tasks)
    rollouts = named(finished.rows, finished.raw, names_of).lazy()
    return rows.planned(tasks, rollouts), rollouts


def _telling(frame: pl.DataFrame, options: ProfileOptions) -> pl.DataFrame:
    """The rows of an aligned frame that `Assembled.telling` has."""
    flags = (pl.col("_flags") & (TEXT_REWARD | ODD_RESPONSE)) > 0
    nobody = pl.col("_finished") & pl.col("_agent").is_null()
    odd = [(pl.col("_unfinite") > 0).fill_null(value=False), flags.fill_null(value=False), nobody]
    asked = [name for root in ("_input.", "_row.") for name, _ in options.asked(root) if name in frame.columns]
    firsts = [pl.col(name).is_not_null().is_first_distinct() for name in asked]
    about = [name for name in frame.columns if name.startswith(names.INTERNAL) and not name.startswith(RAW)]
    return frame.filter(pl.any_horizontal(*odd, *firsts, pl.col("_shape").is_first_distinct())).select(about)
