"""The generator: the same bytes for a seed, the shapes it promises, inputs that match the rollouts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tests.bench.dumps import Dump, write_dump
from tests.bench.rows import KINDS, REPEATS, Kind

if TYPE_CHECKING:
    from pathlib import Path

_MEGABYTES: dict[Kind, float] = {"text": 4, "tok": 6, "small": 1, "many": 0.5}
_ROW_BYTES: dict[Kind, tuple[int, int]] = {
    "text": (25_000, 31_000),
    "tok": (78_000, 103_000),
    "small": (1_700, 1_820),
    "many": (290, 330),
}


@pytest.fixture(scope="module", params=KINDS)
def dump(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dump:
    kind: Kind = request.param
    return write_dump(kind, tmp_path_factory.mktemp(kind) / f"{kind}.jsonl", megabytes=_MEGABYTES[kind])


@pytest.fixture(scope="module")
def rollouts(dump: Dump) -> list[dict[str, Any]]:
    return _rows(dump.rollouts)


@pytest.fixture(scope="module")
def inputs(dump: Dump) -> list[dict[str, Any]]:
    return _rows(dump.inputs)


def test_a_seed_gives_the_same_bytes_and_another_seed_gives_others(dump: Dump, tmp_path: Path) -> None:
    again = write_dump(dump.kind, tmp_path / "again.jsonl", rows=20)
    other = write_dump(dump.kind, tmp_path / "other.jsonl", rows=20, seed=2)
    start = dump.rollouts.read_bytes()[: again.size]
    assert again.rollouts.read_bytes() == start != other.rollouts.read_bytes()
    assert again.inputs.read_bytes() == dump.inputs.read_bytes()[: again.inputs_size]


def test_the_figures_it_tells_are_those_of_the_files(dump: Dump, rollouts: list[dict[str, Any]]) -> None:
    assert (dump.size, dump.inputs_size) == (dump.rollouts.stat().st_size, dump.inputs.stat().st_size)
    assert (dump.rows, dump.tasks) == (len(rollouts), len({row["_ng_task_index"] for row in rollouts}))
    assert dump.keys == pytest.approx(sum(map(len, rollouts)) / len(rollouts))
    assert dump.metrics == pytest.approx(sum(len(_metrics(row)) for row in rollouts) / len(rollouts))
    assert dump.size >= _MEGABYTES[dump.kind] * 1e6 > dump.size - 300_000


def test_inputs_are_those_of_the_rollouts(rollouts: list[dict[str, Any]], inputs: list[dict[str, Any]]) -> None:
    assert [_key(row) for row in inputs] == [_key(row) for row in rollouts]
    assert [_key(row) for row in rollouts] == [divmod(number, REPEATS) for number in range(len(rollouts))]
    assert [row["agent_ref"] for row in inputs] == [row["agent_ref"] for row in rollouts]
    assert len({row["agent_ref"]["name"] for row in rollouts}) == 3


def test_rows_have_the_size_of_their_kind(dump: Dump) -> None:
    low, high = _ROW_BYTES[dump.kind]
    assert low < dump.size / dump.rows < high


def test_values_are_mixed_as_verifiers_mix_them(dump: Dump, rollouts: list[dict[str, Any]]) -> None:
    if dump.kind == "many":
        assert {len(_metrics(row)) for row in rollouts} == {12}
        return
    assert {type(row["accuracy"]) for row in rollouts} == {int, float, bool, str, type(None)}
    assert Counter(type(row["reward"]) for row in rollouts).most_common(1)[0][0] is float
    assert {type(row["passed"]) for row in rollouts} == {bool}
    assert all(row["response"]["usage"]["input_tokens_details"] for row in rollouts)


def test_one_metric_comes_late(dump: Dump, rollouts: list[dict[str, Any]]) -> None:
    late = ["late_metric" in row for row in rollouts]
    assert late == sorted(late)
    assert sum(late) / len(late) == pytest.approx(0 if dump.kind == "many" else 0.25, abs=0.05)


def test_only_tok_rows_carry_token_ids_with_their_log_probabilities(dump: Dump, rollouts: list[dict[str, Any]]) -> None:
    calls = [item for row in rollouts for item in row["response"].get("output", ()) if "generation_token_ids" in item]
    assert bool(calls) is (dump.kind == "tok")
    for call in calls:
        assert len(call["generation_token_ids"]) == len(call["generation_log_probs"])
        assert {type(token) for token in call["prompt_token_ids"]} == {int}
        assert max(call["generation_log_probs"]) <= 0


def _rows(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def _key(row: dict[str, Any]) -> tuple[int, int]:
    return row["_ng_task_index"], row["_ng_rollout_index"]


def _metrics(row: dict[str, Any]) -> list[str]:
    fields = [*row.items(), *row["response"]["usage"].items()]
    return [name for name, value in fields if isinstance(value, int | float) and not name.startswith("_")]
