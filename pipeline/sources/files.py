"""A file of lines → a source: its size and compression, and the byte ranges it is read in."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple, cast

from pipeline import names
from pipeline.errors import SourceError
from pipeline.leftovers import remember
from pipeline.sources.lines import PARQUET, Segment, changed, check_packing, compression_of, unreadable
from pipeline.sources.paths import own_descriptor

SEGMENT_BYTES = 16 << 20
FILES_IN_A_JOB = 1000
ENDS_BYTES = 4096
COPIED_BYTES = 1 << 20
LARGE_BYTES = 1 << 20


@dataclass(frozen=True)
class Source:
    """One file of lines as it was when the run was looked at.

    Attributes:
        path: Where its bytes are.
        size: Bytes on disk at the start; what is appended later is not read.
        modified: Modification time in nanoseconds.
        compression: `gz`, `zst`, `parquet` (an export) or empty, told by the first bytes.
        named: As the user named it, where that is a pipe or an open file.
        held: The file that holds the bytes of a pipe, which is removed with the last use of the source.
        inode: Which file of its file system it is.
        ends: A digest of its first and last bytes, if it is so large that reading it takes a while.
    """

    path: Path
    size: int
    modified: int
    compression: str
    named: Path | None = None
    held: IO[bytes] | None = field(default=None, compare=False, repr=False)
    inode: int = 0
    ends: str = ""

    @property
    def shown(self) -> str:
        """The name that messages and frames call it by."""
        return names.shown(self.named or self.path)

    @property
    def seekable(self) -> bool:
        """Whether a line can be fetched again by its offset."""
        return not self.compression

    @property
    def is_export(self) -> bool:
        """Whether it is a Parquet export, whose rows are columns already."""
        return self.compression == PARQUET

    @property
    def is_profile(self) -> bool:
        """Whether it is a profile, whose rows are tasks."""
        return self.path.name.endswith(names.TASKS_FILE)

    @property
    def is_dump(self) -> bool:
        """Whether its lines are rows of a dump."""
        return not (self.is_export or self.is_profile)

    def whole(self, number: int = 0) -> Segment:
        """All of its lines as one segment, for the source of this number."""
        size = self.size if self.seekable else None
        return Segment(number, str(self.path), self.compression, 0, size, size)


class Kinds(NamedTuple):
    """Sources by what they hold; they are numbered in this order."""

    dumps: tuple[Source, ...]
    exports: tuple[Source, ...]
    profiles: tuple[Source, ...]


def kinds_of(sources: Sequence[Source]) -> Kinds:
    """Dumps, exports and profiles among the sources."""
    return Kinds(
        tuple(source for source in sources if source.is_dump),
        tuple(source for source in sources if source.is_export),
        tuple(source for source in sources if source.is_profile),
    )


RUN_HINT = "Name a rollouts file or a run folder that is there."


def open_source(path: str | Path, *, hint: str = RUN_HINT) -> Source:
    """Looks at a file: its size now, and its compression by the first bytes.

    Args:
        path: The file.
        hint: What to do where there is none.

    Raises:
        SourceError: It does not exist, is a folder, or cannot be read.
    """
    path = Path(path)
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise SourceError("is a folder, not a file", where=names.shown(path), hint="Name the file in it.")
        if not stat.S_ISREG(about.st_mode):
            return _held(path)
        descriptor = own_descriptor(path)
        if descriptor is not None:
            return _redirected(path, descriptor)
        with path.open("rb", buffering=0) as file:
            head = file.read(4)
        ends = ends_digest(path, about.st_size) if about.st_size >= LARGE_BYTES else ""
    except FileNotFoundError:
        raise absent(path, hint=hint) from None
    except OSError as error:
        if error.errno == errno.ENXIO:
            hint = "Name a file or a pipe."
            raise SourceError("is closed, or a socket", where=names.shown(path), hint=hint) from error
        raise unreadable(names.shown(path), error) from error
    except ValueError as error:
        raise unreadable(names.shown(path), error) from error
    check_packing(path, head)
    kind = compression_of(head)
    return Source(path, about.st_size, about.st_mtime_ns, kind, inode=about.st_ino, ends=ends)


def check_unchanged(source: Source, *, may_grow: bool = True) -> None:
    """Makes sure that a file still is what it was when it was looked at.

    Args:
        source: The file.
        may_grow: Whether lines may have been added, which are not read.

    Raises:
        SourceError: It was written over, cut off or removed.
    """
    try:
        about = source.path.stat()
        if (about.st_size, about.st_mtime_ns) == (source.size, source.modified):
            return
        grown = about.st_size > source.size and about.st_ino == source.inode
        if grown and may_grow and (not source.ends or ends_digest(source.path, source.size) == source.ends):
            return
    except OSError as error:
        raise unreadable(source.shown, error) from error
    raise changed(source.shown)


def ends_digest(path: Path, size: int) -> str:
    """A digest of the first and the last bytes of a file of this size: cheap, and another file has another.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        first = file.read(ENDS_BYTES)
        file.seek(max(0, size - ENDS_BYTES))
        return hashlib.blake2b(first + file.read(ENDS_BYTES), digest_size=16).hexdigest()


def absent(path: Path, *, hint: str = RUN_HINT) -> SourceError:
    """The refusal for a file that does not exist."""
    return SourceError("no such file", where=names.shown(path), hint=hint)


def _redirected(path: Path, descriptor: int) -> Source:
    """A file that is open in this process: by the name that it has everywhere, or held where it has none any more."""
    start = os.lseek(descriptor, 0, os.SEEK_CUR)
    real = Path(os.path.realpath(path))
    if start == 0 and real.exists() and real.samefile(path):
        return replace(open_source(real), named=path)
    return _held(path, start)


def _held(path: Path, start: int = 0) -> Source:
    """What comes only once, or only here: it is copied to a file that lasts as long as the source.

    Raises:
        SourceError: There is no room for the copy.
        OSError: The path cannot be read.
    """
    try:
        held = tempfile.NamedTemporaryFile(prefix="rollprof-")  # noqa: SIM115 - it lasts as long as the source
    except OSError as error:
        raise not_copied(path, error) from error
    remember(partial(os.unlink, held.name))
    with path.open("rb") as pipe:
        if start:
            pipe.seek(start)
        while block := pipe.read(COPIED_BYTES):
            try:
                held.write(block)
                held.flush()
            except OSError as error:
                raise not_copied(path, error) from error
    return replace(open_source(held.name), named=path, held=cast("IO[bytes]", held))


def not_copied(path: Path, error: OSError) -> SourceError:
    """The refusal for what has to be copied into the temporary folder, and cannot be."""
    into = f" into {names.shown(tempfile.tempdir)}" if tempfile.tempdir else ""
    hint = "Name a folder with room in TMPDIR, or a plain file."
    return SourceError(f"cannot be copied{into}: {error.strerror}", where=names.shown(path), hint=hint)


def segments(sources: Sequence[Source], *, segment_bytes: int = SEGMENT_BYTES) -> Iterator[tuple[Segment, ...]]:
    """The sources cut into jobs of about the same size: ranges of large files, small files together."""
    batch: list[Segment] = []
    room = segment_bytes
    for number, source in enumerate(sources):
        if not source.seekable:
            yield (source.whole(number),)
            continue
        size = source.size
        for start in range(0, size, segment_bytes):
            stop = min(start + segment_bytes, size)
            batch.append(Segment(number, str(source.path), "", start, stop, size))
            room -= stop - start
            if room <= 0 or len(batch) >= FILES_IN_A_JOB:
                yield tuple(batch)
                batch, room = [], segment_bytes
    if batch:
        yield tuple(batch)
