"""Exports of runs that are larger than memory: the same bytes, however much of them is put aside."""

import contextlib
import io
import itertools
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pipeline import names
from pipeline.cli.selecting import Chosen, selected
from pipeline.frames import reading_parts
from pipeline.frames.lazy import collect
from pipeline.frames.spill import Bounds, spilling
from pipeline.options import ProfileOptions
from pipeline.output import streaming
from pipeline.output.export import facts_of, layout, rollout_table
from pipeline.output.streaming import write_csv, write_parquet
from pipeline.portions import Assembled, RowsOfRun, assembled
from pipeline.report.faults import refusal
from pipeline.report.notices import notices
from pipeline.run import Run
from pipeline.sources import cache, readings
from pipeline.sources.files import Source, open_source
from pipeline.sources.runs import RunFiles
from tests.cli.processes import Process, end_of, environment, start, wait_for
from tests.generated_runs import Run as GeneratedRun
from tests.generated_runs import in_files, rollout_of, runs
from tests.runs import finished, jsonl, planned, sources_of

quick = partial(settings, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TINY = Bounds(held=0, part=1, portion=1)
"""Every chunk is a part of its own in a file of its own, and every task a portion."""
OPTIONS = ProfileOptions(
    partial=True,
    context=True,
    nested=("usage", "v"),
    jobs=1,
    on_extra="drop",
    on_bad_line="skip",
    fields=("mixed=row.mixed", "text=input.text", "m_again=row.m", "nothing=row.nothing.there"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spilled")


@contextlib.contextmanager
def chunks_of_bytes(size: int) -> Iterator[None]:
    """Files are read in chunks of so many bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readings, "SEGMENT_BYTES", size)
        yield


def run_of(rollouts: list[Source], inputs: list[Source], options: ProfileOptions) -> Run:
    return Run(RunFiles(tuple(rollouts), tuple(inputs)), options)


def parquet(run: Run, bounds: Bounds, where: str | None = None) -> tuple[bytes, pl.DataFrame, Assembled]:
    """The export of a run as a file, as a table, and what was put together for it."""
    with spilling(bounds) as spill:
        found = assembled(RowsOfRun(run, spill))
        rollouts = Chosen(found.pieces, where)
        columns, counts = layout(rollouts)
        file = io.BytesIO()
        tables = [rollout_table(piece, columns) for piece in rollouts]
        write_parquet(tables, file, facts_of(columns, run.files.rollouts, {}, counts))
    return file.getvalue(), pl.concat(tables), found


def told(run: Run, frame: pl.DataFrame, problems: pl.DataFrame) -> list[Any]:
    """What is refused and what is warned of."""
    error = refusal(problems, run.options)
    warned = notices(frame, problems, collect(run.failures), run.options)
    of_figures = {"uneven_repeats", "nothing_measured", "nothing_scored"}
    about = [(one.code, one.count, one.message, one.places) for one in warned if one.code not in of_figures]
    return [*about, None if error is None else (error.message, error.counts, error.keys, error.places)]


def assert_the_same(opened: Callable[[], Run], where: str | None = None) -> None:
    """That all is the same whether a run is put together in one go, in many, or as a frame in memory."""
    run = opened()
    with chunks_of_bytes(300):
        spilled, table, found = parquet(run, TINY, where)
    whole, _, _ = parquet(opened(), Bounds(), where)
    rollouts = selected(collect(run.export), where)
    columns, _ = layout([rollouts])
    assert_frame_equal(table, rollout_table(rollouts, columns))
    assert table.columns == list(columns.columns)
    assert spilled == whole
    frame, problems = collect(run.aligned.frame), collect(run.aligned.problems)
    allowed = problems.filter(pl.col("_kind") != "missing_rollouts")
    assert_frame_equal(found.problems.sort("_kind", maintain_order=True), allowed.sort("_kind", maintain_order=True))
    assert told(run, found.telling, found.problems) == told(run, frame, problems)


WHERES = (None, "_line > avg(_line)", "_masked or _agent = 'a'")


@st.composite
def messy(draw: st.DrawFn, run: GeneratedRun) -> GeneratedRun:
    """A run whose rollouts come twice, unplanned or broken, too; with fields of mixed types."""
    rollouts = [*run.rollouts, *(draw(rollout_of(one)) for one in run.inputs if draw(st.booleans()))]
    rollouts += [line.replace(b'"_ng_task_index": ', b'"_ng_task_index": 1') for line in rollouts[:1]]
    rollouts += [b"{broken\n", b'{"_ng_task_index": 1}\n', b"\n"][: draw(st.integers(0, 3))]
    mixed = [b'{"mixed": ' + draw(st.sampled_from([b"1", b"true", b'"x"', b"0.5", b"[]"])) + b", " for _ in rollouts]
    with_mixed = [one.replace(b"{", start, 1) for one, start in zip(rollouts, mixed, strict=True)]
    return GeneratedRun(run.inputs, with_mixed)


@quick(max_examples=30)
@given(
    data=st.data(),
    run=runs(partial=True).flatmap(messy),
    on_duplicate=st.sampled_from(["first", "last"]),
    masked=st.sampled_from(["exclude", "include"]),
    where=st.sampled_from(WHERES),
    with_inputs=st.booleans(),
)
def test_it_is_the_same_however_much_is_put_aside(
    folder: Path,
    data: st.DataObject,
    run: GeneratedRun,
    on_duplicate: str,
    masked: str,
    where: str,
    *,
    with_inputs: bool,
) -> None:
    options = OPTIONS.model_copy(update={"on_duplicate": on_duplicate, "masked": masked})
    inputs = sources_of(folder, "inputs", data.draw(in_files(run.inputs)) if with_inputs else [])
    rollouts = sources_of(folder, "rollouts", data.draw(in_files(run.rollouts)))
    assert_the_same(lambda: run_of(rollouts, inputs, options), where=where)


def shard_of(folder: Path, name: str, content: bytes, inputs: list[Source]) -> Source:
    """An export of a run, made by putting everything aside."""
    dump = folder / f"{name}.jsonl"
    dump.write_bytes(content)
    export = folder / f"{name}[1].parquet"
    export.write_bytes(parquet(run_of([open_source(dump)], inputs, OPTIONS), TINY)[0])
    return open_source(export)


@quick(max_examples=10)
@given(data=st.data(), run=runs(partial=True))
def test_exports_and_dumps_are_one_run(folder: Path, data: st.DataObject, run: GeneratedRun) -> None:
    inputs = sources_of(folder, "inputs", [b"".join(run.inputs)])
    half = len(run.rollouts) // 2
    export = shard_of(folder, "first", b"".join(run.rollouts[:half]), inputs)
    (dump,) = sources_of(folder, "rest", [b"".join(run.rollouts[half:])])
    mine = inputs if data.draw(st.booleans()) else []
    assert_the_same(lambda: run_of([export, dump], mine, OPTIONS))


ASKED = [{"responses_create_params": {"input": text}, "reward": number} for number, text in enumerate("abacbbda")]


@pytest.mark.parametrize("with_indices", [(), (3,), (0, 7)], ids=str)
def test_rows_without_indices_are_numbered_over_all_parts(with_indices: tuple[int, ...], folder: Path) -> None:
    rows = [
        row | ({"_ng_task_index": 7, "_ng_rollout_index": place} if place in with_indices else {})
        for place, row in enumerate(ASKED)
    ]
    options = OPTIONS.model_copy(update={"assign_indices": True, "rollouts_only": True})
    rollouts = sources_of(folder, "asked", [jsonl(rows[:5]), jsonl(rows[5:])])
    assert_the_same(lambda: run_of(rollouts, [], options))
    _, table, _ = parquet(run_of(rollouts, [], options), TINY)
    numbered = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (3, 0)]
    assert table.select(names.KEY).rows() == ([(7, place) for place in with_indices] or numbered)


LATE = [
    finished(0, 0, {"n": 1}, reward=1, n=1, late="text"),
    finished(0, 1, {"n": 2}, reward=0, n=3),
    finished(1, 0, reward=True, n=4, m=float("nan"), output_tokens=2),
    finished(1, 1, reward=0.5, x_tokens=2**60, mask_sample=True),
    finished(2, 0, {"output_tokens": 1.5}, reward=None, late=0.25, big=2**53 + 1, x_tokens=1),
    finished(9, 0, {"output_tokens": 7}, reward=10**300, late=True),
]


@pytest.mark.parametrize(
    "where", [None, "reward > avg(reward)", "reward = max(reward) over (partition by _agent)", '"row/n" is not null']
)
def test_names_and_types_that_are_known_late(where: str | None, folder: Path) -> None:
    inputs = [
        planned(task, index, agent) for task, agent in ((0, "b"), (1, "a"), (2, "b"), (9, None)) for index in (0, 1)
    ]
    inputs[1] |= {"_ng_environment_server": "s"}
    sources = sources_of(folder, "planned", [jsonl(inputs[:5]), jsonl(inputs[3:])])
    rollouts = sources_of(folder, "late", [jsonl(LATE)])
    options = OPTIONS.model_copy(update={"fields": ("late=row.late", "big=row.big", "no=row.no")})
    assert_the_same(lambda: run_of(rollouts, sources, options), where=where)


def test_profiles_are_one_run(folder: Path) -> None:
    infos = [
        {"rollout_id": f"0:{index}", names.TASK: 0, names.ROLLOUT: index, "reward": index / 2} for index in range(2)
    ]
    rows = [
        {names.TASK: task, "agent_ref": {"name": "a"}, "expected_num_rollouts": 3, "rollout_infos": infos}
        for task in range(3)
    ]
    profiles = []
    for number in range(2):
        path = folder / f"{number}_reward_profiling.jsonl"
        path.write_bytes(jsonl([row | {names.TASK: task + 3 * number} for task, row in enumerate(rows)]))
        profiles.append(open_source(path))
    assert_the_same(lambda: run_of(profiles, [], OPTIONS))


def test_verdicts_are_joined(folder: Path) -> None:
    rollouts = sources_of(folder, "judged", [jsonl(LATE)])
    verdicts = sources_of(folder, "verdicts", [jsonl([{**planned(1, 0), "verdict": "healthy", "findings": ["f"]}])])
    files = RunFiles(tuple(rollouts), (), verdicts=tuple(verdicts))
    assert_the_same(lambda: Run(files, OPTIONS))


def test_lines_that_cannot_be_used_are_refused_with_their_places(folder: Path) -> None:
    options = OPTIONS.model_copy(update={"on_bad_line": "error", "on_extra": "error"})
    rollouts = sources_of(folder, "bad", [jsonl(LATE[:3]) + b"{\n" + jsonl(LATE[3:]), b"[]\n" + jsonl(LATE[:1])])
    inputs = sources_of(folder, "few", [jsonl([planned(1, 0)]) + b'{"a": 1}\n'])
    assert_the_same(lambda: run_of(rollouts, [], options))
    assert_the_same(lambda: run_of(rollouts, inputs, options))


def test_the_cache_gives_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLLPROF_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setattr(cache, "WORTHWHILE_BYTES", 0)
    rollouts = sources_of(folder, "cached", [jsonl(LATE) + b"{\n"])
    options = OPTIONS.model_copy(update={"cache": True})
    read, _, first = parquet(run_of(rollouts, [], options), Bounds())
    monkeypatch.setattr(reading_parts, "begin", None)
    for bounds in (Bounds(), TINY):
        again, _, found = parquet(run_of(rollouts, [], options), bounds)
        assert again == read
        assert_frame_equal(found.problems, first.problems)


def test_csv_has_one_header(folder: Path) -> None:
    run = run_of(sources_of(folder, "csv", [jsonl(LATE)]), [], OPTIONS)
    with spilling(TINY) as spill, chunks_of_bytes(100):
        pieces = [collect(piece).select(names.KEY) for piece in assembled(RowsOfRun(run, spill)).pieces]
    file = io.BytesIO()
    assert write_csv(pieces, file) == len(LATE)
    assert file.getvalue().decode().splitlines() == [",".join(names.KEY), "0,0", "0,1", "1,0", "1,1", "2,0", "9,0"]


def test_groups_of_rows_do_not_depend_on_how_tables_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "ROWS_IN_A_GROUP", 4)
    table = pl.DataFrame({"a": range(10), "b": [f"text {number % 3}" for number in range(10)]})
    contents = []
    for cuts in ((0, 10), (0, 1, 2, 10), (0, 4, 8, 10), (0, 0, 9, 10)):
        pieces = [table[start:stop] for start, stop in itertools.pairwise(cuts)]
        file = io.BytesIO()
        assert write_parquet(pieces, file, {"a": "b"}) == len(table)
        contents.append(file.getvalue())
    assert len(set(contents)) == 1
    assert_frame_equal(pl.read_parquet(io.BytesIO(contents[0])), table)


def test_nothing_is_left_of_what_was_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with spilling(TINY) as spill:
        kept = spill.keep(pl.DataFrame({"a": [1, 2]}))
        (folder,) = tmp_path.iterdir()
        assert (folder.stat().st_mode & 0o777, len(list(folder.iterdir()))) == (0o700, 1)
        assert collect(kept)["a"].to_list() == [1, 2]
    assert not list(tmp_path.iterdir())
    with pytest.raises(ZeroDivisionError), spilling(TINY) as spill:
        spill.keep(pl.DataFrame({"a": [1 / 0]}))
    with spilling() as spill:
        spill.keep(pl.DataFrame({"a": [1, 2]}))
        assert not list(tmp_path.iterdir())


SPILLING = (
    "import runpy; from pipeline.frames import spill; spill.BOUNDS = spill.Bounds(0, 1, 1); "
    "runpy.run_module('rollprof', run_name='__main__', alter_sys=True)"
)
"""The command, as it works on runs that are larger than memory."""


def started(folder: Path, tasks: int, **more: Any) -> Process:
    """An export that puts everything aside, task by task, has begun."""
    (folder / "temporary").mkdir()
    (folder / "r.jsonl").write_bytes(jsonl([finished(task, 0, reward=task) for task in range(tasks)]))
    env = environment(TMPDIR=str(folder / "temporary"))
    args = ["export", "r.jsonl", "-o", "x.parquet", "--rollouts-only"]
    return start(args, folder, env=env, program=(sys.executable, "-c", SPILLING), **more)


def test_a_signal_leaves_no_temporary_file(tmp_path: Path) -> None:
    process = started(tmp_path, 500)
    wait_for(lambda: len(list((tmp_path / "temporary").glob("*/*"))) > 10)
    process.send_signal(signal.SIGTERM)
    done = end_of(process, timeout=30)
    assert (done.exit_code, done.stdout, "Traceback" in done.stderr) == (143, "", False), done.stderr
    assert not list((tmp_path / "temporary").iterdir())
    assert not list(tmp_path.glob("*x.parquet*"))


def test_a_full_temporary_folder_is_told(tmp_path: Path) -> None:
    limit = 1000
    process = started(tmp_path, 20, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    done = end_of(process)
    assert (done.exit_code, done.stdout) == (3, ""), done.stderr
    assert f"{tmp_path / 'temporary'}: the temporary folder cannot be written: File too large" in done.stderr
    assert "TMPDIR" in done.stderr
    assert not list((tmp_path / "temporary").iterdir())
