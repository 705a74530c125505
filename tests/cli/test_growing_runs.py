"""A run that is still being written: what was whole at the start is profiled, the rest is told."""

from pathlib import Path

import pytest

from tests.cli.moments import release, start_and_hold
from tests.cli.processes import end_of
from tests.cli.run_files import KEYS, assert_refused, object_of, rollout, rollouts, tasks_of, write_run
from tests.command import run_command
from tests.runs import jsonl

WHOLE = jsonl(rollouts(KEYS[:3]))


@pytest.mark.parametrize("torn", [b'{"_ng_task_index":1', b"\x00\xff"], ids=repr)
def test_an_unterminated_last_line_is_held_back(torn: bytes, tmp_path: Path) -> None:
    write_run(tmp_path, done=WHOLE + torn)
    done = run_command(["profile", "run.jsonl", "--partial", "--json"], tmp_path)
    assert done.exit_code == 0, done.stderr
    told = object_of(done)
    assert told["completion"]["completed_rollout_rows"] == 3
    assert [(note["count"], note["places"]) for note in told["warnings"] if note["code"] == "torn"] == [
        (1, ["run.jsonl:4"])
    ]
    assert "warning: 1 line is cut off" in done.stderr
    assert "(first: run.jsonl:4)" in done.stderr


def test_a_whole_last_line_needs_no_end(tmp_path: Path) -> None:
    write_run(tmp_path, done=jsonl(rollouts())[:-1])
    assert run_command(["profile", "run.jsonl"], tmp_path).exit_code == 0
    assert [row["num_rollouts"] for row in tasks_of(tmp_path)] == [2, 2]


def test_it_is_refused_where_the_run_must_be_whole(tmp_path: Path) -> None:
    write_run(tmp_path, done=WHOLE + b"{")
    done = run_command(["profile", "run.jsonl"], tmp_path)
    assert_refused(done, 3, "1 line is cut off", "run.jsonl:4", "--partial")


def test_a_malformed_line_before_it_is_refused_all_the_same(tmp_path: Path) -> None:
    write_run(tmp_path, done=b"nonsense\n" + WHOLE + b"{")
    done = run_command(["profile", "run.jsonl", "--partial"], tmp_path)
    assert_refused(done, 3, "1 line cannot be used", "run.jsonl:1", "--on-bad-line skip")


def test_each_file_may_end_in_one(tmp_path: Path) -> None:
    for stem, keys in (("a", KEYS[:1]), ("b", KEYS[2:])):
        write_run(tmp_path, stem, done=jsonl(rollouts(keys)) + b"{")
    done = run_command(["profile", "?.jsonl", "-o", "x", "--partial", "--json"], tmp_path)
    (torn,) = [note for note in object_of(done)["warnings"] if note["code"] == "torn"]
    assert (torn["count"], torn["places"]) == (2, ["a.jsonl:2", "b.jsonl:3"])


def test_what_is_written_later_is_not_read(tmp_path: Path) -> None:
    path = write_run(tmp_path, done=WHOLE)
    process, pipe = start_and_hold(tmp_path, "--partial", "--json")
    with path.open("ab") as file:
        file.write(jsonl([rollout(1, 1)]) + b"nonsense\n{")
    release(pipe, tmp_path)
    done = end_of(process)
    assert done.exit_code == 0, done.stderr
    told = object_of(done)
    assert told["completion"]["completed_rollout_rows"] == 3
    assert {note["code"] for note in told["warnings"]} <= {"uneven_repeats"}


def test_a_line_that_is_completed_later_is_held_back(tmp_path: Path) -> None:
    line = jsonl([rollout(1, 1)])
    path = write_run(tmp_path, done=WHOLE + line[:20])
    process, pipe = start_and_hold(tmp_path, "--partial", "--json")
    with path.open("ab") as file:
        file.write(line[20:])
    release(pipe, tmp_path)
    told = object_of(end_of(process))
    assert told["completion"]["completed_rollout_rows"] == 3
    assert "torn" in {note["code"] for note in told["warnings"]}
