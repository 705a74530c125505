"""Inputs × rollouts → one row a planned rollout, what is wrong with the keys, and how complete the run is."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
import polars.selectors as cs

from pipeline import names
from pipeline.completion import Completion
from pipeline.options import ProfileOptions
from pipeline.sources.plans import OTHER_AGENT

TWICE = " (from an export)"
"""Ends the names of columns that an export has kept of the input rows, where these are read themselves."""
PROBLEM_COLUMNS = ("_kind", "_role", "_source", "_line", *names.KEY, "_problem")


class Aligned(NamedTuple):
    """A run put together.

    Attributes:
        frame: One row a planned rollout, sorted by key: both indices; `_finished`, `_masked`, `_measured`
            (Boolean); `_agent` (String, the label shown), `_agent_order` (UInt32, agents by name), `_row_agent`
            (UInt32, 0 unless any task is one of several agents, else the order + 1); the rollout's `_source`,
            `_line`, `_offset`, `_length`, `_flags`, `_unfinite`, `_shape`, `_own_agent`, `_own_server`, and its
            context if it was read; the input row's context, and its place as `_input_source`,
            `_input_line`, `_input_offset`, `_input_length`; then a column a metric, null where there is no number.
        problems: One row a fault: `_kind` (malformed, torn, duplicate_inputs, duplicate_rollouts, extra_rollouts,
            missing_rollouts), `_role` (inputs, rollouts), `_source`, `_line`, both indices, `_problem`.
        completion: How much of what was planned is there.
    """

    frame: pl.LazyFrame
    problems: pl.LazyFrame
    completion: Completion


def align(
    inputs: pl.LazyFrame,
    rollouts: pl.LazyFrame,
    options: ProfileOptions | None = None,
    *,
    labels: pl.LazyFrame | None = None,
) -> Aligned:
    """Matches rollouts with the inputs that planned them; never raises on data.

    Rollouts without an input row are in no row of the frame, of rollouts with one key the first is (the last with
    `on_duplicate="last"`); both are in the problems.

    Args:
        inputs: As `scan_inputs` gives them.
        rollouts: As `scan_rollouts` gives them.
        options: What to keep of duplicates, and whether masked rollouts are measurements.
        labels: As `agent_labels` gives them, where these are only some tasks of a run.
    """
    chosen = options or ProfileOptions()
    planned = _whole_lines(inputs)
    finished = _whole_lines(rollouts)
    unique_planned = planned.filter(_is_first_of_key())
    grouped = _grouped(unique_planned, finished, chosen).cache()  # joined once for frame, labels and problems
    frame = _with_agents(grouped, agent_labels(grouped) if labels is None else labels)
    extra = finished.join(unique_planned, on=names.KEY, how="anti", maintain_order="left")
    problems = [
        _bad_lines(inputs, "inputs"),
        _bad_lines(rollouts, "rollouts"),
        _faults(planned.filter(_is_duplicate()), "duplicate_inputs", "inputs"),
        _faults(finished.filter(_is_duplicate()), "duplicate_rollouts", "rollouts"),
        _faults(extra, "extra_rollouts", "rollouts"),
        _faults(
            frame.filter(~pl.col("_finished")).select(*names.KEY, _source="_input_source", _line="_input_line"),
            "missing_rollouts",
            "inputs",
        ),
    ]
    return Aligned(frame, pl.concat(problems), Completion(frame))


def agent_groups(inputs: pl.LazyFrame, rollouts: pl.LazyFrame, options: ProfileOptions) -> pl.LazyFrame:
    """What the planned rollouts of some tasks say of who runs them, as `agent_labels` takes it.

    Args:
        inputs: As `scan_inputs` gives them.
        rollouts: As `scan_rollouts` gives them; their metrics are not needed.
        options: What to keep of duplicates.
    """
    planned = _whole_lines(inputs).filter(_is_first_of_key())
    return _grouped(planned, _whole_lines(rollouts), options).select("_group", "_agent").unique()


def agent_labels(grouped: pl.LazyFrame) -> pl.LazyFrame:
    """Who the groups of a run are.

    Args:
        grouped: `_group`: the server of a planned rollout if there is one, else its agent; `_agent`. Both are null
            where there is neither; such a rollout belongs to the run's only agent if there is one.

    Returns:
        `_group` (String), `_label` (String, the label shown) and `_agent_order` (UInt32, its place among the agents).
    """
    # columns of their own first: an aggregate inside such a choice makes Polars 2.1 fail with 16 threads and more
    owned = (
        grouped.select("_group", "_agent")
        .unique()
        .with_columns(_only_group=_only("_group"), _only_agent=_only("_agent"))
        .with_columns(_nowhere=pl.col("_group").is_null() & pl.col("_only_group").is_not_null())
        .select(
            "_group",
            _owner=pl.when("_nowhere").then("_only_group").otherwise("_group"),
            _agent=pl.when("_nowhere").then("_only_agent").otherwise("_agent"),
        )
    )
    labels = _labels(owned.select("_agent", _group="_owner"))
    groups = owned.select("_group", "_owner").unique()
    return groups.join(labels, left_on="_owner", right_on="_group", how="left", nulls_equal=True).drop("_owner")


def _whole_lines(frame: pl.LazyFrame) -> pl.LazyFrame:
    """The usable lines sorted by key, those of one key in the order they were read; sorted once for all who ask."""
    whole = frame.filter(pl.col("_problem").is_null()).drop("_problem", "_torn")
    return whole.sort(*names.KEY, "_file", "_line").drop("_file").cache()


def _same_key_as(shift: int) -> pl.Expr:
    task, rollout = pl.col(names.TASK), pl.col(names.ROLLOUT)
    return ((task == task.shift(shift)) & (rollout == rollout.shift(shift))).fill_null(value=False)


def _is_first_of_key() -> pl.Expr:
    return ~_same_key_as(1)


def _is_last_of_key() -> pl.Expr:
    return ~_same_key_as(-1)


def _is_duplicate() -> pl.Expr:
    return _same_key_as(1) | _same_key_as(-1)


def _bad_lines(frame: pl.LazyFrame, role: str) -> pl.LazyFrame:
    kind = pl.when(pl.col("_torn")).then(pl.lit("torn")).otherwise(pl.lit("malformed"))
    return (
        frame.filter(pl.col("_problem").is_not_null())
        .with_columns(_kind=kind, _role=pl.lit(role))
        .select(PROBLEM_COLUMNS)
    )


def _faults(rows: pl.LazyFrame, kind: str, role: str) -> pl.LazyFrame:
    return rows.with_columns(_kind=pl.lit(kind), _role=pl.lit(role), _problem=pl.lit(None, pl.String)).select(
        PROBLEM_COLUMNS
    )


def _grouped(planned: pl.LazyFrame, finished: pl.LazyFrame, options: ProfileOptions) -> pl.LazyFrame:
    """Each planned rollout with what finished of it, whether that is measured, and who it says that it belongs to.

    A row with neither server nor agent takes its rollout's agent.
    """
    keep = _is_last_of_key() if options.on_duplicate == "last" else _is_first_of_key()
    neither = pl.col("_server").is_null() & pl.col("_agent").is_null()
    measured = pl.col("_finished") if options.masked == "include" else pl.col("_finished") & ~pl.col("_masked")
    contradicts = (pl.col("_own_agent") != pl.col("_agent")).fill_null(value=False)
    named = _joined(planned, finished.filter(keep)).with_columns(
        _agent=pl.when(neither).then("_own_agent").otherwise("_agent"),
        _measured=measured,
        _flags=pl.when(contradicts).then(pl.col("_flags") | OTHER_AGENT).otherwise("_flags"),
    )
    return named.with_columns(_group=pl.coalesce("_server", "_agent"))


def _joined(planned: pl.LazyFrame, finished: pl.LazyFrame) -> pl.LazyFrame:
    """Each planned rollout with what finished of it."""
    places = dict(zip(names.PLACE, names.INPUT_PLACE, strict=True))
    theirs = finished.rename({"_agent": "_own_agent", "_server": "_own_server"})
    joined = planned.rename(places).join(theirs, on=names.KEY, how="left", maintain_order="left", suffix=TWICE)
    return joined.drop(cs.ends_with(TWICE)).with_columns(
        _finished=pl.col("_source").is_not_null(), _masked=pl.col("_masked").fill_null(value=False)
    )


def _with_agents(grouped: pl.LazyFrame, labels: pl.LazyFrame) -> pl.LazyFrame:
    """Adds which agent each planned rollout belongs to."""
    return (
        grouped.join(labels, on="_group", how="left", nulls_equal=True, maintain_order="left")
        .drop("_server", "_agent", "_group")
        .rename({"_label": "_agent"})
        .pipe(_with_row_agents)
    )


def _with_row_agents(labelled: pl.LazyFrame) -> pl.LazyFrame:
    """Adds `_row_agent`: 0 where every task is one agent's, else the agent's order + 1."""
    of_agent = pl.when("_fan_out").then(pl.col("_agent_order") + 1).otherwise(0)
    return labelled.with_columns(_fan_out=_any_fan_out()).with_columns(_row_agent=of_agent).drop("_fan_out")


def _only(column: str) -> pl.Expr:
    """The value that every row with a value has; null where there are several or none."""
    return pl.when(pl.col(column).min() == pl.col(column).max()).then(pl.col(column).max())


def _labels(owned: pl.LazyFrame) -> pl.LazyFrame:
    """Group (the server if there is one, else the agent) → the label shown and its place among the agents.

    The label is the agent's name, unless it is in several groups or is not the only one of its group, or another
    group is called that.
    """
    alone = (pl.col("_group").n_unique().over("_agent") == 1) & (pl.col("_agent").n_unique().over("_group") == 1)
    return (
        owned.select("_group", "_agent")
        .unique()
        .with_columns(_label=pl.when(alone & pl.col("_agent").is_not_null()).then("_agent").otherwise("_group"))
        .group_by("_group")
        .agg(pl.col("_label").first())
        .with_columns(_label=pl.when(pl.len().over("_label") == 1).then("_label").otherwise("_group"))
        .with_columns(_label=pl.when(pl.len().over("_label") == 1).then("_label").otherwise("_group"))
        .sort("_label", "_group", nulls_last=True)
        .with_columns(_agent_order=pl.col("_group").rle_id())
    )


def _any_fan_out() -> pl.Expr:
    """Whether any task is one of several agents; holds on rows sorted by task.

    A planned rollout that names no agent and did not finish says nothing about that.
    """
    known = pl.col("_agent").is_not_null() | pl.col("_finished")
    task, agent = (pl.col(column).filter(known) for column in (names.TASK, "_agent_order"))
    return ((task == task.shift(1)) & (agent != agent.shift(1))).any()
