"""`rollprof show` of a rollout that did not finish: its failed attempts, or that it is not of this run."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_files import assert_refused, rollout, write_run
from tests.command import Finished, run_command
from tests.runs import Row, jsonl, planned


def failed(task: int, index: int, kind: str | None, message: str | None = None, **about: Any) -> Row:
    named = {"_ng_failure_class": kind, "_ng_failure_message": message}
    return {"_ng_task_index": task, "_ng_rollout_index": index, **named, **about}


FAILED = [
    failed(0, 1, "verifier_error", "KeyError", _ng_failure_http_status=500),
    failed(0, 0, "of another"),
    failed(0, 1, "bad_request", "\x1b[31mno", _ng_failure_terminal=True),
    failed(7, 0, None),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_run(tmp_path, plan=[planned(0, 0), planned(0, 1), planned(2, 0)], done=[rollout(0, 0)])
    (tmp_path / "run_failures.jsonl").write_bytes(jsonl(FAILED))
    return tmp_path


def show(folder: Path, *words: str) -> Finished:
    return run_command(["show", "run.jsonl", *words], folder)


def test_its_attempts_are_shown(folder: Path) -> None:
    done = show(folder, "0:1")
    assert (done.exit_code, done.stdout.split("\n")) == (
        0,
        [
            "rollout 0:1 · not finished · 2 failed attempts · planned at run_materialized_inputs.jsonl:2",
            "",
            "verifier_error · status 500 · run_failures.jsonl:1",
            "KeyError",
            "",
            "bad_request · final · run_failures.jsonl:3",
            "\\u001b[31mno",
            "",
        ],
    )


def test_as_they_stand_and_as_an_object(folder: Path) -> None:
    assert show(folder, "0:1", "--raw").stdout.encode() == jsonl([FAILED[0], FAILED[2]])
    told = json.loads(show(folder, "0:1", "--json").stdout)
    assert told.pop("failed_attempts") == [FAILED[0], FAILED[2]]
    assert told == {
        "_ng_task_index": 0,
        "_ng_rollout_index": 1,
        "finished": False,
        "planned_at": "run_materialized_inputs.jsonl:2",
    }


def test_one_that_was_only_planned_and_one_that_was_only_tried(folder: Path) -> None:
    assert show(folder, "2:0").stdout == (
        "rollout 2:0 · not finished · no attempt has left a line · planned at run_materialized_inputs.jsonl:3\n"
    )
    assert show(folder, "7:0").stdout.startswith("rollout 7:0 · not finished · 1 failed attempt\n\nunnamed · ")


@pytest.mark.parametrize("words", [("0:5",), ("0:1", "--field", "reward"), ("9:0",), ("99999999999999999999:0",)])
def test_one_that_is_not_of_this_run(words: tuple[str, ...], folder: Path) -> None:
    done = show(folder, *words)
    task, _, _ = words[0].partition(":")
    assert_refused(done, 2, f"no rollout {words[0]} in this run" if task == "0" else f"no task {task} in this run")


def test_a_task_of_which_nothing_finished(folder: Path) -> None:
    done = show(folder, "2")
    assert (done.exit_code, done.stdout.split("\n")) == (
        0,
        [
            "task 2 is planned at run_materialized_inputs.jsonl:3, and none of its rollouts finished",
            "",
            "rollout 2:0 · not finished · no attempt has left a line · planned at run_materialized_inputs.jsonl:3",
            "",
        ],
    )
    (told,) = json.loads(show(folder, "2", "--json").stdout)
    assert (told["finished"], told["planned_at"]) == (False, "run_materialized_inputs.jsonl:3")
    assert json.loads(show(folder, "2", "-f", "jsonl").stdout) == told
    assert show(folder, "7").stdout.startswith("task 7 was tried, and none of its rollouts finished\n\nrollout 7:0 · ")


@pytest.mark.parametrize("words", [("2", "--where", "true"), ("--contrast", "2"), ("2", "-f", "csv")], ids=" ".join)
def test_a_list_that_a_task_of_which_nothing_finished_has_not(words: tuple[str, ...], folder: Path) -> None:
    assert_refused(show(folder, *words), 2, "task 2 is planned at run_materialized_inputs.jsonl:3, and none of")


def test_a_task_that_is_not_of_this_run(folder: Path) -> None:
    assert_refused(show(folder, "9"), 2, "no task 9 in this run")
    assert_refused(show(folder, "99999999999999999999"), 2, "no task 99999999999999999999 in this run")
