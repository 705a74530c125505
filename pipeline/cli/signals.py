"""Signals that end the command: it cleans up, says so, and ends with 128 and the signal's number."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from pipeline.leftovers import undo_all, waits, what_is_so

WORDS = {"SIGINT": "Interrupted", "SIGTERM": "Terminated", "SIGHUP": "The terminal went away"}


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Ends the process on SIGINT, SIGTERM and SIGHUP.

    The handler ends it itself: an exception that it raised could be lost in the import system, or be wrapped by
    Polars into one of its own. A signal that is ignored already stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}
    for name in WORDS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _frame: FrameType | None) -> None:
    if waits(lambda: _end(number, None)):
        return
    undo_all()
    for name in WORDS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    said = f"rollprof: {WORDS[signal.Signals(number).name]}; {what_is_so()}.\n"
    with contextlib.suppress(OSError):
        os.write(2, said.encode())
    os._exit(128 + number)
