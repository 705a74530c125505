"""Files that appear whole or not at all: written beside their place, synced, then renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

from pipeline import names
from pipeline.errors import SourceError
from pipeline.leftovers import say_at_the_end, undisturbed, undone


@contextlib.contextmanager
def whole_files(*paths: Path) -> Iterator[list[IO[bytes]]]:
    """Open files for writing that take their places together at the end; on any error none of them does.

    Raises:
        SourceError: A file cannot be made or written.
    """
    targets = [Path(os.path.realpath(path)) for path in paths]
    temporary = [target.with_name(f".rollprof-{secrets.token_hex(6)}.tmp") for target in targets]
    with contextlib.ExitStack() as stack:
        files = []
        for place, (target, shown) in enumerate(zip(targets, paths, strict=True)):
            if target.is_char_device():
                temporary[place] = Path(tempfile.gettempdir()) / temporary[place].name
            path = temporary[place]
            stack.enter_context(undone(partial(_remove, path)))
            with _telling(shown):
                _check_place(target)
                files.append(stack.enter_context(_create(path)))
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
            for path, target, shown in zip(temporary, targets, paths, strict=True):
                with _telling(shown):
                    _put(path, target)
            say_at_the_end("the outputs were written")


@contextlib.contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Turns an error of the system into the refusal for a file."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from error


def _check_place(target: Path) -> None:
    """Finds out before the first file takes its place that another could not."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.exists() and not (target.is_file() or target.is_char_device()):
        raise OSError(errno.EEXIST, "something that is no file is in its place")


def _put(path: Path, target: Path) -> None:
    """Renames a file into its place; a device such as /dev/null is written to instead."""
    if target.is_char_device():
        target.write_bytes(path.read_bytes())
    else:
        path.replace(target)


def check_folder(path: Path, *, to_be_made: bool = False) -> None:
    """Finds out before the work whether files can be made beside a path.

    Args:
        path: What the files are named after.
        to_be_made: Whether a folder that does not exist will be made when there is something to write.

    Raises:
        SourceError: The folder does not exist or is not writable.
    """
    with _telling(path):
        folder = path.parent
        while to_be_made and not folder.exists():
            folder = folder.parent
        if not folder.is_dir():
            raise SourceError(
                "no such folder", where=names.shown(folder), hint="Make it first, or choose another with -o."
            )
        if path.is_dir():
            hint = "For a folder use --output-dir."
            raise SourceError("is a folder, not a name for the outputs", where=names.shown(path), hint=hint)
        if not os.access(folder, os.W_OK | os.X_OK):
            hint = "Choose another with --output-dir."
            raise SourceError("cannot write into this folder", where=names.shown(folder), hint=hint)


def make_folder(folder: Path) -> None:
    """Makes a folder for outputs, and those above it, where they do not exist.

    Raises:
        SourceError: It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def unwritable(path: Path, error: OSError) -> SourceError:
    """The refusal for a file that the system would not write."""
    return SourceError(
        f"cannot be written: {error.strerror or error}",
        where=names.shown(path),
        hint="Nothing was changed; choose another place with -o or --output-dir.",
    )


def _create(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb", buffering=1 << 18)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
