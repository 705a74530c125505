"""Exports: one row a rollout in the types of every run, read by other tools, and profiled again to the same figures."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import SourceError, UsageError
from pipeline.frames.lazy import collect
from pipeline.options import ProfileOptions
from pipeline.output.export import facts_of, layout, rollout_table
from pipeline.run import Run, open_run
from pipeline.sources.files import Source, open_source
from pipeline.sources.runs import RunFiles
from tests.command import run_command
from tests.generated_runs import Run as GeneratedRun
from tests.generated_runs import in_files, runs
from tests.runs import Content, Profile, finished, jsonl, plan_of, profile_sources, sources_of

quick = partial(settings, deadline=None, suppress_health_check=[HealthCheck.too_slow])
DETAILED = ProfileOptions(partial=True, context=True, nested=("usage", "v"))


def exported(folder: Path, rollouts: Sequence[Source], inputs: Sequence[Source], name: str = "export") -> Path:
    """Writes the export of a run."""
    run = Run(RunFiles(tuple(rollouts), tuple(inputs)), DETAILED)
    found = collect(run.export)
    columns, counts = layout([found])
    path = folder / f"{name}.parquet"
    rollout_table(found, columns).write_parquet(path, metadata=facts_of(columns, rollouts, {}, counts))
    return path


def table_of(folder: Path, rollouts: Content) -> pl.DataFrame:
    rows = sources_of(folder, "rollouts", [rollouts])
    return pl.read_parquet(exported(folder, rows, ()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exports")


@quick(max_examples=25)
@given(run=runs(partial=True), data=st.data(), nested=st.sampled_from([(), ("usage",), ("v",)]))
def test_shards_that_were_exported_make_the_profile_of_the_dump(
    folder: Path, run: GeneratedRun, data: st.DataObject, nested: tuple[str, ...]
) -> None:
    options = ProfileOptions(partial=True, nested=nested, jobs=1)
    inputs = sources_of(folder, "inputs", [b"".join(run.inputs)])
    shards = sources_of(folder, "rollouts", data.draw(in_files(run.rollouts)))
    exports = [open_source(exported(folder, [shard], inputs, name=str(number))) for number, shard in enumerate(shards)]
    want, found = (profile_sources(folder, inputs, rollouts, options) for rollouts in (shards, exports))
    assert isinstance(want, Profile)
    assert isinstance(found, Profile)
    assert in_order([found.tasks, found.agents, found.repeats]) == in_order([want.tasks, want.agents, want.repeats])


def in_order(value: object) -> object:
    """A JSON value whose objects are lists of their members; -0.0 is 0, which is all that whole numbers know."""
    if isinstance(value, dict):
        return [(key, in_order(member)) for key, member in value.items()]
    return [in_order(member) for member in value] if isinstance(value, list) else value


ROWS = [
    finished(0, 0, {"input_tokens": 5, "output_tokens": 10, "total_tokens": 15}, reward=1, parsed=True),
    finished(1, 1, {"input_tokens": 5, "output_tokens": 40, "total_tokens": 45}, reward=None, parsed=True),
    finished(0, 1, {"input_tokens": 5, "output_tokens": 20, "total_tokens": 25}, reward=0.5, parsed=False),
    finished(1, 0, {"input_tokens": 5, "output_tokens": 30, "total_tokens": 35}, reward=0, parsed="no"),
]


def test_a_row_a_rollout_by_task_and_rollout(tmp_path: Path) -> None:
    table = table_of(tmp_path, ROWS)
    assert table.select("_ng_task_index", "_ng_rollout_index").rows() == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert table["reward"].to_list() == [1.0, 0.5, 0.0, None]
    assert table["output_tokens"].to_list() == [10, 20, 30, 40]
    assert table["parsed"].to_list() == [1, 0, None, 1]


def test_types_do_not_depend_on_the_run(tmp_path: Path) -> None:
    whole = table_of(tmp_path, ROWS)
    rows_of_one_task = table_of(tmp_path, [row for row in ROWS if row["_ng_task_index"] == 1])
    nothing = table_of(tmp_path, [finished(0, 0, reward=None)])
    assert rows_of_one_task.schema == whole.schema
    assert whole.schema["reward"] == pl.Float64
    assert whole.schema["parsed"] == pl.Float64
    assert whole.schema["output_tokens"] == pl.Int64
    for name in ("reward", "input_tokens", "output_tokens", "total_tokens", "_truncated", "_verdict", "_findings"):
        assert nothing.schema[name] == whole.schema[name]
    assert nothing["reward"].to_list() == [None]


def test_other_tools_read_the_same_values(tmp_path: Path) -> None:
    path = exported(tmp_path, sources_of(tmp_path, "rollouts", [ROWS]), ())
    want = {(row["_ng_task_index"], row["_ng_rollout_index"]): row for row in ROWS}
    columns = ["_ng_task_index", "_ng_rollout_index", "reward", "output_tokens"]
    read = {
        "pyarrow": [tuple(row.values()) for row in pq.read_table(path, columns=columns).to_pylist()],
        "duckdb": duckdb.read_parquet(str(path)).select(*columns).fetchall(),
        "pandas": [
            tuple(None if pd.isna(value) else value for value in row)
            for row in pd.read_parquet(path)[columns].itertuples(index=False)
        ],
    }
    for tool, rows in read.items():
        assert len(rows) == len(ROWS), tool
        for task, rollout, reward, tokens in rows:
            row = want[task, rollout]
            assert (reward, tokens) == (row["reward"], row["response"]["usage"]["output_tokens"]), tool


def test_what_the_file_says_of_itself(tmp_path: Path) -> None:
    path = exported(tmp_path, sources_of(tmp_path, "rollouts", [ROWS]), ())
    (source,) = json.loads(pl.read_parquet_metadata(path)["rollprof.sources"])
    assert source["path"] == str(tmp_path / "rollouts0.jsonl")
    assert source["bytes"] == len(jsonl(ROWS))


def test_whole_numbers_are_kept_where_asked_and_told_where_rounded(tmp_path: Path) -> None:
    large = 2**53 + 1
    rows = sources_of(tmp_path, "rollouts", [[finished(0, 0, seed=large), finished(0, 1, seed=2)]])
    rollouts = collect(Run(RunFiles(tuple(rows)), DETAILED).export)
    assert layout([rollouts])[0].rounded == {"seed": 1}
    kept, _ = layout([rollouts], integers=["seed"])
    assert kept.rounded == {}
    assert rollout_table(rollouts, kept)["seed"].to_list() == [large, 2]
    assert layout([rollouts], integers=["nope"])[0].columns["nope"] == pl.Int64
    with pytest.raises(UsageError, match="not whole"):
        layout([rollouts.with_columns(half=0.5)], integers=["half"])


def test_other_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(SourceError, match="no export of rollouts"):
        collect(open_run(path).rollouts)


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(jsonl(ROWS))
    (tmp_path / "r_materialized_inputs.jsonl").write_bytes(jsonl(plan_of(ROWS)))
    for name in ("x.parquet", "x.csv"):
        done = run_command(["export", "r.jsonl", "-o", name], tmp_path)
        assert (done.exit_code, done.stdout) == (0, f"4 rollouts in {name}\n")
    again = run_command(["export", "r.jsonl", "-o", "x.csv"], tmp_path)
    assert again.stdout == "4 rollouts in x.csv (a file of this name was replaced)\n"
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[0].startswith("_ng_task_index,_ng_rollout_index,_agent,reward,input_tokens")
    assert [line.split(",")[3] for line in lines[1:]] == ["1.0", "0.5", "0.0", ""]
    assert run_command(["export", "r.jsonl", "--tasks", "-o", "t.parquet"], tmp_path).exit_code == 0
    tasks = pl.read_parquet(tmp_path / "t.parquet")
    assert tasks["mean/reward"].to_list() == [0.75, 0.0]
    assert [len(infos) for infos in tasks["rollout_infos"]] == [2, 2]
    for source in ("x.parquet", "r.jsonl"):
        args = ["profile", source, "-i", "r_materialized_inputs.jsonl", "-o", source[0]]
        assert run_command(args, tmp_path).exit_code == 0
    assert (tmp_path / "x_reward_profiling.jsonl").read_bytes() == (tmp_path / "r_reward_profiling.jsonl").read_bytes()


def test_lines_are_copied_as_they_are(tmp_path: Path) -> None:
    odd = b'  {"_ng_rollout_index":2,"_ng_task_index":0, "reward":1.0e0,"x":"\\u00e9" }  '
    content = jsonl(ROWS) + odd + b"\n"
    (tmp_path / "r.jsonl").write_bytes(content)
    args = ["export", "r.jsonl", "--rollouts-only", "--rows", "--where", "reward >= 1", "-o", "passed.jsonl"]
    done = run_command(args, tmp_path)
    assert (done.exit_code, done.stdout) == (0, "2 rollouts in passed.jsonl\n")
    assert (tmp_path / "passed.jsonl").read_bytes() == content.splitlines(keepends=True)[0] + odd + b"\n"


def test_what_is_told_of_a_metric_is_told_once_and_by_its_name(tmp_path: Path) -> None:
    rows = [finished(0, 0, {"input_tokens": 0.5}, input_tokens=7), finished(0, 1, {"input_tokens": 2})]
    (tmp_path / "r.jsonl").write_bytes(jsonl(rows))
    done = run_command(["export", "r.jsonl", "--rollouts-only", "-o", "x.parquet"], tmp_path)
    told = [line for line in done.stderr.splitlines() if "no whole numbers" in line]
    assert told == ["warning: input_tokens: some values are no whole numbers, so the column is Float64"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "name of its file"),
        (["-o", "x.txt"], "name of its file"),
        (["-o", "x.jsonl"], "name of its file"),
        (["-o", "x.parquet", "--where", "nope > 1"], "nope"),
        (["-o", "x.parquet", "--where", "reward >"], "--where"),
        (["-o", "x.parquet", "--tasks", "--integers", "reward"], "--tasks"),
        (["-o", "x.parquet", "--integers", "reward"], "not whole"),
        (["-o", "x.parquet", "--where", "_agent > 1"], "--where"),
        (["-o", "x.parquet", "--where", "sum(reward) > 1"], "one answer for all rollouts"),
        (["-o", "x.parquet", "--where", "output_tokens"], "neither true nor false"),
    ],
)
def test_mistakes(args: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(jsonl(ROWS))
    done = run_command(["export", "r.jsonl", *args], tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("x.*"))


def test_masked_rollouts_are_copied_only_if_asked(tmp_path: Path) -> None:
    rows = [finished(0, 0, reward=1), finished(0, 1, reward=1, mask_sample=True)]
    (tmp_path / "r.jsonl").write_bytes(jsonl(rows))
    done = run_command(["export", "r.jsonl", "--rollouts-only", "--rows", "-o", "x.jsonl"], tmp_path)
    assert (done.stdout, "1 masked left out" in done.stderr) == ("1 rollout in x.jsonl\n", True)
    done = run_command(
        ["export", "r.jsonl", "--rollouts-only", "--rows", "-o", "x.jsonl", "--masked", "include"], tmp_path
    )
    assert (tmp_path / "x.jsonl").read_bytes() == jsonl(rows)


@pytest.mark.parametrize(
    "args",
    [
        ["export", "r.jsonl", "--rows", "-o", "r.jsonl"],
        ["export", "r.jsonl", "--rows", "-o", "./r_materialized_inputs.jsonl"],
        ["query", "hardest", "r.jsonl", "-o", "r.jsonl"],
        ["query", "--sql", "select * from rollouts", "r.jsonl", "-f", "jsonl", "-o", "r.jsonl"],
        ["show", "r.jsonl", "-o", "r.jsonl"],
        ["show", "r.jsonl", "0:0", "-o", "r.jsonl"],
    ],
    ids=" ".join,
)
def test_an_output_never_takes_the_place_of_what_it_is_made_from(args: list[str], tmp_path: Path) -> None:
    for name, rows in (("r.jsonl", ROWS), ("r_materialized_inputs.jsonl", plan_of(ROWS))):
        (tmp_path / name).write_bytes(jsonl(rows))
    done = run_command(args, tmp_path)
    assert (done.exit_code, "would overwrite" in done.stderr) == (2, True)
    assert (tmp_path / "r.jsonl").read_bytes() == jsonl(ROWS)
    assert (tmp_path / "r_materialized_inputs.jsonl").read_bytes() == jsonl(plan_of(ROWS))


def test_read_only_outputs_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(jsonl(ROWS))
    kept = tmp_path / "r_reward_profiling.jsonl"
    kept.write_bytes(b"precious\n")
    kept.chmod(0o444)
    done = run_command(["profile", "r.jsonl", "--rollouts-only", "-q"], tmp_path)
    assert (done.exit_code, "read-only" in done.stderr) == (3, True)
    assert kept.read_bytes() == b"precious\n"
