"""Figures of agents are those of all their measured rollouts, and the spread of the means of their repeats."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.frames.lazy import collect
from pipeline.options import ProfileOptions
from pipeline.profile.agents import profile_agents
from pipeline.profile.repeats import profile_repeats
from tests.profile.plain import close, five, spread
from tests.runs import Row, aligned, finished, plan_of, planned

ACROSS = {"mean", "median", "std", "min", "max", "ci_low_95", "ci_high_95"}
COVERAGE = ("measured_rollouts", "masked_rollouts", "measured_tasks", "fully_masked_tasks")


def agents_of(folder: Path, inputs: list[Row], rollouts: list[Row], *, counts: bool = False) -> list[dict[str, Any]]:
    """The agent entries, without what is null."""
    frame = aligned(folder, inputs, rollouts, ProfileOptions(partial=True))[0].lazy()
    found = collect(profile_agents(frame, profile_repeats(frame), counts=counts))
    return [{name: value for name, value in row.items() if value is not None} for row in found.to_dicts()]


def figures_in(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name.split("/")[0] in {"mean", "max", "min", "median", "std"}}


def across_in(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if "_across_repeats/" in name}


def spread_of_means(name: str, means: list[float]) -> dict[str, float]:
    """The spread of the means of repeats, under the names of the entry."""
    figures = spread(means)
    kept = {label: value for label, value in figures.items() if label in ACROSS} | {"se": figures["sem"]}
    return {f"{label}_across_repeats/mean/{name}": value for label, value in kept.items()}


def test_figures_are_over_all_rollouts_of_the_agent(tmp_path: Path) -> None:
    values = {(0, 0): 1, (0, 1): 2, (0, 2): 6, (1, 0): 0.5, (2, 0): -3}
    agents = {0: "a", 1: "a", 2: "b"}
    rollouts = [finished(*key, m=value) for key, value in values.items()]
    first, second = agents_of(tmp_path, [planned(*key, agents[key[0]]) for key in values], rollouts)
    assert (first["_agent"], second["_agent"]) == ("a", "b")
    assert figures_in(first) == close(five({"m": [1, 2, 6, 0.5]}, rows=4))
    assert figures_in(second) == close(five({"m": [-3]}, rows=1))


@pytest.mark.parametrize(
    ("by_repeat", "means"),
    [
        ({0: [1, 2], 1: [3, 5]}, [1.5, 4]),
        ({0: [1], 1: [3, 5], 7: [2, 2]}, [1, 4, 2]),
        ({-1: [0.5, None], 1: [None, 0.25]}, [0.5, 0.25]),
        ({0: [1, 2], 1: [None, None], 2: [4, 4]}, [1.5, 4]),
        ({0: [1, 2], 1: [None, None]}, [1.5]),
        ({0: [3, 3], 1: [3, 3], 2: [3, 3], 3: [3, 3]}, [3, 3, 3, 3]),
        ({0: [True, False], 1: [True, True]}, [0.5, 1]),
    ],
)
def test_spread_across_repeats(by_repeat: dict[int, list[Any]], means: list[float], tmp_path: Path) -> None:
    rollouts = [
        finished(task, index, m=value) for index, values in by_repeat.items() for task, value in enumerate(values)
    ]
    (entry,) = agents_of(tmp_path, plan_of(rollouts), rollouts)
    assert across_in(entry) == close(spread_of_means("m", means))


def test_one_repeat_has_no_spread(tmp_path: Path) -> None:
    rollouts = [finished(task, 3, m=task) for task in range(3)]
    (entry,) = agents_of(tmp_path, plan_of(rollouts), rollouts)
    assert across_in(entry) == {}
    rollouts.append(finished(0, 0, m=1, mask_sample=True))
    (entry,) = agents_of(tmp_path, plan_of(rollouts), rollouts)
    assert across_in(entry) == {}


def test_an_agent_may_lack_a_metric_of_another(tmp_path: Path) -> None:
    agents = ("a", "b")
    inputs = [planned(task, index, agent) for task, agent in enumerate(agents) for index in range(2)]
    rollouts = [finished(0, index, m=index) for index in range(2)] + [finished(1, index, n=index) for index in range(2)]
    first, second = agents_of(tmp_path, inputs, rollouts)
    assert {name.split("/")[-1] for name in (*figures_in(first), *across_in(first))} == {"m"}
    assert {name.split("/")[-1] for name in (*figures_in(second), *across_in(second))} == {"n"}


@pytest.mark.parametrize(
    ("masked", "coverage"),
    [
        ([], None),
        ([(0, 0)], (3, 1, 2, 0)),
        ([(0, 0), (0, 1)], (2, 2, 1, 1)),
        ([(0, 0), (1, 1)], (2, 2, 2, 0)),
        ([(0, 0), (0, 1), (1, 0), (1, 1)], (0, 4, 0, 2)),
    ],
)
def test_coverage(masked: list[tuple[int, int]], coverage: tuple[int, ...] | None, tmp_path: Path) -> None:
    keys = [(task, index) for task in range(2) for index in range(2)]
    rollouts = [finished(*key, m=1, mask_sample=key in masked) for key in keys]
    (entry,) = agents_of(tmp_path, [*plan_of(rollouts), planned(5)], rollouts)
    names = [f"coverage/{name}" for name in COVERAGE]
    assert tuple(entry.get(name) for name in names) == (coverage or (None,) * 4)
    if coverage and not coverage[0]:
        assert set(entry) == {"_agent", "_agent_order", *names}


def test_agents_without_finished_rollouts_have_no_entry_and_masked_ones_come_last(tmp_path: Path) -> None:
    agents = {0: "b", 1: None, 2: "a", 3: "c", 4: "d"}
    inputs = [planned(task, 0, agent) for task, agent in agents.items()]
    rollouts = [finished(task, mask_sample=task in {0, 2}, m=1) for task in range(4)]
    assert [entry.get("_agent") for entry in agents_of(tmp_path, inputs, rollouts)] == ["c", None, "a", "b"]


def test_counts(tmp_path: Path) -> None:
    rollouts = [finished(0, index, m=1, **({"n": 2} if index else {})) for index in range(3)]
    (entry,) = agents_of(tmp_path, plan_of(rollouts), rollouts, counts=True)
    assert (entry["count/m"], entry["count/n"]) == (3, 2)


def test_nothing_finished(tmp_path: Path) -> None:
    assert agents_of(tmp_path, [planned()], []) == []


def test_types(tmp_path: Path) -> None:
    rollouts = [finished(0, index, m=index, mask_sample=index == 2) for index in range(3)]
    frame = aligned(tmp_path, plan_of(rollouts), rollouts)[0].lazy()
    schema = dict(collect(profile_agents(frame, profile_repeats(frame))).schema)
    assert schema.pop("_agent_order") == pl.UInt32
    assert schema.pop("_agent") == pl.String
    assert {schema.pop(f"coverage/{name}") for name in COVERAGE} == {pl.Int64}
    assert set(schema.values()) == {pl.Float64}
