"""Compressed contents, in the ways that files come."""

import gzip
import sys
from collections.abc import Callable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Pack = Callable[[bytes], bytes]
gz = gzip.compress


def zst(data: bytes) -> bytes:
    """One frame that says how long its content is."""
    return zstd.compress(data)


def zst_as_stream(data: bytes) -> bytes:
    """One frame with a checksum that was begun before its end was known."""
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: 1})
    middle = len(data) // 2
    return compressor.compress(data[:middle]) + compressor.compress(data[middle:]) + compressor.flush()


def in_two(pack: Pack) -> Pack:
    """Two members, or frames, one after the other, cut within a line."""

    def packed(data: bytes) -> bytes:
        middle = len(data) // 2
        return pack(data[:middle]) + pack(data[middle:])

    return packed


PACKS: dict[str, Pack] = {"gz": gz, "zst": zst}
"""By the suffix of the files."""
ALL_PACKS: dict[str, Pack] = {
    **PACKS,
    "gz-members": in_two(gz),
    "zst-stream": zst_as_stream,
    "zst-frames": in_two(zst),
}
