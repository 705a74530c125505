"""Questions about small runs."""

import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from pipeline import ProfileOptions, Run, open_run
from pipeline.frames.lazy import collect
from queries import QUERIES
from tests.runs import Row, finished, jsonl

SEEDS = range(4)


def opened(
    folder: Path,
    rollouts: Sequence[Row],
    *,
    inputs: Sequence[Row] | None = None,
    failures: Sequence[Row] | None = None,
    verdicts: Sequence[Row] | None = None,
    nested: tuple[str, ...] = (),
) -> Run:
    """Writes a run and opens it."""
    files = {
        "rollouts": rollouts,
        "rollouts_materialized_inputs": inputs,
        "rollouts_failures": failures,
        "rollout_verdicts": verdicts,
    }
    for name, rows in files.items():
        if rows is not None:
            (folder / f"{name}.jsonl").write_bytes(jsonl(rows))
    options = ProfileOptions(partial=True, context=True, nested=nested)
    return open_run(folder / "rollouts.jsonl", options=options)


def answer(run: Run, name: str, **parameters: Any) -> pl.DataFrame:
    """What a query answers."""
    return collect(QUERIES[name](run, **parameters))


def ask(folder: Path, name: str, rollouts: Sequence[Row], **parameters: Any) -> list[Row]:
    """What a query answers about rollouts, as rows."""
    return answer(opened(folder, rollouts), name, **parameters).to_dicts()


def rollout(task: int, repeat: int, reward: float | None, tokens: float | None = None, **fields: Any) -> Row:
    """A rollout of agent `a` unless said otherwise; no reward or no tokens where these are None."""
    scored = {} if reward is None else {"reward": reward}
    usage = {} if tokens is None else {"output_tokens": tokens, "total_tokens": tokens + 10}
    agent = {"name": fields.pop("agent", "a")}
    return finished(task, repeat, usage, agent_ref=agent, **scored, **fields)


def some_rollouts(seed: int) -> list[Row]:
    """Rollouts of two agents by key, some of them masked, unscored, or without tokens."""
    chance = random.Random(seed)
    return [
        rollout(
            task,
            repeat,
            chance.choice([0.0, 0.0, 0.4, 1.0, 1.0, None]),
            chance.choice([None, 7, 20, 20, chance.randint(1, 99), chance.randint(1, 9999)]),
            agent=chance.choice("ab") if task % 3 == 0 else "ab"[task % 2],
            topic=chance.choice(["coins", "notes"]),
            mask_sample=chance.random() < 0.15,
            judge_tokens=chance.randint(1, 50),
        )
        for task in range(8)
        for repeat in range(chance.randint(1, 6))
    ]


def tokens_of(row: Row) -> float | None:
    """The output tokens of a rollout, if it has any."""
    found: float | None = row["response"]["usage"].get("output_tokens")
    return found


def voting(rows: Sequence[Row], *, with_tokens: bool = False) -> list[Row]:
    """The rollouts that count: scored and not masked."""
    scored = [row for row in rows if "reward" in row and not row.get("mask_sample")]
    return [row for row in scored if tokens_of(row) is not None] if with_tokens else scored


def grouped(rows: Sequence[Row], *, by: str = "group") -> dict[Any, list[Row]]:
    """Rows by task and agent, by agent, or by another field, in order."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        agent = row["agent_ref"]["name"]
        key = (row["_ng_task_index"], agent) if by == "group" else agent if by == "agent" else row[by]
        groups.setdefault(key, []).append(row)
    return dict(sorted(groups.items()))


def rewards(rows: Sequence[Row]) -> list[float]:
    """The rewards of rollouts that have one."""
    return [row["reward"] for row in rows if "reward" in row]


def mean(values: Sequence[float]) -> float | None:
    """The mean, if there are values."""
    return fmean(values) if values else None
