"""What `--json` prints: one object, of a profile or of a refusal."""

from pathlib import Path

import pytest

from tests.cli.run_files import (
    INPUTS,
    KEYS,
    OUTPUTS,
    agents_of,
    object_of,
    rollout,
    rollouts,
    write_run,
)
from tests.command import run_command
from tests.runs import finished, jsonl, planned

OF_A_REFUSAL = {"schema_version", "kind", "exit_code", "message", "counts", "keys", "places", "hint"}


def test_of_a_profile(tmp_path: Path) -> None:
    write_run(tmp_path, done=[*rollouts(KEYS[:2]), rollout(1, 0, reward="x", m=float("nan"), mask_sample=False)])
    done = run_command(["profile", "run.jsonl", "--partial", "--json"], tmp_path)
    told = object_of(done)
    assert set(told) >= {"schema_version", "completion", "accounting", "masked", "agents", "outputs", "warnings"}
    assert told["schema_version"] == 1
    assert told["completion"] == {
        "expected_rollout_rows": 4,
        "completed_rollout_rows": 3,
        "missing_rollout_rows": 1,
        "reward_profile_completion_pct": 75.0,
        "total_input_rows": 2,
        "complete_input_rows": 1,
        "partial_input_rows": 1,
        "missing_input_rows": 0,
        "masked_rollout_rows": 0,
        "measured_rollout_rows": 3,
        "unscored_rollout_rows": 1,
        "extra_rollout_rows": 0,
    }
    assert told["accounting"] | {"failure_classes": {}} == told["accounting"]
    assert [told["accounting"][part] for part in ("expected", "finished", "failed", "unknown")] == [4, 3, 0, 1]
    assert told["agents"] == agents_of(tmp_path)
    assert told["outputs"] == [f"run{ending}" for ending in OUTPUTS]
    warnings = {note["code"]: (note["count"], note["places"]) for note in told["warnings"]}
    assert warnings["not_finite"] == warnings["text_reward"] == (1, ["run.jsonl:3"])
    assert all(set(note) == {"code", "count", "message", "places"} for note in told["warnings"])


def test_is_all_that_is_printed_when_quiet(tmp_path: Path) -> None:
    write_run(tmp_path)
    done = run_command(["profile", ".", "--json", "--quiet"], tmp_path)
    assert object_of(done)["completion"]["completed_rollout_rows"] == 4
    assert done.stderr == ""


def test_of_faults_of_keys_names_all_kinds_at_once(tmp_path: Path) -> None:
    keys = [(0, index) for index in range(30)]
    done = [*(finished(*key) for key in keys[:15]), finished(0, 3), finished(0, 2), finished(5, 5)]
    write_run(tmp_path, plan=[planned(*key) for key in [*keys, keys[0]]], done=done)
    told = object_of(run_command(["profile", "run.jsonl", "--json"], tmp_path))
    assert set(told) >= OF_A_REFUSAL
    assert (told["kind"], told["exit_code"], told["schema_version"]) == ("contract", 4, 1)
    assert told["counts"] == {
        "duplicate_inputs": 2,
        "duplicate_rollouts": 4,
        "extra_rollouts": 1,
        "missing_rollouts": 15,
    }
    assert told["keys"]["duplicate_inputs"] == [[0, 0]]
    assert told["keys"]["duplicate_rollouts"] == [[0, 2], [0, 3]]
    assert told["keys"]["extra_rollouts"] == [[5, 5]]
    assert told["keys"]["missing_rollouts"] == [[0, index] for index in range(15, 25)]
    assert told["places"]["duplicate_inputs"] == [f"run{INPUTS}:1", f"run{INPUTS}:31"]
    assert sorted(told["places"]["duplicate_rollouts"]) == [f"run.jsonl:{line}" for line in (16, 17, 3, 4)]
    assert told["places"]["missing_rollouts"] == [f"run{INPUTS}:{line}" for line in range(16, 26)]
    assert "--partial" in told["hint"]
    assert "--on-extra drop" in told["hint"]
    assert told["completion"]["completed_rollout_rows"] == 15


def test_of_faults_of_lines(tmp_path: Path) -> None:
    bad = [b"nonsense", b"[1]", b'{"a":1}', *[b'{"_ng_task_index":"0","_ng_rollout_index":0}'] * 12]
    write_run(tmp_path, done=jsonl(rollouts(KEYS[:3])) + b"\n".join(bad) + b'\n{"reward":')
    done = run_command(["profile", "run.jsonl", "--json"], tmp_path)
    told = object_of(done)
    assert set(told) >= OF_A_REFUSAL
    assert (told["kind"], told["exit_code"], done.exit_code) == ("malformed", 3, 3)
    assert told["counts"] == {"malformed": 15, "torn": 1}
    assert told["places"] == {
        "malformed": [f"run.jsonl:{line}" for line in range(4, 14)],
        "torn": ["run.jsonl:19"],
    }
    assert "--on-bad-line skip" in told["hint"]
    assert "--partial" in told["hint"]


@pytest.mark.parametrize(
    ("args", "kind", "exit_code"),
    [
        (["profile", "absent.jsonl"], "unreadable", 3),
        (["profile", "empty"], "unreadable", 3),
        (["profile", "run.jsonl", "--assign-indices"], "usage", 2),
        (["profile", "run.jsonl", "allow_partial_rollouts=true"], "usage", 2),
        (["profile"], "usage", 2),
        (["profile", "--nope"], "usage", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_of_a_refusal(args: list[str], kind: str, exit_code: int, tmp_path: Path) -> None:
    write_run(tmp_path)
    (tmp_path / "empty").mkdir()
    done = run_command([*args, "--json"], tmp_path)
    told = object_of(done)
    assert set(told) >= OF_A_REFUSAL
    assert (told["kind"], told["exit_code"], done.exit_code) == (kind, exit_code, exit_code)
    assert told["message"] in done.stderr


def test_of_a_gate_that_was_not_met(tmp_path: Path) -> None:
    write_run(tmp_path, done=rollouts(KEYS[:3]))
    args = ["profile", "run.jsonl", "--partial", "--min-completion", "0.9", "--json"]
    done = run_command(args, tmp_path)
    assert done.exit_code == 5
    told = object_of(done)
    assert told["completion"]["completed_rollout_rows"] == 3
    assert (told["kind"], told["exit_code"]) == ("gate", 5)
