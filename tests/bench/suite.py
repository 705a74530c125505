"""Everything that a plan asks for, measured one dump at a time."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from tests.bench import figures
from tests.bench.dumps import write_dump
from tests.bench.measure import CommandFailedError
from tests.bench.plan import LARGE_FACTOR, LARGE_KINDS, Plan, planned_dump
from tests.bench.table import NOTHING, verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bench.dumps import Dump
    from tests.bench.measure import Spread
    from tests.bench.rows import Kind

_START_ROLLOUTS = 5


class Suite:
    """The rows of both tables, filled by `measure`; a command that fails leaves a row that says so."""

    def __init__(self, plan: Plan) -> None:
        """Nothing is measured yet."""
        self.plan = plan
        self.profiles: list[list[str]] = []
        self.others: list[list[str]] = []
        self.failed = False
        self._peaks: dict[Kind, Spread] = {}

    def measure(self) -> None:
        """Measure all figures; progress goes to stderr."""
        for kind in self.plan.kinds:
            dump = self._dump(kind)
            self._profile(dump)
            if kind == "text":
                name = f"scan alone, 1 process / {self.plan.jobs} processes, text"
                self._other(name, partial(figures.scan_cells, dump, self.plan))
            if kind == "many":
                name = f"align, profile, write; {dump.rows} rollouts x {dump.metrics:.0f} metrics"
                self._other(name, partial(figures.rest_cells, dump, self.plan))
                name = f"stats, {dump.rows} rollouts in {dump.tasks} tasks"
                self._other(name, partial(figures.stats_cells, dump, self.plan))
            self._drop(dump)
        for kind in LARGE_KINDS:
            if self.plan.large and kind in self._peaks:
                self._growth(kind)
        few = write_dump("text", self.plan.folder / "few.jsonl", rows=_START_ROLLOUTS)
        self._other(f"profile of {_START_ROLLOUTS} rollouts", partial(figures.start_cells, few, self.plan))
        self._other("--help", partial(figures.help_cells, self.plan))

    def _profile(self, dump: Dump) -> None:
        say(f"{dump.kind}: profile against loop and wc")
        try:
            measured = figures.profiled(dump, self.plan)
        except CommandFailedError as error:
            size = figures.size_cells(dump)
            blanks = [NOTHING] * (len(figures.PROFILE_HEADINGS) - len(size) - 1)
            self.profiles.append([*size, *blanks, self._failure(error)])
        else:
            self._peaks[dump.kind] = measured.peak
            self.profiles.append(figures.profile_cells(dump, measured))

    def _growth(self, kind: Kind) -> None:
        dump = self._dump(kind, factor=LARGE_FACTOR)
        name = f"peak memory, {kind} of {LARGE_FACTOR * self.plan.mb:g} MB / {self.plan.mb:g} MB"
        self._other(name, partial(figures.growth_cells, dump, self._peaks[kind], self.plan))
        self._drop(dump)

    def _other(self, name: str, measured: Callable[[], list[str]]) -> None:
        say(name)
        try:
            self.others.append([name, *measured()])
        except CommandFailedError as error:
            self.others.append([name, NOTHING, NOTHING, self._failure(error)])

    def _failure(self, error: CommandFailedError) -> str:
        self.failed = True
        say(f"  {error}")
        return f"{verdict(holds=False)}, {error}"

    def _dump(self, kind: Kind, *, factor: float = 1.0) -> Dump:
        say(f"{kind}: writing the dump")
        dump = planned_dump(kind, self.plan, factor=factor)
        say(f"  {dump}")
        return dump

    def _drop(self, dump: Dump) -> None:
        if not self.plan.keep:
            dump.rollouts.unlink()
            dump.inputs.unlink()


def say(text: str) -> None:
    """Tell what is going on."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
