"""How often 95 % intervals hold the true mean, in simulated runs: `python -m tests.analysis.simulation`.

The pass rate of each task is drawn from a Beta distribution, then each of its rollouts passes at that rate.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from pipeline.analysis.intervals import across_repeats, bootstrap_means
from pipeline.clustered import clustered_means
from pipeline.frames.lazy import collect

RUNS = 4000
SEED = 20_26
NAIVE = "naive, as if rollouts were independent"
CLUSTERED = "clustered by task (t)"
BOOTSTRAP = "bootstrap over tasks"
REPEATS = "across repeats (t)"
INTERVALS = (NAIVE, CLUSTERED, BOOTSTRAP, REPEATS)


class Setting(NamedTuple):
    """What runs are like.

    Attributes:
        tasks: How many tasks a run has.
        rollouts: How many rollouts a task has: from, to.
        beta: The parameters of the distribution of pass rates.
    """

    tasks: int
    rollouts: tuple[int, int]
    beta: tuple[float, float]

    @property
    def mean(self) -> float:
        """The true mean pass rate."""
        return self.beta[0] / sum(self.beta)

    @property
    def icc(self) -> float:
        """The true intraclass correlation, 1 / (α + β + 1)."""
        return 1 / (sum(self.beta) + 1)


SETTINGS = (
    Setting(30, (8, 8), (0.5, 0.5)),
    Setting(50, (1, 8), (0.6, 0.9)),
    Setting(100, (4, 4), (1.0, 1.0)),
    Setting(200, (16, 16), (1.5, 0.5)),
)


def simulated(setting: Setting, runs: int) -> pl.DataFrame:
    """Rollouts of simulated runs: `run`, both indices, `score` (0 or 1)."""
    chance = np.random.Generator(np.random.PCG64(SEED))
    rates = chance.beta(*setting.beta, size=runs * setting.tasks)
    low, high = setting.rollouts
    sizes = chance.integers(low, high, size=len(rates), endpoint=True)
    task = np.repeat(np.arange(len(rates)), sizes)
    index = np.arange(len(task)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return pl.DataFrame(
        {
            "run": task // setting.tasks,
            "_ng_task_index": task % setting.tasks,
            "_ng_rollout_index": index,
            "score": (chance.random(len(task)) < rates[task]).astype(np.float64),
        }
    )


def naive(rollouts: pl.LazyFrame) -> pl.LazyFrame:
    """The interval of independent draws, m ± 1.96 · √(m (1 - m) / (N - 1)) of each run."""
    mean, half = pl.col("score").mean(), 1.959964 * pl.col("score").std(ddof=1) / pl.len().sqrt()
    return rollouts.group_by("run").agg(low=mean - half, high=mean + half)


def intervals(rollouts: pl.LazyFrame, *, draws: int) -> dict[str, pl.LazyFrame]:
    """The limits of each run, by kind of interval."""
    tasks = rollouts.group_by("run", "_ng_task_index").agg(total=pl.col("score").sum(), weight=pl.len())
    return {
        NAIVE: naive(rollouts),
        CLUSTERED: clustered_means(tasks, ["run"]),
        BOOTSTRAP: bootstrap_means(tasks, ["run"], draws=draws),
        REPEATS: across_repeats(rollouts, ["run"], value="score"),
    }


def coverage(setting: Setting, *, runs: int = RUNS, draws: int = 1000) -> dict[str, float]:
    """The share of runs whose interval holds the true mean, by kind of interval."""
    rollouts = simulated(setting, runs).lazy()
    held = (pl.col("low") <= setting.mean) & (pl.col("high") >= setting.mean)
    return {
        kind: collect(limits.select(held.fill_null(value=False).mean())).item()
        for kind, limits in intervals(rollouts, draws=draws).items()
    }


def table(rows: Iterable[tuple[Setting, dict[str, float]]]) -> str:
    """The shares as a Markdown table."""
    lines = [f"| tasks | rollouts each | ICC | {' | '.join(INTERVALS)} |", "|" + "---:|" * (3 + len(INTERVALS))]
    for setting, shares in rows:
        low, high = setting.rollouts
        each = str(low) if low == high else f"{low}-{high}"
        found = " | ".join(f"{100 * shares[kind]:.1f} %" for kind in INTERVALS)
        lines.append(f"| {setting.tasks} | {each} | {setting.icc:.2f} | {found} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table((setting, coverage(setting)) for setting in SETTINGS))  # noqa: T201 - what it is for
