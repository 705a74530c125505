"""`rollprof suspects`, run as its users run it."""

import json
import shlex
from pathlib import Path

import pytest

from pipeline.analysis.suspects.listing import REASONS
from pipeline.cli.suspects import Reason
from tests.cli.run_files import assert_refused, write_run
from tests.command import run_command
from tests.runs import Row, finished, planned

SAMPLES = Path(__file__).parents[2] / "sample_data"


def write_tasks(folder: Path) -> None:
    """A task that fails with one answer, one whose verifier is not sure, and one that is there twice."""
    given = {0: [("B", 0.0)] * 4, 1: [("C", 1.0), ("C", 0.0)], 2: [("D", 1.0)], 3: [("D", 1.0)]}
    done = [
        finished(task, repeat, extracted_answer=answer, reward=reward, judge={"said": answer * 2})
        for task, rows in given.items()
        for repeat, (answer, reward) in enumerate(rows)
    ]
    prompts = {0: "a", 1: "b", 2: "c", 3: "c"}
    keys = [(row["_ng_task_index"], row["_ng_rollout_index"]) for row in done]
    plan = [planned(*key, responses_create_params={"input": prompts[key[0]]}) for key in keys]
    write_run(folder, plan=plan, done=done)


def listed(folder: Path, *args: str) -> list[Row]:
    done = run_command(["suspects", *args, "--json"], folder)
    assert done.exit_code == 0, done.stderr
    rows: list[Row] = json.loads(done.stdout)
    return rows


def test_every_reason_has_its_evidence_and_its_command(tmp_path: Path) -> None:
    write_tasks(tmp_path / "a run")
    rows = listed(tmp_path, "a run")
    assert [(row["reason"], row["_ng_task_index"], row["evidence"]) for row in rows] == [
        ("wrong_key", 0, ["0:0", "0:1", "0:2", "0:3"]),
        ("flaky_verifier", 1, ["1:0", "1:1"]),
        ("same_task", 2, ["2", "3"]),
        ("same_task", 3, ["2", "3"]),
    ]
    words = shlex.split(rows[0]["command"])
    assert words[-3:] == ["show", "a run", "0"]
    shown = run_command([*words[-3:], "--format", "jsonl"], tmp_path)
    assert len(shown.stdout.splitlines()) == 4
    named = listed(tmp_path, "-r", "a run/run.jsonl", "--reason", "wrong_key")
    assert named[0]["command"].endswith("rollprof show -r 'a run/run.jsonl' 0")
    words = shlex.split(named[0]["command"])
    assert run_command(words[words.index("show") :], tmp_path).exit_code == 0


def test_the_option_knows_every_reason() -> None:
    assert tuple(one.value for one in Reason) == REASONS


def test_a_field_of_the_users_own(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    rows = listed(tmp_path, ".", "--field", "said=row.judge.said", "--answer-field", "said", "--reason", "wrong_key")
    assert [row["answer"] for row in rows] == ["BB"]


def test_without_answers_it_is_said_what_is_not_looked_for(tmp_path: Path) -> None:
    write_run(tmp_path)
    done = run_command(["suspects", "run.jsonl"], tmp_path)
    assert done.exit_code == 0
    assert "no rollout has extracted_answer, so wrong_key and flaky_verifier are not looked for" in done.stderr
    assert "0 suspects: none" in done.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--answer-field", "nope"), ("nope", "There are")),
        (("--score", "nope"), ("nope", "There are")),
        (("--min-share", "0"), ("--min-share 0 is out of range", "above 0 and at most 1")),
        (("--reason", "bad_luck"), ("--reason", "wrong_key")),
    ],
    ids=" ".join,
)
def test_refusals(args: tuple[str, ...], words: tuple[str, ...], tmp_path: Path) -> None:
    write_tasks(tmp_path)
    assert_refused(run_command(["suspects", "run.jsonl", *args], tmp_path), 2, *words)


def test_a_score_that_judges_the_form_too_is_no_flaky_verifier() -> None:
    flaky = ("sample_data/complete", "--reason", "flaky_verifier")
    assert len(listed(SAMPLES.parent, *flaky)) > 0
    assert listed(SAMPLES.parent, *flaky, "--score", "correct") == []


def test_the_same_bytes_whatever_the_jobs() -> None:
    asked = ["suspects", "sample_data/complete", "--format", "jsonl", "--max-chance", "1"]
    first, *others = [run_command([*asked, "--jobs", jobs], SAMPLES.parent).stdout for jobs in ("1", "2")]
    assert first
    assert others == [first]


def test_one_suspect_is_no_plural(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    assert "\n1 suspect: wrong_key 1 (" in run_command(["suspects", ".", "--reason", "wrong_key"], tmp_path).stderr
