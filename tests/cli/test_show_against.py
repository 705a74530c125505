"""`rollprof show CAND 12 --against BASE`: the same task of two runs, and the rollouts that tell what changed."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.analysis.two_runs import Rewards, rows_of, write, write_rewards
from tests.cli.run_files import assert_refused
from tests.command import Finished, run_command
from tests.runs import Row

BASE: Rewards = {0: [1, 0, 1], 1: [0, 0], 2: [1, 1], 3: [0.5]}
CANDIDATE: Rewards = {0: [0, 1, 0], 1: [0, 1], 2: [1, 1], 3: [0.5], 4: [1]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rewards(tmp_path, "base", BASE)
    write_rewards(tmp_path, "other", CANDIDATE)
    return tmp_path


def show(folder: Path, *words: str) -> Finished:
    return run_command(["show", "other.jsonl", *words, "--against", "base.jsonl"], folder)


def keys(done: Finished) -> list[str]:
    assert done.exit_code == 0, done.stderr
    return [line.split(" · ")[1] for line in done.stdout.splitlines() if " · rollout " in line]


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("0", ["rollout 0:0", "rollout 0:2"]),  # it fell: the best before, of few tokens, and the worst after, of many
        ("1", ["rollout 1:1", "rollout 1:1"]),  # it rose: the worst before, and the best after
        ("2", ["rollout 2:0", "rollout 2:0"]),  # the same: the best of both
        ("0:1", ["rollout 0:1", "rollout 0:1"]),
    ],
)
def test_what_is_shown(key: str, shown: list[str], folder: Path) -> None:
    done = show(folder, key)
    assert keys(done) == shown
    assert done.stdout.startswith("base.jsonl · ")
    assert "\nother.jsonl · " in done.stdout
    assert "warning" not in done.stderr


def test_as_an_object(folder: Path) -> None:
    found = json.loads(show(folder, "0", "--json").stdout)
    assert [found[side]["reward"] for side in ("base", "candidate")] == [1, 0]


def test_another_content_under_that_index(folder: Path) -> None:
    plan, done = rows_of(CANDIDATE)
    for row in (*plan, *done):
        row["responses_create_params"] = {"input": f"other {row['_ng_task_index']}"}
    write(folder, "other", plan, done)
    shown = show(folder, "0")
    assert "no task of base.jsonl has the content of task 0; its task 0 asks something else" in shown.stderr
    assert keys(shown) == ["rollout 0:0", "rollout 0:2"]


def test_nothing_measured(folder: Path) -> None:
    plan, done = rows_of({0: [1, 1]})
    masked: list[Row] = [row | {"mask_sample": True} for row in done]
    write(folder, "other", plan, masked)
    assert keys(show(folder, "0")) == ["rollout 0:0", "rollout 0:0"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["4"], "base.jsonl: no task 4 in this run"),
        (["9"], "no task 9 in this run"),
        (["0:7"], "no rollout 0:7 in this run"),
        ([], "--against is for a task or rollout"),
        (["--contrast", "0"], "--contrast is within one run"),
        (["0", "--raw"], "--raw is for one rollout"),
        (["0", "--where", "reward > 0"], "are for lists"),
        (["0", "-f", "csv"], "a rollout is no table"),
        (["0", "-o", "base.jsonl"], "would overwrite what it is made from"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals(words: list[str], said: str, folder: Path) -> None:
    assert_refused(show(folder, *words), 2, said)


def test_inputs_without_the_other_run(folder: Path) -> None:
    done = run_command(["show", "other.jsonl", "0", "--against-inputs", "base_materialized_inputs.jsonl"], folder)
    assert_refused(done, 2, "--against-inputs goes with --against")


def write_graded(folder: Path, stem: str, grades: Sequence[float]) -> None:
    """A task whose rewards say one thing and whose grades another."""
    plan, done = rows_of({0: [place / 10 for place in range(len(grades))]})
    write(folder, stem, plan, [row | {"grade": grade} for row, grade in zip(done, grades, strict=True)])


RULE = ("--score", "grade", "--pass-threshold", "0.5")


def test_by_the_score_that_was_asked_for(tmp_path: Path) -> None:
    write_graded(tmp_path, "base", [1, 0.2, 0])
    write_graded(tmp_path, "other", [0, 0.6, 0.9])
    assert keys(show(tmp_path, "0", *RULE)) == ["rollout 0:2", "rollout 0:2"]
    assert keys(show(tmp_path, "0")) == ["rollout 0:2", "rollout 0:2"]
    assert keys(show(tmp_path, "0", "--score", "grade")) == ["rollout 0:0", "rollout 0:0"]
    assert_refused(show(tmp_path, "0", "--score", "absent"), 2, "base.jsonl: there is no column 'absent'")
    assert_refused(show(tmp_path, "0:1", "--pass-threshold", "x"), 2, "--pass-threshold 'x' is no threshold")


def test_passes_come_before_the_mean(tmp_path: Path) -> None:
    write_rewards(tmp_path, "base", {0: [0.4, 0.4, 0.4]})
    write_rewards(tmp_path, "other", {0: [0, 0.5, 0.5]})
    assert keys(show(tmp_path, "0", "--pass-threshold", "0.5")) == ["rollout 0:2", "rollout 0:1"]


def test_the_rules_of_the_other_run_count(tmp_path: Path) -> None:
    for name, grades in (("a", [1, 0, 0]), ("b", [0, 0, 0])):
        write_graded(tmp_path / name, "run", grades)
    words = ["show", "b", "0", "--against", "a"]
    assert keys(run_command(words, tmp_path)) == ["rollout 0:2", "rollout 0:2"]
    (tmp_path / "a/rollprof.yaml").write_text("score: grade\n")
    assert keys(run_command(words, tmp_path)) == ["rollout 0:0", "rollout 0:2"]
