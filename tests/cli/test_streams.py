"""Wherever standard output and standard error lead: the files are written, and the exit code says what happened."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import Process, end_of, environment, run, start
from tests.cli.run_files import INPUTS, KEYS, rollout, rollouts, tasks_of, write_run


def closed(number: int) -> dict[str, Any]:
    """Options of a process that starts with a stream closed."""
    return {("stdin", "stdout", "stderr")[number]: None, "preexec_fn": lambda: os.close(number)}


@pytest.mark.parametrize("number", [1, 2], ids=["standard output", "standard error"])
def test_closed(number: int, tmp_path: Path) -> None:
    write_run(tmp_path)
    done = run(["profile", "run.jsonl"], tmp_path, **closed(number))
    assert (done.exit_code, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "inputs: " not in done.stdout
    assert len(tasks_of(tmp_path)) == 2


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_standard_output_on_a_full_disk(form: list[str], tmp_path: Path) -> None:
    write_run(tmp_path)
    with Path("/dev/full").open("wb") as full:
        done = run(["profile", "run.jsonl", *form], tmp_path, stdout=full)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.exit_code == 3
    assert "No space left" in done.stderr


def test_standard_error_on_a_full_disk(tmp_path: Path) -> None:
    write_run(tmp_path)
    with Path("/dev/full").open("wb") as full:
        done = run(["profile", "run.jsonl"], tmp_path, stderr=full)
    assert done.exit_code == 0
    assert len(tasks_of(tmp_path)) == 2


def start_unheard(args: list[str], cwd: Path, *names: str) -> Process:
    """Starts the command with streams whose reader is gone."""
    readable, writable = os.pipe()
    os.close(readable)
    streams: dict[str, Any] = dict.fromkeys(names, writable)
    process = start(args, cwd, **streams)
    os.close(writable)
    return process


@pytest.mark.parametrize("names", [["stderr"], ["stdout", "stderr"]], ids=" ".join)
def test_the_reader_of_standard_error_is_gone(names: list[str], tmp_path: Path) -> None:
    # As in `rollprof profile run.jsonl 2>&1 | head -1`.
    write_run(tmp_path)
    done = end_of(start_unheard(["profile", "run.jsonl"], tmp_path, *names))
    assert done.exit_code == 0
    assert len(tasks_of(tmp_path)) == 2


@pytest.mark.parametrize(
    ("args", "exit_code"),
    [(["--partial", "--min-completion", "0.9"], 5), (["--json"], 4)],
    ids=["a gate", "a refusal as an object"],
)
def test_a_reader_that_is_gone_does_not_change_the_exit_code(args: list[str], exit_code: int, tmp_path: Path) -> None:
    write_run(tmp_path, done=rollouts(KEYS[:3]))
    done = end_of(start_unheard(["profile", "run.jsonl", *args], tmp_path, "stdout"))
    assert done.exit_code == exit_code, done.stderr


def test_a_refusal_stays_one_whose_standard_error_is_gone(tmp_path: Path) -> None:
    write_run(tmp_path, done=rollouts(KEYS[:3]))
    assert end_of(start_unheard(["profile", "run.jsonl", "--quiet"], tmp_path, "stderr")).exit_code == 4


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_encoding_that_lacks_a_letter(encoding: str, tmp_path: Path) -> None:
    agent = {"agent_ref": {"name": "大"}}
    write_run(tmp_path, plan=[{"_ng_task_index": 0, "_ng_rollout_index": 0, **agent}], done=[rollout()])
    done = run(["profile", "run.jsonl"], tmp_path, env=environment(PYTHONIOENCODING=encoding))
    assert (done.exit_code, done.stderr) == (0, f"inputs: run{INPUTS}\n")
    assert "1 rollout of 1 task" in done.stdout
