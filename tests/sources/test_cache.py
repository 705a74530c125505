"""The cache of numbers: the same answers with it, and nothing that is wrong with it is anybody's trouble."""

import json
import os
import time
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline.frames.lazy import collect
from pipeline.frames.rollouts import scan_rollouts
from pipeline.options import ReadOptions
from pipeline.sources import cache
from pipeline.sources.files import open_source
from pipeline.sources.readings import Reading, Request, begin
from pipeline.sources.rollouts import request_rollouts
from tests.cli.processes import end_of, environment, start
from tests.runs import finished, jsonl

CACHED = ReadOptions(cache=True, jobs=1)
ROWS = [finished(task, 0, {"output_tokens": task}, reward=task / 2, odd=[1] if task else 2**60) for task in range(30)]


@pytest.fixture
def readings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """What was really read; a cache of its own, which everything is worth."""
    monkeypatch.setenv("ROLLPROF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "WORTHWHILE_BYTES", 0)
    read: list[Request] = []

    def counted(request: Request, *, workers: int) -> Reading:
        read.append(request)
        return begin(request, workers=workers)

    monkeypatch.setattr("pipeline.frames.scanning.begin", counted)
    return read


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "r.jsonl"
    path.write_bytes(jsonl(ROWS) + b"{broken\n")
    return path


def rollouts(dump: Path, options: ReadOptions = CACHED) -> pl.DataFrame:
    return collect(scan_rollouts(dump, options))


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "cache").glob("*"))


def test_the_second_time_nothing_is_read(dump: Path, readings: list[Request]) -> None:
    want = rollouts(dump, ReadOptions(jobs=1))
    for _ in range(3):
        assert_frame_equal(rollouts(dump), want)
    assert len(readings) == 2


def test_other_options_and_other_content_are_read_anew(dump: Path, readings: list[Request]) -> None:
    rollouts(dump)
    rollouts(dump, CACHED.model_copy(update={"nested": ("usage",)}))
    assert len(readings) == 2
    before = dump.stat()
    dump.write_bytes(dump.read_bytes().replace(b'"reward": 0.5', b'"reward": 1.5'))
    os.utime(dump, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert dump.stat().st_size == before.st_size
    assert rollouts(dump)["reward"].to_list()[:2] == [0.0, 1.5]


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text", "folder"])
def test_a_damaged_cache_is_rebuilt(damage: str, dump: Path, tmp_path: Path, readings: list[Request]) -> None:
    want = rollouts(dump)
    (path,) = kept(tmp_path)
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    damaged = {"cut": content[: len(content) // 2], "flip": bytes(flipped), "empty": b"", "text": b"PAR1 hello " * 9}
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        path.write_bytes(damaged[damage])
    assert_frame_equal(rollouts(dump), want)
    assert len(readings) == 2
    if damage != "folder":
        assert_frame_equal(rollouts(dump), want)
        assert len(readings) == 2


def test_a_folder_that_cannot_be_made_is_no_trouble(
    dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readings: list[Request]
) -> None:
    assert readings == []
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("ROLLPROF_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert len(rollouts(dump)) == len(ROWS) + 1


def test_it_is_bounded_and_the_oldest_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLLPROF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "BOUND_BYTES", 1000)
    for number in range(10):
        cache.keep(f"k{number}", bytes(200))
        used = time.time_ns() - (100 - number) * 1_000_000_000
        for path in kept(tmp_path):
            if path.name == f"k{number}{cache.SUFFIX}":
                os.utime(path, ns=(used, used))
    assert [path.stem for path in kept(tmp_path)] == ["k6", "k7", "k8", "k9"]
    assert cache.kept("k9") == bytes(200)
    assert cache.kept("k0") is None
    cache.keep("large", bytes(300))
    assert not cache.has("large")


def test_small_dumps_and_pipes_are_not_kept(dump: Path) -> None:
    request = request_rollouts([open_source(dump)], CACHED)
    assert request.size < cache.WORTHWHILE_BYTES
    assert cache.key_of(request) is None


def test_several_processes_at_once(tmp_path: Path) -> None:
    rows = [finished(task, 0, reward=task % 2, text="x" * 1000) for task in range(9000)]
    (tmp_path / "r.jsonl").write_bytes(jsonl(rows))
    env = environment(ROLLPROF_CACHE_DIR=str(tmp_path / "cache"))
    query = ["query", "--sql", "select count(*) as n, sum(reward) as r from rollouts", "r.jsonl", "--json", "-q"]
    for _ in range(2):
        started = [start(query, tmp_path, env=env) for _ in range(4)]
        for process in started:
            done = end_of(process)
            assert (done.exit_code, json.loads(done.stdout)) == (0, [{"n": 9000, "r": 4500}])
    assert len(kept(tmp_path)) == 1
    assert end_of(start([*query, "--no-cache"], tmp_path, env=env)).exit_code == 0
    assert len(kept(tmp_path)) == 1
