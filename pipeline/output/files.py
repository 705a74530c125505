"""Files that appear whole or not at all: written beside their place, synced, then renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from pipeline import names
from pipeline.errors import SourceError
from pipeline.leftovers import say_at_the_end, undisturbed, undone

WRITABLE = 0o222
"""A file without any of these bits is one that somebody wants to keep, whoever may write it."""


@contextlib.contextmanager
def whole_files(*paths: Path) -> Iterator[list[IO[bytes]]]:
    """Open files for writing that take their places together at the end; on any error none of them does.

    Raises:
        SourceError: A file cannot be made or written.
    """
    targets = [Path(os.path.realpath(path)) for path in paths]
    devices = set()
    for target, shown in zip(targets, paths, strict=True):
        with _telling(shown):
            devices |= {target} if target.is_char_device() else set()
    replaced = [target for target in targets if target not in devices]
    if len(set(replaced)) < len(replaced):
        raise SourceError(
            "two outputs are the same file by a link", where=names.shown(paths[0]), hint="Remove the link."
        )
    temporary = [target.with_name(f".rollprof-{secrets.token_hex(6)}.tmp") for target in targets]
    with contextlib.ExitStack() as stack:
        files = []
        for place, (target, shown) in enumerate(zip(targets, paths, strict=True)):
            if target in devices:
                temporary[place] = Path(tempfile.gettempdir()) / temporary[place].name
            path = temporary[place]
            stack.enter_context(undone(partial(_remove, path)))
            with _telling(shown):
                _check_place(target)
                files.append(stack.enter_context(_closed(_create(path))))
        with _telling(paths[0]):
            yield files
        for file, shown in zip(files, paths, strict=True):
            with _telling(shown):
                file.flush()
                os.fsync(file.fileno())
                file.close()
        for target, shown in zip(targets, paths, strict=True):
            with _telling(shown):
                _check_place(target)
        with undisturbed():
            for placed, (path, target, shown) in enumerate(zip(temporary, targets, paths, strict=True)):
                with _telling(shown, written=paths[:placed]):
                    _put(path, target)
                say_at_the_end(f"written so far: {', '.join(map(names.shown, paths[: placed + 1]))}")


def begin_to_store(file: IO[bytes], start: int) -> None:
    """Has the system store what was written while more is made, so that the sync at the end is short.

    What is stored already may leave the page cache, so each part of a file is named once, right after it was written.

    Args:
        file: A file that is being written.
        start: Where the part begins that was written last, in bytes.
    """
    if hasattr(os, "posix_fadvise"):
        with contextlib.suppress(OSError):  # a hint; what is wrong with the disk is told by the sync
            os.posix_fadvise(file.fileno(), start, file.tell() - start, os.POSIX_FADV_DONTNEED)


@contextlib.contextmanager
def _telling(path: Path, written: Sequence[Path] = ()) -> Iterator[None]:
    """Turns an error of the system into the refusal for a file, which says what was written before it."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error, written) from error


def _check_place(target: Path) -> None:
    """Finds out before the first file takes its place that another could not."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.is_file() and not target.stat().st_mode & WRITABLE:
        raise PermissionError(errno.EACCES, "it is there already, and read-only")
    if target.exists() and not (target.is_file() or target.is_char_device()):
        raise OSError(errno.EEXIST, "something that is no file is in its place")


def _put(path: Path, target: Path) -> None:
    """Renames a file into its place; a device such as /dev/null is written to instead."""
    if target.is_char_device():
        target.write_bytes(path.read_bytes())
    else:
        path.replace(target)


def check_folder(path: Path, *, chosen: bool = True) -> None:
    """Finds out before the work whether files can be made beside a path, in a folder that is made if need be.

    Args:
        path: What the files are named after.
        chosen: Whether the user chose the path, and may have meant a folder.

    Raises:
        SourceError: The folder cannot be made or written.
    """
    with _telling(path):
        folder = path.parent
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        hint = "Choose another with -o or --output-dir."
        if not folder.is_dir():
            raise SourceError("is no folder", where=names.shown(folder), hint=hint)
        if chosen and path.is_dir():
            hint = "For a folder use --output-dir."
            raise SourceError("is a folder, not a name for the outputs", where=names.shown(path), hint=hint)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise SourceError("cannot write into this folder", where=names.shown(folder), hint=hint)
        for output in names.profile_paths(path):
            with contextlib.suppress(FileNotFoundError):
                output.lstat()


def make_folder(folder: Path) -> None:
    """Makes a folder for outputs, and those above it, where they do not exist.

    Raises:
        SourceError: It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def unwritable(path: Path, error: OSError, written: Sequence[Path] = ()) -> SourceError:
    """The refusal for a file that the system would not write."""
    changed = f"Only {', '.join(map(names.shown, written))} was written" if written else "Nothing was changed"
    return SourceError(
        f"cannot be written: {error.strerror or error}",
        where=names.shown(path),
        hint=f"{changed}; choose another place with -o or --output-dir.",
    )


def _create(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb", buffering=1 << 18)


@contextlib.contextmanager
def _closed(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """Closes a file that may be unfinished, whose buffer is then nobody's matter, even where it cannot be written.

    A finished one is closed before.
    """
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):
            file.close()


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
