"""What a user typed as a name → the paths that it means."""

from __future__ import annotations

import errno
import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline import names
from pipeline.errors import SourceError, UsageError
from pipeline.sources.lines import unreadable

LINKS = 40
"""So many links are followed, as the system does."""


def matching(named: Iterable[str | Path]) -> Iterator[Path]:
    """The paths meant by names: an existing path is itself, anything else is read as a glob."""
    for name in named:
        if not str(name):
            raise UsageError("an empty name is no file", hint="Name a rollouts file or a run folder.")
        path = path_of(name)
        if _is_there(path):
            yield path
            continue
        _check_folders(str(name))
        matches = sorted(glob.glob(str(name), recursive=True))  # noqa: PTH207 - it takes absolute patterns
        if not matches:
            raise SourceError(
                "no such file, and nothing matches it as a pattern",
                where=names.shown(name),
                hint="Name a rollouts file or a run folder.",
            )
        yield from map(Path, matches)


def path_of(name: str | Path) -> Path:
    """The path that a name means; `-` is standard input."""
    return Path("/dev/stdin") if str(name) == "-" else Path(name)


def _check_folders(pattern: str) -> None:
    """Makes sure that no folder is closed in which a pattern may have matches, which would be lost without a word.

    Raises:
        SourceError: One is.
    """
    folder, name = os.path.split(pattern)
    if folder in {"", pattern}:
        return
    _check_folders(folder)
    need = os.X_OK | (os.R_OK if glob.has_magic(name) else 0)
    for found in glob.glob(folder, recursive=True):  # noqa: PTH207 - it takes absolute patterns
        if Path(found).is_dir() and not os.access(found, need):
            raise unreadable(found, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def _is_there(path: Path) -> bool:
    """Whether there is a file, a folder, or a link.

    Raises:
        SourceError: Nobody can say, for a folder on the way may not be looked into.
    """
    try:
        path.lstat()
    except PermissionError as error:
        raise unreadable(names.shown(path), error) from error
    except (OSError, ValueError):  # also what no file can be called
        return False
    return True


def own_descriptor(path: Path) -> int | None:
    """The number of this process's open file that a path leads to; such a path means another file elsewhere."""
    for _ in range(LINKS):
        if path.name.isdecimal() and _holds_open_files(os.path.realpath(path.parent)):
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _holds_open_files(folder: str) -> bool:
    return folder == "/dev/fd" or re.fullmatch(rf"/proc/{os.getpid()}/(task/\d+/)?fd", folder) is not None
