"""One function a figure: it measures, and answers with the cells of a row of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.bench import commands
from tests.bench.measure import Pairs, Spread, paired, peaks, repeated
from tests.bench.plan import (
    BUDGETS,
    HELP_SECONDS,
    LARGE_GROWTH,
    MANY_REST_SECONDS,
    SCAN_SPEED_UP,
    STATS_PEAK_MB,
    STATS_SECONDS,
)
from tests.bench.table import NOTHING, limit, spread, verdict

if TYPE_CHECKING:
    from tests.bench.dumps import Dump
    from tests.bench.measure import Run
    from tests.bench.plan import Plan

PROFILE_HEADINGS = (
    *("dump", "rows", "MB", "s", "MB/s", "user + sys s", "task rows", "/ loop", "budget", "/ wc -l"),
    *("peak MB", "budget", "holds"),
)
OTHER_HEADINGS = ("figure", "measured", "budget", "holds")
_START_RUNS = 9
_MB = 1e6


class Profiled(NamedTuple):
    """The whole command on one dump."""

    loop: Pairs
    lines: Pairs
    peak: Spread
    task_rows: int

    @property
    def runs(self) -> list[Run]:
        """All timed runs of the command."""
        return self.loop.a + self.lines.a


def profiled(dump: Dump, plan: Plan) -> Profiled:
    """Time the command against the bare loop and `wc -l`, then watch its memory."""
    command = commands.profile(dump, plan.template, jobs=plan.jobs, scratch=plan.scratch)
    return Profiled(
        loop=paired(command, commands.parse_loop(dump), plan.runs),
        lines=paired(command, commands.count_lines(dump), plan.runs),
        peak=peaks(command, plan.looks),
        task_rows=_task_rows(plan),
    )


def profile_cells(dump: Dump, figures: Profiled) -> list[str]:
    """A row of the first table; MB/s are megabytes of rollouts, though the inputs are read too."""
    budget = BUDGETS[dump.kind]
    ratio = figures.loop.ratio()
    seconds = Spread.of(run.wall for run in figures.runs)
    held = (ratio.median, budget.loop), (figures.peak.median / _MB, budget.peak_mb)
    limits = [value <= most for value, most in held if most is not None]
    return [
        *size_cells(dump),
        spread(seconds),
        f"{dump.size / _MB / seconds.median:.0f}",
        f"{Spread.of(run.cpu for run in figures.runs).median:.2f}",
        f"{figures.task_rows} of {dump.tasks}",
        spread(ratio),
        limit(budget.loop),
        spread(figures.lines.ratio(), digits=1),
        spread(figures.peak, scale=_MB, digits=0),
        limit(budget.peak_mb),
        verdict(holds=all(limits)) if limits else NOTHING,
    ]


def size_cells(dump: Dump) -> list[str]:
    """Name and size of a dump."""
    return [dump.kind, str(dump.rows), f"{dump.size / _MB:.0f} + {dump.inputs_size / _MB:.0f}"]


def scan_cells(dump: Dump, plan: Plan) -> list[str]:
    """One process against several, by the program's own clock: starting Python is not the scan."""
    pairs = paired(commands.scan(dump, jobs=1), commands.scan(dump, jobs=plan.jobs), plan.runs)
    speed_up = pairs.ratio(lambda run: float(run.stdout))
    holds = verdict(holds=speed_up.median >= SCAN_SPEED_UP)
    return [spread(speed_up), limit(SCAN_SPEED_UP, sign=">="), holds]


def rest_cells(dump: Dump, plan: Plan) -> list[str]:
    """Seconds of align, profile and write, by the program's own clock."""
    runs = repeated(commands.rest(dump, jobs=plan.jobs, scratch=plan.scratch), plan.runs)
    rest = Spread.of(float(run.stdout) for run in runs)
    return [f"{spread(rest)} s", limit(MANY_REST_SECONDS), verdict(holds=rest.median <= MANY_REST_SECONDS)]


def stats_cells(dump: Dump, plan: Plan) -> list[str]:
    """Seconds and peak memory of the statistics with all their draws, the reading included."""
    command = commands.stats(dump, plan.template, jobs=plan.jobs)
    seconds, peak = _seconds(repeated(command, plan.runs)), peaks(command, 1)
    held = seconds.median <= STATS_SECONDS and peak.median / _MB <= STATS_PEAK_MB
    measured = f"{spread(seconds)} s, {spread(peak, scale=_MB, digits=0)} MB"
    return [measured, f"<= {STATS_SECONDS:g} s, {STATS_PEAK_MB} MB", verdict(holds=held)]


def growth_cells(dump: Dump, before: Spread, plan: Plan) -> list[str]:
    """Peak memory on a larger dump, beside the peak on the usual one, against a multiple of the budget for that."""
    command = commands.profile(dump, plan.template, jobs=plan.jobs, scratch=plan.scratch)
    peak = peaks(command, plan.looks)
    measured = f"{spread(peak, scale=_MB, digits=0)} MB, {peak.median / before.median:.2f} x {before.median / _MB:.0f}"
    allowed = BUDGETS[dump.kind].peak_mb
    if allowed is None:
        return [measured, NOTHING, NOTHING]
    held = verdict(holds=peak.median / _MB <= LARGE_GROWTH * allowed)
    return [measured, f"<= {LARGE_GROWTH:g} x {allowed:g} MB", held]


def start_cells(dump: Dump, plan: Plan) -> list[str]:
    """Seconds of the whole command where there is next to nothing to read."""
    command = commands.profile(dump, plan.template, jobs=plan.jobs, scratch=plan.scratch)
    return [f"{spread(_seconds(repeated(command, _START_RUNS)))} s", NOTHING, NOTHING]


def help_cells(plan: Plan) -> list[str]:
    """Seconds until the help is there."""
    seconds = _seconds(repeated(commands.show_help(plan.template), _START_RUNS))
    return [f"{spread(seconds)} s", limit(HELP_SECONDS), verdict(holds=seconds.median <= HELP_SECONDS)]


def _seconds(runs: list[Run]) -> Spread:
    return Spread.of(run.wall for run in runs)


def _task_rows(plan: Plan) -> int:
    path = plan.scratch / f"{commands.OUTPUT_STEM}_reward_profiling.jsonl"
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(1 for _ in file)
