"""The files that a collector appends to: finished rollouts and failed attempts, each a whole line at once.

A line is one write to a file opened for appending, so whoever kills the collector leaves whole lines, and at worst a
torn last one, which the next collector cuts off. The system has a line as soon as it is written; it is synced to the
disk when the collection ends, however it ends, and every few seconds before, so a machine that fails loses no more.
The file of rollouts is locked as long as a collector writes to it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from pipeline import names
from pipeline.collect.keyed_rows import check_plain
from pipeline.errors import SourceError
from pipeline.leftovers import undisturbed, undone
from pipeline.output.files import unwritable
from pipeline.output.locking import lock
from pipeline.sources import rows

BLOCK = 1 << 16


class Log:
    """A file that lines are appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = -1

    def open(self, *, new: bool = False) -> None:
        """Opens the file, which is made if need be; a new one must not be there.

        Raises:
            SourceError: It cannot be opened.
        """
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | (os.O_EXCL if new else 0)
        try:
            self.descriptor = os.open(self.path, flags, 0o666)
        except OSError as error:
            raise unwritable(self.path, error) from error

    def append(self, line: bytes) -> None:
        """Appends a whole line; of one that does not fit on the disk nothing stays.

        Raises:
            SourceError: It cannot be written.
        """
        if self.descriptor < 0:
            self.open()
        with undisturbed():
            before = os.fstat(self.descriptor).st_size
            try:
                reason = "" if os.write(self.descriptor, line) == len(line) else os.strerror(errno.ENOSPC)
            except OSError as error:
                reason = error.strerror or str(error)
            if reason:
                os.ftruncate(self.descriptor, before)
                hint = "What finished before is there; make room and go on with --resume."
                raise SourceError(f"cannot be written: {reason}", where=names.shown(self.path), hint=hint)

    def cut_torn_line(self) -> int:
        """Cuts off a last line that was not written to its end, and gives how many bytes that were.

        A whole object that only lacks its line feed is kept.
        """
        size = os.fstat(self.descriptor).st_size
        start = _start_of_last_line(self.descriptor, size)
        if start == size:
            return 0
        try:
            rows.parse(memoryview(os.pread(self.descriptor, size - start, start)))
        except rows.BadLineError:
            os.ftruncate(self.descriptor, start)
            return size - start
        self.append(b"\n")
        return 0

    def sync(self) -> None:
        """Has the system write to the disk what it holds."""
        if self.descriptor >= 0:
            os.fsync(self.descriptor)

    def close(self) -> None:
        """Syncs and closes the file."""
        if self.descriptor >= 0:
            self.sync()
            os.close(self.descriptor)
            self.descriptor = -1


class Ledger:
    """The rollouts file and the failures beside it, locked for one collector.

    Attributes:
        rollouts: Finished rollouts.
        failures: Failed attempts; the file is made with the first of them.
        cut: What was cut off, in words.
        begun: Whether there is something to go on with; a new file is not left behind without.
        beside: Files that mean nothing without it.
    """

    def __init__(self, rollouts: Path, failures: Path) -> None:
        self.rollouts = Log(rollouts)
        self.failures = Log(failures)
        self.cut: list[str] = []
        self.begun = True
        self.beside: list[Path] = []

    def discard(self) -> None:
        """Removes the file of rollouts and what goes with it, if the collection ended before it began."""
        if not self.begun:
            for path in (self.rollouts.path, *self.beside):
                path.unlink(missing_ok=True)

    def sync(self) -> None:
        """Syncs both files."""
        self.rollouts.sync()
        self.failures.sync()


@contextlib.contextmanager
def open_ledger(rollouts: Path, failures: Path, *, new: bool) -> Iterator[Ledger]:
    """Opens and locks the files; those of an earlier collector are mended first.

    Args:
        rollouts: The rollouts file.
        failures: The failures beside it.
        new: Whether the rollouts file must not be there.

    Raises:
        SourceError: They cannot be written or locked, are compressed, or are being collected or topped up.
    """
    ledger = Ledger(rollouts, failures)
    ledger.rollouts.open(new=new)
    ledger.begun = not new
    try:
        lock(ledger.rollouts.descriptor, rollouts)
        while not _is_at_its_path(ledger.rollouts):  # the file was replaced between its opening and its lock
            ledger.rollouts.close()
            ledger.rollouts.open()
            lock(ledger.rollouts.descriptor, rollouts)
        if failures.exists():
            ledger.failures.open()
        logs = [log for log in (ledger.rollouts, ledger.failures) if log.descriptor >= 0]
        for log in logs:
            check_plain(log.path, os.pread(log.descriptor, 4, 0))
        for log in logs:
            if cut := log.cut_torn_line():
                ledger.cut.append(f"{names.shown(log.path)}: a torn last line of {cut:,} bytes was cut off")
        with undone(ledger.sync), undone(ledger.discard):
            yield ledger
    finally:
        ledger.failures.close()
        ledger.rollouts.close()


def _is_at_its_path(log: Log) -> bool:
    """Whether the open file is still the one that its path names."""
    try:
        return os.path.samestat(os.fstat(log.descriptor), log.path.stat())
    except FileNotFoundError:
        return False


def _start_of_last_line(descriptor: int, size: int) -> int:
    """Where the text after the last line feed starts; the size where there is none."""
    stop = size
    while stop > 0:
        start = max(0, stop - BLOCK)
        feed = os.pread(descriptor, stop - start, start).rfind(b"\n")
        if feed >= 0:
            return start + feed + 1
        stop = start
    return 0
