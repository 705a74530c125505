"""Collections against a real agent: resumed, refused, interrupted, at full speed."""

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import Process, end_of, run, start, wait_for
from tests.cli.run_files import assert_refused, contents_of, object_of
from tests.collect.datasets import failures_of, inputs_of, keys, rollouts_of, row, write_dataset
from tests.collect.scripted_agent import Agent, agent
from tests.command import Finished

OUT = ("-o", "out.jsonl")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Agent]:
    (tmp_path / "agent").mkdir()
    with agent(tmp_path / "agent") as one:
        yield one


def arguments(running: Agent, *args: str) -> list[str]:
    return ["collect", *OUT, "--agent-url", running.url, "--backoff", "0.01", "--json", *args]


def collect(folder: Path, running: Agent, *args: str) -> Finished:
    return run(arguments(running, *args), folder)


def many(folder: Path, number: int, behave: str = "ok") -> None:
    write_dataset(folder, [row(str(task), behave=[behave]) for task in range(number)])


def test_inputs_are_written_before_anything_is_sent(running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 3, "hang")
    process = start(arguments(running, "-i", "data.jsonl", "-n", "4"), tmp_path)
    wait_for(lambda: len(running.asked) == 12)
    assert keys(inputs_of(tmp_path)) == [(task, index) for task in range(3) for index in range(4)]
    process.send_signal(signal.SIGTERM)
    assert end_of(process).exit_code == 143


def test_bad_rows_send_nothing_and_leave_nothing(running: Agent, tmp_path: Path) -> None:
    write_dataset(tmp_path, b"x\n" + json.dumps(row()).encode() + b"\n{}\n")
    before = contents_of(tmp_path)
    done = run(["collect", *OUT, "-i", "data.jsonl", "--agent-url", running.url], tmp_path)
    assert_refused(done, 3, "2 rows cannot be collected", "data.jsonl:1 ", "data.jsonl:3 ")
    assert contents_of(tmp_path) == before
    assert running.asked == []


def test_what_is_there_is_not_overwritten(running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 2)
    assert collect(tmp_path, running, "-i", "data.jsonl").exit_code == 0
    before = contents_of(tmp_path)
    done = run(["collect", *OUT, "-i", "data.jsonl", "--agent-url", running.url], tmp_path)
    assert_refused(done, 3, "out.jsonl: there is such a file already", "--resume")
    assert contents_of(tmp_path) == before


@pytest.mark.parametrize("ending", ["_failures.jsonl", "_materialized_inputs.jsonl"])
def test_parts_of_another_run_are_not_mixed_in(ending: str, running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 2)
    (tmp_path / f"out{ending}").touch()
    done = run(["collect", *OUT, "-i", "data.jsonl", "--agent-url", running.url], tmp_path)
    assert_refused(done, 3, f"out{ending}: there is such a file already")
    assert running.asked == []


def test_resume_asks_only_for_what_is_missing(running: Agent, tmp_path: Path) -> None:
    behave = [["ok"], ["404"], ["500"], ["422"], ["terminal"], ["404", "ok"]]
    write_dataset(tmp_path, [row(str(task), behave=one) for task, one in enumerate(behave)])
    first = collect(tmp_path, running, "-i", "data.jsonl", "--max-attempts", "2")
    told = object_of(first)
    assert (told["finished"], told["failed"], told["failed_to_be_asked_again"]) == (1, 5, 2)
    asked = Counter(running.asked)
    assert asked == {"0:0:0": 1, "1:0:0": 1, "2:0:0": 1, "2:0:1": 1, "3:0:0": 1, "4:0:0": 1, "5:0:0": 1}
    second = collect(tmp_path, running, "--resume", "--max-attempts", "2")
    assert Counter(running.asked) - asked == {"1:0:1": 1, "5:0:1": 1}
    told = object_of(second)
    assert (told["finished"], told["finished_now"], told["failed"]) == (2, 1, 4)
    assert told["failed_to_be_asked_again"] == 0
    assert told["failure_classes"] == {"agent_run_error": 2, "bad_request": 1, "timeout_exceeded": 1}
    third = collect(tmp_path, running, "--resume", "--max-attempts", "2")
    assert (object_of(third)["finished_now"], third.exit_code) == (0, 0)
    assert len(running.asked) == 9
    fourth = collect(tmp_path, running, "--resume", "--max-attempts", "3")
    assert running.asked[9:] == ["1:0:2", "2:0:2"]
    assert object_of(fourth)["failed"] == 4


def test_resume_takes_the_dataset_only_if_it_fits(running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 2)
    assert collect(tmp_path, running, "-i", "data.jsonl", "-n", "2").exit_code == 0
    before = contents_of(tmp_path)
    assert collect(tmp_path, running, "-i", "data.jsonl", "-n", "2", "--resume").exit_code == 0
    plain = ["collect", *OUT, "--agent-url", running.url, "--resume"]
    assert_refused(run([*plain, "-i", "data.jsonl", "-n", "3"], tmp_path), 2, "rollouts planned: 6 now, 4 then")
    done = run([*plain, "-i", "data.jsonl", "-n", "2", "--temperature", "0.5"], tmp_path)
    assert_refused(done, 2, "responses_create_params.temperature was not there and is 0.5 now")
    assert_refused(run([*plain, "-n", "2"], tmp_path), 2, "options of the plan go with --input: --num-repeats")
    assert contents_of(tmp_path) | {"agent/asked.txt": b""} == before | {"agent/asked.txt": b""}


def test_resume_goes_by_materialized_inputs_that_have_grown(running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 2)
    assert collect(tmp_path, running, "-i", "data.jsonl").exit_code == 0
    inputs = tmp_path / "out_materialized_inputs.jsonl"
    more = [line | {"_ng_rollout_index": 1} for line in inputs_of(tmp_path)]
    inputs.write_bytes(inputs.read_bytes() + "".join(json.dumps(line) + "\n" for line in more).encode())
    assert collect(tmp_path, running, "--resume").exit_code == 0
    assert running.asked == ["0:0:0", "1:0:0", "0:1:0", "1:1:0"]
    assert sorted(keys(rollouts_of(tmp_path))) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_resume_with_nothing_there_begins(running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 2)
    done = collect(tmp_path, running, "-i", "data.jsonl", "--resume")
    assert (done.exit_code, len(rollouts_of(tmp_path))) == (0, 2)
    assert "nothing to resume yet: the collection begins" in done.stderr


def test_rollouts_without_their_plan_are_not_resumed(running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 2)
    assert collect(tmp_path, running, "-i", "data.jsonl").exit_code == 0
    (tmp_path / "out_materialized_inputs.jsonl").unlink()
    done = run(["collect", *OUT, "-i", "data.jsonl", "--agent-url", running.url, "--resume"], tmp_path)
    assert_refused(done, 3, "out.jsonl: has lines already, but what was planned is not there")


def test_a_torn_line_is_cut_off_said_and_asked_again(running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 4)
    assert collect(tmp_path, running, "-i", "data.jsonl", "--concurrency", "1").exit_code == 0
    path = tmp_path / "out.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    done = collect(tmp_path, running, "--resume")
    assert "out.jsonl: a torn last line of" in done.stderr
    assert sorted(keys(rollouts_of(tmp_path))) == [(task, 0) for task in range(4)]
    assert running.asked[4:] == ["3:0:0"]


def test_a_damaged_line_in_the_middle_is_refused(running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 2)
    assert collect(tmp_path, running, "-i", "data.jsonl").exit_code == 0
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"{broken\n" + path.read_bytes())
    done = run(["collect", *OUT, "--agent-url", running.url, "--resume"], tmp_path)
    assert_refused(done, 3, "out.jsonl:1 is not JSON")


def interrupted(folder: Path, running: Agent, number: int) -> tuple[Process, Finished]:
    """A collection that is interrupted with half of its rollouts finished and the others on their way."""
    write_dataset(folder, [row(str(task), behave=["ok" if task < 4 else "hang"]) for task in range(8)])
    process = start(arguments(running, "-i", "data.jsonl"), folder)
    wait_for(lambda: len(running.asked) == 8 and len(rollouts_of(folder)) == 4)
    os.killpg(process.pid, number)
    return process, end_of(process, timeout=5)


@pytest.mark.parametrize(
    ("number", "exit_code", "word"), [(signal.SIGINT, 130, "Interrupted"), (signal.SIGTERM, 143, "Terminated")]
)
def test_an_interrupt_leaves_what_finished(
    number: int, exit_code: int, word: str, running: Agent, tmp_path: Path
) -> None:
    _, done = interrupted(tmp_path, running, number)
    assert done.exit_code == exit_code, done.stderr
    assert "Traceback" not in done.stderr
    assert f"{word}; what finished is in out.jsonl; go on with: " in done.stderr
    assert done.stderr.rstrip().endswith("--resume.")
    assert done.stdout == ""
    assert sorted(keys(rollouts_of(tmp_path))) == [(task, 0) for task in range(4)]
    assert failures_of(tmp_path) == []


def test_two_collectors_on_one_output(running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 2, "hang")
    process = start(arguments(running, "-i", "data.jsonl"), tmp_path)
    wait_for(lambda: len(running.asked) == 2)
    done = run(["collect", *OUT, "--agent-url", running.url, "--resume"], tmp_path)
    assert_refused(done, 3, "out.jsonl: is being collected or topped up")
    process.kill()
    end_of(process)
    many(tmp_path, 2)
    assert len(running.asked) == 2


def test_an_agent_that_is_gone_and_comes_back_costs_no_attempt(running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 60, "slow")
    process = start(arguments(running, "-i", "data.jsonl", "--concurrency", "4", "--patience", "30"), tmp_path)
    wait_for(lambda: len(rollouts_of(tmp_path)) >= 5)
    running.end()
    wait_for(lambda: True)
    with agent(tmp_path / "agent", running.port):
        done = end_of(process)
    assert done.exit_code == 0, done.stderr
    assert failures_of(tmp_path) == []
    assert sorted(keys(rollouts_of(tmp_path))) == [(task, 0) for task in range(60)]


def test_an_agent_that_stays_away_ends_the_run(running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 60, "slow")
    args = ["--agent-url", running.url, "-i", "data.jsonl", "--concurrency", "4", "--patience", "1"]
    process = start(["collect", *OUT, *args], tmp_path)
    wait_for(lambda: len(rollouts_of(tmp_path)) >= 5)
    running.end()
    done = end_of(process, timeout=15)
    assert_refused(done, 3, "has been out of reach for 1 s", "go on with", "--resume")
    assert failures_of(tmp_path) == []
    assert 5 <= len(rollouts_of(tmp_path)) < 60


def test_agents_are_found_by_the_head(running: Agent, tmp_path: Path) -> None:
    write_dataset(tmp_path, [row("x", agent="a"), row("y", agent="b")])
    args = ["collect", *OUT, "-i", "data.jsonl", "--head-server", running.url]
    assert run(args, tmp_path).exit_code == 0
    assert [
        one["agent_ref"]["name"] for one in sorted(rollouts_of(tmp_path), key=lambda one: one["_ng_task_index"])
    ] == ["a", "b"]


def test_unknown_agents_are_all_named_and_nothing_is_left(running: Agent, tmp_path: Path) -> None:
    write_dataset(tmp_path, [row("x", agent="a"), row("y", agent="aa"), row("z", agent="policy_model")])
    done = run(["collect", *OUT, "-i", "data.jsonl", "--head-server", running.url], tmp_path)
    assert_refused(done, 2, "no agent is called aa, policy_model", "There are a, b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent", "data.jsonl"]


@pytest.mark.parametrize("option", ["--head-server", "--agent-url"])
def test_nobody_there(option: str, tmp_path: Path) -> None:
    write_dataset(tmp_path, [row()])
    done = run(["collect", *OUT, "-i", "data.jsonl", option, "http://127.0.0.1:9"], tmp_path)
    assert_refused(done, 3, "http://127.0.0.1:9")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.jsonl"]


USAGE = {
    "more connections than files": ["--concurrency", "999999999"],
    "more repeats than can be meant": ["-n", "999999999999"],
    "no host": ["--agent-url", "http://a..b:1"],
    "a query": ["--agent-url", "http://h/?x=1"],
    "no head": ["--head-server", "http://h:99999999"],
}


@pytest.mark.parametrize("args", USAGE.values(), ids=USAGE)
def test_usage_is_checked_before_any_file(args: list[str], tmp_path: Path) -> None:
    many(tmp_path, 1)
    served = [] if "server" in args[0] or "url" in args[0] else ["--agent-url", "http://127.0.0.1:9"]
    before = contents_of(tmp_path)
    done = run(["collect", "-o", "new/out.jsonl", "-i", "data.jsonl", *served, *args], tmp_path)
    assert_refused(done, 2)
    assert contents_of(tmp_path) == before
    assert not (tmp_path / "new").exists()


def test_a_full_disk_while_inputs_are_written_leaves_nothing(running: Agent, tmp_path: Path) -> None:
    many(tmp_path, 100)
    before = contents_of(tmp_path)
    limited = ("bash", "-c", 'ulimit -f 20; exec "$@"', "-", sys.executable, "-m", "rollprof")
    done = run(arguments(running, "-i", "data.jsonl", "-n", "20"), tmp_path, program=limited)
    assert done.exit_code == 3, done.stderr
    assert "out_materialized_inputs.jsonl: cannot be written: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert contents_of(tmp_path) == before
    assert running.asked == []
