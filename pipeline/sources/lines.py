"""A byte range of a source → its lines with their offsets, over one reused buffer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from io import RawIOBase
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from pipeline import names
from pipeline.errors import SourceError

BUFFER_BYTES = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
PARQUET_MAGIC = b"PAR1"
PARQUET = "parquet"
PACKED_OTHERWISE = {b"\xfd7zX": "xz", b"BZh": "bzip2", b"PK\x03\x04": "zip", b"\x04\x22\x4d\x18": "lz4"}
"""The first bytes of archives that are not read → what they are."""
SKIPPABLE_MAGIC = b"\x2a\x4d\x18"
SKIPPABLE_MAGIC_HIGH = 5


class Segment(NamedTuple):
    """The lines of one source that begin in [start, stop); `stop` None means up to the end of a stream."""

    source: int
    path: str
    compression: str
    start: int
    stop: int | None
    size: int | None


Line = tuple[int, memoryview, bool]
"""Offset, bytes without the line feed (a view that holds until the next line is asked for), had a line feed."""


def compression_of(head: bytes) -> str:
    """`gz`, `zst`, `parquet` or `` by the first bytes of a file."""
    if head.startswith(GZIP_MAGIC):
        return "gz"
    if head == PARQUET_MAGIC:
        return PARQUET
    skippable = head[1:4] == SKIPPABLE_MAGIC and head[0] >> 4 == SKIPPABLE_MAGIC_HIGH
    return "zst" if skippable or head.startswith(ZSTD_MAGIC) else ""


def check_packing(path: Path, head: bytes) -> None:
    """Refuses a file that is packed in a way that is not read, by its first bytes.

    Raises:
        SourceError: It is.
    """
    for magic, kind in PACKED_OTHERWISE.items():
        if head.startswith(magic):
            hint = "Unpack it, or pack it with gzip or zstd, which are read as they are."
            raise SourceError(f"is packed with {kind}", where=names.shown(path), hint=hint)


def open_plain(path: str, compression: str) -> AbstractContextManager[IO[bytes]]:
    """Opens a file for reading its decompressed bytes."""
    if compression == "gz":
        from zlib_ng import gzip_ng

        return cast("IO[bytes]", gzip_ng.GzipNGFile(path, "rb"))  # type: ignore[no-untyped-call]
    if compression == "zst":
        return cast("IO[bytes]", _zstd().ZstdFile(path, "rb"))
    return cast("IO[bytes]", Path(path).open("rb", buffering=0))


def _zstd() -> Any:
    """The standard library's zstd, or the same module for an older Python."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def lines_of(segment: Segment) -> Iterator[Line]:
    """The lines that begin in the segment; a byte order mark at the start of a source is skipped.

    Raises:
        SourceError: The file cannot be opened or read, or its compressed data is damaged.
    """
    try:
        with open_plain(segment.path, segment.compression) as file:
            yield from _lines(file, segment)
    except SourceError:
        raise
    except (OSError, EOFError) as error:
        raise unreadable(segment.path, error) from error
    except _decompression_errors(segment.compression) as error:
        raise unreadable(segment.path, error) from error


def unreadable(path: str, error: BaseException) -> SourceError:
    """The refusal for a file that the system or a decompressor would not read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return SourceError(
        f"cannot be read: {reason}", where=names.shown(path), hint="Look at the file; it may have to be copied again."
    )


def changed(where: str) -> SourceError:
    """The refusal for a file, or a line of it, that is another one than it was at the start."""
    return SourceError("was changed while it was being profiled", where=where, hint="Profile it again.")


def _decompression_errors(compression: str) -> tuple[type[Exception], ...]:
    if compression == "gz":
        from zlib_ng import zlib_ng

        return (cast("type[Exception]", zlib_ng.error),)
    return (_zstd().ZstdError,) if compression == "zst" else ()


def _lines(file: IO[bytes], segment: Segment) -> Iterator[Line]:
    """Fills the buffer, yields its whole lines, moves the rest to the front, and grows for a long line."""
    stop = segment.stop
    buffer = bytearray(BUFFER_BYTES)
    view = memoryview(buffer)
    base, begin, end = _first_line(file, segment, view)
    searched = begin
    while True:
        while (feed := buffer.find(b"\n", searched, end)) >= 0:
            if stop is not None and base + begin >= stop:
                return
            yield base + begin, view[begin:feed], True
            begin = searched = feed + 1
        if stop is not None and base + begin >= stop:
            return
        buffer[: end - begin] = buffer[begin:end]
        base, end, begin = base + begin, end - begin, 0
        searched = end
        if end == len(buffer):
            buffer, view = _doubled(buffer)
        got = _read(file, view[end:], segment, base + end)
        if not got:
            if stop is not None and base + end < stop:
                raise changed(names.shown(segment.path))
            if end:
                yield base, view[:end], False
            return
        end += got


def _doubled(buffer: bytearray) -> tuple[bytearray, memoryview]:
    """A buffer twice as long with the same beginning; the old one may still be in use by a view."""
    longer = bytearray(2 * len(buffer))
    longer[: len(buffer)] = buffer
    return longer, memoryview(longer)


def _read(file: IO[bytes], view: memoryview, segment: Segment, at: int) -> int:
    """Reads up to the size that the source had at the start, however much it has grown since."""
    room = len(view) if segment.size is None else max(0, min(len(view), segment.size - at))
    return cast(RawIOBase, file).readinto(view[:room]) or 0 if room else 0


def _first_line(file: IO[bytes], segment: Segment, view: memoryview) -> tuple[int, int, int]:
    """Reads the first block: the offset of its first byte, where the segment's first line begins, its end."""
    if segment.start == 0:
        end = 0
        while end < len(BYTE_ORDER_MARK) and (got := _read(file, view[end:], segment, end)):
            end += got
        return 0, len(BYTE_ORDER_MARK) if view[:3] == BYTE_ORDER_MARK and end >= len(BYTE_ORDER_MARK) else 0, end
    base = segment.start - 1
    file.seek(base)
    while True:
        got = _read(file, view, segment, base)
        feed = bytes(view[:got]).find(b"\n")
        if feed >= 0 or not got:
            return base, feed + 1, got
        base += got
