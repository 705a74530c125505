"""`profile` gives the figures that were worked out by hand for runs made after public reports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command import run_command
from tests.contract.cases import INPUTS_FILENAME, ROLLOUTS_FILENAME, Case, public_cases
from tests.slow_profile import difference

Row = dict[str, Any]
CASES = public_cases()
SHARD = "rollouts-rs1.jsonl"
OUTPUTS = ("_reward_profiling.jsonl", "_agent_metrics.json", "_repeat_level_metrics.json")


@dataclass(frozen=True)
class Profiled:
    """A profile that was written: its rows by task, its entries by agent, and what was said to a program."""

    tasks: dict[int, Row]
    agents: dict[str, Row]
    report: Row


@dataclass(frozen=True)
class Refused:
    """A run that was refused: what was said to a program and to a person."""

    report: Row
    message: str

    def keys(self) -> set[tuple[int, int]]:
        """All rollout keys that the report names, of whatever kind of fault."""
        return set(pairs_in(self.report["keys"]))


def pairs_in(value: Any) -> list[tuple[int, int]]:
    """All pairs of whole numbers at any depth."""
    if isinstance(value, dict):
        return [pair for inner in value.values() for pair in pairs_in(inner)]
    if isinstance(value, list):
        if len(value) == 2 and all(isinstance(inner, int) for inner in value):
            return [(value[0], value[1])]
        return [pair for inner in value for pair in pairs_in(inner)]
    return []


def run(case: Case, folder: Path, *flags: str, rollouts: Sequence[str] = (ROLLOUTS_FILENAME,)) -> tuple[int, Row, str]:
    """Run `profile --json` on a case: exit code, report and narration."""
    case.write_to(folder)
    named = [arg for path in rollouts for arg in ("--rollouts", path)]
    done = run_command(["profile", "--inputs", INPUTS_FILENAME, *named, "--json", *flags], folder)
    assert "Traceback (most recent call last)" not in done.stderr
    return done.exit_code, json.loads(done.stdout), done.stderr


def profiled(
    case: Case,
    folder: Path,
    *flags: str,
    rollouts: Sequence[str] = (ROLLOUTS_FILENAME,),
    stem: str = "rollouts",
) -> Profiled:
    """Profile a case that must be profiled."""
    exit_code, report, stderr = run(case, folder, *flags, rollouts=rollouts)
    assert exit_code == 0, stderr
    rows = (folder / f"{stem}_reward_profiling.jsonl").read_text("utf-8").split("\n")
    tasks = [json.loads(row) for row in rows if row]
    agents = json.loads((folder / f"{stem}_agent_metrics.json").read_text("utf-8"))
    return Profiled(
        tasks={row["_ng_task_index"]: row for row in tasks},
        agents={entry["agent_ref"]["name"]: entry for entry in agents},
        report=report,
    )


def refused(case: Case, folder: Path, *flags: str) -> Refused:
    """Profile a case that must be refused for its keys, with and without `--json`, and leaves no file."""
    exit_code, report, _ = run(case, folder, *flags)
    assert exit_code == report["exit_code"] == 4
    assert report["kind"]
    assert report["hint"]
    paths = ["--inputs", INPUTS_FILENAME, "--rollouts", ROLLOUTS_FILENAME]
    done = run_command(["profile", *paths, *flags], folder)
    assert done.exit_code == 4
    assert not done.stdout.strip()
    assert not [path.name for path in folder.iterdir() if path.name.endswith(OUTPUTS)]
    return Refused(report, done.stderr)


def assert_figures(want: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    """A row has the figures wanted, and may have others."""
    assert difference(dict(want), {key: row[key] for key in want if key in row}, order=False) is None


def assert_tasks(want: Mapping[str, Mapping[str, Any]], got: Profiled) -> None:
    """The task rows have the figures wanted."""
    for task, figures in want.items():
        assert_figures(figures, got.tasks[int(task)])


def metrics_in(row: Mapping[str, Any]) -> set[str]:
    """The names of the metrics that a row or entry has any figure of."""
    return {key.partition("/")[2] for key in row if "/" in key}


def only_agent(got: Profiled) -> Row:
    (entry,) = got.agents.values()
    return entry


@pytest.mark.parametrize("number", sorted(CASES.keys() - {"c06", "c09", "c10"}))
def test_figures_worked_out_by_hand(number: str, tmp_path: Path) -> None:
    case = CASES[number]
    got = profiled(case, tmp_path, *case.flags)
    assert_tasks(case.values.get("tasks", {}), got)
    for name, figures in case.values.get("agents", {}).items():
        assert_figures(figures, got.agents[name])
    for task, keys in case.values.get("absent", {}).items():
        assert not [key for key in keys if key in got.tasks[int(task)]]
    for task, infos in case.values.get("rollout_infos", {}).items():
        for want, info in zip(infos, got.tasks[int(task)]["rollout_infos"], strict=True):
            assert_figures(want, info)
    if "summary" in case.values:
        assert_figures(case.values["summary"], got.report["completion"])


class TestPartialRun:
    """c01: one task whole, one half done, one never started."""

    def test_refused_unless_asked_for(self, tmp_path: Path) -> None:
        got = refused(CASES["c01"], tmp_path)
        assert got.keys() == {(1, 0), (1, 2), (2, 0), (2, 1), (2, 2), (2, 3)}
        assert 6 in got.report["counts"].values()
        assert "--partial" in got.report["hint"]
        assert "--partial" in got.message
        assert "6" in got.message

    def test_sample_is_of_the_first_finished_rollout(self, tmp_path: Path) -> None:
        got = profiled(CASES["c01"], tmp_path, "--partial")
        assert list(got.tasks) == [0, 1]
        sample = got.tasks[1]["sample"]
        assert "seed 1" in json.dumps(sample)
        assert not [name for name in sample if name.startswith("_ng_")]


def test_c02_infos_go_by_rollout_index(tmp_path: Path) -> None:
    got = profiled(CASES["c02"], tmp_path)
    assert list(got.tasks) == [0, 1]
    for task, row in got.tasks.items():
        infos = row["rollout_infos"]
        assert [info["rollout_id"] for info in infos] == [f"{task}:0", f"{task}:1"]
        assert sum(info["reward"] > 0 for info in infos) == 1


def test_c03_missing_usage_has_no_keys(tmp_path: Path) -> None:
    infos = profiled(CASES["c03"], tmp_path).tasks[0]["rollout_infos"]
    assert ["input_tokens" in info for info in infos] == [False, False, False, True]
    assert [len(info) for info in infos[:3]] == [4, 4, 4]


class TestMaskedSamples:
    """c06: rewards the environment itself calls invalid."""

    @pytest.mark.parametrize("flags", [(), ("--masked", "exclude")], ids=["default", "exclude"])
    def test_excluded(self, flags: tuple[str, ...], tmp_path: Path) -> None:
        want = CASES["c06"].values["measured"]
        got = profiled(CASES["c06"], tmp_path, *flags)
        assert_tasks(want["tasks"], got)
        agent = only_agent(got)
        assert agent["mean/reward"] == pytest.approx(want["all"]["mean/reward"])
        assert agent["coverage/measured_rollouts"] == want["all"]["measured"]
        assert agent["coverage/masked_rollouts"] == want["all"]["masked"]
        assert [info["rollout_id"] for info in got.tasks[0]["rollout_infos"]] == ["0:0", "0:1"]
        assert got.tasks[0]["num_rollouts"] == got.tasks[0]["expected_num_rollouts"] == 2

    def test_included(self, tmp_path: Path) -> None:
        want = CASES["c06"].values["every_row"]
        got = profiled(CASES["c06"], tmp_path, "--masked", "include")
        assert_tasks(want["tasks"], got)
        assert_figures(want["all"], only_agent(got))
        assert got.tasks[0]["num_rollouts"] == 4

    @pytest.mark.parametrize("masked", ["exclude", "include"])
    def test_summary_counts_them_as_finished(self, masked: str, tmp_path: Path) -> None:
        completion = profiled(CASES["c06"], tmp_path, "--masked", masked).report["completion"]
        assert completion["expected_rollout_rows"] == completion["completed_rollout_rows"] == 6
        assert [count for name, count in completion.items() if name.startswith("masked")] == [2]

    def test_summary_says_which_it_was(self, tmp_path: Path) -> None:
        case = CASES["c06"]
        case.write_to(tmp_path)
        paths = ["--inputs", INPUTS_FILENAME, "--rollouts", ROLLOUTS_FILENAME]
        said = {
            masked: "".join(run_command(["profile", *paths, "--masked", masked], tmp_path)[1:])
            for masked in ("exclude", "include")
        }
        assert all("masked" in text.lower() for text in said.values())
        assert said["exclude"] != said["include"]


class TestFailuresSidecar:
    """c08: failures are counted and never averaged."""

    def test_accounting(self, tmp_path: Path) -> None:
        got = profiled(CASES["c08"], tmp_path, "--partial")
        assert list(got.tasks) == [0, 1]
        assert_figures(CASES["c08"].values["accounting"], got.report["accounting"])

    def test_refused_without_partial(self, tmp_path: Path) -> None:
        got = refused(CASES["c08"], tmp_path)
        assert got.keys() == {(1, 1), (2, 0), (2, 1)}
        assert 3 in got.report["counts"].values()


class TestDuplicateRollout:
    """c09: one key twice in the rollouts."""

    def test_refused_with_both_places(self, tmp_path: Path) -> None:
        got = refused(CASES["c09"], tmp_path)
        assert got.keys() == {(0, 1)}
        places = json.dumps(got.report["places"])
        assert "rollouts.jsonl:2" in places
        assert "rollouts.jsonl:3" in places
        assert "rollouts.jsonl:3" in got.message

    @pytest.mark.parametrize("keep", ["first", "last"])
    def test_choice(self, keep: str, tmp_path: Path) -> None:
        row = profiled(CASES["c09"], tmp_path, "--on-duplicate", keep).tasks[0]
        assert_figures(CASES["c09"].values[f"keep_{keep}"], row)
        assert row["num_rollouts"] == 2

    def test_error_is_the_default(self, tmp_path: Path) -> None:
        assert refused(CASES["c09"], tmp_path, "--on-duplicate", "error").keys() == {(0, 1)}


class TestTwoShards:
    """c10: the repeats of the same tasks in two files."""

    @pytest.mark.parametrize("rollouts", [(ROLLOUTS_FILENAME, SHARD), (SHARD, ROLLOUTS_FILENAME)])
    def test_one_pass_over_the_union(self, rollouts: tuple[str, ...], tmp_path: Path) -> None:
        want = CASES["c10"].values["union"]
        got = profiled(CASES["c10"], tmp_path, "-o", "both", rollouts=rollouts, stem="both")
        assert_tasks(want["tasks"], got)
        assert_figures(want["all"], only_agent(got))

    def test_one_alone_is_refused(self, tmp_path: Path) -> None:
        got = refused(CASES["c10"], tmp_path)
        assert got.keys() == {(0, 2), (0, 3), (1, 2), (1, 3)}

    def test_several_need_a_stem(self, tmp_path: Path) -> None:
        CASES["c10"].write_to(tmp_path)
        paths = ["--inputs", INPUTS_FILENAME, "--rollouts", ROLLOUTS_FILENAME, "--rollouts", SHARD]
        done = run_command(["profile", *paths], tmp_path)
        assert done.exit_code == 2
        assert "-o" in done.stderr


def test_c16_same_rewards_have_no_spread(tmp_path: Path) -> None:
    got = profiled(CASES["c16"], tmp_path)
    same = [task for task, row in got.tasks.items() if row["max/reward"] == row["min/reward"]]
    assert same == CASES["c16"].values["same_reward_tasks"]
    assert got.tasks[0]["mean/reward"] == pytest.approx(0.4, abs=1e-12)
    assert got.tasks[0]["std/reward"] == pytest.approx(0, abs=1e-12)


def test_c18_late_metric_is_found(tmp_path: Path) -> None:
    got = profiled(CASES["c18"], tmp_path)
    found = {task: row["mean/judge_score"] for task, row in got.tasks.items() if "judge_score" in metrics_in(row)}
    assert found == {101: 4.0, 102: 2.5, 103: 1.0}
    assert len(got.tasks) == 104


def test_c20_huge_integer_is_in_the_infos(tmp_path: Path) -> None:
    infos = profiled(CASES["c20"], tmp_path).tasks[0]["rollout_infos"]
    assert pytest.approx(14933243513335727983, rel=1e-12) in [info["seed"] for info in infos]


def test_c22_sparse_metric_is_not_filled(tmp_path: Path) -> None:
    got = profiled(CASES["c22"], tmp_path)
    assert ["compiles" in info for info in got.tasks[0]["rollout_infos"]] == [True, False, True]
    assert "compiles" not in metrics_in(got.tasks[1])


def test_c24_blank_lines_are_skipped(tmp_path: Path) -> None:
    assert list(profiled(CASES["c24"], tmp_path).tasks) == [0, 1]


class TestEmptyRollouts:
    """c26: nothing was finished."""

    def test_refused_without_partial(self, tmp_path: Path) -> None:
        assert refused(CASES["c26"], tmp_path).keys() == {(0, 0), (0, 1), (1, 0), (1, 1)}

    def test_no_figures_and_a_warning(self, tmp_path: Path) -> None:
        got = profiled(CASES["c26"], tmp_path, "--partial")
        assert got.report["warnings"]
        assert got.report["completion"]["reward_profile_completion_pct"] == 0
        contents = [(tmp_path / f"rollouts{suffix}").read_text("utf-8").strip() for suffix in OUTPUTS]
        assert contents == ["", "[]", "[]"]


class TestRewardComponents:
    """c28: an object of rewards is no metric unless asked for."""

    def test_plain(self, tmp_path: Path) -> None:
        got = profiled(CASES["c28"], tmp_path)
        assert not [name for name in metrics_in(got.tasks[0]) if name.startswith("reward_components")]

    def test_nested(self, tmp_path: Path) -> None:
        got = profiled(CASES["c28"], tmp_path, "--nested", "reward_components")
        for task, components in CASES["c28"].values["components"].items():
            for name, figures in components.items():
                want = {f"{stat}/reward_components/{name}": value for stat, value in figures.items()}
                assert_figures(want, got.tasks[int(task)])
        assert "std/reward_components/tidy" not in got.tasks[1]


def test_c31_expected_counts_come_from_the_inputs(tmp_path: Path) -> None:
    got = profiled(CASES["c31"], tmp_path)
    assert only_agent(got)["mean/reward"] == pytest.approx(0.5)
    assert [row["missing_num_rollouts"] for row in got.tasks.values()] == [0, 0]


def test_c36_usage_owns_its_name(tmp_path: Path) -> None:
    row = profiled(CASES["c36"], tmp_path).tasks[0]
    infos = row["rollout_infos"]
    assert [info["total_tokens"] for info in infos] == CASES["c36"].values["rollout_infos_total_tokens"]
    assert [info.get("row/total_tokens") for info in infos] == [999, None]
    assert row["mean/row/total_tokens"] == 999
