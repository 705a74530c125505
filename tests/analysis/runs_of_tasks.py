"""Runs whose tasks have the rewards that a test says."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline import ProfileOptions, Run, open_run
from pipeline.analysis.candidates import fields_wanted
from tests.runs import Row, finished, jsonl, planned

NAME = "run"


def rows_of(
    rewards: Mapping[int, Sequence[float | None]], samples: Mapping[int, Row] | None = None, **fields: Any
) -> tuple[list[Row], list[Row]]:
    """Planned rows and rollouts: a rollout for each reward, planned alone where it is None.

    Output tokens are 10, 20, 30 … by rollout index; each sample has a prompt of its own.
    """
    inputs, rollouts = [], []
    for task, of_task in rewards.items():
        sample = {"responses_create_params": {"input": f"question {task}"}, **(samples or {}).get(task, {})}
        for index, reward in enumerate(of_task):
            inputs.append(planned(task, index, **sample))
            if reward is not None:
                usage = {"output_tokens": 10 * (index + 1)}
                rollouts.append(finished(task, index, usage, reward=reward, agent_ref={"name": "a"}, **fields))
    return inputs, rollouts


def write(folder: Path, inputs: Sequence[Row], rollouts: Sequence[Row], verdicts: Sequence[Row] = ()) -> Path:
    """Writes a run; the path of its rollouts."""
    (folder / f"{NAME}_materialized_inputs.jsonl").write_bytes(jsonl(inputs))
    if verdicts:
        (folder / "rollout_verdicts.jsonl").write_bytes(jsonl(verdicts))
    path = folder / f"{NAME}.jsonl"
    path.write_bytes(jsonl(rollouts))
    return path


def opened(
    folder: Path, inputs: Sequence[Row], rollouts: Sequence[Row], *fields: str, verdicts: Sequence[Row] = ()
) -> Run:
    """Writes a run and opens it with these fields of its samples."""
    path = write(folder, inputs, rollouts, verdicts)
    return open_run(path, options=ProfileOptions(partial=True, context=True, fields=tuple(fields_wanted(fields))))
