"""Files of a run that are written anew in their place: inputs with more lines, rollouts without some."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from pipeline import names
from pipeline.errors import SourceError
from pipeline.output.files import WRITABLE, whole_files
from pipeline.sources.fetching import Place, fetched
from pipeline.sources.files import Source
from pipeline.sources.lines import unreadable

BACKUP = ".bak"
BLOCK_BYTES = 1 << 20


def backup_of(path: Path) -> Path:
    """Where a file is kept as it was before its last change."""
    return path.with_name(path.name + BACKUP)


def check_rewritable(path: Path) -> None:
    """Finds out before the work whether a file can be written anew in its place.

    Raises:
        SourceError: It is read-only, or its folder is.
    """
    hint = "Nothing was changed; this file is written anew in its place, so allow it: chmod u+w"
    with _telling(path):
        if path.exists() and not path.stat().st_mode & WRITABLE:
            raise SourceError("is read-only", where=names.shown(path), hint=hint)
        folder = Path(os.path.realpath(path)).parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise SourceError("cannot write into this folder", where=names.shown(folder), hint=hint)


def append_lines(source: Source, lines: Iterable[bytes]) -> None:
    """Adds lines at the end of a file; the file as it was is beside it, as `backup_of` names it.

    At every moment the old or the new file is there whole. The old lines keep their every byte, the file its
    permissions.

    Args:
        source: The file, as it was when it was read.
        lines: What to add, without line feeds.

    Raises:
        SourceError: It cannot be written, or was changed since it was read.
    """
    with _opened(source) as old, whole_files(backup_of(source.path), source.path) as (backup, new):
        last = b"\n"
        for block in _blocks(old, source.size):
            backup.write(block)
            new.write(block)
            last = block[-1:]
        new.write(b"" if last == b"\n" else b"\n")
        new.writelines(line + b"\n" for line in lines)
        _keep_mode(old, backup, new)
        _check_unchanged(source)
    _sync(source.path)


def set_aside(source: Source, places: Sequence[Place], side: Path) -> None:
    """Moves lines from a file of rollouts to the end of another one.

    The other file is on the disk before the rollouts are written anew, so that no line is ever in neither. A line that
    is in both, because an earlier try was cut short, is moved once.

    Args:
        source: The rollouts, as they were when they were read.
        places: The lines, in the order of their offsets.
        side: Where they go.

    Raises:
        SourceError: A file cannot be written, or the rollouts were changed since they were read.
    """
    with _opened(source) as old:
        _add_to_side(source, places, side, old)
        _sync(side)
        with whole_files(source.path) as (new,):
            new.writelines(_without(old, places, source.size))
            _keep_mode(old, new)
            _check_unchanged(source)
        _sync(source.path)


def _add_to_side(source: Source, places: Sequence[Place], side: Path, old: IO[bytes]) -> None:
    with whole_files(side) as (file,):
        there = set()
        for line in _lines_of(side):
            there.add(_digest(line))
            file.write(line + b"\n")
        for line in fetched(source, places):
            if _digest(line) not in there:
                file.write(line + b"\n")
        _keep_mode(old, file)
        _check_unchanged(source)


def _lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file without their line feeds; none where there is no file."""
    if path.exists():
        with path.open("rb") as file:
            for line in file:
                yield line.removesuffix(b"\n")


def _without(file: IO[bytes], places: Sequence[Place], size: int) -> Iterator[bytes]:
    """The bytes of a file but for lines, which are in the order of their offsets, and their line feeds."""
    at = 0
    for place in places:
        yield from _blocks(file, place.offset - at)
        at = place.offset + place.length + 1
        file.seek(at)
    yield from _blocks(file, size - at)


def _blocks(file: IO[bytes], size: int) -> Iterator[bytes]:
    """The next bytes of a file, this many or up to its end."""
    while size > 0 and (block := file.read(min(size, BLOCK_BYTES))):
        size -= len(block)
        yield block


@contextlib.contextmanager
def _opened(source: Source) -> Iterator[IO[bytes]]:
    with _telling(source.path):
        file = source.path.open("rb")
    with file:
        yield file


@contextlib.contextmanager
def _telling(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unreadable(str(path), error) from error


def _check_unchanged(source: Source) -> None:
    """Makes sure that nobody has written to a file since it was read, such as a collection that is still running.

    Raises:
        SourceError: Somebody has.
    """
    about = source.path.stat()
    if (about.st_size, about.st_mtime_ns) != (source.size, source.modified):
        raise SourceError(
            "was changed since it was read", where=source.shown, hint="Let the collection end, then ask again."
        )


def _keep_mode(old: IO[bytes], *new: IO[bytes]) -> None:
    """Gives new files the permissions of the old one."""
    mode = stat.S_IMODE(os.fstat(old.fileno()).st_mode)
    for file in new:
        os.fchmod(file.fileno(), mode)


def _sync(path: Path) -> None:
    """Has the name of a file written to the disk."""
    with contextlib.suppress(OSError):  # some file systems sync no folders
        number = os.open(Path(os.path.realpath(path)).parent, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _digest(line: bytes) -> bytes:
    return hashlib.blake2b(line, digest_size=16).digest()
