"""`rollprof select`: the files it writes, what it says, and what it refuses."""

import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.analysis.runs_of_tasks import rows_of, write
from tests.cli.run_files import assert_refused, contents_of, object_of
from tests.command import Finished, run_command
from tests.runs import Row, finished, jsonl

ROOT = Path(__file__).parents[2]
REWARDS: dict[int, list[float | None]] = {0: [0, 0], 1: [1, 0, 0, 0], 2: [1, 0], 3: [1, 1, 1, 0], 4: [1, 1]}
MIXED = [1, 2, 3]


def sample(task: int) -> bytes:
    """The text of a task's row, with all that a copy could spoil."""
    return (
        b'{"responses_create_params": {"input": "question %d", "temperature": 0.50}, "x": 1e-7,'
        b' "n": 12345678901234567890, "domain": "%s", "agent_ref":{"name":"a"}}'
    ) % (task, b"xyxyx"[task : task + 1])


def write_texts(folder: Path, tasks: int = 5, *, model: str = "m/b") -> Path:
    """A run with the texts of `sample`; `data.jsonl` is what it was collected from."""
    inputs, rollouts = rows_of(REWARDS)
    for row in rollouts:
        row["response"]["model"] = model
        row["agent_ref"] = {"name": "a"}
    path = write(folder, inputs, rollouts)
    planned = [
        sample(row["_ng_task_index"])[:-1]
        + b', "_ng_task_index": %d, "_ng_rollout_index": %d}\n' % (row["_ng_task_index"], row["_ng_rollout_index"])
        for row in inputs
    ]
    (folder / "run_materialized_inputs.jsonl").write_bytes(b"".join(planned))
    dataset = [sample(task).replace(b', "agent_ref":{"name":"a"}', b"") for task in range(tasks)]
    (folder / "data.jsonl").write_bytes(b"\n".join(dataset))
    return path


def select(folder: Path, *args: str) -> Finished:
    return run_command(["select", "run.jsonl", *args], folder)


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def test_rollouts_that_do_not_say_what_was_asked_are_no_data_set(tmp_path: Path) -> None:
    write_texts(tmp_path)
    done = select(tmp_path, "--rollouts-only", "-o", "set.jsonl")
    assert_refused(done, 3, "the rollout of task 1", "has no responses_create_params", "--inputs")
    assert not (tmp_path / "set.jsonl").exists()


def test_an_empty_model_is_none(tmp_path: Path) -> None:
    write_texts(tmp_path)
    assert_refused(select(tmp_path, "-o", "set.jsonl", "--write-back", "--model", ""), 2, "--model is empty")


def test_a_line_that_stands_in_the_dataset_twice_is_written_once(tmp_path: Path) -> None:
    write_texts(tmp_path)
    original = lines(tmp_path / "data.jsonl")
    (tmp_path / "data.jsonl").write_bytes(b"\n".join([*original, original[1], original[2], original[0]]))
    done = select(tmp_path, "-o", "set.jsonl", "--dataset", "data.jsonl")
    assert (done.exit_code, lines(tmp_path / "set.jsonl")) == (0, original[1:4])
    assert "2 lines stand in the dataset again, and each is written once" in done.stderr


def test_samples_are_written_as_they_stand(tmp_path: Path) -> None:
    write_texts(tmp_path)
    done = select(tmp_path, "-o", "out/set.jsonl")
    assert done.exit_code == 0, done.stderr
    assert lines(tmp_path / "out/set.jsonl") == [sample(task) for task in MIXED]
    assert "3 lines in out/set.jsonl" in done.stdout
    assert "every row has temperature 0.5: what options of that run put there stays" in done.stderr
    assert sorted(contents_of(tmp_path / "out")) == ["set.jsonl", "set.manifest.json"]
    assert "replaced" not in done.stdout
    again = select(tmp_path, "-o", "out/set.jsonl")
    assert "3 lines in out/set.jsonl (a file of this name was replaced)" in again.stdout


def test_the_manifest_says_where_it_comes_from(tmp_path: Path) -> None:
    write_texts(tmp_path)
    done = select(tmp_path, "-o", "set.jsonl", "--dataset", "data.jsonl", "--pass-rate", "0.25:0.5", "--seed", "3")
    assert done.exit_code == 0, done.stderr
    told = json.loads((tmp_path / "set.manifest.json").read_text())
    assert (told["pass_rule"], told["seed"], told["chosen"]) == ("reward >= 1", 3, 2)
    assert told["options"]["pass_rate"] == "0.25:0.5"  # noqa: S105 - a range
    assert [(one["step"], one["in"], one["out"], one["left"]) for one in told["steps"]] == [
        ("has a score", 5, 0, 5),
        ("signal: max - min > 0", 5, 2, 3),
        ("pass rate in 0.25:0.5", 3, 1, 2),
    ]
    assert [(one["band"], one["candidates"], one["chosen"]) for one in told["bands"]] == [
        ("0", 1, 0),
        ("0.2-0.4", 1, 1),
        ("0.4-0.6", 1, 1),
        ("0.6-0.8", 1, 0),
        ("1", 1, 0),
    ]
    for one in told["sources"] + told["outputs"]:
        assert one["sha256"] == hashlib.sha256((tmp_path / one["path"]).read_bytes()).hexdigest()
    assert [Path(one["path"]).name for one in told["sources"]] == [
        "run.jsonl",
        "run_materialized_inputs.jsonl",
        "data.jsonl",
    ]


def test_the_lines_of_the_dataset_byte_for_byte(tmp_path: Path) -> None:
    write_texts(tmp_path)
    done = select(tmp_path, "-o", "set.jsonl", "--dataset", "data.jsonl")
    assert (done.exit_code, done.stdout.count("set.jsonl")) == (0, 1), done.stderr
    original = lines(tmp_path / "data.jsonl")
    assert lines(tmp_path / "set.jsonl") == [original[task] for task in MIXED]
    assert "warning" not in done.stderr


def test_write_back(tmp_path: Path) -> None:
    write_texts(tmp_path)
    original = lines(tmp_path / "data.jsonl")
    original[2] = original[2][:-1] + b', "reward_profiles": [{"model_hf_path": "m/a", "pass_rate": 0.125}]}'
    (tmp_path / "data.jsonl").write_bytes(b"\n".join(original))
    done = select(tmp_path, "-o", "set.jsonl", "--dataset", "data.jsonl", "--write-back")
    assert done.exit_code == 0, done.stderr
    entry = b'{"model_hf_path": "m/b", "num_generations": %d, "pass_rate": %s}'
    assert lines(tmp_path / "set.jsonl") == [
        original[1][:-1] + b', "reward_profiles": [' + entry % (4, b"0.25") + b"]}",
        original[2][:-2] + b", " + entry % (2, b"0.5") + b"]}",
        original[3][:-1] + b', "reward_profiles": [' + entry % (4, b"0.75") + b"]}",
    ]
    # the same again, of what was written: nothing changes, and it is still known for the run's dataset
    (tmp_path / "data.jsonl").write_bytes(b"\n".join([original[0], *lines(tmp_path / "set.jsonl"), original[4]]))
    again = select(tmp_path, "-o", "again.jsonl", "--dataset", "data.jsonl", "--write-back", "--model", "m/b")
    assert again.exit_code == 0, again.stderr
    assert lines(tmp_path / "again.jsonl") == lines(tmp_path / "set.jsonl")


def test_whose_pass_rates_they_are(tmp_path: Path) -> None:
    path = write_texts(tmp_path)
    path.write_text(path.read_text().replace('"model": "m/b"', '"model": "m/c"', 1))
    args = ("-o", "set.jsonl", "--write-back")
    assert_refused(select(tmp_path, *args), 2, "its rollouts are of m/b, m/c", "--model")
    assert not (tmp_path / "set.jsonl").exists()
    path.write_text(path.read_text().replace('"model"', '"made_by"'))
    assert_refused(select(tmp_path, *args), 2, "no rollout has a response.model")
    assert select(tmp_path, *args, "--model", "m/d").exit_code == 0
    assert b'"m/d"' in (tmp_path / "set.jsonl").read_bytes()


def test_pairs_are_whole_rows(tmp_path: Path) -> None:
    path = write_texts(tmp_path)
    rollouts = lines(path)
    done = select(tmp_path, "-o", "pairs.jsonl", "--pairs")
    assert done.exit_code == 0, done.stderr
    assert "3 pairs in pairs.jsonl" in done.stdout
    # lines of the rollouts: two of task 0, four of 1, two of 2, four of 3
    pairs = [(2, 5), (6, 7), (8, 11)]
    wanted = [b'{"chosen": ' + rollouts[best] + b', "rejected": ' + rollouts[worst] + b"}" for best, worst in pairs]
    assert lines(tmp_path / "pairs.jsonl") == wanted


def test_a_task_of_several_agents(tmp_path: Path) -> None:
    inputs, rollouts = rows_of({0: [1, 0, 1, 0], 1: [0, 0, 1, 1]})
    for row, rollout in zip(inputs, rollouts, strict=True):
        row["agent_ref"] = rollout["agent_ref"] = {"name": "ab"[row["_ng_rollout_index"] % 2]}
    write(tmp_path, inputs, rollouts)
    dataset = [b'{"responses_create_params": {"input": "question %d"}}' % task for task in range(2)]
    (tmp_path / "data.jsonl").write_bytes(b"\n".join(dataset))
    done = select(
        tmp_path, "-o", "set.jsonl", "--keep-no-signal", "--dataset", "data.jsonl", "--write-back", "--model", "m"
    )
    assert done.exit_code == 0, done.stderr
    # one line a task; its figures are over the rollouts of both agents
    profiles = [json.loads(line)["reward_profiles"] for line in lines(tmp_path / "set.jsonl")]
    assert profiles == [[{"model_hf_path": "m", "num_generations": 4, "pass_rate": 0.5}]] * 2
    assert select(tmp_path, "-o", "both.jsonl").exit_code == 0
    agents = [json.loads(line)["agent_ref"]["name"] for line in lines(tmp_path / "both.jsonl")]
    assert agents == ["a", "b"]  # of task 1; those of task 0 always do the same


def test_parquet(tmp_path: Path) -> None:
    write_texts(tmp_path)
    done = select(tmp_path, "-o", "set.parquet", "--control", "--balance", "domain")
    assert done.exit_code == 0, done.stderr
    table = pl.read_parquet(tmp_path / "set.parquet")
    assert [text.encode() for text in table["line"]] == [sample(task) for task in table["_ng_task_index"]]
    assert Counter(table["_sample.domain"]) == {"x": 1, "y": 1}
    assert table["pass_rate"].to_list() == [{1: 0.25, 2: 0.5, 3: 0.75}[task] for task in table["_ng_task_index"]]
    assert len(pl.read_parquet(tmp_path / "set.control.parquet")) == 2
    told = json.loads((tmp_path / "set.manifest.json").read_text())
    assert [one["lines"] for one in told["outputs"]] == [2, 2]


def test_stages(tmp_path: Path) -> None:
    write_texts(tmp_path)
    done = select(tmp_path, "-o", "set.jsonl", "--stages", "4", "--json")
    assert done.exit_code == 0, done.stderr
    written = [lines(tmp_path / f"set.stage{stage}.jsonl") for stage in range(1, 5)]
    assert [len(stage) for stage in written] == [1, 1, 1, 0]
    assert sorted(line for stage in written for line in stage) == sorted(sample(task) for task in MIXED)
    assert object_of(done)["outputs"] == [
        *(f"set.stage{stage}.jsonl" for stage in range(1, 5)),
        "set.manifest.json",
    ]
    assert not (tmp_path / "set.jsonl").exists()


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    write_texts(tmp_path)
    before = contents_of(tmp_path)
    done = select(tmp_path, "--dry-run", "--pass-rate", "0.25:0.5", "--confidence", "0.35")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.split("\n")[:4] == [
        "step                                         in  out  left",
        "has a score                                   5    0     5",
        "signal: max - min > 0                         5    2     3",
        "pass rate in 0.25:0.5 with probability 0.35   3    2     1",
    ]
    told = object_of(select(tmp_path, "--dry-run", "--json", "--score", "output_tokens"))
    assert (told["pass_rule"], told["steps"][0]["step"]) == ("output_tokens >= 1", "has a score")
    assert "A filter on the observed pass rate alone keeps 2: of these 1 are" in done.stderr
    assert contents_of(tmp_path) == before


def test_where_is_sql_over_the_tasks(tmp_path: Path) -> None:
    write_texts(tmp_path)
    where = """passed = 1 and "_input.domain" = 'x' and "mean/output_tokens" < 20"""
    done = select(tmp_path, "-o", "set.jsonl", "--where", where)
    assert done.exit_code == 0, done.stderr
    assert lines(tmp_path / "set.jsonl") == [sample(2)]


def test_nothing_chosen_is_an_empty_file_and_a_warning(tmp_path: Path) -> None:
    write_texts(tmp_path)
    done = select(tmp_path, "-o", "set.jsonl", "--tokens", "1000:")
    assert done.exit_code == 0
    assert "warning: no task was chosen; the last were left out by: mean output_tokens in 1000:" in done.stderr
    assert (tmp_path / "set.jsonl").read_bytes() == b""
    assert select(tmp_path, "-o", "p.parquet", "--tokens", "1000:").exit_code == 0
    assert pl.read_parquet(tmp_path / "p.parquet").is_empty()
    assert select(tmp_path, "-o", "p.jsonl", "--pairs", "--tokens", "1000:").exit_code == 0
    assert (tmp_path / "p.jsonl").read_bytes() == b""


def test_an_empty_run(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(b"")
    (tmp_path / "run_materialized_inputs.jsonl").write_bytes(b"")
    done = select(tmp_path, "-o", "set.jsonl", "--balance", "domain", "--stages", "2")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "set.stage1.jsonl").read_bytes() == b""


def test_everything_chosen(tmp_path: Path) -> None:
    write_texts(tmp_path)
    done = select(tmp_path, "-o", "set.jsonl", "--keep-no-signal", "--dataset", "data.jsonl")
    assert done.exit_code == 0, done.stderr
    assert lines(tmp_path / "set.jsonl") == lines(tmp_path / "data.jsonl")


def test_a_field_that_some_rows_lack(tmp_path: Path) -> None:
    path = write_texts(tmp_path)
    inputs = tmp_path / "run_materialized_inputs.jsonl"
    inputs.write_bytes(inputs.read_bytes().replace(b'"domain": "y"', b'"other": "y"'))
    done = run_command(["select", path.name, "-o", "set.jsonl", "--balance", "domain"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "2 tasks have no domain: they are left out" in done.stderr
    assert lines(tmp_path / "set.jsonl") == [sample(2)]


@pytest.mark.parametrize(
    ("args", "exit_code", "words"),
    [
        (["--balance", "domian", "-o", "s.jsonl"], 2, ["no sample has a field 'domian'", "Did you mean domain?"]),
        (["--ratio", "domain=x:1,z:1", "-o", "s.jsonl"], 2, ["no task has domain 'z'", "There are x, y."]),
        (["--metric", "output_token=1:", "-o", "s.jsonl"], 2, ["no column 'output_token'", "output_tokens"]),
        (["--metric", "1:2", "-o", "s.jsonl"], 2, ["--metric '1:2' is not NAME=LOW:HIGH"]),
        (["--score", "rewards", "-o", "s.jsonl"], 2, ["no column 'rewards'", "Did you mean reward"]),
        (["--pass-threshold", "a=b", "-o", "s.jsonl"], 2, ["--pass-threshold 'a=b' is no threshold"]),
        (
            ["--where", "nope > 1", "-o", "s.jsonl"],
            2,
            ['unable to find column "nope"', "Columns of tasks", "pass_rate"],
        ),
        (["--verdict", "healthy", "-o", "s.jsonl"], 2, ["no rollout has it", "rollout_verdicts.jsonl"]),
        (["--pass-rate", "0.8:0.2", "-o", "s.jsonl"], 2, ["is no range"]),
        (["--pass-rate", "20:80", "-o", "s.jsonl"], 2, ["holds no pass rate", "between 0 and 1"]),
        (["--tolerance", "nan", "-o", "s.jsonl"], 2, ["--tolerance"]),
        (
            ["--pass-rate", "0:1", "--confidence", "1.5", "-o", "s.jsonl"],
            2,
            ["--confidence 1.5 is out of range", "It is above 0 and below 1."],
        ),
        (["--pass-rate", "1:1", "--confidence", "0.5", "-o", "s.jsonl"], 2, ["one point has no probability"]),
        (["--confidence", "0.5", "-o", "s.jsonl"], 2, ["--confidence goes with --pass-rate"]),
        ([], 2, ["the data set needs a name", "--dry-run"]),
        (["-o", "s.csv"], 2, ["the kind of a data set is told by its name", ".parquet"]),
        (["--pairs", "--dataset", "data.jsonl", "-o", "s.jsonl"], 2, ["--pairs goes with neither"]),
        (["--model", "m", "-o", "s.jsonl"], 2, ["--model goes with --write-back"]),
        (["-o", "run.jsonl"], 2, ["would overwrite what it is made from"]),
        (["--dataset", "data.jsonl", "-o", "data.jsonl"], 2, ["would overwrite what it is made from"]),
        (["--dataset", "absent.jsonl", "-o", "s.jsonl"], 3, ["absent.jsonl: no such file"]),
        (["--dataset", "other.jsonl", "-o", "s.jsonl"], 4, ["is not the dataset of this run", "of 3 tasks 3"]),
        (["--dataset", "short.jsonl", "-o", "s.jsonl", "--control"], 4, ["2 are not in it (first: task 2)"]),
        (["--dataset", "torn.jsonl", "-o", "s.jsonl"], 3, ["1 line of the dataset is no row", "torn.jsonl:2"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals_leave_nothing_behind(args: list[str], exit_code: int, words: list[str], tmp_path: Path) -> None:
    write_texts(tmp_path)
    (tmp_path / "other.jsonl").write_bytes(b"\n".join(reversed(lines(tmp_path / "data.jsonl")[:4])))
    (tmp_path / "short.jsonl").write_bytes(b"\n".join(lines(tmp_path / "data.jsonl")[:2]))
    (tmp_path / "torn.jsonl").write_bytes(lines(tmp_path / "data.jsonl")[0] + b'\n{"a": ')
    before = contents_of(tmp_path)
    assert_refused(select(tmp_path, *args), exit_code, *words)
    assert contents_of(tmp_path) == before


def test_a_refused_dataset_is_told_to_programs(tmp_path: Path) -> None:
    write_texts(tmp_path)
    (tmp_path / "short.jsonl").write_bytes(b"\n".join(lines(tmp_path / "data.jsonl")[:2]))
    told = object_of(select(tmp_path, "--dataset", "short.jsonl", "-o", "s.jsonl", "--json"))
    assert (told["kind"], told["exit_code"]) == ("contract", 4)
    assert told["counts"] == {"other_content": 0, "not_in_dataset": 2}


def test_what_a_run_left_in_its_rows_is_named(tmp_path: Path) -> None:
    inputs, rollouts = rows_of({0: [0, 1], 1: [0, 1]})
    for row in inputs:
        seed = json.dumps({"seed": row["_ng_rollout_index"]})
        row["responses_create_params"] |= {"metadata": {"extra_body": seed}, "top_p": 0.9}
        row["skills_ref"] = {"hash": "x"}
    write(tmp_path, inputs, rollouts)
    done = select(tmp_path, "-o", "set.jsonl")
    assert done.exit_code == 0
    assert "every row has top_p 0.9" in done.stderr
    assert "2 of 2 rows pin a seed" in done.stderr
    assert "2 of 2 rows have the skills_ref of that run" in done.stderr


def test_rows_that_are_alike_are_named(tmp_path: Path) -> None:
    inputs, rollouts = rows_of({0: [0, 1], 1: [0, 1]})
    for row in inputs:
        row["responses_create_params"] = {"input": "the same"}
    write(tmp_path, inputs, rollouts)
    assert "1 of 2 rows have the text of another" in select(tmp_path, "-o", "set.jsonl").stderr


def test_a_run_without_inputs(tmp_path: Path) -> None:
    rollouts: list[Row] = [
        finished(task, index, reward=index, agent_ref={"name": "a"}, responses_create_params={"input": str(task)})
        for task in range(2)
        for index in range(2)
    ]
    (tmp_path / "run.jsonl").write_bytes(jsonl(rollouts))
    done = select(tmp_path, "-o", "set.jsonl")
    assert done.exit_code == 0, done.stderr
    assert "the run has no inputs file: the lines hold prompt and agent" in done.stderr
    assert [json.loads(line) for line in lines(tmp_path / "set.jsonl")] == [
        {"agent_ref": {"name": "a"}, "responses_create_params": {"input": str(task)}} for task in range(2)
    ]
    (tmp_path / "data.jsonl").write_bytes(
        jsonl([{"responses_create_params": {"input": str(task)}, "answer": task} for task in range(2)])
    )
    assert select(tmp_path, "-o", "set.jsonl", "--dataset", "data.jsonl").exit_code == 0
    assert lines(tmp_path / "set.jsonl") == lines(tmp_path / "data.jsonl")


def test_a_profile_is_a_run(tmp_path: Path) -> None:
    write_texts(tmp_path)
    assert run_command(["profile", "run.jsonl"], tmp_path).exit_code == 0
    profile = "run_reward_profiling.jsonl"
    done = run_command(["select", profile, "-o", "set.jsonl"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert lines(tmp_path / "set.jsonl") == [sample(task) for task in MIXED]
    assert_refused(run_command(["select", profile, "-o", "p.jsonl", "--pairs"], tmp_path), 3, "is a profile")


@pytest.mark.parametrize("args", [[], ["--stages", "2", "--domain", "domain", "--control"], ["--pairs"]], ids=" ".join)
def test_the_same_bytes_whatever_the_order_of_lines_and_the_jobs(args: list[str], tmp_path: Path) -> None:
    path = write_texts(tmp_path)
    chosen = ("-o", "out/set.jsonl", "--seed", "7", *args)
    assert select(tmp_path, *chosen, "--jobs", "1").exit_code == 0
    first = contents_of(tmp_path / "out")
    path.write_bytes(b"\n".join(reversed(lines(path))) + b"\n")
    assert select(tmp_path, *chosen, "--jobs", "4").exit_code == 0
    second = contents_of(tmp_path / "out")
    told = [json.loads(files.pop("set.manifest.json")) for files in (first, second)]
    assert first == second
    assert all(one.pop("sources") for one in told)
    assert told[0] == told[1]


def test_samples_of_a_real_run_can_be_collected_again(tmp_path: Path) -> None:
    """The lines are rows: each names its agent, has no index, and the profile of their rollouts finds them again."""
    shutil.copytree(ROOT / "sample_data/complete", tmp_path / "complete")
    done = run_command(["select", "complete", "--size", "6", "--balance", "difficulty", "-o", "set.jsonl"], tmp_path)
    assert done.exit_code == 0, done.stderr
    rows = [json.loads(line) for line in lines(tmp_path / "set.jsonl")]
    assert Counter(row["difficulty"] for row in rows) == {"easy": 2, "hard": 2, "medium": 2}
    assert all(row["agent_ref"]["name"] and row["responses_create_params"]["input"] for row in rows)
    inputs: list[dict[str, Any]] = [
        row | {"_ng_task_index": task, "_ng_rollout_index": index} for task, row in enumerate(rows) for index in (0, 1)
    ]
    rollouts = [
        finished(row["_ng_task_index"], row["_ng_rollout_index"], reward=row["_ng_rollout_index"]) for row in inputs
    ]
    write(tmp_path, inputs, rollouts)
    again = select(tmp_path, "--dataset", "set.jsonl", "-o", "again.jsonl")
    assert again.exit_code == 0, again.stderr
    assert lines(tmp_path / "again.jsonl") == lines(tmp_path / "set.jsonl")
