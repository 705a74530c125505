"""One writer at a time, and none where that cannot be seen to."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from pipeline.errors import SourceError
from pipeline.output.locking import lock


def test_a_second_lock_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.touch()
    with path.open("rb") as second:
        with path.open("rb") as first:
            lock(first.fileno(), path)
            with pytest.raises(SourceError, match=r"r\.jsonl: is being collected or topped up"):
                lock(second.fileno(), path)
        lock(second.fileno(), path)


def test_a_disk_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.jsonl"
    path.touch()

    def unsupported(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with path.open("rb") as file, pytest.raises(SourceError, match=r"cannot be locked: .* not supported"):
        lock(file.fileno(), path)
