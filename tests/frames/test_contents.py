"""Tasks and their contents, from one row a task."""

import json
from pathlib import Path

import polars as pl
import pytest

from pipeline.errors import SourceError
from pipeline.frames.contents import task_contents
from pipeline.frames.inputs import scan_inputs
from pipeline.frames.lazy import collect
from pipeline.options import ProfileOptions
from pipeline.run import Run, open_run
from pipeline.sources.contents import content_of_row
from pipeline.sources.runs import find_run
from tests.packing import ALL_PACKS
from tests.runs import Row, finished, jsonl, planned

ROWS = [
    planned(task, rollout, responses_create_params={"input": f"task {task % 3}", "seed": rollout}, uuid=f"u{task % 3}")
    for rollout in (1, 0)
    for task in (4, 0, 2, 1)
]


def expected(rows: list[Row]) -> dict[int, str]:
    return {row["_ng_task_index"]: content_of_row(row) for row in rows}


def contents(inputs: pl.LazyFrame) -> dict[int, str]:
    frame = collect(task_contents(inputs))
    assert dict(frame.schema) == {"_ng_task_index": pl.Int64, "_content": pl.String}
    assert frame["_ng_task_index"].is_sorted()
    return dict(frame.iter_rows())


@pytest.mark.parametrize("pack", ALL_PACKS)
def test_contents_of_tasks(pack: str, tmp_path: Path) -> None:
    (tmp_path / "inputs.jsonl").write_bytes(ALL_PACKS[pack](jsonl(ROWS)))
    found = contents(scan_inputs(tmp_path / "inputs.jsonl"))
    assert found == expected(ROWS)
    assert found[4] == found[1] != found[0]


def test_several_files(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(jsonl(ROWS[:3]))
    (tmp_path / "b.jsonl").write_bytes(jsonl(ROWS[3:]))
    assert contents(scan_inputs([tmp_path / "b.jsonl", tmp_path / "a.jsonl"])) == expected(ROWS)


def test_no_task(tmp_path: Path) -> None:
    (tmp_path / "inputs.jsonl").write_bytes(b"")
    assert contents(scan_inputs(tmp_path / "inputs.jsonl")) == {}


def test_the_row_of_the_lowest_rollout_counts(tmp_path: Path) -> None:
    rows = [planned(0, rollout, note=f"n{rollout}") for rollout in (2, 1, 3)]
    (tmp_path / "inputs.jsonl").write_bytes(jsonl(rows))
    assert contents(scan_inputs(tmp_path / "inputs.jsonl")) == {0: content_of_row(rows[1])}


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "inputs.jsonl").write_bytes(jsonl(ROWS))
    inputs = collect(scan_inputs(tmp_path / "inputs.jsonl")).lazy()
    (tmp_path / "inputs.jsonl").unlink()
    with pytest.raises(SourceError, match="--key index"):
        contents(inputs)


ROLLOUTS = [
    finished(row["_ng_task_index"], row["_ng_rollout_index"], reward=1.0)
    | {"responses_create_params": row["responses_create_params"]}
    for row in ROWS
]


def test_a_run_without_inputs_is_known_by_its_requests(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(jsonl(ROLLOUTS))
    run = open_run(tmp_path / "run.jsonl")
    asked = {row["_ng_task_index"]: {"responses_create_params": row["responses_create_params"]} for row in ROWS}
    assert not run.has_input_rows
    assert dict(collect(run.contents()).iter_rows()) == {task: content_of_row(row) for task, row in asked.items()}
    (tmp_path / "run_materialized_inputs.jsonl").write_bytes(jsonl(ROWS))
    planned_run = open_run(tmp_path / "run.jsonl")
    assert collect(planned_run.contents(of="prompt")).equals(collect(run.contents()))
    assert dict(collect(planned_run.contents()).iter_rows()) == expected(ROWS)


def test_digests_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLLPROF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("pipeline.sources.cache.WORTHWHILE_BYTES", 1)
    (tmp_path / "run.jsonl").write_bytes(jsonl(ROLLOUTS))
    (tmp_path / "run_materialized_inputs.jsonl").write_bytes(jsonl(ROWS))

    def found() -> dict[int, str]:
        run = Run(find_run(tmp_path / "run.jsonl"), ProfileOptions(partial=True, cache=True))
        return dict(collect(run.contents()).iter_rows())

    first = found()
    kept = set((tmp_path / "cache").iterdir())
    assert found() == first == expected(ROWS)
    assert set((tmp_path / "cache").iterdir()) == kept
    path = tmp_path / "run_materialized_inputs.jsonl"
    path.write_bytes(path.read_bytes().replace(b"task 0", b"task 9"))
    changed = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert found() == expected(changed) != first
