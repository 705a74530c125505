"""What a profile says at a glance: figures → text for a terminal."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.options import ProfileOptions
from pipeline.output.tables import cell, plain_table
from pipeline.profile.expressions import metrics_of
from pipeline.words import counted

EVERY_ROLLOUT_UP_TO = 50
SHOWN = (names.REWARD, "input_tokens", "output_tokens", "total_tokens")
"""The metrics that tables for people have."""
NAMED = 6
MEAN = "mean/"


def completion_text(counts: dict[str, int | float], fates: pl.DataFrame, options: ProfileOptions) -> str:
    """The completeness of a run in a few lines.

    Args:
        counts: As `Completion.counts` gives them.
        fates: As `accounting` gives them; empty where there is no sidecar.
        options: What was asked.
    """
    done, planned = counts["completed_rollout_rows"], counts["expected_rollout_rows"]
    masked = counts["masked_rollout_rows"]
    treated = "left out of every figure" if options.masked == "exclude" else "counted like any other (--masked include)"
    parts = (
        f"{counts['complete_input_rows']:,} complete",
        f"{counts['partial_input_rows']:,} partial",
        f"{counts['missing_input_rows']:,} without rollouts (dropped)",
    )
    share = f"{counts['reward_profile_completion_pct']:.2f} %" if planned else "nothing was planned"
    lines = [
        f"Rollouts  {done:,} of {planned:,} finished ({share})",
        f"Tasks     {counts['total_input_rows']:,}: {', '.join(parts)}",
        f"Masked    {masked:,}" + (f", {treated}" if masked else ""),
        f"Unscored  {counts['unscored_rollout_rows']:,}",
    ]
    if not fates.is_empty():
        classes = ", ".join(f"{cell(kind)} {number:,}" for kind, number in fates.iter_rows())
        lines.append(f"Missing   {fates['rollouts'].sum():,}: {classes}")
    return "\n".join(lines)


def agents_text(agents: pl.DataFrame, frame: pl.DataFrame) -> str:
    """A small table per agent: reward and tokens, and every rollout where there are few.

    Args:
        agents: As `profile_agents` gives them.
        frame: As `align` gives it, collected.
    """
    measured = frame.filter("_measured")
    parts = [_agent_text(agent, measured) for agent in agents.iter_rows(named=True)]
    return "\n\n".join(parts)


def other_metrics_text(agents: pl.DataFrame) -> str:
    """The metrics that are in no table of `agents_text`: a few, and how many more; empty where there are none.

    Args:
        agents: As `profile_agents` gives them.
    """
    found = [
        name
        for name in (one.removeprefix(MEAN) for one in agents.columns if one.startswith(MEAN))
        if name not in SHOWN and agents[f"{MEAN}{name}"].count()
    ]
    more = f" and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    return f"{', '.join(map(cell, found[:NAMED]))}{more}"


def _agent_text(agent: dict[str, object], measured: pl.DataFrame) -> str:
    rollouts = measured.filter(pl.col("_agent_order") == agent["_agent_order"])
    tasks = rollouts[names.TASK].n_unique()
    metrics = [name for name in SHOWN if agent.get(f"{MEAN}{name}") is not None]
    unscored = len(rollouts) - _scored(rollouts)
    about = f", {unscored:,} unscored" if unscored else ""
    title = (
        f"{cell(agent['_agent'] or 'No agent')}: {counted(len(rollouts), 'rollout')} of {counted(tasks, 'task')}{about}"
    )
    figures = [[name, *(agent[f"{stat}/{name}"] for stat in names.STATISTICS)] for name in metrics]
    text = f"{title}\n" + plain_table(["", *names.STATISTICS], figures) if figures else title
    if len(measured) <= EVERY_ROLLOUT_UP_TO and metrics:
        text += "\n\n" + _every_rollout(rollouts, metrics)
    return text


def _every_rollout(rollouts: pl.DataFrame, metrics: list[str]) -> str:
    rows = rollouts.select(*names.KEY, *metrics).iter_rows()
    return plain_table(["task:rollout", *metrics], ((f"{task}:{rollout}", *values) for task, rollout, *values in rows))


def _scored(rollouts: pl.DataFrame) -> int:
    return rollouts[names.REWARD].count() if names.REWARD in metrics_of(rollouts.columns) else 0
