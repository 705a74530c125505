"""Arguments as they are written for `gym eval profile`."""

from pathlib import Path

import pytest

from tests.cli.run_files import INPUTS, KEYS, OUTPUTS, assert_refused, object_of, rollouts, tasks_of, write_run
from tests.command import run_command

PARTIAL = "++allow_partial_rollouts=True"


@pytest.mark.parametrize("command", [["profile"], ["eval", "profile"]], ids=" ".join)
def test_keys_of_the_peer(command: list[str], tmp_path: Path) -> None:
    write_run(tmp_path, "a b=c", done=rollouts(KEYS[:3]))
    files = ["+rollouts_jsonl_fpath=a b=c.jsonl", f"++materialized_inputs_jsonl_fpath=a b=c{INPUTS}"]
    done = run_command([*command, *files, PARTIAL], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert [row["num_rollouts"] for row in tasks_of(tmp_path, "a b=c")] == [2, 1]


def test_its_keys_and_our_options_go_together(tmp_path: Path) -> None:
    write_run(tmp_path, done=rollouts(KEYS[:3]))
    done = run_command(["eval", "profile", "run.jsonl", "+allow_partial_rollouts=true", "-o", "x", "--json"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert object_of(done)["outputs"] == [f"x{ending}" for ending in OUTPUTS]


@pytest.mark.parametrize("value", ["false", "False", "0", "no"])
def test_partial_can_be_off(value: str, tmp_path: Path) -> None:
    write_run(tmp_path, done=b"")
    done = run_command(["profile", "absent.jsonl", f"+allow_partial_rollouts={value}"], tmp_path)
    assert_refused(done, 3, "absent.jsonl")


@pytest.mark.parametrize("command", [["profile"], ["eval", "profile"]], ids=" ".join)
@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        ("allow_partial_rollouts=true", "Write ++allow_partial_rollouts=true, or --partial."),
        ("rollouts_jsonl_fpath=run.jsonl", "Write ++rollouts_jsonl_fpath=run.jsonl, or --rollouts run.jsonl."),
        (f"materialized_inputs_jsonl_fpath=run{INPUTS}", f"or --inputs run{INPUTS}."),
        ("++allow_partial_rollouts=maybe", "maybe is neither true nor false"),
        ("++allow_partial_rollouts=", "neither true nor false"),
        ("+resume_from=x", "+rollouts_jsonl_fpath="),
    ],
)
def test_what_the_peer_would_not_take_either(command: list[str], argument: str, hint: str, tmp_path: Path) -> None:
    write_run(tmp_path)
    done = run_command([*command, "run.jsonl", argument, "--json"], tmp_path)
    assert (done.exit_code, object_of(done)["kind"]) == (2, "usage")
    assert hint in done.stderr
    assert not (tmp_path / f"run{OUTPUTS[0]}").exists()


@pytest.mark.parametrize("name", ["+rollouts_jsonl_fpath=x.jsonl", "allow_partial_rollouts=true"])
def test_a_file_of_such_a_name_is_a_file(name: str, tmp_path: Path) -> None:
    write_run(tmp_path).rename(tmp_path / name)
    done = run_command(["profile", name, "-i", f"run{INPUTS}", "-o", "+x=y"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert len(tasks_of(tmp_path, "+x=y")) == 2


def test_partial_that_is_taken_back(tmp_path: Path) -> None:
    # Of a key that is given twice the last one counts.
    write_run(tmp_path, done=rollouts(KEYS[:3]))
    given = ["++allow_partial_rollouts=True", "++allow_partial_rollouts=False"]
    assert_refused(run_command(["profile", "run.jsonl", *given], tmp_path), 4, "1 materialized row")
