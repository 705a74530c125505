"""The processes below this one: who they are and how much memory they hold together, from Linux's /proc."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PR_SET_CHILD_SUBREAPER = 36
_ORPHAN_SECONDS = 1.0
_POLL_SECONDS = 0.01

MEMORY_KIND = "Pss" if (_PROC / "self/smaps_rollup").exists() else "RSS"


def adopt_orphans() -> None:
    """Make processes whose parent ended children of this one, so that they stay in the tree."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans() -> float:
    """Wait a moment for the children that are left; their user and system seconds."""
    seconds = 0.0
    deadline = time.perf_counter() + _ORPHAN_SECONDS
    with suppress(ChildProcessError):
        while time.perf_counter() < deadline:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
            seconds += usage.ru_utime + usage.ru_stime
            if not pid:
                time.sleep(_POLL_SECONDS)
    return seconds


def held_bytes(root: int) -> int:
    """Memory of all processes below `root` now: shared pages are divided among those that share them (Pss).

    Where the kernel does not tell Pss, resident sizes are added, and forked pages count once a process.
    """
    return sum(_bytes_of(pid) for pid in _below(root))


def _below(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in os.scandir(_PROC):
        if entry.name.isdecimal():
            # The name of a program may hold spaces and brackets; the fields after it may not.
            fields = _read(entry.name, "stat").rpartition(b")")[2].split()
            if fields:
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = list(children.get(root, ()))
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def _bytes_of(pid: int) -> int:
    for line in _read(pid, "smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    resident = _read(pid, "statm").split()[1:2]
    return int(resident[0]) * _PAGE if resident else 0


def _read(pid: int | str, name: str) -> bytes:
    """A file of /proc, empty when the process has ended meanwhile."""
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""
