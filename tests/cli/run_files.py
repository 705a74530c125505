"""Runs as files for the command, and what it leaves beside them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.command import Finished
from tests.runs import Row, finished, jsonl, planned
from tests.slow_profile import not_json, read_json

TASKS, AGENTS, REPEATS = OUTPUTS = ("_reward_profiling.jsonl", "_agent_metrics.json", "_repeat_level_metrics.json")
INPUTS, FAILURES = "_materialized_inputs.jsonl", "_failures.jsonl"
OLD = b"an older profile\n"
KEYS = ((0, 0), (0, 1), (1, 0), (1, 1))


def rollout(task: int = 0, index: int = 0, **fields: Any) -> Row:
    """A rollout whose reward says which it is."""
    return finished(task, index, {"total_tokens": 10}, **{"reward": task + index / 2, **fields})


def rollouts(keys: Iterable[tuple[int, int]] = KEYS, **fields: Any) -> list[Row]:
    return [rollout(*key, **fields) for key in keys]


def write_run(
    folder: Path, stem: str = "run", *, plan: list[Row] | None = None, done: list[Row] | bytes | None = None
) -> Path:
    """Writes inputs and rollouts, two rollouts of two tasks unless other rows are given; the path of the rollouts."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stem}{INPUTS}").write_bytes(jsonl([planned(*key) for key in KEYS] if plan is None else plan))
    path = folder / f"{stem}.jsonl"
    path.write_bytes(jsonl(rollouts() if done is None else done))
    return path


def write_old_outputs(folder: Path, stem: str = "run") -> None:
    for ending in OUTPUTS:
        (folder / f"{stem}{ending}").write_bytes(OLD)


def contents_of(folder: Path) -> dict[str, bytes]:
    """The content of every file in a folder, hidden ones too."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def outputs_of(folder: Path, stem: str = "run") -> list[bytes]:
    return [(folder / f"{stem}{ending}").read_bytes() for ending in OUTPUTS]


def tasks_of(folder: Path, stem: str = "run") -> list[Row]:
    text = (folder / f"{stem}{TASKS}").read_bytes().decode()
    return [read_json(line, constant=not_json) for line in text.split("\n") if line]


def agents_of(folder: Path, stem: str = "run") -> list[Row]:
    entries: list[Row] = read_json((folder / f"{stem}{AGENTS}").read_bytes().decode(), constant=not_json)
    return entries


def object_of(done: Finished) -> Row:
    """The one JSON object that standard output is."""
    assert done.stdout.count("\n") == 1, done.stdout
    content: Row = read_json(done.stdout, constant=not_json)
    return content


def assert_refused(done: Finished, exit_code: int, *words: str) -> None:
    """One message, in words, with this exit code; nothing on standard output."""
    assert "Traceback" not in done.stderr, done.stderr
    assert done.exit_code == exit_code, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("rollprof: ") == 1
    for word in words:
        assert word in done.stderr, done.stderr
