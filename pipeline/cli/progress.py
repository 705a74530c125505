"""Progress bars on standard error, in bytes or in rollouts: only on a terminal, only after a second."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pipeline.leftovers import forget, remember

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

    from pipeline.collect.collecting import Tally

PATIENCE_SECONDS = 1.0
SHOW_CURSOR = b"\x1b[?25h\n"


@contextlib.contextmanager
def progress_bar(total_bytes: int, *, wanted: bool) -> Iterator[Callable[[int], None] | None]:
    """A function to tell how many bytes were read since the last call; None where nobody would see a bar."""
    if not (wanted and is_seen()):
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = ("reading", BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with _shown_later(columns) as (bar, show):
        task = bar.add_task("", total=total_bytes)

        def advance(read: int) -> None:
            bar.advance(task, read)
            show()

        yield advance


@contextlib.contextmanager
def rollout_bar(total: int, *, wanted: bool) -> Iterator[Callable[[Tally], None]]:
    """A function to tell what has been collected; it shows the rate, running reward, failures and the time left."""
    if not (wanted and is_seen()):
        yield lambda _tally: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    said = TextColumn("{task.fields[rate]} reward {task.fields[reward]} failed {task.fields[failed]}")
    columns = ("collecting", BarColumn(bar_width=20), MofNCompleteColumn(), said, TimeRemainingColumn(compact=True))
    with _shown_later(columns) as (bar, show):
        task = bar.add_task("", total=total, rate="", reward="-", failed=0)
        began = time.monotonic()

        def tell(tally: Tally) -> None:
            done, failed = tally.finished, len(tally.failed)
            rate = f"{done / max(time.monotonic() - began, 1e-9):.1f}/s"
            reward = "-" if tally.reward is None else f"{tally.reward:.3f}"
            bar.update(task, completed=done + failed, rate=rate, reward=reward, failed=failed)
            show()

        yield tell


def is_seen() -> bool:
    """Whether somebody sees a bar."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def _shown_later(columns: tuple[str | ProgressColumn, ...]) -> Iterator[tuple[Progress, Callable[[], None]]]:
    """A bar, and a function that shows it once the patience is over; it is gone at the end."""
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    began = time.monotonic()
    keys: list[int] = []

    def show() -> None:
        if not bar.live.is_started and time.monotonic() - began > PATIENCE_SECONDS:
            keys.append(remember(_show_cursor))
            bar.start()

    try:
        yield bar, show
    finally:
        if keys:
            bar.stop()
            forget(keys[0])


def _show_cursor() -> None:
    """Gives the cursor back without the stream, which a signal may have interrupted in the middle of a write."""
    os.write(2, SHOW_CURSOR)
