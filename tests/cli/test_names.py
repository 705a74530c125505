"""Names that cannot be, or only just, and names that are no text."""

import os
from pathlib import Path

import pytest

from tests.cli.processes import run
from tests.cli.run_files import INPUTS, KEYS, OUTPUTS, assert_refused, outputs_of, rollout, rollouts, write_run
from tests.command import run_command

LATIN_1 = os.fsdecode(b"a\xff")


@pytest.mark.parametrize("named", ["a?.jsonl", "."], ids=["a pattern", "a folder"])
def test_a_name_that_is_not_utf_8(named: str, tmp_path: Path) -> None:
    write_run(tmp_path, LATIN_1)
    done = run(["profile", named, "-o", "x"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert outputs_of(tmp_path, "x")


def test_outputs_named_after_it(tmp_path: Path) -> None:
    write_run(tmp_path, LATIN_1, done=[*rollouts(), rollout(0, 0)])
    done = run(["profile", f"{LATIN_1}.jsonl", "--on-duplicate", "first"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert outputs_of(tmp_path, LATIN_1)


def test_a_refusal_that_names_it(tmp_path: Path) -> None:
    write_run(tmp_path, LATIN_1, done=rollouts(KEYS[:3]))
    done = run(["profile", f"{LATIN_1}.jsonl", "--json"], tmp_path)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.exit_code == 4


@pytest.mark.parametrize(
    "args",
    [
        ["run.jsonl", "-o", "."],
        ["run.jsonl", "-o", "/"],
        ["run.jsonl", "-o", ""],
        ["run.jsonl", "-o", "a" * 300],
        ["run.jsonl", "--output-dir", "a" * 300],
        ["--rollouts", ".", "--inputs", f"run{INPUTS}"],
        ["--rollouts", "", "--inputs", f"run{INPUTS}"],
        ["+rollouts_jsonl_fpath="],
        ["run.jsonl", "--inputs", ""],
        [""],
    ],
    ids=lambda args: " ".join(args)[:30],
)
def test_a_name_that_is_none(args: list[str], tmp_path: Path) -> None:
    write_run(tmp_path)
    done = run_command(["profile", *args], tmp_path)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.exit_code in {2, 3}
    assert ".: is a folder" not in done.stderr or "." in args


def test_a_name_so_long_that_nothing_fits_beside_it(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 245 + ".jsonl")
    write_run(tmp_path).rename(path)
    assert_refused(run_command(["profile", path.name, "-o", "x"], tmp_path), 3, "--inputs")
    done = run_command(["profile", path.name, "--inputs", f"run{INPUTS}", "-o", "x"], tmp_path)
    assert done.exit_code == 0, done.stderr


def test_a_name_that_fits_only_just(tmp_path: Path) -> None:
    # 3 bytes a letter: the outputs have up to 254 bytes of 255.
    stem = "大" * 76
    write_run(tmp_path).rename(tmp_path / f"{stem}.jsonl")
    done = run_command(["profile", f"{stem}.jsonl", "--inputs", f"run{INPUTS}"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert all((tmp_path / f"{stem}{ending}").exists() for ending in OUTPUTS)
