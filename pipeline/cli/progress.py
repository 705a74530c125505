"""A progress bar in bytes on standard error: only on a terminal, only after a second."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator

from pipeline.leftovers import forget, remember

PATIENCE_SECONDS = 1.0
SHOW_CURSOR = b"\x1b[?25h\n"


@contextlib.contextmanager
def progress_bar(total_bytes: int, *, wanted: bool) -> Iterator[Callable[[int], None] | None]:
    """A function to tell how many bytes were read since the last call; None where nobody would see a bar."""
    if not (wanted and sys.stderr is not None and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = ("reading", BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=total_bytes)
    began = time.monotonic()

    def advance(read: int) -> None:
        bar.advance(task, read)
        if not bar.live.is_started and time.monotonic() - began > PATIENCE_SECONDS:
            keys.append(remember(_show_cursor))
            bar.start()

    keys: list[int] = []
    try:
        yield advance
    finally:
        if keys:
            bar.stop()
            forget(keys[0])


def _show_cursor() -> None:
    """Gives the cursor back without the stream, which a signal may have interrupted in the middle of a write."""
    os.write(2, SHOW_CURSOR)
