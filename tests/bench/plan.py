"""What is to be measured, and the budgets that it is held against."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.bench.dumps import write_dump

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.dumps import Dump
    from tests.bench.rows import Kind

MANY_ROLLOUTS = 1_000_000
LARGE_FACTOR = 4
LARGE_KINDS: tuple[Kind, ...] = ("text", "tok")
FULL_MB = 1000.0
FULL_SMALL_MB = 300.0


class Plan(NamedTuple):
    """Sizes in 10^6 bytes; `template` is the command under test; `folder` holds dumps and outputs."""

    kinds: tuple[Kind, ...]
    mb: float
    small_mb: float
    runs: int
    jobs: int
    template: str
    large: bool
    keep: bool
    quick: bool
    folder: Path

    @property
    def scratch(self) -> Path:
        """Where the command under test writes."""
        return self.folder / "out"

    @property
    def looks(self) -> int:
        """Runs in which memory is watched."""
        return min(3, self.runs)

    @property
    def full_size(self) -> bool:
        """Whether the dumps have the sizes that the budgets are for."""
        return not self.quick and (self.mb, self.small_mb) == (FULL_MB, FULL_SMALL_MB)


class Budget(NamedTuple):
    """At most: time as a multiple of the bare loop, peak memory in MB of all processes."""

    loop: float | None = None
    peak_mb: float | None = None


BUDGETS: dict[Kind, Budget] = {
    "text": Budget(0.5, 450),
    "tok": Budget(0.45, 450),
    "small": Budget(1.5, 800),
    "many": Budget(),
}
SCAN_SPEED_UP = 1.7
MANY_REST_SECONDS = 4.0
STATS_SECONDS = 20.0
STATS_PEAK_MB = 1500
LARGE_GROWTH = 1.3
HELP_SECONDS = 0.3


def planned_dump(kind: Kind, plan: Plan, *, factor: float = 1.0) -> Dump:
    """Write the dump of a kind in the size asked for."""
    path = plan.folder / f"{kind}.jsonl"
    if kind == "many" and not plan.quick:
        return write_dump(kind, path, rows=MANY_ROLLOUTS)
    return write_dump(kind, path, megabytes=factor * (plan.small_mb if kind == "small" else plan.mb))
