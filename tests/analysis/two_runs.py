"""Two small runs as files, and their comparison in slow plain Python."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.analysis.comparison import CompareOptions, Comparison, compare
from pipeline.options import DETAILS, ProfileOptions
from pipeline.run import Run
from pipeline.sources.runs import find_run
from tests.runs import Row, finished, jsonl, planned

Rewards = Mapping[int, Sequence[float | None]]
"""Task → the reward of each planned rollout; None for one that did not finish."""

BASE: Rewards = {0: [1, 1, 0, 0], 1: [0, 0, 0, 1], 2: [1, 1, 1, 1], 3: [0, 0], 4: [1, 0]}
CANDIDATE: Rewards = {0: [1, 1, 1, 0], 1: [1, 0, 1, 1], 2: [1, 1, 1, 1], 3: [0, 1], 5: [1, 1]}
"""The runs of a public report: same tasks, one task only in each."""
PUBLIC = {"mean": 0.3125, "se": 0.11967838846954226, "t": 2.6111648393354674, "not_paired_se": 0.2366211810750114}


def prompt(task: object) -> dict[str, Any]:
    return {"responses_create_params": {"input": [{"role": "user", "content": f"Count the coins in jar {task}."}]}}


def rows_of(rewards: Rewards, *, agent: str = "till", number: Mapping[int, int] | None = None) -> list[list[Row]]:
    """Input rows and rollouts; `number` says which index a task has, where that is not its own."""
    plan, done = [], []
    for task, of_task in rewards.items():
        index = task if number is None else number[task]
        for rollout, reward in enumerate(of_task):
            plan.append(
                planned(index, rollout, agent, **prompt(task), uuid=f"u{task}", level="hard" if task % 2 else "easy")
            )
            if reward is not None:
                row = finished(index, rollout, {"output_tokens": 10 * task + rollout}, reward=reward)
                row["response"] |= {"id": f"resp_{task}_{rollout}", "output": []}
                done.append(row | prompt(task))
    return [plan, done]


def write(folder: Path, stem: str, plan: Sequence[Row], done: Sequence[Row], *, inputs: bool = True) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    if inputs:
        (folder / f"{stem}_materialized_inputs.jsonl").write_bytes(jsonl(list(plan)))
    path = folder / f"{stem}.jsonl"
    path.write_bytes(jsonl(list(done)))
    return path


def write_rewards(folder: Path, stem: str, rewards: Rewards, **how: Any) -> Path:
    return write(folder, stem, *rows_of(rewards, **how))


def opened(path: Path, *fields: str) -> Run:
    return Run(
        find_run(path, inputs_needed=False), ProfileOptions(partial=True, context=True, fields=fields, nested=DETAILS)
    )


def compared(folder: Path, base: Rewards, candidate: Rewards, **options: Any) -> Comparison:
    first, second = (opened(write_rewards(folder, name, one)) for name, one in (("base", base), ("other", candidate)))
    return compare(first, second, CompareOptions(**options))


def slowly(base: Rewards, candidate: Rewards) -> dict[str, float | int | None]:
    """Mean, standard error and counts of the paired differences."""
    there = [
        [[one for one in rewards.get(task, ()) if one is not None] for rewards in (base, candidate)]
        for task in sorted({*base, *candidate})
    ]
    changes = [statistics.fmean(after) - statistics.fmean(before) for before, after in there if before and after]
    spread = statistics.stdev(changes) / math.sqrt(len(changes)) if len(changes) > 1 else None
    return {
        "tasks": len(changes),
        "change": statistics.fmean(changes) if changes else None,
        "se": spread,
        "up": sum(one > 1e-12 for one in changes),
        "down": sum(one < -1e-12 for one in changes),
        "same": sum(abs(one) <= 1e-12 for one in changes),
    }
