"""`rollprof stats`: tables for people and programs, and the rule by which rollouts pass."""

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.processes import end_of, environment, start
from tests.cli.run_files import assert_refused
from tests.command import Finished, run_command
from tests.runs import Row, finished, jsonl, planned

C14 = {0: [0.0, 0.5, 1.0, 2.0], 1: [-1.0, 0.25, 0.99, 1.0]}


def write(folder: Path, rows: list[Row], plan: list[Row] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "r.jsonl").write_bytes(jsonl(rows))
    keys = [(row["_ng_task_index"], row["_ng_rollout_index"], row["agent"]) for row in rows]
    (folder / "r_materialized_inputs.jsonl").write_bytes(jsonl([planned(*key) for key in keys] + (plan or [])))
    return folder


def rollout(task: int, index: int, reward: Any, answer: Any = None, *, agent: str = "a", **fields: Any) -> Row:
    said = {} if answer is None else {"extracted_answer": answer}
    return finished(task, index, {"output_tokens": 5}, reward=reward, agent=agent, **said, **fields)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        rollout(task, index, float((task + index) % 3 == 0), "AB5"[(task + index) % 3], level=task % 2)
        for task in range(6)
        for index in range(4)
    ]
    return write(tmp_path, rows, [planned(6, 0, "a")])


def partial_credit(folder: Path) -> Path:
    return write(folder, [rollout(task, i, score) for task, some in C14.items() for i, score in enumerate(some)])


def stats(folder: Path, *more: str) -> tuple[list[Row], str]:
    done = run_command(["stats", "r.jsonl", "--json", "--no-cache", "--draws", "50", *more], folder)
    assert (done.exit_code, "Traceback" in done.stderr) == (0, False), done.stderr
    rows: list[Row] = json.loads(done.stdout, parse_constant=pytest.fail)
    return rows, done.stderr


def values(rows: list[Row], figure: str, k: int | None = None) -> list[float | None]:
    found = [row for row in rows if (row["figure"], row["k"], row["scope"]) == (figure, k, "agent")]
    return [row["value"] for row in found if row["interval"] in {None, "clustered by task (t)"}]


def test_tables_for_people(folder: Path) -> None:
    done = run_command(["stats", "r.jsonl", "-q"], folder)
    assert (done.exit_code, done.stderr) == (0, "")
    titles = [part.splitlines()[0] for part in done.stdout.split("\n\n")]
    assert [title.split()[0] for title in titles] == ["How", "Over", "Over", "Signal:", "Variance", "Mean"]
    assert titles[1] == "Over rollouts (95 % intervals; passes: reward >= 1)"
    assert "unknown 1" in done.stdout
    assert "pass@4" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 160


def counts_of(rows: list[Row]) -> dict[str, tuple[float | None, str | None]]:
    known = [row for row in rows if row["part"] == "completeness" and row["failure_class"] is None]
    return {row["figure"]: (row["value"], row["note"]) for row in known}


@pytest.mark.parametrize(
    ("kind", "silent", "said"),
    [
        ("export", {"planned", "missing"}, "an export without its inputs: nobody knows which rollouts were planned"),
        ("alone", {"planned", "missing"}, "read without its inputs: nobody knows which rollouts were planned"),
        ("profile", {"planned", "missing", "finished", "masked"}, "masked, truncated or judged"),
    ],
)
def test_what_a_kind_of_run_does_not_say_is_not_nothing(kind: str, silent: set[str], said: str, tmp_path: Path) -> None:
    rows = [rollout(0, 0, 1), rollout(0, 1, 0), rollout(1, 0, 1, mask_sample=True), rollout(1, 1, 0)]
    write(tmp_path, rows, [planned(1, 2, "a"), planned(2, 0, "a")])
    whole = counts_of(stats(tmp_path)[0])
    assert [value for value, _ in whole.values()] == [6, 4, 2, 1, 0, 3]
    assert run_command(["export", "r.jsonl", "-o", "export.parquet"], tmp_path).exit_code == 0
    assert run_command(["profile", "r.jsonl", "--partial", "-o", "r"], tmp_path).exit_code == 0
    name = {"export": "export.parquet", "profile": "r_reward_profiling.jsonl"}.get(kind, "r.jsonl")
    words = ["stats", name, *(["--rollouts-only"] if kind == "alone" else [])]
    done = run_command([*words, "--json"], tmp_path)
    found = json.loads(done.stdout)
    counts = counts_of(found)
    assert {figure for figure, (value, _) in counts.items() if value is None} == silent
    assert all("not known which rollouts were planned" in str(counts[figure][1]) for figure in silent)
    assert {counts[figure] == whole[figure] for figure in counts if figure not in silent} == {True}
    bounds = {row["figure"]: row["value"] for row in found if row["part"] == "missing" and not row["failure_class"]}
    assert [bounds[f"if {name}"] for name in ("zero", "best", "worst")] == [None] * 3
    assert done.stderr.count(said) == 1
    assert run_command(words, tmp_path).exit_code == 0


def test_uneven_repeats_have_a_mean_of_their_own(tmp_path: Path) -> None:
    # repeat 0 of four tasks has the mean 1/4, repeats 1 and 2 of one task 1 and 0: (1/4 + 1 + 0) / 3, not (1 + 1) / 6
    write(tmp_path, [*(rollout(task, 0, float(task == 3)) for task in range(4)), rollout(0, 1, 1), rollout(0, 2, 0)])
    done = run_command(["stats", "r.jsonl"], tmp_path)
    assert "repeats rest on different numbers of tasks (a): their spread is partly a difference of tasks" in done.stderr
    line = next(line for line in done.stdout.splitlines() if "mean score" in line)
    assert "0.3333" in line
    assert "0.4167: -0.8761 … 1.709 (3 repeats, of different numbers of tasks)" in line
    rows, _ = stats(tmp_path)
    across = next(row for row in rows if row["figure"] == "mean score" and row["interval"] == "across repeats (t)")
    assert across["value"] == pytest.approx(1.25 / 3)


def test_text_for_rewards_is_told_as_such(tmp_path: Path) -> None:
    write(tmp_path, [rollout(0, 0, "good")])
    for command in ("stats", "suspects", "select"):
        more = ["--dry-run"] if command == "select" else []
        done = run_command([command, "r.jsonl", *more], tmp_path)
        assert_refused(done, 2, "no rollout has a number in 'reward'", "It is text. Metrics: output_tokens.")
        assert "1 reward is text or other than a number; it is left out" in done.stderr


def test_one_draw_says_nothing_of_tasks(folder: Path) -> None:
    done = run_command(["stats", "r.jsonl", "--json", "--draws", "1"], folder)
    notes = {row["note"] for row in json.loads(done.stdout) if row["interval"] == "bootstrap over tasks"}
    assert "no draw differs" in notes
    assert "no task differs" not in notes


def test_variance_of_several_agents_is_of_pairs(tmp_path: Path) -> None:
    write(tmp_path, [rollout(task, i, task * i % 3, agent="ab"[i % 2]) for task in range(4) for i in range(4)])
    rows = [row for row in stats(tmp_path)[0] if row["part"] == "variance" and row["scope"] == "all"]
    assert [row["tasks"] for row in rows] == [4, 4, 4]
    assert any("8 pairs of task and agent" in row["note"] for row in rows)


def test_markdown(folder: Path) -> None:
    done = run_command(["stats", "r.jsonl", "-q", "--format", "md", "-o", "s.md"], folder)
    assert (done.exit_code, done.stdout) == (0, "")
    text = (folder / "s.md").read_text()
    assert text.count("## ") == 6
    assert "| pass@4 |" in text


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_one_long_table_for_programs(suffix: str, folder: Path) -> None:
    done = run_command(["stats", "r.jsonl", "-q", "--by", "level", "-o", f"s.{suffix}"], folder)
    assert done.exit_code == 0, done.stderr
    read: Any = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[suffix]
    found = read(
        io.BytesIO((folder / f"s.{suffix}").read_bytes()),
        **({} if suffix == "parquet" else {"infer_schema_length": None}),
    )
    assert found.columns[:5] == ["scope", "_agent", "level", "part", "figure"]
    assert set(found["scope"]) == {"agent", "group"}
    assert {"value", "interval", "low", "high", "tasks", "rollouts", "pass_rule", "note"} <= set(found.columns)


def test_people_see_few_figures_of_groups_unless_they_choose(folder: Path) -> None:
    few = run_command(["stats", "r.jsonl", "--by", "level"], folder)
    assert "groups have mean score, pass rate, pass@k here (--figure NAME for others)" in few.stderr
    assert "pass^" in few.stdout
    of_groups = [line for line in few.stdout.splitlines() if "pass" in line and "(all)" not in line]
    assert of_groups
    assert not any("pass^" in line for line in of_groups)
    rows, _ = stats(folder, "--by", "level", "--figure", "pass^k", "--figure", "ICC")
    assert {row["figure"] for row in rows} == {"pass^k", "ICC"}
    assert {row["scope"] for row in rows} == {"agent", "group"}


def test_figures_are_chosen_by_the_names_that_tables_have(folder: Path) -> None:
    rows, _ = stats(folder, "--figure", "pass@2", "--figure", "mixed@4", "--figure", "pass^k")
    chosen = {("pass@k", 2), ("mixed@k", 4), ("pass^k", 1), ("pass^k", 2), ("pass^k", 4)}
    assert {(row["figure"], row["k"]) for row in rows} == chosen
    refused = run_command(["stats", "r.jsonl", "--figure", "pass@64"], folder)
    assert_refused(refused, 2, "--figure 'pass@64'", "mean score, pass rate, pass@1, pass@2,", "; pass@k is all")


def test_a_share_beyond_what_shares_can_be_is_of_few_tasks(tmp_path: Path) -> None:
    write(tmp_path, [rollout(task, repeat, float(task)) for task in range(2) for repeat in range(2)])
    rows, _ = stats(tmp_path)
    notes = {row["figure"]: row["note"] for row in rows if row["interval"] == "clustered by task (t)"}
    assert (notes["pass rate"], notes["pass@k"], notes["mean score"], notes["avg@k"]) == ("few tasks",) * 2 + (
        None,
    ) * 2


def test_limit(folder: Path) -> None:
    rows, told = stats(folder, "--limit", "3")
    assert len(rows) == 3
    assert "3 of " in told


def test_partial_credit_is_told_with_the_rule(tmp_path: Path) -> None:
    rows, told = stats(partial_credit(tmp_path))
    assert "warning: 5 of 8 scores are neither 0 nor 1; what passes is decided by reward >= 1" in told
    assert values(rows, "pass rate") == [0.375]
    rows, told = stats(tmp_path, "--pass-threshold", "0.01")
    assert "decided by reward >= 0.01" in told
    assert values(rows, "pass rate") == values(rows, "pass@k", 1) == [0.75]
    rows, _ = stats(tmp_path, "--pass-threshold", "-1")
    assert values(rows, "pass rate") == [1.0]


def test_zeros_and_ones_need_no_warning(folder: Path) -> None:
    assert "warning" not in stats(folder)[1]


@pytest.fixture
def two_agents(tmp_path: Path) -> Path:
    rows = [rollout(t, i, 0.5 * i, agent="ab"[t % 2], other=i) for t in range(4) for i in range(3)]
    return write(tmp_path, rows)


def test_rules(two_agents: Path) -> None:
    (two_agents / "rollprof.yaml").write_text("agents: {a: 0}")
    rows, told = stats(two_agents, "--pass-threshold", "b=0.5")
    assert values(rows, "pass rate") == pytest.approx([1.0, 2 / 3])
    assert {row["pass_rule"] for row in rows if row["figure"] == "pass rate"} == {
        "reward >= 1, a: reward >= 0, b: reward >= 0.5"
    }
    assert "Rules: rollprof.yaml" in told
    refused = run_command(["stats", "r.jsonl", "--pass-threshold", "c=1"], two_agents)
    assert_refused(refused, 2, "--pass-threshold c=…: no agent is called so", "There are a, b.")
    (two_agents / "rollprof.yaml").write_text("agents: {c: 1}")
    assert "a threshold for 'c', which is no agent of this run: a, b" in stats(two_agents)[1]
    (two_agents / "mine.yaml").write_text("score: other")
    rows, told = stats(two_agents, "--rules", "mine.yaml")
    assert values(rows, "pass rate") == pytest.approx([2 / 3, 2 / 3])
    assert "Rules: mine.yaml" in told


def test_rules_are_not_overwritten(two_agents: Path) -> None:
    (two_agents / "mine.yaml").write_text("score: other")
    refused = run_command(
        ["stats", "r.jsonl", "-q", "--rules", "mine.yaml", "-o", "mine.yaml", "-f", "csv"], two_agents
    )
    assert_refused(refused, 2, "mine.yaml", "overwrite")


def test_numbers_and_texts_are_answers(tmp_path: Path) -> None:
    said: list[Any] = ["A", "A", 5, "5", 5.0, None]
    rows = [rollout(0, i, float(answer in {"5", 5}), answer) for i, answer in enumerate(said)]
    found, _ = stats(write(tmp_path, rows))
    assert values(found, "majority@k", 6) == [1.0]
    assert values(found, "no-answer@k", 1) == [pytest.approx(1 / 6)]


def test_an_answer_field_of_its_own(tmp_path: Path) -> None:
    rows = [rollout(0, i, float(i > 0), meta={"said": "x" * 300 if i else "y"}) for i in range(3)]
    found, _ = stats(write(tmp_path, rows), "--field", "said=row.meta.said", "--answer-field", "said")
    assert values(found, "majority@k", 3) == [1.0]


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [rollout(0, 0, 1.0)],
        [rollout(0, 0, 1.0), rollout(1, 0, 0.0)],
        [rollout(0, 0, 0.1), rollout(0, 1, 0.1), rollout(1, 0, 0.1), rollout(1, 1, 0.1)],
        [rollout(0, 0, 1.7e308), rollout(0, 1, -1.7e308), rollout(1, 0, 1.7e308)],
        [rollout(0, 0, 1.0, mask_sample=True), rollout(0, 1, 1.0, mask_sample=True)],
    ],
    ids=["none", "one", "one repeat", "no variance", "huge", "masked"],
)
def test_little_data_is_no_accident(rows: list[Row], tmp_path: Path) -> None:
    folder = write(tmp_path, rows, [planned(9, 9, "a")])
    done = end_of(start(["stats", "r.jsonl"], folder, env=environment(PYTHONWARNINGS="always")))
    assert done.exit_code == 0, done.stderr
    assert "nan" not in done.stdout.lower()
    assert "inf" not in done.stdout.lower()
    for line in done.stderr.splitlines():
        assert line.startswith(("inputs: ", "warning: ")), line
        assert "RuntimeWarning" not in line


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--by", "absent"], "absent"),
        (["--answer-field", "absent"], "absent"),
        (["--group-size", "4,x"], "4,x"),
        (["--group-size", "1"], "--group-size"),
        (["--confidence", "2"], "--confidence 2 is out of range\n  It is above 0 and below 1."),
        (["--confidence", "1"], "--confidence 1 is out of range"),
        (["--confidence", "nan"], "--confidence nan is out of range"),
        (["--draws", "0"], "--draws"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_refusals(args: list[str], words: str, folder: Path) -> None:
    assert_refused(run_command(["stats", "r.jsonl", "-q", *args], folder), 2, words)


def test_seed_confidence_and_sizes(folder: Path) -> None:
    def bootstrap(rows: list[Row]) -> list[Any]:
        return [(row["low"], row["high"]) for row in rows if row["interval"] == "bootstrap over tasks"]

    rows, _ = stats(folder, "--group-size", "3", "--seed", "1")
    assert bootstrap(rows) != bootstrap(stats(folder, "--group-size", "3", "--seed", "2")[0])
    assert len(values(rows, "mixed@k", 3)) == 1
    assert values(rows, "mixed@k", 4) == []
    narrow, _ = stats(folder, "--confidence", "0.5")
    wide, _ = stats(folder)
    width = [next(row["high"] - row["low"] for row in one if row["figure"] == "mean score") for one in (narrow, wide)]
    assert width[0] < width[1]


def outputs(folder: Path, threads: int) -> tuple[str, str]:
    env = environment(POLARS_MAX_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    args = ["stats", "r.jsonl", "--by", "row.topic", "--draws", "40", "--json", "-q"]
    done: Finished = end_of(start(args, folder, env=env))
    assert done.exit_code == 0, done.stderr
    return done.stdout, done.stderr


def test_threads_do_not_matter(tmp_path: Path) -> None:
    rows = [
        rollout(task, i, ((task * 31 + i) % 17) / 7, str((task + i) % 3), topic=f"t{task % 5}", agent="ab"[task % 2])
        for task in range(3000)
        for i in range(3)
    ]
    write(tmp_path, rows)
    assert outputs(tmp_path, 16) == outputs(tmp_path, 1)
