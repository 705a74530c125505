"""Lines are whole, torn ones are cut off, and one collector writes at a time."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.collect.ledger import BLOCK, Ledger, open_ledger
from pipeline.errors import SourceError
from tests.collect.scripted_agent import ROOT
from tests.packing import PACKS, Pack

WHOLE = b'{"a": 1}\n'


def opened(folder: Path, content: bytes | None = None, failures: bytes | None = None) -> tuple[list[str], bytes, bytes]:
    """What opening says, and leaves of files with this content."""
    paths = folder / "out.jsonl", folder / "out_failures.jsonl"
    for path, given in zip(paths, (content, failures), strict=True):
        if given is not None:
            path.write_bytes(given)
    with open_ledger(*paths, new=content is None) as ledger:
        ledger.begun = True
        said = ledger.cut
    return said, paths[0].read_bytes(), paths[1].read_bytes() if paths[1].exists() else b""


@pytest.mark.parametrize("torn", [b"{", b'{"a": 1', b"x", b'{"a": "' + b"x" * (3 * BLOCK), b"[1]", b" "])
@pytest.mark.parametrize("before", [b"", WHOLE, WHOLE * 20_000])
def test_a_torn_last_line_is_cut_off_and_said(before: bytes, torn: bytes, tmp_path: Path) -> None:
    said, content, _ = opened(tmp_path, before + torn)
    assert content == before
    assert said == [f"{tmp_path / 'out.jsonl'}: a torn last line of {len(torn):,} bytes was cut off"]


def test_a_whole_last_line_gets_its_end(tmp_path: Path) -> None:
    assert opened(tmp_path, WHOLE + WHOLE.rstrip()) == ([], WHOLE * 2, b"")


def test_failures_are_mended_too(tmp_path: Path) -> None:
    said, _, failures = opened(tmp_path, WHOLE, WHOLE + b'{"b"')
    assert (len(said), failures) == (1, WHOLE)


def test_the_failures_file_comes_with_the_first_failure(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "o.jsonl", tmp_path / "o_failures.jsonl", new=True) as ledger:
        ledger.begun = True
        ledger.rollouts.append(WHOLE)
        assert not (tmp_path / "o_failures.jsonl").exists()
        ledger.failures.append(WHOLE)
    assert (tmp_path / "o_failures.jsonl").read_bytes() == WHOLE


def test_a_new_file_is_not_left_behind_before_it_begins(tmp_path: Path) -> None:
    (tmp_path / "beside").touch()
    with open_ledger(tmp_path / "o.jsonl", tmp_path / "f.jsonl", new=True) as ledger:
        assert (tmp_path / "o.jsonl").exists()
        ledger.beside.append(tmp_path / "beside")
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_must_not_be_there(tmp_path: Path) -> None:
    (tmp_path / "o.jsonl").touch()
    with (
        pytest.raises(SourceError, match="File exists"),
        open_ledger(tmp_path / "o.jsonl", tmp_path / "f.jsonl", new=True),
    ):
        pass
    assert (tmp_path / "o.jsonl").exists()


def test_two_collectors_refuse_each_other(tmp_path: Path) -> None:
    (tmp_path / "o.jsonl").touch()
    paths = tmp_path / "o.jsonl", tmp_path / "f.jsonl"
    refused = pytest.raises(SourceError, match="is being collected")
    with open_ledger(*paths, new=False), refused, open_ledger(*paths, new=False):
        pass
    with open_ledger(*paths, new=False):
        pass


FULL = """
import resource, signal, sys
from pathlib import Path
from pipeline.collect.ledger import Log
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
log = Log(Path(sys.argv[1]))
log.append(b"x" * 69 + b"\\n")
log.append(b"y" * 69 + b"\\n")
"""


def test_a_line_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    done = subprocess.run([sys.executable, "-c", FULL, path], cwd=ROOT, capture_output=True, check=False, text=True)
    assert "SourceError" in done.stderr
    assert "cannot be written" in done.stderr
    assert path.read_bytes() == b"x" * 69 + b"\n"


def test_lines_of_two_writers_never_mix(tmp_path: Path) -> None:
    # One write to a file opened for appending is one line, whoever else writes.
    first, second = (Ledger(tmp_path / "o.jsonl", tmp_path / "f.jsonl") for _ in range(2))
    for number in range(200):
        first.rollouts.append(b"a" * number + b"\n")
        second.rollouts.append(b"b" * number + b"\n")
    lines = (tmp_path / "o.jsonl").read_bytes().split(b"\n")[:-1]
    assert [len(line) for line in lines] == [number for number in range(200) for _ in range(2)]
    for log in (first.rollouts, second.rollouts):
        os.close(log.descriptor)


def test_a_file_that_was_replaced_before_the_lock_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollouts, other = tmp_path / "out.jsonl", tmp_path / "other.jsonl"
    rollouts.write_bytes(WHOLE)
    other.write_bytes(WHOLE * 2)
    lock = fcntl.flock

    def replaced(descriptor: int, operation: int) -> None:
        if other.exists():
            other.replace(rollouts)
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", replaced)
    with open_ledger(rollouts, tmp_path / "out_failures.jsonl", new=False) as ledger:
        ledger.rollouts.append(WHOLE)
    assert rollouts.read_bytes() == WHOLE * 3


@pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS)
def test_compressed_files_are_refused_as_they_are(pack: Pack, tmp_path: Path) -> None:
    content = pack(WHOLE)
    for files in ((content, None), (WHOLE + b"torn", content)):
        with pytest.raises(SourceError, match="is compressed"):
            opened(tmp_path, *files)
        assert (tmp_path / "out.jsonl").read_bytes() == files[0]
