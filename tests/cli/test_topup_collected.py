"""What `rollprof topup` plans is collected by the command that it prints, and nothing else is."""

import json
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import end_of, run, start
from tests.cli.run_files import object_of
from tests.collect.datasets import row, write_dataset
from tests.runs import Row

SERVED = ("--environment", "numeric_answer", "--agent-name", "numeric_answer_agent")
INPUTS = "run_materialized_inputs.jsonl"


@pytest.fixture
def head() -> Iterator[str]:
    """The address of the head of an environment that is served meanwhile."""
    process = start(["env", "start", *SERVED, "--port", "0", "--head-port", "0", "--json"], Path.cwd())
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    yield told["head"]
    process.terminate()
    end_of(process)


def rows_in(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def key_of(found: Row) -> tuple[int, int]:
    return found["_ng_task_index"], found["_ng_rollout_index"]


def collected(folder: Path, head: str) -> None:
    """Four rollouts of three tasks."""
    agent = "numeric_answer_agent"
    write_dataset(
        folder, [row(f"What is {one} + {one}?", agent=agent, expected_answer=str(2 * one)) for one in range(3)]
    )
    asked = ["collect", "--no-serve", "--head-server", head, "-i", "data.jsonl", "-o", "run.jsonl", "-n", "4"]
    done = run([*asked, "--num-repeats-add-seed", "--quiet"], folder)
    assert done.exit_code == 0, done.stderr


def test_the_printed_command_collects_what_was_planned(head: str, tmp_path: Path) -> None:
    collected(tmp_path, head)
    before = rows_in(tmp_path / "run.jsonl")
    asked = ["--half-width", "0.15", "--max-repeats", "3", "--redo", "_ng_rollout_index = 1", "--json"]
    told = object_of(run(["topup", "run.jsonl", *asked], tmp_path))
    assert (told["redo"], told["repeats"]) == (3, sum(one["more"] for one in told["plan"]))
    assert told["repeats"] > 0
    plan, kept = rows_in(tmp_path / INPUTS), (tmp_path / "run.jsonl").read_bytes()
    to_come = Counter(map(key_of, plan)) - Counter(map(key_of, rows_in(tmp_path / "run.jsonl")))
    assert to_come.total() == told["pending"] + told["repeats"]
    ours = shlex.split(told["commands"][1])
    done = run([*ours[ours.index("eval") :], "--head-server", head, "--json"], tmp_path)
    assert done.exit_code == 0, done.stderr
    after = (tmp_path / "run.jsonl").read_bytes()
    assert after.startswith(kept)  # no finished rollout was asked for again, and none was lost
    assert Counter(map(key_of, map(json.loads, after[len(kept) :].splitlines()))) == to_come
    assert Counter(map(key_of, rows_in(tmp_path / "run.jsonl"))) == Counter(map(key_of, plan))
    assert sorted(map(key_of, rows_in(tmp_path / "run_redone.jsonl"))) == [(task, 1) for task in range(3)]
    for one in plan:
        body = json.loads(one["responses_create_params"]["metadata"]["extra_body"])
        assert body["seed"] == one["_ng_rollout_index"]
    profiled = object_of(run(["profile", "run.jsonl", "--json"], tmp_path))
    assert profiled["completion"]["completed_rollout_rows"] == len(plan)
    assert len(before) == 12


def test_a_second_resume_has_nothing_left_to_ask(head: str, tmp_path: Path) -> None:
    collected(tmp_path, head)
    run(["topup", "run.jsonl", "--half-width", "0.2", "--max-repeats", "2", "--quiet"], tmp_path)
    resume = ["eval", "run", "--no-serve", "--resume", "--output", "run.jsonl", "--head-server", head]
    assert run(resume, tmp_path).exit_code == 0
    before = (tmp_path / "run.jsonl").read_bytes()
    shutil.copy(tmp_path / INPUTS, tmp_path / "kept")
    assert run(resume, tmp_path).exit_code == 0
    assert (tmp_path / "run.jsonl").read_bytes() == before
    assert (tmp_path / INPUTS).read_bytes() == (tmp_path / "kept").read_bytes()
