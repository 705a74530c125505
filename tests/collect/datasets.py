"""Small datasets, and what a collection leaves behind."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.runs import jsonl

Row = dict[str, Any]


def row(text: str = "2 + 2?", agent: str | None = "a", **fields: Any) -> Row:
    """A row of a dataset."""
    reference = {} if agent is None else {"agent_ref": {"name": agent}}
    return {"responses_create_params": {"input": [{"role": "user", "content": text}]}, **reference, **fields}


def write_dataset(folder: Path, rows: Iterable[Row] | bytes, name: str = "data.jsonl") -> Path:
    path = folder / name
    path.write_bytes(jsonl(rows if isinstance(rows, bytes) else list(rows)))
    return path


def read(path: Path, *, torn: bool = False) -> list[Row]:
    """The rows of a file; none where there is no file. A last line that is torn is left out where it may be."""
    lines = path.read_text().split("\n") if path.exists() else [""]
    assert torn or not lines[-1], lines[-1]
    return [json.loads(line) for line in lines[:-1]]


def rollouts_of(folder: Path, stem: str = "out", *, torn: bool = False) -> list[Row]:
    return read(folder / f"{stem}.jsonl", torn=torn)


def failures_of(folder: Path, stem: str = "out") -> list[Row]:
    return read(folder / f"{stem}_failures.jsonl")


def inputs_of(folder: Path, stem: str = "out") -> list[Row]:
    return read(folder / f"{stem}_materialized_inputs.jsonl")


def keys(rows: Iterable[Row]) -> list[tuple[int, int]]:
    return [(row["_ng_task_index"], row["_ng_rollout_index"]) for row in rows]
