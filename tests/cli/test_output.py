"""What is written and printed: valid files, results on standard output, narration on standard error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes import end_of, environment, run, start
from tests.cli.run_files import (
    FAILURES,
    INPUTS,
    KEYS,
    OUTPUTS,
    agents_of,
    assert_refused,
    object_of,
    outputs_of,
    rollout,
    rollouts,
    tasks_of,
    write_run,
)
from tests.command import run_command
from tests.runs import jsonl, planned
from tests.slow_profile import not_json, read_json

LONG_NAME = "an agent with a name that no terminal is wide enough for, " * 8 + "größe 大 №1"
ODD = b'"n":NaN,"i":-Infinity,"big":1e400,"s":"NaN \\ud83d\\ude00\\u2028","\xc3\xa9":"\xe5\xa4\xa7\xf0\x9f\x98\x80"'


def write_odd_run(folder: Path) -> None:
    """Text beyond ASCII, numbers that are none in JSON, CRLF, a byte order mark."""
    line = b'{"_ng_task_index":0,"_ng_rollout_index":0,"agent_ref":{"name":"%s"},%s}\r\n' % (LONG_NAME.encode(), ODD)
    (folder / f"run{INPUTS}").write_bytes(b"\xef\xbb\xbf" + line)
    (folder / "run.jsonl").write_bytes(
        b"\xef\xbb\xbf" + line.replace(b'"n"', b'"gr\xc3\xb6\xc3\x9fe":2,"reward":1,"n"')
    )


def test_files_are_valid_json_in_utf_8_with_line_feeds(tmp_path: Path) -> None:
    write_odd_run(tmp_path)
    done = run_command(["profile", "run.jsonl"], tmp_path)
    assert done.exit_code == 0, done.stderr
    tasks, agents, repeats = (content.decode("utf-8") for content in outputs_of(tmp_path))
    assert tasks.endswith("\n")
    assert "\r" not in tasks + agents + repeats
    (row,) = tasks_of(tmp_path)
    assert row["mean/größe"] == 2
    assert (row["sample"]["n"], row["sample"]["i"], row["sample"]["s"]) == (None, None, "NaN 😀\u2028")
    assert '"é":"大😀"' in tasks
    (entry,) = read_json(agents, constant=not_json)
    assert entry["agent_ref"] == {"name": LONG_NAME}
    assert read_json(repeats, constant=not_json) == []


def test_of_nothing_finished(tmp_path: Path) -> None:
    write_run(tmp_path, done=b"")
    done = run_command(["profile", "run.jsonl", "--partial"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert outputs_of(tmp_path) == [b"", b"[]", b"[]"]
    assert "no rollout finished" in done.stderr


def test_results_and_narration_do_not_mix(tmp_path: Path) -> None:
    write_run(tmp_path, done=[*rollouts(KEYS[:3]), rollout(1, 1, reward="x")])
    done = run_command(["profile", "."], tmp_path)
    assert done.stderr.splitlines()[:2] == ["rollouts: run.jsonl", f"inputs: run{INPUTS}"]
    assert all(line.startswith("warning: ") for line in done.stderr.splitlines()[2:])
    assert "4 of 4 finished" in done.stdout
    assert not {"warning", "inputs:", "rollouts:"} & set(done.stdout.split())


def test_nothing_is_cut_in_a_pipe(tmp_path: Path) -> None:
    write_odd_run(tmp_path)
    done = run(["profile", "run.jsonl"], tmp_path, env=environment(COLUMNS="10", TERM="xterm-256color"))
    assert f"\n{LONG_NAME}: 1 rollout of 1 task\n" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("stem", ['it\'s a "run"', "-r"])
def test_the_next_command_works(stem: str, tmp_path: Path) -> None:
    write_run(tmp_path, stem, plan=[planned(*key, extra=[1, {"a": key[1]}]) for key in KEYS])
    done = run_command(["profile", f"./{stem}.jsonl"], tmp_path)
    printed = done.stdout.splitlines()[-1]
    shown = subprocess.run(["/bin/sh", "-c", f"{printed} -q"], cwd=tmp_path, capture_output=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert b"mean_reward" in shown.stdout


@pytest.mark.parametrize(("unbuffered", "form"), [("", ["--json"]), ("1", [])], ids=["json", "unbuffered text"])
def test_a_reader_that_has_seen_enough(unbuffered: str, form: list[str], tmp_path: Path) -> None:
    write_run(tmp_path)
    readable, writable = os.pipe()
    env = environment(PYTHONUNBUFFERED=unbuffered)
    process = start(["profile", "run.jsonl", *form], tmp_path, env=env, stdout=writable)
    os.close(writable)
    os.close(readable)
    done = end_of(process)
    assert (done.exit_code, done.stderr) == (0, f"inputs: run{INPUTS}\n")
    assert len(tasks_of(tmp_path)) == 2


def test_head_takes_the_first_line(tmp_path: Path) -> None:
    keys = [(task, 0) for task in range(40)]
    write_run(tmp_path, plan=[planned(*key) for key in keys], done=rollouts(keys))
    command = f"'{sys.executable}' -m rollprof profile run.jsonl | head -1"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, env=environment(), capture_output=True, check=False)
    assert done.stdout == b"Rollouts  40 of 40 finished (100.00 %)\n"
    assert done.stderr == f"inputs: run{INPUTS}\n".encode()


def test_standard_input_may_be_closed(tmp_path: Path) -> None:
    keys = [(task, 0) for task in range(200)]
    write_run(tmp_path, plan=[planned(*key) for key in keys], done=rollouts(keys, text="x" * 50_000))
    done = end_of(start(["profile", "run.jsonl", "--jobs", "2"], tmp_path, preexec_fn=lambda: os.close(0), stdin=None))
    assert done.exit_code == 0, done.stderr
    assert len(tasks_of(tmp_path)) == 200


def test_older_outputs_are_replaced_through_links(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    write_run(tmp_path)
    (tmp_path / f"run{OUTPUTS[1]}").symlink_to("kept/agents.json")
    assert run_command(["profile", "run.jsonl"], tmp_path).exit_code == 0
    assert (tmp_path / f"run{OUTPUTS[1]}").is_symlink()
    assert (tmp_path / "kept" / "agents.json").read_bytes().startswith(b'[{"mean/reward"')


@pytest.mark.parametrize("given", [f"x{OUTPUTS[1]}", "link.jsonl"])
def test_inputs_are_not_overwritten(given: str, tmp_path: Path) -> None:
    write_run(tmp_path)
    inputs = (tmp_path / f"run{INPUTS}").rename(tmp_path / f"x{OUTPUTS[1]}")
    (tmp_path / "link.jsonl").symlink_to(inputs.name)
    before = inputs.read_bytes()
    done = run_command(["profile", "-r", "run.jsonl", "-i", given, "-o", "x"], tmp_path)
    assert_refused(done, 2, f"x{OUTPUTS[1]}: would overwrite what it is made from")
    assert inputs.read_bytes() == before


def test_what_a_run_calls_things_moves_no_cursor(tmp_path: Path) -> None:
    nasty = "\x1b[31m red\nRollouts  9 of 9 finished"
    write_run(
        tmp_path,
        plan=[planned(*key, f"agent {nasty}") for key in KEYS],
        done=rollouts(KEYS[:2]),
    )
    failed = {"_ng_task_index": 1, "_ng_rollout_index": 0, "_ng_failure_class": f"class {nasty}"}
    (tmp_path / f"run{FAILURES}").write_bytes(jsonl([failed]))
    done = run_command(["profile", "run.jsonl", "--partial"], tmp_path)
    shown = "\\u001b[31m red\\nRollouts"
    assert f"agent {shown}" in done.stdout
    assert f"class {shown}" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_rollouts_of_another_agent_than_planned_are_told(tmp_path: Path) -> None:
    agents = ("planned", "another")
    done = [rollout(*key, agent_ref={"name": agents[key == (1, 0)]}) for key in KEYS]
    write_run(tmp_path, plan=[planned(*key, "planned") for key in KEYS], done=done)
    told = run_command(["profile", "run.jsonl", "--json"], tmp_path)
    (warning,) = object_of(told)["warnings"]
    assert (warning["code"], warning["count"], warning["places"]) == ("other_agent", 1, ["run.jsonl:3"])
    assert [agent["agent_ref"]["name"] for agent in agents_of(tmp_path)] == ["planned"]
