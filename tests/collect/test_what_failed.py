"""What is told of rollouts that failed: why, and what can be done about them."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.collect.examples import Example, examples
from tests.cli.processes import run
from tests.cli.run_files import object_of
from tests.collect.datasets import rollouts_of, row, write_dataset
from tests.collect.scripted_agent import Agent, agent
from tests.command import Finished


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Agent]:
    (tmp_path / "agent").mkdir()
    with agent(tmp_path / "agent") as one:
        yield one


def collect(folder: Path, running: Agent, *args: str) -> Finished:
    given = ["-o", "out.jsonl", "--agent-url", running.url, "--backoff", "0.01", *args]
    return run(["collect", *given], folder)


def write(folder: Path, *behave: list[str]) -> None:
    write_dataset(folder, [row(str(task), behave=one) for task, one in enumerate(behave)])


def advised(done: Finished) -> list[str]:
    """The command that standard error ends with, without the program."""
    words = shlex.split(done.stderr.rstrip().splitlines()[-1])
    return words[words.index("collect") :]


def test_an_example_of_each_class_is_the_first_of_a_rollout_that_it_ended(tmp_path: Path) -> None:
    lines = [(0, "a", "recovered"), (1, "b", "not the last"), (1, "a", "x\n" * 400), (2, "a", "later"), (3, "b", None)]
    path = tmp_path / "out_failures.jsonl"
    for task, kind, message in lines:
        key = {"_ng_task_index": task, "_ng_rollout_index": 0}
        with path.open("a") as file:
            file.write(json.dumps(key | {"_ng_failure_class": kind, "_ng_failure_message": message}) + "\n")
    found = examples(path, {(1, 0): "a", (2, 0): "a", (3, 0): "b"})
    assert found == {"a": Example("x\n" * 400, 3), "b": Example("", 5)}
    assert examples(path, {}) == examples(tmp_path / "none", {(1, 0): "a"}) == {}


def test_the_summary_says_why_rollouts_failed(running: Agent, tmp_path: Path) -> None:
    write(tmp_path, ["422"], ["404"], ["404"], ["ok"])
    done = collect(tmp_path, running, "-i", "data.jsonl", "--concurrency", "1")
    assert "Failed    3: agent_run_error 2, bad_request 1\n" in done.stdout
    assert "  agent_run_error: the agent answered with status 404 (first: out_failures.jsonl:2)\n" in done.stdout
    assert "  bad_request: the model is gone (first: out_failures.jsonl:1)\n" in done.stdout
    told = object_of(collect(tmp_path, running, "--resume", "--json"))
    assert told["failure_examples"]["bad_request"] == {
        "message": "the model is gone",
        "place": "out_failures.jsonl:1",
    }


def test_what_is_out_of_attempts_is_asked_again_by_the_command_that_is_told(running: Agent, tmp_path: Path) -> None:
    write(tmp_path, ["500", "500", "500", "500", "ok"])
    first = collect(tmp_path, running, "-i", "data.jsonl", "--max-attempts", "2")
    assert first.exit_code == 3
    assert "1 rollout is out of attempts" in first.stderr
    assert advised(first)[-2:] == ["--max-attempts", "5"]
    as_before = collect(tmp_path, running, "--resume")
    assert len(running.asked) == 3
    assert advised(as_before)[-2:] == ["--max-attempts", "6"]
    assert advised(as_before).count("--max-attempts") == 1
    nothing = collect(tmp_path, running, "--resume")
    assert "nothing was asked: every rollout is finished, final or out of attempts" in nothing.stderr
    last = run(advised(nothing), tmp_path)
    assert (last.exit_code, len(rollouts_of(tmp_path))) == (0, 1)


def test_what_is_final_is_not_told_to_be_asked_again(running: Agent, tmp_path: Path) -> None:
    write(tmp_path, ["422"], ["422"])
    done = collect(tmp_path, running, "-i", "data.jsonl")
    assert done.exit_code == 3
    assert "2 rollouts are final: mend the rows, and collect them to another --output" in done.stderr
    assert "--resume" not in done.stderr + done.stdout
    told = object_of(collect(tmp_path, running, "--resume", "--json"))
    assert (told["failed_for_good"], told["failed_out_of_attempts"], told["go_on"]) == (2, 0, None)


def test_the_summary_says_what_becomes_of_each(running: Agent, tmp_path: Path) -> None:
    write(tmp_path, ["ok"], ["404"], ["500"], ["422"])
    done = collect(tmp_path, running, "-i", "data.jsonl", "--max-attempts", "2")
    assert "Again     1 of them with --resume\n" in done.stdout
    assert "Spent     1 of them are out of attempts: --resume --max-attempts 5 asks again\n" in done.stdout
    assert "Final     1 of them: mend their rows" in done.stdout
