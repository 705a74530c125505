"""Ranges of a file give its lines, each once, whatever the ranges, the buffer and the compression are."""

import random
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import SourceError
from pipeline.sources import lines
from pipeline.sources.files import open_source, segments
from pipeline.sources.lines import Segment, compression_of, lines_of
from tests.packing import ALL_PACKS, Pack, gz, in_two, zst_as_stream

BOM = b"\xef\xbb\xbf"
Found = list[tuple[int, bytes, bool]]


def expected(content: bytes) -> Found:
    """What splitting on line feeds gives: offset, line, whether it had a line feed."""
    start = len(BOM) if content.startswith(BOM) else 0
    found = []
    while start < len(content):
        feed = content.find(b"\n", start)
        stop = feed if feed >= 0 else len(content)
        found.append((start, content[start:stop], feed >= 0))
        start = stop + 1
    return found


def found_in(path: Path, start: int, stop: int | None, size: int | None, compression: str = "") -> Found:
    segment = Segment(0, str(path), compression, start, stop, size)
    return [(offset, bytes(view), terminated) for offset, view, terminated in lines_of(segment)]


def found_in_ranges(path: Path, cuts: Iterable[int]) -> Found:
    """The lines of all ranges between the cuts; none is made in or right behind a byte order mark."""
    content = path.read_bytes()
    first = len(BOM) + 1 if content.startswith(BOM) else 0
    bounds = [0, *sorted(cut for cut in cuts if cut >= first), len(content)]
    return [line for start, stop in pairwise(bounds) for line in found_in(path, start, stop, len(content))]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines") / "file.jsonl"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\n\n\n",
        b"a",
        b"a\n",
        b"a\nbb\nccc",
        b"a\r\nb\r\n",
        BOM,
        BOM + b"\n",
        BOM + b"a\nb",
        BOM[:2] + b"\na",
        b"\n" + BOM + b"a",
        b"\xff\x00\n\xfe",
        b"long" * 10 + b"\n" + b"s\n" + b"longer" * 20,
    ],
)
@pytest.mark.parametrize("buffer_bytes", [4, 7, 64, lines.BUFFER_BYTES])
def test_ranges_of_every_size_give_the_lines_of_the_whole(
    content: bytes, buffer_bytes: int, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BUFFER_BYTES", buffer_bytes)
    file.write_bytes(content)
    for size in range(1, len(content) + 2):
        assert found_in_ranges(file, range(size, len(content), size)) == expected(content)


@settings(deadline=None, max_examples=150)
@given(data=st.data(), buffer_bytes=st.sampled_from([4, 16, lines.BUFFER_BYTES]))
def test_any_bytes_and_any_cuts(file: Path, data: st.DataObject, buffer_bytes: int) -> None:
    pieces = st.one_of(st.sampled_from([b"\n", b"\r\n", BOM, b'{"a":1}']), st.binary(max_size=20))
    content = b"".join(data.draw(st.lists(pieces, max_size=12)))
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=6))
    file.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BUFFER_BYTES", buffer_bytes)
        assert found_in_ranges(file, cuts) == expected(content)


def test_lines_longer_than_the_buffer(file: Path) -> None:
    texts = [b"x" * length for length in (5, 3 * lines.BUFFER_BYTES + 1, 7, lines.BUFFER_BYTES - 1, 0, 9)]
    content = b"\n".join(texts)
    file.write_bytes(content)
    for cuts in ([], [6], [lines.BUFFER_BYTES, 2 * lines.BUFFER_BYTES], [len(content) - 8]):
        assert found_in_ranges(file, cuts) == expected(content)


@pytest.mark.parametrize("cut", range(1, 8))
def test_what_is_appended_later_is_not_read(cut: int, file: Path) -> None:
    content = b"a\nbb\ncc"
    file.write_bytes(content + b"c\nmore\n")
    assert found_in(file, 0, cut, cut) == expected(content[:cut])
    assert found_in(file, 0, None, cut) == expected(content[:cut])


@pytest.mark.parametrize("start", [0, 50])
def test_a_file_that_became_shorter_is_refused(start: int, file: Path) -> None:
    file.write_bytes(b"a\nb")
    with pytest.raises(SourceError, match="was changed"):
        found_in(file, start, 100, 100)


@pytest.mark.parametrize("segment_bytes", [1, 3, 10, 1000])
def test_segments_cover_every_source_once(segment_bytes: int, tmp_path: Path) -> None:
    contents = [b"a\nbb\n", b"", b"c" * 25 + b"\nd", b"e\n"]
    paths = [tmp_path / str(number) for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    found: dict[int, Found] = {number: [] for number in range(len(contents))}
    for job in segments([open_source(path) for path in paths], segment_bytes=segment_bytes):
        for segment in job:
            found[segment.source] += [(at, bytes(view), ended) for at, view, ended in lines_of(segment)]
    assert list(found.values()) == [expected(content) for content in contents]


@pytest.mark.parametrize("pack", ALL_PACKS.values(), ids=ALL_PACKS)
@pytest.mark.parametrize("content", [b"", b"a", BOM + b"a\nbb\n\nc", b"x" * 3_000_000 + b"\n" + b"y\n" * 1000])
def test_compressed_lines(pack: Pack, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "named.jsonl"
    path.write_bytes(pack(content))
    compression = open_source(path).compression
    assert compression
    assert found_in(path, 0, None, None, compression) == expected(content)


@pytest.mark.parametrize("pack", [gz, in_two(gz), zst_as_stream], ids=["gz", "gz-members", "zst-stream"])
@pytest.mark.parametrize("missing", [1, 4, 9, 500])
def test_a_damaged_block_is_refused(pack: Pack, missing: int, tmp_path: Path) -> None:
    whole = bytearray(pack(incompressible(5_000)))
    whole[len(whole) - missing] ^= 0xFF
    path = tmp_path / "damaged"
    path.write_bytes(whole)
    assert_refused(path)


@pytest.mark.parametrize("pack", ALL_PACKS.values(), ids=ALL_PACKS)
@pytest.mark.parametrize("missing", [1, 3, 7, 8, 20, 2_000])
def test_a_file_that_is_cut_off_is_refused(pack: Pack, missing: int, tmp_path: Path) -> None:
    path = tmp_path / "cut"
    path.write_bytes(pack(incompressible(5_000))[:-missing])
    assert_refused(path)


def incompressible(size: int) -> bytes:
    return random.Random(1).randbytes(size)


def assert_refused(path: Path) -> None:
    with pytest.raises(SourceError) as refusal:
        found_in(path, 0, None, None, open_source(path).compression)
    assert refusal.value.where == str(path)
    assert "cannot be read" in refusal.value.message


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        found_in(tmp_path / "none", 0, 1, 1)


@pytest.mark.parametrize(
    ("head", "compression"),
    [
        (b"", ""),
        (b"{", ""),
        (b"\x1f", ""),
        (b"\x1f\x8b\x08", "gz"),
        (b"\x28\xb5\x2f", ""),
        (b"\x28\xb5\x2f\xfd", "zst"),
        (BOM, ""),
    ],
)
def test_compression_is_told_by_the_first_bytes(head: bytes, compression: str) -> None:
    assert compression_of(head) == compression
