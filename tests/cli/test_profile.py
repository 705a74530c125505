"""What may be named as a run, and what each option of `profile` does."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_files import (
    FAILURES,
    INPUTS,
    KEYS,
    OUTPUTS,
    TASKS,
    agents_of,
    assert_refused,
    contents_of,
    object_of,
    outputs_of,
    rollout,
    rollouts,
    tasks_of,
    write_run,
)
from tests.command import run_command
from tests.packing import PACKS, gz
from tests.runs import Row, finished, jsonl, planned

BESIDE_A_RUN = [
    "run_materialized_inputs.jsonl",
    "run_materialized_inputs.jsonl.gz",
    "materialized_inputs.jsonl",
    "run_failures.jsonl",
    "failures.jsonl.gz",
    "run_reward_profiling.jsonl",
    "run_agent_metrics.json",
    "run_repeat_level_metrics.json",
    "run_aggregate_metrics.jsonl",
    "rollout_verdicts.jsonl",
    "rollout_verdicts.jsonl.gz",
]
LIKE_ROLLOUTS = jsonl([rollout(8, 8)])


class TestRun:
    @pytest.mark.parametrize(
        "named",
        [
            ["."],
            ["run.jsonl", "./run.jsonl", "**/*.jsonl"],
            ["--rollouts", "*n.jsonl", "--inputs", "*_inputs.jsonl"],
        ],
        ids=" ".join,
    )
    def test_can_be_named_in_many_ways(self, named: list[str], tmp_path: Path) -> None:
        write_run(tmp_path)
        done = run_command(["profile", *named], tmp_path)
        assert (done.exit_code, "Traceback" in done.stderr) == (0, False)
        assert [row["num_rollouts"] for row in tasks_of(tmp_path)] == [2, 2]
        assert {path.name for path in tmp_path.iterdir()} == {
            "run.jsonl",
            f"run{INPUTS}",
            *map("run{}".format, OUTPUTS),
        }

    def test_can_be_several_files_under_one_name(self, tmp_path: Path) -> None:
        for number, key in enumerate(KEYS):
            write_run(tmp_path, f"part{number}", plan=[planned(*key)], done=[rollout(*key)])
        once = ["profile", "part[0-2].jsonl", "part3.jsonl", "--output", "all.jsonl"]
        assert run_command(once, tmp_path).exit_code == 0
        assert [row["num_rollouts"] for row in tasks_of(tmp_path, "all")] == [2, 2]

    @pytest.mark.parametrize("named", [["part0.jsonl", "part1.jsonl"], ["."]], ids=" ".join)
    def test_of_several_files_needs_a_name(self, named: list[str], tmp_path: Path) -> None:
        for stem in ("part0", "part1"):
            write_run(tmp_path, stem)
        done = run_command(["profile", *named], tmp_path)
        assert_refused(done, 2, "2 rollouts files", ": part0.jsonl, part1.jsonl", "-o")

    def test_files_of_one_name_are_told_with_their_folders(self, tmp_path: Path) -> None:
        for folder in ("a", "b"):
            write_run(tmp_path / folder)
        write_run(tmp_path / "b", "other")
        done = run_command(["profile", "a", "b/*"], tmp_path)
        assert_refused(done, 2, "3 rollouts files", ": a/run.jsonl, other.jsonl, b/run.jsonl")

    def test_a_folder_holds_rollouts_under_any_suffix(self, tmp_path: Path) -> None:
        write_run(tmp_path / "in", "a", plan=[planned(*key) for key in KEYS[:2]], done=[finished(0, 0, reward=1)])
        (tmp_path / "in" / "b.jsonl.gz").write_bytes(gz(b"\n \r\n" + jsonl([{"reward": 1, **planned(0, 1)}])))
        write_run(tmp_path / "in", "c", plan=[planned(1)], done=b"")
        (tmp_path / "in" / "d.jsonl.zst").write_bytes(PACKS["zst"](jsonl([finished(1)])))
        (tmp_path / "in" / "notes.jsonl").write_bytes(jsonl([{"note": "reward"}, rollout()]))
        (tmp_path / "in" / "e.txt").write_bytes(LIKE_ROLLOUTS)
        (tmp_path / "in" / "f.jsonl").mkdir()
        done = run_command(["profile", "in", "-o", "all"], tmp_path)
        assert done.exit_code == 0, done.stderr
        said = [line for line in done.stderr.splitlines() if line.startswith("rollouts: ")]
        assert said == [f"rollouts: in/{name}" for name in ("a.jsonl", "b.jsonl.gz", "d.jsonl.zst")]
        assert [row["num_rollouts"] for row in tasks_of(tmp_path, "all")] == [2, 1]

    @pytest.mark.parametrize("named", ["in", "in/*"])
    def test_what_lies_beside_rollouts_is_no_rollouts(self, named: str, tmp_path: Path) -> None:
        write_run(tmp_path / "in")
        others = [name.replace("run_", "other_") for name in BESIDE_A_RUN[3:] if name.startswith("run_")]
        for name in (*BESIDE_A_RUN[3:], *others):
            (tmp_path / "in" / name).write_bytes(gz(LIKE_ROLLOUTS) if name.endswith(".gz") else LIKE_ROLLOUTS)
        done = run_command(["profile", named, "-o", "out"], tmp_path)
        assert done.exit_code == 0, done.stderr
        assert [row["num_rollouts"] for row in tasks_of(tmp_path, "out")] == [2, 2]
        assert f"inputs: in/run{INPUTS}" in done.stderr
        assert f"failures: in/run{FAILURES}" in done.stderr

    @pytest.mark.parametrize("name", BESIDE_A_RUN[::2])
    def test_what_lies_beside_rollouts_is_none_when_named(self, name: str, tmp_path: Path) -> None:
        (tmp_path / name).write_bytes(gz(LIKE_ROLLOUTS) if name.endswith(".gz") else LIKE_ROLLOUTS)
        assert_refused(run_command(["profile", name], tmp_path), 3, name, "no rollouts")

    def test_failures_are_no_rollouts_also_where_they_are_said_to_be(self, tmp_path: Path) -> None:
        write_run(tmp_path)
        failed = {"_ng_task_index": 0, "_ng_rollout_index": 0, "_ng_failure_class": "judge_failed"}
        (tmp_path / f"run{FAILURES}").write_bytes(jsonl([failed]))
        done = run_command(["profile", "-r", f"run{FAILURES}", "-i", f"run{INPUTS}", "--partial"], tmp_path)
        assert_refused(
            done, 3, f"run{FAILURES}: is called like what lies beside rollouts", "neither response nor reward"
        )
        (tmp_path / f"run{FAILURES}").write_bytes(jsonl(rollouts()))
        done = run_command(["profile", "-r", f"run{FAILURES}", "-i", f"run{INPUTS}", "-o", "x"], tmp_path)
        assert done.exit_code == 0, done.stderr

    def test_folders_with_rollouts_are_named(self, tmp_path: Path) -> None:
        for name in "abcd":
            write_run(tmp_path / name)
        assert_refused(run_command(["profile", "."], tmp_path), 3, "Name one: a, b, c, …; or")

    def test_what_was_meant_is_said(self, tmp_path: Path) -> None:
        write_run(tmp_path)
        done = run_command(["profile", f"run{INPUTS}"], tmp_path)
        assert_refused(done, 3, "these are materialized inputs", "The rollouts are run.jsonl.")
        (tmp_path / "t.csv").write_text("task,reward\n1,0.5\n")
        assert_refused(run_command(["profile", "t.csv", "--rollouts-only"], tmp_path), 3, "is no JSONL (a CSV?)")
        write_run(tmp_path, "none", plan=[], done=[])
        assert "0 of 0 finished (nothing was planned)" in run_command(["profile", "none.jsonl"], tmp_path).stdout

    @pytest.mark.parametrize("content", [None, b"", b'\n{"note":1}\n'])
    def test_a_folder_without_rollouts(self, content: bytes | None, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        if content is not None:
            write_run(tmp_path / "in", done=content)
        assert_refused(run_command(["profile", "in"], tmp_path), 3, "in: no rollouts found", "response or reward")

    def test_a_folder_of_a_run_that_has_just_begun(self, tmp_path: Path) -> None:
        write_run(tmp_path / "in", done=b"")
        done = run_command(["stats", "in"], tmp_path)
        assert_refused(done, 3, "in: no rollouts found: run.jsonl is empty", "A run that has just begun has none yet")

    def test_a_folder_with_nothing_but_a_profile(self, tmp_path: Path) -> None:
        write_run(tmp_path)
        assert run_command(["profile", "run.jsonl", "-o", "in/run"], tmp_path).exit_code == 0
        done = run_command(["stats", "in"], tmp_path)
        assert_refused(done, 3, "no rollouts found, only a profile", f"Name the profile itself: in/run{TASKS}")

    def test_a_path_that_is_there_is_no_pattern(self, tmp_path: Path) -> None:
        write_run(tmp_path, "run1", done=rollouts(reward=0))
        write_run(tmp_path, "run[1]", done=rollouts(reward=5))
        done = run_command(["profile", "run[1].jsonl", "-o", "out"], tmp_path)
        assert done.exit_code == 0, done.stderr
        assert [row["mean/reward"] for row in tasks_of(tmp_path, "out")] == [5, 5]

    def test_inputs_and_failures_are_told(self, tmp_path: Path) -> None:
        write_run(tmp_path, done=rollouts(KEYS[:3]))
        (tmp_path / f"run{FAILURES}").write_bytes(jsonl([planned(1, 1, _ng_failure_class="timeout")]))
        done = run_command(["profile", "run.jsonl", "--partial", "--json"], tmp_path)
        assert done.stderr.splitlines()[:2] == [f"inputs: run{INPUTS}", f"failures: run{FAILURES}"]
        accounting = object_of(done)["accounting"]
        assert accounting == {
            "expected": 4,
            "finished": 3,
            "failed": 1,
            "unknown": 0,
            "failure_classes": {"timeout": 1},
        }


class TestOutputs:
    @pytest.mark.parametrize(
        ("options", "stem"),
        [
            (["-o", "x"], "x"),
            (["--output", "sub/x.jsonl"], "sub/x"),
            (["--output-dir", "sub"], "sub/run"),
            (["--output-dir", "new/folder"], "new/folder/run"),
            (["--output-dir", "sub", "-o", "x.y.json"], "sub/x.y"),
        ],
    )
    def test_are_named_after_the_stem(self, options: list[str], stem: str, tmp_path: Path) -> None:
        write_run(tmp_path)
        (tmp_path / "sub").mkdir()
        before = contents_of(tmp_path).keys()
        done = run_command(["profile", "run.jsonl", *options], tmp_path)
        assert done.exit_code == 0, done.stderr
        assert contents_of(tmp_path).keys() - before == {stem + ending for ending in OUTPUTS}
        assert f"  {stem}{OUTPUTS[0]}\n" in done.stdout


class TestOptions:
    def test_partial(self, tmp_path: Path) -> None:
        write_run(tmp_path, done=rollouts(KEYS[:1]))
        done = run_command(["profile", "run.jsonl", "--partial"], tmp_path)
        assert done.exit_code == 0, done.stderr
        assert "1 of 4 finished (25.00 %)" in done.stdout
        assert [row["missing_num_rollouts"] for row in tasks_of(tmp_path)] == [1]

    def test_masked(self, tmp_path: Path) -> None:
        write_run(tmp_path, done=[*rollouts(KEYS[:3]), rollout(1, 1, mask_sample=True)])
        left_out = run_command(["profile", "run.jsonl"], tmp_path)
        assert "Masked    1, left out of every figure" in left_out.stdout
        assert [row["num_rollouts"] for row in tasks_of(tmp_path)] == [2, 1]
        counted = run_command(["profile", "run.jsonl", "--masked", "include"], tmp_path)
        assert "Masked    1, counted like any other (--masked include)" in counted.stdout
        assert [row["num_rollouts"] for row in tasks_of(tmp_path)] == [2, 2]

    @pytest.mark.parametrize(("choice", "reward"), [("first", 0), ("last", 7)])
    def test_on_duplicate(self, choice: str, reward: int, tmp_path: Path) -> None:
        write_run(tmp_path, done=[*rollouts(), rollout(0, 0, reward=7)])
        done = run_command(["profile", "run.jsonl", "--on-duplicate", choice, "--json"], tmp_path)
        assert tasks_of(tmp_path)[0]["rollout_infos"][0]["reward"] == reward
        (warning,) = object_of(done)["warnings"]
        assert (warning["code"], warning["count"]) == ("duplicate_rollouts", 2)
        assert warning["places"] == ["run.jsonl:1", "run.jsonl:5"]

    def test_on_extra(self, tmp_path: Path) -> None:
        write_run(tmp_path, done=[rollout(9, 9), *rollouts()])
        done = run_command(["profile", "run.jsonl", "--on-extra", "drop", "--json"], tmp_path)
        told = object_of(done)
        assert told["completion"]["extra_rollout_rows"] == 1
        assert [(note["code"], note["places"]) for note in told["warnings"]] == [("extra_rollouts", ["run.jsonl:1"])]
        assert [row["_ng_task_index"] for row in tasks_of(tmp_path)] == [0, 1]

    def test_on_bad_line(self, tmp_path: Path) -> None:
        write_run(tmp_path, done=b"nonsense\n" + jsonl(rollouts()) + b"[1]\n")
        done = run_command(["profile", "run.jsonl", "--on-bad-line", "skip", "--json"], tmp_path)
        (warning,) = object_of(done)["warnings"]
        assert (warning["code"], warning["count"]) == ("malformed", 2)
        assert warning["places"] == ["run.jsonl:1", "run.jsonl:6"]
        assert "2 lines cannot be used" in done.stderr
        assert "(first: run.jsonl:1)" in done.stderr

    def test_nested(self, tmp_path: Path) -> None:
        done = [finished(*key, {"details": {"cached": 3}}, judge={"score": {"a": 2, "b": "x"}}) for key in KEYS]
        write_run(tmp_path, done=done)
        nested = ["--nested", "judge.score", "--nested", "usage"]
        assert run_command(["profile", "run.jsonl", *nested], tmp_path).exit_code == 0
        means = {key: value for key, value in agents_of(tmp_path)[0].items() if key.startswith("mean/")}
        assert means == {"mean/judge/score/a": 2, "mean/usage/details/cached": 3}

    def test_counts(self, tmp_path: Path) -> None:
        write_run(tmp_path, done=[*rollouts(KEYS[:3]), rollout(1, 1, reward=None)])
        assert run_command(["profile", "run.jsonl", "--counts"], tmp_path).exit_code == 0
        assert [row["count/reward"] for row in tasks_of(tmp_path)] == [2, 1]
        assert [row["count/total_tokens"] for row in tasks_of(tmp_path)] == [2, 2]
        assert agents_of(tmp_path)[0]["count/reward"] == 3

    @pytest.mark.parametrize(
        ("done", "planned_rows", "share", "exit_code"),
        [(3, 4, "0.75", 0), (3, 4, "0.76", 5), (7, 125, "0.056", 0)],
    )
    def test_min_completion(self, done: int, planned_rows: int, share: str, exit_code: int, tmp_path: Path) -> None:
        keys = [(0, index) for index in range(planned_rows)]
        write_run(tmp_path, plan=[planned(*key) for key in keys], done=rollouts(keys[:done]))
        ended = run_command(["profile", "run.jsonl", "--partial", "--min-completion", share], tmp_path)
        assert ended.exit_code == exit_code, ended.stderr
        assert ("--min-completion" in ended.stderr) == bool(exit_code)
        assert f"{done} of {planned_rows} finished" in ended.stdout
        assert [row["num_rollouts"] for row in tasks_of(tmp_path)] == [done]

    def test_quiet(self, tmp_path: Path) -> None:
        write_run(tmp_path)
        done = run_command(["profile", ".", "--quiet"], tmp_path)
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
        write_run(tmp_path, done=rollouts(reward="text"))
        warned = run_command(["profile", ".", "-q"], tmp_path)
        assert warned.stdout == ""
        assert warned.stderr.startswith("warning: 4 rewards are text")


PARAMS = '"responses_create_params": {"input":"1\\u00b2",  "t":1e-7, "n":12345678901234567890}'
ABOUT = f'{PARAMS}, "agent_ref": {{"name":"a" }}, "_ng_environment_server": "s"'


class TestWithoutInputs:
    def test_rollouts_only(self, tmp_path: Path) -> None:
        line = f'{{"reward":1, "_ng_task_index":3, {ABOUT},"_ng_rollout_index":7}}\n'
        (tmp_path / "run.jsonl").write_text(line, encoding="utf-8")
        assert_refused(run_command(["profile", "run.jsonl"], tmp_path), 3, "--rollouts-only")
        done = run_command(["profile", "run.jsonl", "--rollouts-only"], tmp_path)
        assert done.exit_code == 0, done.stderr
        assert "no inputs: what finished is taken for what was planned" in done.stderr
        assert f'"sample":{{{ABOUT}}},' in outputs_of(tmp_path)[0].decode()
        assert [(row["_ng_task_index"], row["expected_num_rollouts"]) for row in tasks_of(tmp_path)] == [(3, 1)]

    def test_the_sample_is_that_of_the_rollout_that_was_kept(self, tmp_path: Path) -> None:
        rows = [rollout(reward=reward, responses_create_params={"input": f"prompt {reward}"}) for reward in (1, 2)]
        (tmp_path / "run.jsonl").write_bytes(jsonl(rows))
        done = run_command(["profile", "run.jsonl", "--rollouts-only", "--on-duplicate", "last"], tmp_path)
        assert done.exit_code == 0, done.stderr
        (row,) = tasks_of(tmp_path)
        assert (row["mean/reward"], row["sample"]) == (2, {"responses_create_params": {"input": "prompt 2"}})

    def test_assign_indices(self, tmp_path: Path) -> None:
        prompts = ["b", "a", "b", "a", "b"]
        rows: list[Row] = [{"responses_create_params": {"input": p}, "reward": n} for n, p in enumerate(prompts)]
        (tmp_path / "run.jsonl").write_bytes(jsonl(rows))
        done = run_command(["profile", "run.jsonl", "--rollouts-only", "--assign-indices"], tmp_path)
        assert done.exit_code == 0, done.stderr
        infos = [[(info["rollout_id"], info["reward"]) for info in row["rollout_infos"]] for row in tasks_of(tmp_path)]
        assert infos == [[("0:0", 0), ("0:1", 2), ("0:2", 4)], [("1:0", 1), ("1:1", 3)]]

    def test_assign_indices_needs_all_rows_without(self, tmp_path: Path) -> None:
        row = {"responses_create_params": {"input": "a"}, "reward": 1}
        (tmp_path / "run.jsonl").write_bytes(jsonl([row, {**row, **planned()}]))
        done = run_command(["profile", "run.jsonl", "--rollouts-only", "--assign-indices"], tmp_path)
        assert_refused(done, 3, "run.jsonl:1", "_ng_task_index")

    def test_assign_indices_is_not_for_runs_with_inputs(self, tmp_path: Path) -> None:
        write_run(tmp_path)
        assert_refused(run_command(["profile", "run.jsonl", "--assign-indices"], tmp_path), 2, "--rollouts-only")


def test_metrics_that_no_table_has_are_named_with_the_command_that_shows_them(tmp_path: Path) -> None:
    more: dict[str, Any] = {f"m{place}": place for place in range(9)}
    write_run(tmp_path, done=rollouts(**more))
    write_run(tmp_path / "plain")
    told = run_command(["profile", "run.jsonl"], tmp_path).stdout
    (line,) = [line for line in told.split("\n") if line.startswith("Other metrics")]
    named, _, command = line.removesuffix(")").partition(" (")
    assert named == "Other metrics: m0, m1, m2, m3, m4, m5 and 3 more"
    words = shlex.split(command)
    shown = run_command([*words[words.index("query") :], "-f", "csv"], tmp_path)
    assert {f"m{place}" for place in range(9)} < {line.split(",")[1] for line in shown.stdout.split("\n")[1:-1]}
    assert "Other metrics" not in run_command(["profile", "run.jsonl"], tmp_path / "plain").stdout
