"""A zst that is cut off is refused, as a gz is."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from pipeline.errors import SourceError
from pipeline.sources.files import open_source
from pipeline.sources.lines import Segment, lines_of


def with_size(data: bytes) -> bytes:
    return zstandard.compress(data)


def as_stream(data: bytes) -> bytes:
    compressor = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return compressor.compress(data) + compressor.flush()


@pytest.mark.parametrize("compress", [with_size, as_stream])
@pytest.mark.parametrize("missing", [1, 3, 20, 2_000])
def test_a_zst_that_is_cut_off_is_refused(compress: Callable[[bytes], bytes], missing: int, tmp_path: Path) -> None:
    path = tmp_path / "cut"
    path.write_bytes(compress(random.Random(1).randbytes(5_000))[:-missing])
    with pytest.raises(SourceError):
        list(lines_of(Segment(0, str(path), open_source(path).compression, 0, None, None)))
