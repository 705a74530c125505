"""A source is read once, when it is first needed; what goes wrong then comes out as it was."""

import gc
import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from pipeline.alignment import align
from pipeline.completion import accounting
from pipeline.errors import RollprofError, SourceError, WorkerError
from pipeline.frames.failures import scan_failures
from pipeline.frames.inputs import inputs_of_rollouts, scan_inputs
from pipeline.frames.lazy import collect, collect_all, lazy_frame
from pipeline.frames.rollouts import scan_rollouts
from pipeline.profile.agents import profile_agents
from pipeline.profile.repeats import profile_repeats
from pipeline.profile.tasks import profile_tasks
from pipeline.sources.files import open_source
from pipeline.sources.readings import begin
from pipeline.sources.rollouts import request_rollouts
from tests.runs import finished, jsonl

FRAME = pl.DataFrame({"a": [1, 2, 3], "b": [True, None, False]})
SCANS = {"rollouts": scan_rollouts, "inputs": scan_inputs, "failures": scan_failures}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(jsonl([finished(task, m=task) for task in range(3)]))
    return path


@pytest.mark.parametrize("scan", SCANS.values(), ids=SCANS)
def test_a_scan_reads_only_when_collected_and_only_once(scan: Callable[[Path], pl.LazyFrame], file: Path) -> None:
    frame = scan(file)
    moved = file.rename(file.with_suffix(".moved"))
    with pytest.raises(SourceError, match="No such file"):
        collect(frame)
    moved.rename(file)
    first = collect(frame)
    file.unlink()
    assert collect(frame).equals(first)
    assert frame.select("_ng_task_index").collect()["_ng_task_index"].to_list() == [0, 1, 2]
    assert [len(found) for found in collect_all([frame, frame.filter(pl.col("_ng_task_index") > 0)])] == [3, 2]


def test_nothing_is_read_before_a_run_is_collected(file: Path) -> None:
    bare, plan = scan_rollouts(file), scan_inputs(file)
    aligned = align(plan, bare)
    repeats = profile_repeats(aligned.frame)
    figures = [repeats, profile_tasks(aligned.frame), profile_agents(aligned.frame, repeats)]
    frames = [inputs_of_rollouts(bare), aligned.frame, aligned.problems, *figures]
    looked_at = file.stat()
    file.write_bytes(file.read_bytes().replace(b'"m": 2', b'"m": 7'))
    os.utime(file, ns=(looked_at.st_atime_ns, looked_at.st_mtime_ns))  # else it is refused as another one
    assert collect(aligned.frame)["m"].to_list() == [0, 1, 7]
    file.unlink()
    assert [len(frame) for frame in collect_all(frames)] == [3, 3, 0, 0, 3, 1]
    assert aligned.completion.counts["completed_rollout_rows"] == 3


def test_a_source_is_read_once_by_all_who_need_it() -> None:
    calls: list[int] = []

    def read() -> pl.DataFrame:
        calls.append(1)
        return FRAME

    frame = lazy_frame(read)
    assert not calls
    assert frame.collect_schema() == FRAME.schema
    frames = [frame, frame.filter("b"), frame.join(frame, on="a"), frame.head(1), frame.select(pl.len())]
    assert [len(found) for found in collect_all(frames)] == [3, 1, 3, 1, 1]
    threads = [threading.Thread(target=collect, args=(frame,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]


def test_several_threads_wait_for_one_reading() -> None:
    calls: list[int] = []

    def read() -> pl.DataFrame:
        calls.append(1)
        time.sleep(0.05)
        return FRAME

    frame = lazy_frame(read)
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(len(collect(frame)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (calls, found) == ([1], [3] * 4)


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        (lambda frame: frame.select("a"), [(1,), (2,), (3,)]),
        (lambda frame: frame.filter(pl.col("a") > 1).select("b"), [(None,), (False,)]),
        (lambda frame: frame.filter(pl.col("b").is_null()).head(1), [(2, None)]),
        (lambda frame: frame.tail(1), [(3, False)]),
        (lambda frame: frame.select(pl.col("a").sum()), [(6,)]),
    ],
)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_it_answers_like_any_frame(
    wanted: Callable[[pl.LazyFrame], pl.LazyFrame], rows: list[tuple[object, ...]], engine: pl._typing.EngineType
) -> None:
    assert wanted(lazy_frame(lambda: FRAME)).collect(engine=engine).rows() == rows


class OwnError(Exception):
    """An exception that knows nothing of this project."""


ERRORS = [
    SourceError("cannot be read", where="file:7", hint="Mend it."),
    WorkerError("a worker process was killed by signal 9"),
    KeyboardInterrupt(),
    OwnError("a bug"),
    MemoryError("none left"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "around",
    [
        lambda frame: frame,
        lambda frame: frame.filter(pl.col("a") > 1),
        lambda frame: frame.join(lazy_frame(lambda: FRAME), on="a"),
        lambda frame: pl.concat([lazy_frame(lambda: FRAME), frame]),
        lambda frame: frame.pipe_with_schema(lambda inner, schema: inner.select(list(schema)[:1])),
    ],
    ids=["alone", "filter", "join", "concat", "schema"],
)
def test_an_error_comes_out_as_it_was(error: BaseException, around: Callable[[pl.LazyFrame], pl.LazyFrame]) -> None:
    def read() -> pl.DataFrame:
        raise error

    with pytest.raises(type(error)) as raised:
        collect(around(lazy_frame(read)))
    assert raised.value is error


def test_after_an_error_the_next_reading_may_succeed() -> None:
    outcomes: list[BaseException | None] = [SourceError("gone"), KeyboardInterrupt(), None]

    def read() -> pl.DataFrame:
        outcome = outcomes.pop(0)
        if outcome:
            raise outcome
        return FRAME

    frame = lazy_frame(read)
    with pytest.raises(RollprofError):
        collect(frame)
    with pytest.raises(KeyboardInterrupt):
        collect(frame)
    assert collect(frame).equals(FRAME)


def test_a_reading_that_had_begun_is_begun_anew_after_an_error(file: Path) -> None:
    source = open_source(file)
    frame = scan_rollouts([source], begun=begin(request_rollouts([source]), workers=1))
    moved = file.rename(file.with_suffix(".moved"))
    with pytest.raises(SourceError, match="No such file"):
        collect(frame)
    with pytest.raises(SourceError, match="No such file"):
        collect(frame)
    moved.rename(file)
    assert len(collect(frame)) == 3


@pytest.mark.parametrize("ask", [pl.LazyFrame.collect, pl.LazyFrame.collect_schema])
def test_an_error_keeps_its_type_where_polars_is_asked(ask: Callable[[pl.LazyFrame], object], file: Path) -> None:
    frame = scan_rollouts(file)
    file.unlink()
    with pytest.raises(SourceError, match="No such file"):
        ask(frame)


def test_errors_that_are_told_are_not_kept() -> None:
    held = weakref.WeakSet[Exception]()

    def read() -> pl.DataFrame:
        error = OwnError("a bug")
        held.add(error)
        raise error

    for _ in range(3):
        with pytest.raises(OwnError):
            lazy_frame(read).collect()
    gc.collect()
    assert len(held) <= 1
    with pytest.raises(OwnError):
        collect(lazy_frame(read))
    gc.collect()
    assert not held


def test_an_error_of_another_frame_is_not_told_again() -> None:
    def read() -> pl.DataFrame:
        raise SourceError("gone")

    with pytest.raises(SourceError):
        collect(lazy_frame(read))
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        collect(FRAME.lazy().select("none"))


FIGURES: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "tasks": profile_tasks,
    "repeats": profile_repeats,
    "agents": lambda frame: profile_agents(frame, profile_repeats(frame)),
    "accounting": lambda frame: accounting(frame, scan_failures([])),
}


@pytest.mark.parametrize("figures", FIGURES.values(), ids=FIGURES)
@pytest.mark.parametrize("error", [SourceError("gone"), KeyboardInterrupt()], ids=["refusal", "interrupt"])
def test_an_error_of_reading_comes_out_where_figures_are_collected(
    error: BaseException, figures: Callable[[pl.LazyFrame], pl.LazyFrame], file: Path
) -> None:
    def read() -> pl.DataFrame:
        raise error

    wanted = figures(align(scan_inputs(file), lazy_frame(read)).frame)
    with pytest.raises(type(error)) as raised:
        collect(wanted)
    assert raised.value is error
