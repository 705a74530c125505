"""Figures of repeats are over the tasks of an agent at one rollout index."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.frames.lazy import collect
from pipeline.options import ProfileOptions
from pipeline.profile.repeats import profile_repeats
from tests.profile.plain import close, spread
from tests.runs import Row, aligned, finished, plan_of, planned

LABELS = ("mean", "median", "std", "sem", "min", "max", "p25", "p75", "ci_low_95", "ci_high_95")


def repeats_of(folder: Path, inputs: list[Row], rollouts: list[Row]) -> pl.DataFrame:
    frame = aligned(folder, inputs, rollouts, ProfileOptions(partial=True))[0]
    return collect(profile_repeats(frame.lazy()))


def figures_in(row: dict[str, Any], metric: str) -> dict[str, Any]:
    found = {label: row[f"{label}/{metric}"] for label in LABELS}
    return {label: value for label, value in found.items() if value is not None}


@pytest.mark.parametrize(
    "values",
    [
        [1],
        [1, 2],
        [0.5, 0.25, 4],
        [3, 3, 3],
        [True, False, True, False],
        [5, 1, -2, 1e-7, 1e5],
        [None, 7, None],
        [None, 1, 2, "x"],
        [float("nan"), 1, 2],
    ],
)
def test_figures_at_a_repeat(values: list[Any], tmp_path: Path) -> None:
    rollouts = [finished(task, 0, m=value) for task, value in enumerate(values)] + [finished(0, 1, m=9)]
    first, second = repeats_of(tmp_path, plan_of(rollouts), rollouts).to_dicts()
    known = [value for value in values if isinstance(value, int | float) and value == value]  # noqa: PLR0124 - NaN
    assert figures_in(first, "m") == close(spread(known))
    assert figures_in(second, "m") == close(spread([9]))
    assert (first["sample_count"], first["missing_count"]) == (len(values), 0)
    assert (second["sample_count"], second["missing_count"]) == (1, len(values) - 1)


@pytest.mark.parametrize(
    ("keys", "indices"),
    [
        ([(0, 0), (1, 0)], []),
        ([(0, 0), (1, 1)], [0, 1]),
        ([(0, 7), (0, -2), (1, 3)], [-2, 3, 7]),
        ([], []),
    ],
)
def test_only_agents_measured_at_several_indices(
    keys: list[tuple[int, int]], indices: list[int], tmp_path: Path
) -> None:
    rollouts = [finished(*key, m=1) for key in keys]
    frame = repeats_of(tmp_path, [planned(9, 9), *plan_of(rollouts)], rollouts)
    assert frame["_ng_rollout_index"].to_list() == indices


def test_a_masked_repeat_is_none(tmp_path: Path) -> None:
    rollouts = [finished(0, 0, m=1), finished(0, 1, m=1, mask_sample=True)]
    assert repeats_of(tmp_path, plan_of(rollouts), rollouts).is_empty()


def test_entries_go_by_agent_then_index(tmp_path: Path) -> None:
    agents = {0: "b", 1: "a", 2: None, 3: "c"}
    keys = [(task, index) for task in agents for index in (1, 0) if (task, index) != (3, 1)]
    inputs = [planned(*key, agents[key[0]]) for key in keys]
    frame = repeats_of(tmp_path, inputs, [finished(*key, m=1) for key in keys])
    assert frame.select("_agent", "_ng_rollout_index").rows() == [
        (agent, index) for agent in ("a", "b", None) for index in (0, 1)
    ]


def test_missing_counts_tasks_with_a_measured_rollout_elsewhere(tmp_path: Path) -> None:
    keys = [(0, 0), (0, 1), (1, 0), (2, 1), (3, 0)]
    rollouts = [finished(*key, m=1, mask_sample=key == (3, 0)) for key in keys]
    frame = repeats_of(tmp_path, [*plan_of(rollouts), planned(4, 0), planned(4, 1)], rollouts)
    assert frame.select("_ng_rollout_index", "sample_count", "missing_count").rows() == [(0, 2, 1), (1, 2, 1)]


def test_columns(tmp_path: Path) -> None:
    rollouts = [finished(0, index, b=1, a=2) for index in range(2)]
    schema = dict(repeats_of(tmp_path, plan_of(rollouts), rollouts).schema)
    assert {name: schema.pop(name) for name in ("_agent", "_agent_order", "_ng_rollout_index")} == {
        "_agent": pl.String,
        "_agent_order": pl.UInt32,
        "_ng_rollout_index": pl.Int64,
    }
    assert {schema.pop("sample_count"), schema.pop("missing_count")} == {pl.Int64}
    assert set(schema) == {f"{label}/{metric}" for label in LABELS for metric in "ab"}
    assert set(schema.values()) == {pl.Float64}
