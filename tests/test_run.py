"""A run opened from whatever it was kept as: the same rollouts, figures and answers."""

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import pipeline
from pipeline.errors import SourceError
from pipeline.frames.lazy import collect
from pipeline.frames.rollouts import scan_rollouts
from pipeline.options import ProfileOptions
from pipeline.run import Run
from pipeline.sources import cache
from queries import QUERIES
from tests.cli.run_files import assert_refused
from tests.command import run_command
from tests.runs import finished, jsonl, planned

AGENTS = ("b", "a")
ROLLOUTS = [
    finished(
        task,
        index,
        {
            "input_tokens": 5,
            "output_tokens": 10 * index + task,
            "total_tokens": 10 * index + task + 5,
            "output_tokens_details": {"reasoning_tokens": index},
        },
        reward=float((task + index) % 2),
        domain=f"d{task}",
        ng_perf={"wait": 0.5 * index},
    )
    for task in range(3)
    for index in range(4)
    if (task, index) != (2, 3)
]
INPUTS = [
    planned(task, index, AGENTS[task % 2], domain=f"d{task}", level=task) for task in range(4) for index in range(4)
]
VERDICTS = [
    {"_ng_task_index": 0, "_ng_rollout_index": 0, "verdict": "unhealthy", "findings": ["empty", {"x": 1}]},
    {"_ng_task_index": 0, "_ng_rollout_index": 1, "verdict": "unobserved", "findings": []},
    {"_ng_task_index": 9, "_ng_rollout_index": 1, "verdict": "healthy", "findings": []},
    {"_ng_task_index": 0, "_ng_rollout_index": 1, "verdict": "healthy", "findings": []},
]
SIDECAR = [{"_ng_task_index": 3, "_ng_rollout_index": 0, "_ng_failure_class": "timeout"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "r.jsonl").write_bytes(jsonl(ROLLOUTS[::-1]))
    (tmp_path / "r_materialized_inputs.jsonl").write_bytes(jsonl(INPUTS))
    (tmp_path / "r_failures.jsonl").write_bytes(jsonl(SIDECAR))
    (tmp_path / "rollout_verdicts.jsonl").write_bytes(jsonl(VERDICTS))
    return tmp_path


def test_what_rollouts_carry(folder: Path) -> None:
    run = pipeline.open_run(folder / "r.jsonl")
    rollouts = collect(run.rollouts)
    assert len(rollouts) == len(ROLLOUTS)
    first = rollouts.row(0, named=True)
    assert first["_agent"] == "b"
    assert first["_source"] == str(folder / "r.jsonl")
    assert first["_line"] == len(ROLLOUTS)
    assert (first["_input.domain"], first["_row.domain"], first["_truncated"]) == ("d0", "d0", False)
    assert (first["ng_perf/wait"], first["usage/output_tokens_details/reasoning_tokens"]) == (0.0, 0)
    content = (folder / "r.jsonl").read_bytes()
    for row in rollouts.iter_rows(named=True):
        line = json.loads(content[row["_offset"] : row["_offset"] + row["_length"]])
        assert (line["_ng_task_index"], line["reward"]) == (row["_ng_task_index"], row["reward"])


def test_verdicts_join_on_both_indices(folder: Path) -> None:
    rollouts = collect(pipeline.open_run(folder / "r.jsonl").rollouts)
    assert rollouts["_verdict"].to_list() == ["unhealthy", "healthy", *[None] * (len(ROLLOUTS) - 2)]
    assert rollouts["_findings"].to_list()[:2] == [["empty", '{"x": 1}'], []]


def test_grains_are_those_of_the_profile(folder: Path) -> None:
    run = pipeline.open_run(folder / "r.jsonl", options=ProfileOptions(partial=True))
    tasks, agents = collect(run.tasks), collect(run.agents)
    assert run_command(["profile", "r.jsonl", "--partial", "-q"], folder).exit_code == 0
    rows = [json.loads(line) for line in (folder / "r_reward_profiling.jsonl").read_text().splitlines()]
    assert tasks["mean/reward"].to_list() == [row["mean/reward"] for row in rows]
    entries = json.loads((folder / "r_agent_metrics.json").read_text())
    assert agents["mean/output_tokens"].to_list() == [entry["mean/output_tokens"] for entry in entries]
    assert len(collect(run.repeats)) == len(json.loads((folder / "r_repeat_level_metrics.json").read_text()))
    assert len(collect(run.inputs)) == len(INPUTS)
    assert len(collect(run.failures)) == len(SIDECAR)


def test_a_profile_is_a_run(folder: Path) -> None:
    assert run_command(["profile", "r.jsonl", "--partial", "-q", "--nested", "usage"], folder).exit_code == 0
    run = pipeline.open_run(folder / "r_reward_profiling.jsonl")
    dump = collect(pipeline.open_run(folder / "r.jsonl").rollouts)
    same = [*dump.columns[:3], "reward", "input_tokens", "output_tokens"]
    assert_frame_equal(collect(run.rollouts).select(same), dump.select(same))
    tasks = collect(run.tasks)
    assert tasks["expected_num_rollouts"].to_list() == [4, 4, 4]
    assert tasks["missing_num_rollouts"].to_list() == [0, 0, 1]


def test_what_is_no_profile_is_refused(folder: Path) -> None:
    path = folder / "x_reward_profiling.jsonl"
    path.write_bytes(b'{"_ng_task_index":0,"rollout_infos":[]}\n{"a":1}\n')
    with pytest.raises(SourceError, match=r"x_reward_profiling.jsonl:2: is no profile row"):
        collect(pipeline.open_run(path).rollouts)


@pytest.mark.parametrize(
    "metrics", [("reward",), ("output_tokens", "reward"), ("ng_perf/wait",), (), ("nope",)], ids=str
)
@pytest.mark.parametrize("kept_as", ["r.jsonl", "e/x.parquet"])
def test_only_the_metrics_that_are_wanted(metrics: tuple[str, ...], kept_as: str, folder: Path) -> None:
    assert run_command(["export", "r.jsonl", "-o", "e/x.parquet", "-q"], folder).exit_code == 0
    options = ProfileOptions(partial=True, nested=("usage", "ng_perf"))
    whole = collect(scan_rollouts(folder / kept_as, options))
    found = collect(scan_rollouts(folder / kept_as, options.model_copy(update={"metrics": metrics})))
    there = [name for name in whole.columns if name in metrics or (name.startswith("_") and name != "_shape")]
    assert_frame_equal(found.drop("_shape"), whole.select(there))


def answers(run: Run) -> dict[str, pl.DataFrame]:
    return {name: collect(query(run)) for name, query in QUERIES.items()}


def test_queries_give_the_same_rows_from_dump_and_export(folder: Path) -> None:
    assert run_command(["export", "r.jsonl", "-o", "e/x.parquet", "-q"], folder).exit_code == 0
    dump = pipeline.open_run(folder / "r.jsonl")
    export = pipeline.open_run(folder / "e" / "x.parquet", inputs=[folder / "r_materialized_inputs.jsonl"])
    want, found = answers(dump), answers(export)
    for name in QUERIES:
        if name != "failure_classes":  # the sidecar lies beside the dump
            assert_frame_equal(found[name], want[name])


def test_queries_give_the_same_rows_from_the_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLLPROF_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setattr(cache, "WORTHWHILE_BYTES", 0)
    want = answers(pipeline.open_run(folder / "r.jsonl"))
    assert len(list((folder / "cache").iterdir())) == 2
    found = answers(pipeline.open_run(folder / "r.jsonl"))
    for name in QUERIES:
        assert_frame_equal(found[name], want[name])


def test_a_query_by_any_column(folder: Path) -> None:
    for by, groups in (("input.domain", 3), ("_input.domain", 3), ("level", 3), ("_verdict", 3), ("_agent", 2)):
        args = ["query", "pass_rates", "r.jsonl", "--by", by, "--field", "level=input.level", "--json", "-q"]
        done = run_command(args, folder)
        assert (done.exit_code, len(json.loads(done.stdout))) == (0, groups), by


def test_a_field_of_one_of_the_rows_needs_no_more_than_its_name(tmp_path: Path) -> None:
    rows = [finished(task, 0, reward=1, mine=f"m{task}", both="x") for task in range(2)]
    (tmp_path / "r.jsonl").write_bytes(jsonl(rows))
    plan = [planned(task, 0, kind=f"k{task}", both="x") for task in range(2)]
    (tmp_path / "r_materialized_inputs.jsonl").write_bytes(jsonl(plan))
    for by in ("kind", "mine"):
        for command in (["query", "pass_rates", "r.jsonl"], ["stats", "r.jsonl"], ["compare", "r.jsonl", "r.jsonl"]):
            assert run_command([*command, "--by", by], tmp_path).exit_code == 0
    for words in (
        ["query", "pass_rates", "r.jsonl", "--by"],
        ["stats", "r.jsonl", "--by"],
        ["show", "r.jsonl", "--sort"],
    ):
        refused = run_command([*words, "both"], tmp_path)
        assert_refused(refused, 2, "'both' means several columns\n  Say which: input.both or row.both.")
    assert run_command(["show", "r.jsonl", "--sort=-kind"], tmp_path).stdout.split("\n")[1].startswith("1:0")
    assert run_command(["show", "r.jsonl", "--sort", "row.both"], tmp_path).exit_code == 0


def test_a_profile_of_fan_out_that_lacks_rollouts(tmp_path: Path) -> None:
    inputs = [planned(0, 0, "A"), planned(0, 1, "A"), planned(0, 2, "B"), planned(0, 3, "B")]
    (tmp_path / "f.jsonl").write_bytes(jsonl([finished(0, index, reward=1) for index in range(3)]))
    (tmp_path / "f_materialized_inputs.jsonl").write_bytes(jsonl(inputs))
    assert run_command(["profile", "f.jsonl", "--partial", "-q"], tmp_path).exit_code == 0
    tasks = collect(pipeline.open_run(tmp_path / "f_reward_profiling.jsonl").tasks)
    assert tasks.select("_agent", "missing_num_rollouts").rows() == [("A", 0), ("B", 1)]


def test_an_export_without_inputs_knows_its_agents(folder: Path) -> None:
    assert run_command(["export", "r.jsonl", "-o", "e/x.parquet", "-q"], folder).exit_code == 0
    agents = collect(pipeline.open_run(folder / "e" / "x.parquet").agents)
    assert agents["_agent"].to_list() == ["a", "b"]


def test_what_was_left_out_of_figures_is_told_of_an_export_too(tmp_path: Path) -> None:
    (tmp_path / "n.jsonl").write_bytes(
        b'{"_ng_task_index":0,"_ng_rollout_index":0,"reward":NaN,"big":9223372036854775807}\n'
    )
    assert run_command(["export", "n.jsonl", "-o", "n.parquet", "-q"], tmp_path).exit_code == 0
    done = run_command(["query", "metric_table", "n.parquet", "--json"], tmp_path)
    assert (done.exit_code, "1 number is NaN" in done.stderr) == (0, True)


def test_fields_that_are_asked_for_are_columns(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(jsonl(ROLLOUTS))
    (tmp_path / "r_materialized_inputs.jsonl").write_bytes(jsonl(INPUTS))
    options = ProfileOptions(partial=True, fields=("word=row.domain",))
    found = collect(pipeline.open_run(tmp_path / "r.jsonl", options=options).rollouts)
    assert found["_word"].cast(pl.String).to_list() == found["_row.domain"].cast(pl.String).to_list() != []
