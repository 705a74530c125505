"""`rollprof collect`, which is `rollprof eval run`: with an environment of its own, and how it is asked."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.cli.processes import children_of, end_of, has_ended, run, start, wait_for
from tests.cli.run_files import assert_refused, contents_of, object_of
from tests.cli.terminal import on_terminal
from tests.collect.datasets import inputs_of, rollouts_of, row, write_dataset
from tests.collect.scripted_agent import agent
from tests.command import run_command

NUMERIC = ["--environment", "numeric_answer", "-a", "numeric_answer_agent"]
PEER = "responses_create_params"


def dataset(folder: Path, number: int = 3) -> list[str]:
    write_dataset(folder, [row(f"{one} + 1?", agent=None, expected_answer=str(one + 1)) for one in range(number)])
    return ["-i", "data.jsonl", "-o", "out.jsonl", *NUMERIC]


@pytest.mark.parametrize("command", [["collect"], ["eval", "run"]], ids=" ".join)
def test_an_environment_of_its_own(command: list[str], tmp_path: Path) -> None:
    done = run([*command, *dataset(tmp_path), "-n", "4", "--json"], tmp_path)
    assert done.exit_code == 0, done.stderr
    told = object_of(done)
    assert (told["planned"], told["finished"], told["failed"]) == (12, 12, 0)
    assert told["outputs"] == ["out.jsonl", "out_materialized_inputs.jsonl"]
    assert told["next"].endswith(" profile out.jsonl")
    assert told["reward_mean_now"] == sum(one["reward"] for one in rollouts_of(tmp_path)) / 12
    profiled = run(["profile", "out.jsonl", "--json"], tmp_path)
    assert object_of(profiled)["completion"]["completed_rollout_rows"] == 12


def test_the_summary_for_people(tmp_path: Path) -> None:
    done = run(["collect", *dataset(tmp_path)], tmp_path)
    assert done.stdout.startswith("Rollouts  3 of 3 finished (100.00 %)\nFailed    0\nReward    ")
    assert "\nWritten\n  out.jsonl\n  out_materialized_inputs.jsonl\n\nNext: profile them\n" in done.stdout
    assert done.stderr == "asking demo by numeric_answer_agent\n"


def test_quiet_says_nothing(tmp_path: Path) -> None:
    done = run(["collect", *dataset(tmp_path), "--quiet"], tmp_path)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")


def test_a_seed_gives_the_same_rollouts(tmp_path: Path) -> None:
    found = []
    for name in ("first", "second", "third"):
        folder = tmp_path / name
        folder.mkdir()
        args = [*dataset(folder), "-n", "8", "--seed", "5" if name == "third" else "4"]
        assert run(["collect", *args, "--concurrency", "3" if name == "first" else "7"], folder).exit_code == 0
        found.append(sorted(map(str, rollouts_of(folder))))
    assert found[0] == found[1]
    assert found[0] != found[2]


@pytest.mark.parametrize(
    ("args", "exit_code", "words"),
    [
        (["--environment", "nonsense"], 2, ["there is no environment 'nonsense'"]),
        ([], 2, ["there is nothing to serve"]),
        (["--config", "absent.yaml"], 3, ["absent.yaml"]),
        (
            [*NUMERIC[:2], "--model", "m", "--model-url", "http://127.0.0.1:9/v1", "--model-api-key-env", "NONE"],
            2,
            ["NONE"],
        ),
        ([*NUMERIC[:2], "--demo-faults", "nonsense=1"], 2, ["nonsense"]),
    ],
)
def test_why_the_environment_does_not_start_is_said(
    args: list[str], exit_code: int, words: list[str], tmp_path: Path
) -> None:
    write_dataset(tmp_path, [row()])
    before = contents_of(tmp_path)
    done = run(["collect", "-i", "data.jsonl", "-o", "out.jsonl", *args], tmp_path)
    assert_refused(done, exit_code, *words)
    assert contents_of(tmp_path) == before


def test_what_is_wrong_with_the_environment_is_said_before_what_is_wrong_with_rows(tmp_path: Path) -> None:
    write_dataset(tmp_path, [row(agent=None)])
    done = run(["collect", "-i", "data.jsonl", "-o", "out.jsonl", "--config", "nope.yaml"], tmp_path)
    assert_refused(done, 3, "nope.yaml: cannot be read")


def test_the_only_agent_that_is_served_takes_rows_that_name_none(tmp_path: Path) -> None:
    args = [word for word in dataset(tmp_path) if word not in NUMERIC[2:]]
    done = run(["collect", *args], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "rows that name no agent are for numeric_answer_agent, the only one served\n" in done.stderr
    assert {one["agent_ref"]["name"] for one in inputs_of(tmp_path)} == {"numeric_answer_agent"}
    again = run(["collect", *args, "--resume"], tmp_path)
    assert again.exit_code == 0, again.stderr


def test_of_several_agents_none_is_taken_for_rows_that_name_none(tmp_path: Path) -> None:
    agents = {name: {"environment": "numeric_answer"} for name in ("a", "b")}
    (tmp_path / "env.yaml").write_text(json.dumps({"agents": agents}))
    write_dataset(tmp_path, [row(agent=None)])
    done = run(["collect", "-i", "data.jsonl", "-o", "out.jsonl", "--config", "env.yaml"], tmp_path)
    assert_refused(done, 3, "names no agent (--agent NAME is for such rows)")


def test_an_agent_that_the_environment_has_not(tmp_path: Path) -> None:
    write_dataset(tmp_path, [row(agent="numeric_agent")])
    before = contents_of(tmp_path)
    done = run(["collect", "-i", "data.jsonl", "-o", "out.jsonl", *NUMERIC[:2]], tmp_path)
    assert_refused(done, 2, "no agent is called numeric_agent", "Did you mean numeric_answer_agent?")
    assert contents_of(tmp_path) == before


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["-o", "out.jsonl"], ["nothing to collect", "--input"]),
        (["-i", "data.jsonl"], ["where do the rollouts go?", "--output"]),
        (["-i", "data.jsonl", "-o", "out.json"], ["out.json is no name for rollouts"]),
        (["-i", "data.jsonl", "-o", "out_failures.jsonl"], ["is no name for rollouts"]),
        (["-i", "data.jsonl", "-o", "out.jsonl", "-n", "0"], ["--num-repeats"]),
        (
            ["-i", "data.jsonl", "-o", "out.jsonl", "--agent-url", "x", "--head-server", "http://h"],
            ["exclude each other"],
        ),
        (["-i", "data.jsonl", "-o", "out.jsonl", "--agent-url", "nonsense"], ["--agent-url is no http address"]),
        (["-i", "data.jsonl", "-o", "out.jsonl", "--no-serve", "--model", "m"], ["--model is for an environment"]),
        (["-i", "data.jsonl", "-o", "out.jsonl", "--temperature", "nan"], ["temperature"]),
        (["-i", "data.jsonl", "-o", "out.jsonl", "--timeout", "inf"], ["timeout"]),
        (["-i", "data.jsonl", "-o", "out.jsonl", "--concurrency", "0"], ["--concurrency"]),
    ],
    ids=lambda value: " ".join(value[-2:]),
)
def test_what_does_not_fit_together(args: list[str], words: list[str], tmp_path: Path) -> None:
    write_dataset(tmp_path, [row()])
    done = run_command(["collect", *args], tmp_path)
    assert_refused(done, 2, *words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.jsonl"]


def test_a_dataset_that_is_not_there(tmp_path: Path) -> None:
    done = run_command(["collect", "-i", "absent.jsonl", "-o", "new/out.jsonl", *NUMERIC], tmp_path)
    assert_refused(done, 3, "absent.jsonl: no such file", "Name a dataset")


def test_keys_of_the_peer(tmp_path: Path) -> None:
    write_dataset(tmp_path, [row("x"), row("y", agent="b"), row("z", agent=None)])
    with agent(tmp_path) as one:
        keys = {
            "input_jsonl_fpath": "data.jsonl",
            "output_jsonl_fpath": "out.jsonl",
            "agent_name": "a",
            "num_repeats": "{a:2,b:1}",
            "num_repeats_add_seed": "true",
            "num_samples_in_parallel": "3",
            f"{PEER}.temperature": "0.5",
            f"{PEER}.max_output_tokens": "100",
        }
        args = [f"+{key}={value}" for key, value in keys.items()]
        done = run(["eval", "run", "--no-serve", "--head-server", one.url, *args], tmp_path)
        assert done.exit_code == 0, done.stderr
        again = run(["eval", "run", "--head-server", one.url, *args, "++resume_from_cache=True"], tmp_path)
        assert again.exit_code == 0, again.stderr
    found = inputs_of(tmp_path)
    assert [one["agent_ref"]["name"] for one in found] == ["a", "a", "b", "a", "a"]
    params = [one[PEER] for one in found]
    assert {(one["temperature"], one["max_output_tokens"]) for one in params} == {(0.5, 100)}
    assert [one["metadata"]["extra_body"] for one in params[:2]] == ['{"seed": 0}', '{"seed": 1}']


def test_a_key_that_the_peer_has_and_this_has_not(tmp_path: Path) -> None:
    done = run_command(["eval", "run", "+upload_rollouts_to_wandb=true"], tmp_path)
    assert_refused(done, 2, "+upload_rollouts_to_wandb=true is not known", "+num_samples_in_parallel=…")


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["it", "its group"])
def test_its_environment_ends_with_it(number: int, exit_code: int, send: object, tmp_path: Path) -> None:
    process = start(["collect", *dataset(tmp_path), "-n", "400", "--demo-delay", "20"], tmp_path)
    wait_for(lambda: len(rollouts_of(tmp_path, torn=True)) > 20)
    (server,) = children_of(process)
    assert callable(send)
    send(process.pid, number)
    done = end_of(process, timeout=10)
    assert done.exit_code == exit_code, done.stderr
    assert "Traceback" not in done.stderr
    wait_for(lambda: has_ended(server), timeout=10)
    if number != signal.SIGKILL:
        assert "what finished is in out.jsonl; go on with: " in done.stderr


def test_an_environment_that_dies_ends_the_run_at_once(tmp_path: Path) -> None:
    process = start(["collect", *dataset(tmp_path), "-n", "400", "--demo-delay", "20"], tmp_path)
    wait_for(lambda: len(rollouts_of(tmp_path, torn=True)) > 20)
    os.kill(children_of(process)[0], signal.SIGKILL)
    done = end_of(process, timeout=10)
    assert_refused(done, 3, "the agent was killed by signal 9", "--resume")
    assert not (tmp_path / "out_failures.jsonl").exists()


def test_a_folder_of_other_packages_is_a_place_to_work_in(tmp_path: Path) -> None:
    for name in ("pipeline", "queries", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('another module was imported')\n")
    command = Path(sys.executable).with_name("rollprof")
    if not command.exists():
        pytest.skip("the command is not installed beside Python")
    done = end_of(start(["collect", *dataset(tmp_path)], tmp_path, program=(str(command),)))
    assert done.exit_code == 0, done.stderr


def test_a_bar_on_a_terminal(tmp_path: Path) -> None:
    args = ["collect", *dataset(tmp_path), "-n", "60", "--demo-delay", "400", "--demo-faults", "empty=always:0.2"]
    done = on_terminal([*args, "--max-attempts", "1"], tmp_path, columns=100)
    assert done.exit_code == 0, done.stdout
    before, bar, after = done.stdout.partition("collecting")
    assert before.startswith("asking demo by numeric_answer_agent")
    assert bar
    for part in ("/180", "/s reward 0.", " failed "):
        assert part in after
    assert "Rollouts  180 of 180 finished" in after


def test_a_bar_is_gone_after_an_interrupt(tmp_path: Path) -> None:
    args = ["collect", *dataset(tmp_path), "-n", "600", "--demo-delay", "200"]
    done = on_terminal(args, tmp_path, at_bar=lambda process: os.kill(process.pid, signal.SIGINT), bar="collecting")
    assert done.exit_code == 130
    assert "\x1b[?25h" in done.stdout
    assert "Interrupted; what finished is in out.jsonl" in done.stdout


def test_what_the_environment_warns_of_is_said(tmp_path: Path) -> None:
    (tmp_path / "grader.py").write_text("class Grader:\n    def verify(self, row, response):\n        return 1 / 0\n")
    write_dataset(tmp_path, [row(agent=None)])
    args = ["-i", "data.jsonl", "-o", "out.jsonl", "--environment", "grader:Grader", "-a", "Grader_agent"]
    done = run(["collect", *args, "--max-attempts", "1"], tmp_path)
    assert done.exit_code == 3
    assert "verifier_error 1" in done.stdout
    assert "ZeroDivisionError" in done.stderr + (tmp_path / "out_failures.jsonl").read_text()
    assert "not one rollout finished" in done.stderr
