"""`rollprof compare`: what it prints, its gates, and what it says where there is little to say."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.analysis.two_runs import BASE, CANDIDATE, PUBLIC, Rewards, prompt, rows_of, write, write_rewards
from tests.cli.run_files import assert_refused
from tests.command import Finished, run_command
from tests.runs import finished, planned

GOOD: Rewards = {task: [1, 1, 0] for task in range(12)}
BAD: Rewards = {task: [1, 0, 0] if task % 3 else [0, 0, 0] for task in range(12)}
"""Of the twelve tasks four fall by 2/3 and eight by 1/3: by 4/9 on average, std 0.16412, and t(0.975, 11) is 2.20099,
so that the interval's lower bound for the fall is 4/9 - 2.20099 · 0.16412 / √12 = 0.34017.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rewards(tmp_path, "base", BASE)
    write_rewards(tmp_path, "other", CANDIDATE)
    write_rewards(tmp_path, "good", GOOD)
    write_rewards(tmp_path, "bad", BAD)
    return tmp_path


def compare(folder: Path, *words: str) -> Finished:
    done = run_command(["compare", *words], folder)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def compared(folder: Path, *words: str) -> dict[str, Any]:
    done = compare(folder, *words, "--json")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert "NaN" not in done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_public_case(folder: Path) -> None:
    found = compared(folder, "base.jsonl", "other.jsonl")
    assert (found["schema_version"], found["base"], found["pass_rule"]) == (1, "base.jsonl", "reward >= 1")
    (one,) = found["comparisons"]
    assert abs(one["score"]["change"] - PUBLIC["mean"]) < 1e-12
    assert abs(one["score"]["se"] - PUBLIC["se"]) < 1e-12
    assert abs(one["score"]["t"] - PUBLIC["t"]) < 1e-12
    assert [one["score"][name] for name in ("tasks", "improved", "worse", "same")] == [4, 3, 0, 1]
    assert one["verdict"] == "too little data"
    assert {(row["run"], row["task"]) for row in one["tables"]["alone"]} == {("base", 4), ("candidate", 5)}
    assert "flips" not in one["tables"]


def test_for_people(folder: Path) -> None:
    done = compare(folder, "base.jsonl", "other.jsonl", "--flips")
    lines = done.stdout.splitlines()
    assert lines[0] == "base.jsonl → other.jsonl"
    assert "Verdict        too little data: reward rose by 0.3125 on average over 4 tasks (0.4375 → 0.75)" in lines
    assert any("1 only in base.jsonl (first: 4)" in line for line in lines)
    assert any("se 0.1197, t(3) = 2.611" in line for line in lines)
    assert lines[-1].startswith("Verdicts: with fewer than 6 tasks")
    shown = [line.partition("rollprof ")[2].split() for line in lines if "rollprof show" in line]
    assert shown == [["show", "other.jsonl", task, "--against", "base.jsonl"] for task in ("1", "0")]
    for words in shown:
        assert run_command(words, folder).stdout.count("rollout ") == 2


def test_the_same_bytes_again(folder: Path) -> None:
    plan, done = rows_of(BAD)
    write(folder, "turned", plan[::-1], done[::-1])
    first = compare(folder, "good.jsonl", "bad.jsonl", "--by", "input.level", "--flips", "--jobs", "1").stdout
    again = compare(folder, "good.jsonl", "turned.jsonl", "--by", "input.level", "--flips", "--jobs", "2").stdout
    assert again.replace("turned.jsonl", "bad.jsonl") == first


def test_several_candidates(folder: Path) -> None:
    found = compared(folder, "good.jsonl", "good.jsonl", "bad.jsonl", "--flips")
    assert [one["verdict"] for one in found["comparisons"]] == ["no difference found", "worse"]
    same, worse = found["comparisons"]
    assert (same["score"]["change"], same["score"]["se"], same["score"]["t"], same["score"]["low"]) == (
        0.0,
        0.0,
        None,
        None,
    )
    assert same["tables"]["flips"] == []
    assert worse["states"] == {"pass_to_fail": 12, "fail_to_pass": 0, "pass_in_both": 0, "fail_in_both": 0}
    assert compare(folder, "good.jsonl", "bad.jsonl", "good.jsonl").stdout.count("Verdict  ") == 2


def test_better_and_no_difference_found(folder: Path) -> None:
    assert compared(folder, "bad.jsonl", "good.jsonl")["comparisons"][0]["verdict"] == "better"
    for fallen, p, verdict in ((5, 2 / 2**5, "no difference found"), (6, 2 / 2**6, "worse")):
        write_rewards(folder, "some", {task: [int(task >= fallen), 1, 0] for task in range(12)})
        (one,) = compared(folder, "good.jsonl", "some.jsonl")["comparisons"]
        assert (one["verdict"], one["score"]["sign_flip"]["p"]) == (verdict, p)
    write_rewards(folder, "mixed", {task: [1, int(task % 2 == 0), int(task % 4 == 1)] for task in range(12)})
    done = compare(folder, "good.jsonl", "mixed.jsonl")
    assert "no difference found" in done.stdout
    assert "would have been found with a probability of 0.8" in done.stdout


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (["--fail-if-worse", "0.01"], 5, "fell by 0.340166 (the lower bound of the 95 % interval), more than 0.01"),
        (["--fail-if-worse", "0.35"], 0, ""),
        (["--fail-if-worse", "0.35", "--by-estimate"], 5, "fell by 0.444444 (the estimate), more than 0.35"),
        (["--fail-if-worse", "0.45", "--by-estimate"], 0, ""),
        (["--fail-if-worse", "0.01", "--json"], 5, "the lower bound of the 95 % interval"),
    ],
)
def test_a_gate(words: list[str], exit_code: int, said: str, folder: Path) -> None:
    done = compare(folder, "good.jsonl", "bad.jsonl", *words)
    assert done.exit_code == exit_code, done.stderr
    assert said in done.stderr
    assert ("bad.jsonl: the score fell" in done.stderr) == (exit_code == 5)
    assert done.stdout.count("worse") > 0
    if "--json" in words:
        told = json.loads(done.stdout)
        assert (told["comparisons"][0]["verdict"], told["kind"], told["exit_code"]) == ("worse", "gate", 5)
        assert said in told["message"]


def test_the_gate_names_the_candidate(folder: Path) -> None:
    done = compare(folder, "good.jsonl", "good.jsonl", "bad.jsonl", "--fail-if-worse", "0")
    assert done.exit_code == 5
    assert "rollprof: bad.jsonl: the score fell" in done.stderr
    assert compare(folder, "bad.jsonl", "good.jsonl", "--fail-if-worse", "0").exit_code == 0


def test_rounding_fails_no_gate(folder: Path) -> None:
    write_rewards(folder, "three", dict.fromkeys(range(8), [0.1] * 3))
    write_rewards(folder, "eight", dict.fromkeys(range(8), [0.1] * 8))
    write_rewards(folder, "more", {task: [1.1] for task in range(8)})
    write_rewards(folder, "less", {task: [1.0] for task in range(8)})
    done = compare(folder, "three.jsonl", "eight.jsonl", "--fail-if-worse", "0")
    assert (done.exit_code, "no difference found: reward did not move" in done.stdout) == (0, True)
    assert compare(folder, "more.jsonl", "less.jsonl", "--fail-if-worse", "0.1").exit_code == 0
    assert compare(folder, "more.jsonl", "less.jsonl", "--fail-if-worse", "0.099").exit_code == 5


def test_too_little_data_passes_a_gate_that_is_not_strict(folder: Path) -> None:
    done = compare(folder, "base.jsonl", "other.jsonl", "--fail-if-worse", "0.01")
    assert done.exit_code == 0
    assert "warning: other.jsonl: too little data" in done.stderr
    strict = compare(folder, "base.jsonl", "other.jsonl", "--fail-if-worse", "0.01", "--strict")
    assert strict.exit_code == 5
    assert "too little data (4 tasks)" in strict.stderr


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_one_table(form: str, folder: Path) -> None:
    compare(folder, "good.jsonl", "bad.jsonl", "good.jsonl", "-o", f"out.{form}")
    compare(folder, "good.jsonl", "bad.jsonl", "--flips", "-o", f"flips.{form}")
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        "csv": pl.read_csv,
        "jsonl": pl.read_ndjson,
        "parquet": pl.read_parquet,
    }
    read = readers[form]
    rows = read(folder / f"out.{form}").filter(kind="score")
    assert rows["run"].to_list() == ["bad.jsonl", "good.jsonl"]
    assert rows["change"].to_list() == pytest.approx([-4 / 9, 0.0])
    assert read(folder / f"flips.{form}")["task"].sort().to_list() == list(range(12))


def test_files(folder: Path) -> None:
    whole = compare(folder, "good.jsonl", "bad.jsonl").stdout
    assert compare(folder, "good.jsonl", "bad.jsonl", "-o", "out/report.txt").stdout == ""
    assert (folder / "out/report.txt").read_text() == whole
    assert compare(folder, "good.jsonl", "bad.jsonl", "-f", "md").stdout.startswith(
        "## good.jsonl → bad.jsonl\n\n- **Verdict**"
    )
    for name in ("bad.jsonl", "good_materialized_inputs.jsonl"):
        assert_refused(compare(folder, "good.jsonl", "bad.jsonl", "-o", name), 2, "would overwrite")
    rows = list(csv.DictReader(io.StringIO(compare(folder, "good.jsonl", "bad.jsonl", "-f", "csv").stdout)))
    assert rows[0]["measure"] == "reward"


def test_renumbered_tasks(folder: Path) -> None:
    write_rewards(folder, "moved", CANDIDATE, number={0: 3, 1: 2, 2: 1, 3: 0, 5: 5})
    done = compare(folder, "base.jsonl", "moved.jsonl", "--flips")
    assert "4 indices with other content in the two runs (first: 0, 1, 2, 3)" in done.stderr
    assert "rollprof show moved.jsonl 2 --against base.jsonl" in done.stdout
    shown = run_command(["show", "moved.jsonl", "2", "--against", "base.jsonl"], folder)
    assert "task 2 is task 1 in base.jsonl" in shown.stderr
    assert "base.jsonl · rollout 1:2" in shown.stdout
    by_index = compare(folder, "base.jsonl", "moved.jsonl", "--key", "index")
    assert "paired, but of other content: 4 tasks (first: 0, 1, 2, 3)" in by_index.stderr
    by_field = compare(folder, "base.jsonl", "moved.jsonl", "--key", "uuid")
    assert "other content" not in by_field.stderr
    assert "0.1197" in by_field.stdout


def test_one_prompt_for_all(folder: Path) -> None:
    plan, done = rows_of(GOOD)
    for row in plan:
        row.update(prompt(0))
        row.pop("uuid")
        row.pop("level")
    write(folder, "blank", plan, done)
    said = compare(folder, "blank.jsonl", "blank.jsonl").stderr
    assert "12 tasks have only 1 different content (first: 0)" in said
    assert "--key index keeps them apart" in said
    assert compared(folder, "blank.jsonl", "blank.jsonl", "--key", "index")["comparisons"][0]["score"]["tasks"] == 12


def test_nothing_in_common(folder: Path) -> None:
    write_rewards(folder, "far", {90: [1], 91: [0]})
    done = compare(folder, "base.jsonl", "far.jsonl", "--fail-if-worse", "0")
    assert done.exit_code == 0
    assert "no task in common" in done.stderr
    assert "Verdict    too little data: no task has a reward in both runs" in done.stdout


def test_one_shared_task_and_one_repeat(folder: Path) -> None:
    write_rewards(folder, "one", {0: [1]})
    done = compare(folder, "base.jsonl", "one.jsonl")
    assert "none: it takes two tasks" in done.stdout
    (one,) = compared(folder, "base.jsonl", "one.jsonl")["comparisons"]
    assert (one["score"]["change"], one["score"]["se"], one["score"]["smallest_effect"]) == (0.5, None, None)


def test_the_same_rollouts_scored_twice(folder: Path) -> None:
    plan, done = rows_of(GOOD)
    done[0] |= {"reward": 0}
    done[4]["response"]["id"] = "resp_other"
    write(folder, "again", plan, done)
    words = ("good.jsonl", "again.jsonl", "--pair", "rollout", "--flips")
    said = compare(folder, *words)
    assert "of another response.id, and left out: 1 rollout (first: 1:1)" in said.stderr
    assert "rollprof show again.jsonl 0:0 --against good.jsonl" in said.stdout
    (one,) = compared(folder, *words)["comparisons"]
    assert one["pairing"]["rollouts"] == {
        "scored": 35,
        "same": 35,
        "unchecked": 0,
        "other": 1,
        "only_base": 0,
        "only_candidate": 0,
    }
    assert one["states"] == {"pass_to_fail": 1, "fail_to_pass": 0, "pass_in_both": 22, "fail_in_both": 12}
    assert [
        (row["task"], row["rollout"], row["base_score"], row["candidate_score"]) for row in one["tables"]["flips"]
    ] == [(0, 0, 1.0, 0.0)]


def test_exports_and_profiles_are_runs(folder: Path) -> None:
    expected = compared(folder, "good.jsonl", "bad.jsonl")["comparisons"][0]["score"]
    for name in ("good", "bad"):
        assert run_command(["export", f"{name}.jsonl", "-o", f"{name}.parquet"], folder).exit_code == 0
        assert run_command(["profile", f"{name}.jsonl", "-o", name], folder).exit_code == 0
    exports = compared(folder, "good.parquet", "bad.parquet")["comparisons"][0]
    profiles = compared(folder, "good_reward_profiling.jsonl", "bad_reward_profiling.jsonl")["comparisons"][0]
    assert exports["score"] == profiles["score"] == expected
    assert profiles["pairing"]["content_of"] == "row"
    by_field = compared(folder, "good.parquet", "bad.parquet", "--key", "uuid")["comparisons"][0]
    assert by_field["score"] == expected
    (folder / "bad.jsonl").unlink()
    (folder / "bad_materialized_inputs.jsonl").unlink()
    assert_refused(compare(folder, "good.parquet", "bad.parquet"), 3, "--key index")
    by_index = compare(folder, "good.parquet", "bad.parquet", "--key", "index")
    assert "contents were not compared" in by_index.stderr
    assert "worse: reward fell by 0.4444" in by_index.stdout


def test_exports_and_profiles_do_not_say_what_was_lost_or_cut(folder: Path) -> None:
    write_rewards(folder, "lost", {task: [1, None] for task in range(6)})
    write_rewards(folder, "kept", {task: [1, 1] for task in range(6)})
    for name in ("lost", "kept"):
        assert run_command(["export", f"{name}.jsonl", "-o", f"export_{name}.parquet"], folder).exit_code == 0
        assert run_command(["profile", f"{name}.jsonl", "--partial", "-o", name], folder).exit_code == 0

    def change_is_of(kept: str, lost: str) -> dict[str, Any]:
        (one,) = compared(folder, kept, lost)["comparisons"]
        return {**one["tables"]["infrastructure"][0], "unknown": one["pairing"]["unknown"][1]}

    dumps = change_is_of("kept.jsonl", "lost.jsonl")
    assert (dumps["by_lost"], dumps["by_troubled"], dumps["missing_change"]) == (-0.5, 0.0, 0.5)
    exports = change_is_of("export_kept.parquet", "export_lost.parquet")
    silent = ("by_lost", "missing_change", "unscored_change")
    assert ([exports[name] for name in silent], exports["by_troubled"]) == ([None] * 3, 0)
    assert exports["unknown"] == ["planned"]
    profiles = change_is_of("kept_reward_profiling.jsonl", "lost_reward_profiling.jsonl")
    assert {profiles[name] for name in ("by_lost", "by_troubled", "masked_change", "truncated_change")} == {None}
    assert profiles["unknown"] == ["planned", "masked", "truncated", "verdicts"]
    said = compare(folder, "kept_reward_profiling.jsonl", "lost_reward_profiling.jsonl")
    assert "no part of the change" not in said.stdout
    assert said.stderr.count("nobody knows which rollouts were planned and are missing") == 2


def test_no_content_is_no_key(folder: Path) -> None:
    plan, done = rows_of(GOOD)
    for row in done:
        row.pop("responses_create_params", None)
    write(folder, "bare", plan, done, inputs=False)
    refused = compare(folder, "good.jsonl", "bare.jsonl")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "bare.jsonl: no row has responses_create_params or other content" in refused.stderr
    assert "--key index" in refused.stderr
    by_index = compared(folder, "good.jsonl", "bare.jsonl", "--key", "index")["comparisons"][0]
    assert by_index["pairing"]["shared"] == len(GOOD)
    done[0] |= prompt(0)
    write(folder, "bare", plan, done, inputs=False)
    said = compare(folder, "good.jsonl", "bare.jsonl")
    assert f"without any content to be known by, and left out: {len(GOOD) - 1} tasks" in said.stderr


def test_another_name_of_an_agent_beside_tasks_of_several(folder: Path) -> None:
    def run(name: str, agents: Sequence[str]) -> None:
        keys = [(task, place, agent) for task in range(7) for place, agent in enumerate(agents)]
        plan = [planned(task, place, agent, **prompt(task)) for task, place, agent in keys]
        write(folder, name, plan, [finished(task, place, reward=1) for task, place, _ in keys])

    run("both", ["a", "b"])
    run("renamed", ["new"])
    run("one", ["a"])
    said = compare(folder, "both.jsonl", "renamed.jsonl")
    assert "of other agents in the two runs: 7 tasks that both have; tasks are paired by agent" in said.stderr
    assert "--key" not in said.stderr
    assert "0 pairs of task and agent in both runs" in said.stdout
    assert "14 only in both.jsonl (first: 0, 1, 2, 3, 4, 5, 6), which take no part" in said.stdout
    said = compare(folder, "both.jsonl", "one.jsonl")
    assert "7 pairs of task and agent in both runs; 7 tasks with a score in both; 7 only in both.jsonl" in said.stdout
    assert "of other agents" not in said.stderr
    (one,) = compared(folder, "both.jsonl", "one.jsonl")["comparisons"]
    assert (one["pairing"]["shared"], one["pairing"]["by_agent"]) == (7, True)


def test_a_change_beyond_doubles_is_told_as_such(folder: Path) -> None:
    write_rewards(folder, "high", {task: [1e308] for task in range(8)})
    write_rewards(folder, "low", {task: [-1e308] for task in range(8)})
    said = compare(folder, "high.jsonl", "low.jsonl")
    assert "too little data: the change of reward is beyond a double" in said.stdout
    assert "with a mean or a change beyond a double, and left out: 8 pairs of tasks" in said.stderr


def test_inputs_of_each(folder: Path) -> None:
    for name in ("good", "bad"):
        (folder / f"{name}_materialized_inputs.jsonl").rename(folder / f"plan of {name}.jsonl")
    words = ("good.jsonl", "bad.jsonl", "-i", "plan of good.jsonl")
    assert compared(folder, *words)["comparisons"][0]["verdict"] == "worse"
    done = compare(folder, *words, "-i", "plan of bad.jsonl", "--flips")
    assert (
        "rollprof show bad.jsonl 0 -i 'plan of bad.jsonl' --against good.jsonl --against-inputs 'plan of good.jsonl'"
        in done.stdout.replace("  ", " ")
    )


def test_thresholds(folder: Path) -> None:
    done = compare(folder, "good.jsonl", "bad.jsonl", "--pass-threshold", "0", "--pass-threshold", "till=0.5")
    assert "reward >= 0, till: reward >= 0.5" in done.stdout
    tokens = compared(folder, "good.jsonl", "bad.jsonl", "--score", "output_tokens")
    assert (tokens["pass_rule"], tokens["comparisons"][0]["score"]["change"]) == ("output_tokens >= 1", 0.0)


def test_the_commands_go_by_the_rule_of_the_comparison(folder: Path) -> None:
    for name, grades in (("one", [0.9, 0.8, 0.1]), ("two", [0.4, 0.2, 0.6])):
        plan, done = rows_of({task: [0, 0.5, 1] for task in range(2)})
        graded = [row | {"grade": grades[row["_ng_rollout_index"]]} for row in done]
        write(folder, name, plan, graded)
    rule = ["--score", "grade", "--pass-threshold", "0.5"]
    told = compare(folder, "one.jsonl", "two.jsonl", "--flips", *rule).stdout
    shown = [line.partition("rollprof ")[2].split() for line in told.splitlines() if "rollprof show" in line]
    assert shown == [["show", "two.jsonl", task, "--against", "one.jsonl", *rule] for task in ("0", "1")]
    titles = [line for line in run_command(shown[0], folder).stdout.splitlines() if " · rollout " in line]
    assert [line.split(" · ")[1] for line in titles] == ["rollout 0:0", "rollout 0:1"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["good.jsonl"], "two runs are compared"),
        ([], "two runs are compared"),
        (["good.jsonl", "bad.jsonl", "-r", "x"], "--rollouts is for one run"),
        (["good.jsonl", "bad.jsonl", "base.jsonl", "-i", "a", "-i", "b"], "2 --inputs for 3 runs"),
        (["good.jsonl", "bad.jsonl", "--by-estimate"], "--by-estimate goes with --fail-if-worse"),
        (["good.jsonl", "bad.jsonl", "--fail-if-worse", "nan"], "--fail-if-worse"),
        (["good.jsonl", "bad.jsonl", "--fail-if-worse", "-1"], "--fail-if-worse"),
        (["good.jsonl", "bad.jsonl", "--key", "nope"], "--key nope: no row of good.jsonl has it"),
        (["good.jsonl", "bad.jsonl", "--key", "a..b"], "--field"),
        (["good.jsonl", "bad.jsonl", "--by", "nope"], "there is no column"),
        (["good.jsonl", "bad.jsonl", "--score", "nope"], "there is no column 'nope'"),
        (["good.jsonl", "bad.jsonl", "--pass-threshold", "x"], "--pass-threshold 'x' is no threshold"),
        (["good.jsonl", "bad.jsonl", "--pass-threshold", "a=inf"], "is no threshold"),
        (["good.jsonl", "bad.jsonl", "--pair", "rollout", "--key", "index"], "--key is for tasks"),
        (["good.jsonl", "bad.jsonl", "--pair", "nope"], "--pair"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals(words: list[str], said: str, folder: Path) -> None:
    assert_refused(compare(folder, *words), 2, said)


def test_a_run_that_is_not_there(folder: Path) -> None:
    assert_refused(compare(folder, "good.jsonl", "nope.jsonl"), 3, "nope.jsonl")


def test_the_rules_of_the_base_count(folder: Path) -> None:
    for name, threshold in (("one", 0.25), ("two", 0.75)):
        write_rewards(folder / name, "run", {task: [0.5, 0.25] for task in range(7)})
        (folder / name / "rollprof.yaml").write_text(f"pass_threshold: {threshold}\n")
    done = compare(folder, "one", "two")
    assert "two has rules of its own (reward >= 0.75), which do not count here" in done.stderr
    assert "28 of 28 scores are neither 0 nor 1; what passes is decided by reward >= 0.25" in done.stderr
    assert "reward >= 0.25; tasks" in done.stdout
    assert_refused(compare(folder, "one", "two", "-o", "one/rollprof.yaml", "-f", "csv"), 2, "would overwrite")


def test_numbers_at_the_end_of_doubles(folder: Path) -> None:
    for name, reward in (("huge", 1e308), ("low", -1e308)):
        write_rewards(folder, name, {task: [reward, reward / (task + 1)] for task in range(8)})
    done = compare(folder, "huge.jsonl", "low.jsonl", "--json")
    assert (done.exit_code, json.loads(done.stdout)["comparisons"][0]["verdict"]) == (0, "too little data")
    assert "Warning" not in done.stderr


def test_a_run_without_the_score_is_named(folder: Path) -> None:
    plan, done = rows_of(GOOD)
    for row in done:
        row["points"] = row.pop("reward")
    write(folder, "points", plan, done)
    assert_refused(compare(folder, "good.jsonl", "points.jsonl"), 2, "points.jsonl: there is no column 'reward'")
