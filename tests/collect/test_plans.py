"""Materialized inputs are read back, and compared with a dataset."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.collect.datasets import read_dataset
from pipeline.collect.fitting import check_same
from pipeline.collect.materialize import planned, write_plan
from pipeline.collect.options import PlanOptions
from pipeline.collect.plans import read_plan
from pipeline.errors import FaultsError, SourceError, UsageError
from tests.collect.datasets import row, write_dataset

ROWS = [row("x"), row("y", agent="b", _ng_environment_server="s")]


def written(folder: Path, rows: Any = ROWS, **options: Any) -> Path:
    chosen = PlanOptions(**options)
    path = folder / "out_materialized_inputs.jsonl"
    write_plan(path, planned(read_dataset(write_dataset(folder, rows), chosen), chosen))
    return path


def compare(path: Path, rows: Any = ROWS, **options: Any) -> None:
    chosen = PlanOptions(**options)
    check_same(path, planned(read_dataset(write_dataset(path.parent, rows), chosen), chosen))


def test_slots_say_where_rows_stand(tmp_path: Path) -> None:
    path = written(tmp_path, repeats={"_default": 2})
    content = path.read_bytes()
    slots = read_plan(path)
    assert [slot.key for slot in slots] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [slot.agent for slot in slots] == ["a", "a", "b", "b"]
    for slot in slots:
        found = json.loads(content[slot.offset : slot.offset + slot.length])
        assert (found["_ng_task_index"], found["_ng_rollout_index"]) == slot.key
    assert dict(slots[2].kept) == {"agent_ref": b'{"name": "b"}', "_ng_environment_server": b'"s"'}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", ":2 is not JSON"),
        (b'{"_ng_task_index": 0}', ":2 _ng_rollout_index is null"),
        (b'{"_ng_task_index": 0, "_ng_rollout_index": 0, "agent_ref": "a"}', ":2 plans task 0, rollout 0 as line 1"),
        (b'{"_ng_task_index": 0, "_ng_rollout_index": 1}', ":2 names no agent"),
    ],
)
def test_what_is_no_plan(line: bytes, reason: str, tmp_path: Path) -> None:
    path = written(tmp_path, ROWS[:1])
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(FaultsError) as raised:
        read_plan(path)
    assert reason in str(raised.value)


def test_the_same_dataset_fits(tmp_path: Path) -> None:
    path = written(tmp_path, repeats={"_default": 2})
    compare(path, repeats={"_default": 2})


def test_other_spelling_means_the_same(tmp_path: Path) -> None:
    # The peer writes the inputs without spaces.
    path = written(tmp_path)
    lines = [json.dumps(json.loads(line), separators=(",", ":")) for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    compare(path)


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        (ROWS, {"repeats": {"_default": 3}}, "rollouts planned: 6 now, 2 then"),
        (ROWS[:1], {}, "rollouts planned: 1 now, 2 then"),
        (
            ROWS,
            {"overrides": {"temperature": 0.5}},
            "in 0:0 responses_create_params.temperature was not there and is 0.5 now",
        ),
        ([row("z"), ROWS[1]], {}, '"z"'),
        ([ROWS[0], ROWS[1] | {"level": 3}], {}, "in 1:0 level was not there and is 3 now"),
        ([row("x"), row("y", agent="c")], {}, 'in 1:0 agent_ref.name was "b" and is "c" now'),
        ([ROWS[0] | {"_ng_task_index": 5}, ROWS[1]], {}, "where 0:0 was, 5:0 is planned now"),
    ],
)
def test_what_differs_is_said(rows: Any, options: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(UsageError) as raised:
        compare(path, rows, **options)
    assert said in raised.value.message
    assert "do not fit" in raised.value.message


def test_compressed_inputs_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(SourceError, match=r"is compressed \(gz\)"):
        read_plan(path)
