"""Files written anew in their place: what is kept keeps its every byte."""

import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import SourceError
from pipeline.output.rewriting import append_lines, backup_of, check_rewritable, set_aside
from pipeline.sources.fetching import Place
from pipeline.sources.files import open_source
from tests.runs import jsonl, planned

OLD = b'{"a": 0.10}\r\n\n{"b":1}\n'


def line(number: int) -> bytes:
    return f'{{"_ng_task_index":0,"_ng_rollout_index":{number},"x":"{"é" * number}"}}'.encode()


def place(number: int, offset: int) -> Place:
    return Place(0, number, 1, offset, len(line(number)))


@pytest.mark.parametrize(("old", "wanted"), [(OLD, OLD), (OLD[:-1], OLD), (b"", b"")])
def test_lines_are_added_at_the_end(old: bytes, wanted: bytes, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(old)
    append_lines(open_source(path), [b"x", b"y\r"])
    assert path.read_bytes() == wanted + b"x\ny\r\n"
    assert backup_of(path).read_bytes() == old
    assert sorted(one.name for one in tmp_path.iterdir()) == ["in.jsonl", "in.jsonl.bak"]


def test_the_backup_is_the_file_before_the_last_change(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(OLD)
    append_lines(open_source(path), [b"x"])
    append_lines(open_source(path), [b"y"])
    assert (path.read_bytes(), backup_of(path).read_bytes()) == (OLD + b"x\ny\n", OLD + b"x\n")


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    path.write_bytes(OLD)
    path.chmod(0o640)
    link.symlink_to(path.name)
    append_lines(open_source(link), [b"x"])
    assert link.is_symlink()
    assert path.read_bytes() == OLD + b"x\n"
    assert {stat.S_IMODE(one.stat().st_mode) for one in (path, backup_of(link))} == {0o640}


@settings(deadline=None)
@given(numbers=st.lists(st.integers(0, 9), unique=True, max_size=8), data=st.data(), ended=st.booleans())
def test_every_line_is_in_one_of_the_files(
    tmp_path_factory: pytest.TempPathFactory, *, numbers: list[int], data: st.DataObject, ended: bool
) -> None:
    folder = tmp_path_factory.mktemp("aside")
    path, side = folder / "run.jsonl", folder / "run_redone.jsonl"
    moved = [number for number in numbers if data.draw(st.booleans())]
    places, offset = [], 0
    for number in numbers:
        places += [place(number, offset)] if number in moved else []
        offset += len(line(number)) + 1
    text = b"\n".join(map(line, numbers)) + (b"\n" if ended and numbers else b"")
    path.write_bytes(text)
    set_aside(open_source(path), places, side)
    kept = [number for number in numbers if number not in moved]
    assert side.read_bytes() == b"".join(line(number) + b"\n" for number in moved)
    assert path.read_bytes().split(b"\n") == [
        *map(line, kept),
        *([b""] if ended or not kept or kept[-1] != numbers[-1] else []),
    ]


def test_a_try_that_was_cut_short_is_finished(tmp_path: Path) -> None:
    path, side = tmp_path / "run.jsonl", tmp_path / "run_redone.jsonl"
    path.write_bytes(line(0) + b"\n" + line(1) + b"\n")
    side.write_bytes(b'{"earlier":1}\n' + line(1))  # as if it had ended before the rollouts were written anew
    set_aside(open_source(path), [place(1, len(line(0)) + 1)], side)
    assert path.read_bytes() == line(0) + b"\n"
    assert side.read_bytes() == b'{"earlier":1}\n' + line(1) + b"\n"


def test_a_line_that_is_torn_stays(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(line(0) + b'\n{"_ng_task')
    set_aside(open_source(path), [place(0, 0)], tmp_path / "side")
    assert path.read_bytes() == b'{"_ng_task'


@pytest.mark.parametrize("size", ["same", "longer"])
def test_a_file_that_was_changed_is_not_touched(size: str, tmp_path: Path) -> None:
    path, side = tmp_path / "run.jsonl", tmp_path / "side"
    path.write_bytes(line(0) + b"\n")
    source = open_source(path)
    time.sleep(0.02)
    now = line(0).replace(b"x", b"y") + b"\n" + (b"more\n" if size == "longer" else b"")
    path.write_bytes(now)
    os.utime(path)
    with pytest.raises(SourceError, match="was changed since it was read"):
        append_lines(source, [b"x"])
    with pytest.raises(SourceError, match="was changed since it was read"):
        set_aside(source, [place(0, 0)], side)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {"run.jsonl": now}


def test_what_can_be_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    check_rewritable(path)
    path.write_bytes(jsonl([planned()]))
    check_rewritable(path)
    path.chmod(0o444)
    with pytest.raises(SourceError, match="is read-only"):
        check_rewritable(path)
