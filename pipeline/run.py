"""A run as LazyFrames, whatever it was kept as: dump, export or profile."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import polars as pl

from pipeline import names
from pipeline.alignment import Aligned, align
from pipeline.completion import Completion
from pipeline.errors import SourceError
from pipeline.frames.contents import task_contents
from pipeline.frames.failures import scan_failures
from pipeline.frames.inputs import inputs_of_rollouts, scan_inputs
from pipeline.frames.lazy import collect_all, lazy_frame, with_missing
from pipeline.frames.metrics import RAW
from pipeline.frames.profiled import planned_rows
from pipeline.frames.rollouts import scan_rollouts
from pipeline.frames.verdicts import last_verdicts, read_verdict_lines
from pipeline.options import DETAILS, ProfileOptions
from pipeline.profile.agents import profile_agents
from pipeline.profile.expressions import column
from pipeline.profile.repeats import profile_repeats
from pipeline.profile.tasks import profile_tasks
from pipeline.sources.contents import Of
from pipeline.sources.files import Source, open_source
from pipeline.sources.readings import Begun
from pipeline.sources.runs import RunFiles, find_run

ABOUT = (*names.KEY, "_agent", "_masked", "_measured", "_truncated", *names.FINDINGS, *names.PLACE)
BOOKKEEPING = frozenset(
    (
        "_finished",
        "_agent_order",
        "_row_agent",
        "_group",
        "_server",
        "_own_agent",
        "_shown_agent",
        "_own_server",
        "_problem",
        "_torn",
    )
) | frozenset(("_flags", "_unfinite", "_shape", "_file", *names.INPUT_PLACE))


class Run:
    """A run as LazyFrames; nothing is read before it is needed, and every file once.

    Attributes:
        files: Its files by role.
        options: How it is read.
        begun: Readings of its files that have begun already.
        aligned: Planned and finished rollouts put together, as `align` gives them.
        inputs: Planned rollouts, as `scan_inputs` gives them; those that finished where there is no inputs file.
        failures: Failed attempts, as `scan_failures` gives them.
        verdict_lines: Every line of the verdicts, as `read_verdict_lines` gives them.
    """

    def __init__(self, files: RunFiles, options: ProfileOptions, *, begun: Begun | None = None) -> None:
        given = begun or Begun()
        self.begun = given
        self.files = files
        self.options = options
        self._scanned = scan_rollouts(files.rollouts, options, progress=given.progress, begun=given.rollouts)
        if files.inputs:
            self.inputs = scan_inputs(files.inputs, options, progress=given.progress, begun=given.inputs)
        elif self.is_profile:
            self.inputs = lazy_frame(lambda: planned_rows(files.rollouts))
        else:
            self.inputs = inputs_of_rollouts(self._scanned, keep=self.kept)
        self.failures = scan_failures(files.failures, jobs=options.jobs)
        self.verdict_lines = read_verdict_lines(files.verdicts)
        self.aligned: Aligned = align(self.inputs, self._scanned, options)

    def __repr__(self) -> str:
        shown = ", ".join(source.shown for source in self.files.rollouts[:3])
        return f"Run({shown}{', …' if len(self.files.rollouts) > 3 else ''})"  # noqa: PLR2004 - a few

    @property
    def is_profile(self) -> bool:
        """Whether it is opened from nothing but profiles."""
        return bool(self.files.rollouts) and all(source.is_profile for source in self.files.rollouts)

    @property
    def knows_planned(self) -> bool:
        """Whether it says which rollouts were planned, and so which are missing; a profile leaves whole tasks out."""
        return bool(self.files.inputs)

    @property
    def knows_rollouts(self) -> bool:
        """Whether it has the rollouts themselves; a profile has no masked ones, and nothing of what was truncated."""
        return not any(source.is_profile for source in self.files.rollouts)

    @property
    def unknown(self) -> tuple[str, ...]:
        """What of planned, masked, truncated and verdicts this kind of run does not say."""
        planned = () if self.knows_planned else ("planned",)
        verdicts = () if self.files.verdicts or self.knows_rollouts else ("verdicts",)
        return (*planned, *(() if self.knows_rollouts else ("masked", "truncated")), *verdicts)

    @property
    def kept(self) -> Literal["first", "last"]:
        """Which of several rollouts with one key counts."""
        return "last" if self.options.on_duplicate == "last" else "first"

    def load(self) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        """Reads the files now: the aligned frame, the problems and the failed attempts, which are then kept.

        Raises:
            SourceError: A file cannot be read.
        """
        wanted = [self.aligned.frame, self.aligned.problems, self.failures]
        frame, problems, failures = collect_all(wanted)
        self.aligned = Aligned(frame.lazy(), problems.lazy(), Completion(frame.lazy()))
        self.failures = failures.lazy()
        return frame, problems, failures

    @property
    def has_input_rows(self) -> bool:
        """Whether the input rows are there, in a file of their own or in a profile."""
        return bool(self.files.inputs) or all(source.is_profile for source in self.files.rollouts)

    def contents(self, *, of: Of | None = None) -> pl.LazyFrame:
        """What each task asks, as `task_contents` gives it: `_ng_task_index`, `_content`.

        Args:
            of: `row` for the whole input row, `prompt` for the request alone; None for the row where there is one.
        """
        sources = (*self.files.inputs, *self.files.rollouts)
        what = of or ("row" if self.has_input_rows else "prompt")
        return task_contents(self.inputs, sources, of=what, cached=self.options.cache)

    def source_of(self, shown: str) -> Source:
        """The dump that a line of `rollouts` was read from, by its `_source`.

        Raises:
            SourceError: It is a profile, which holds no lines of rollouts, or it is no longer there.
        """
        for source in self.files.rollouts:
            if source.shown == shown and source.is_profile:
                hint = "Name the dump that it was made from."
                raise SourceError("is a profile: it holds figures, not the lines of rollouts", where=shown, hint=hint)
            if source.shown == shown and source.is_dump:
                return source
        try:
            return open_source(shown)
        except SourceError as error:
            hint = "Put the dump back in its place, or name it instead of the export."
            raise SourceError("is not there, and an export holds numbers only", where=shown, hint=hint) from error

    @cached_property
    def rollouts(self) -> pl.LazyFrame:
        """Finished rollouts by key, one row each.

        Columns: both indices (Int64), `_agent` (String, the label shown), `_masked`, `_measured` (Boolean),
        `_truncated` (Boolean, null without a response), `_verdict` (String), `_findings` (List of String), `_source`,
        `_line`, `_offset`, `_length`; `_input.NAME` and `_row.NAME` (Categorical): short top-level text of the input
        row and of the rollout; the fields asked for; then a column a metric, null where there is no number.
        """
        finished = self.aligned.frame.filter(pl.col("_finished"))
        return self._judged(finished).pipe_with_schema(_for_people)

    @cached_property
    def as_read(self) -> pl.LazyFrame:
        """Rollouts by key as their lines say, planned or not, those that share a key too: quick, for nothing is joined.

        Columns: as `rollouts` has them but those of inputs; `_agent` is what the line says, and nothing is `_measured`.
        """
        whole = self._scanned.filter(pl.col("_problem").is_null()).sort(*names.KEY, "_file", "_line")
        return self._judged(whole).pipe_with_schema(_for_people)

    @cached_property
    def tasks(self) -> pl.LazyFrame:
        """Profile rows, as `profile_tasks` gives them."""
        return profile_tasks(self.aligned.frame, counts=self.options.counts)

    @cached_property
    def agents(self) -> pl.LazyFrame:
        """Agent entries, as `profile_agents` gives them."""
        return profile_agents(self.aligned.frame, self.repeats, counts=self.options.counts)

    @cached_property
    def repeats(self) -> pl.LazyFrame:
        """Repeat entries, as `profile_repeats` gives them."""
        return profile_repeats(self.aligned.frame)

    @cached_property
    def export(self) -> pl.LazyFrame:
        """Finished rollouts with all that it takes to profile them again, by agent, task and rollout."""
        return self.exported(self.aligned.frame)

    def exported(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Finished rollouts, as `export` has them, of an aligned frame that may hold only some tasks of the run."""
        return self._judged(frame.filter(pl.col("_finished"))).sort("_agent_order", *names.KEY)

    def _judged(self, finished: pl.LazyFrame) -> pl.LazyFrame:
        """Rollouts with their verdicts, where there are any."""
        if not self.files.verdicts:
            return with_missing(finished, {"_verdict": pl.String(), "_findings": pl.List(pl.String)})
        verdicts = last_verdicts(self.verdict_lines)
        theirs = finished.drop(*names.FINDINGS, strict=False)
        return theirs.join(verdicts, on=names.KEY, how="left", maintain_order="left")


def open_run(
    run: str | Path | Sequence[str | Path],
    *,
    inputs: Sequence[str | Path] = (),
    options: ProfileOptions | None = None,
) -> Run:
    """A run as LazyFrames: `rollouts`, `inputs`, `failures`, `tasks`, `agents`, `repeats`.

    Args:
        run: A rollouts file, run folder or glob, several of them, a Parquet export, or a profile.
        inputs: Inputs files; without any they are found by name, and a run may have none.
        options: How to read it; else with its context, the details of its usage, and the cache.

    Raises:
        SourceError: A file is missing or unreadable.
    """
    files = find_run(run, inputs=inputs, inputs_needed=False, profiles=True)
    return Run(files, options or ProfileOptions(partial=True, context=True, cache=True, nested=DETAILS))


def _for_people(rows: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
    hidden = {name for name in schema if name in BOOKKEEPING or name.startswith(RAW)}
    about = [name for name in ABOUT if name in schema]
    internal = [name for name in schema if name.startswith(names.INTERNAL) and name not in {*about, *hidden}]
    metrics = [name for name in schema if not name.startswith(names.INTERNAL)]
    return rows.select(map(column, about + internal + metrics))
