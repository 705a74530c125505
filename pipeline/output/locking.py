"""The lock on rollouts: one collection or top-up at a time writes to them."""

from __future__ import annotations

import fcntl
from pathlib import Path

from pipeline import names
from pipeline.errors import SourceError


def lock(descriptor: int, path: Path) -> None:
    """Locks an open file of rollouts until it is closed, or its process ends.

    A disk without locks is refused: a second writer would cut off, as torn, the line that the first one is writing, or
    put another file in its place, and neither would notice.

    Args:
        descriptor: The open file.
        path: What it is called.

    Raises:
        SourceError: Another process has locked it, or it cannot be locked.
    """
    where = names.shown(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        hint = "Let that end, or stop it; then ask again."
        raise SourceError("is being collected or topped up", where=where, hint=hint) from None
    except OSError as error:
        hint = "It is written to only where two writers cannot meet: put the run on a disk that has locks."
        raise SourceError(f"cannot be locked: {error.strerror or error}", where=where, hint=hint) from error
