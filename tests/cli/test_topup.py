"""`rollprof topup`, run as its users run it."""

import csv
import fcntl
import gzip
import json
import random
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.processes import environment, run
from tests.cli.run_files import INPUTS, assert_refused, contents_of, object_of, write_run
from tests.command import Finished, run_command
from tests.runs import Row, finished, jsonl, planned

SAMPLES = Path(__file__).parents[2] / "sample_data"
BAND = ("--pass-rate", "0.2:0.8")
BACKUP = f"run{INPUTS}.bak"
REDONE = "run_redone.jsonl"
PASSES = {0: 8, 1: 6, 2: 4, 3: 0}
"""Of eight rollouts of each task: the pass rates of 0 and 3 are known well enough."""


def row_of(task: int, repeat: int, **fields: Any) -> Row:
    """A planned row with a seed, as NeMo Gym gives it."""
    params = {"input": f"task {task}", "metadata": {"extra_body": json.dumps({"seed": repeat, "top_k": 20})}}
    return planned(task, repeat, responses_create_params=params, **fields)


def write_tasks(folder: Path, passes: dict[int, int] | None = None, stem: str = "run") -> Path:
    """Tasks with eight rollouts, so many of which pass, of 100 tokens each."""
    counts = PASSES if passes is None else passes
    keys = [(task, repeat) for task in counts for repeat in range(8)]
    done = [finished(*key, {"total_tokens": 100}, reward=float(key[1] < counts[key[0]])) for key in keys]
    return write_run(folder, stem, plan=[row_of(*key) for key in keys], done=done)


def top_up(folder: Path, *args: str) -> Finished:
    return run_command(["topup", "run.jsonl", *args], folder)


def rows_in(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def still_to_come(folder: Path, stem: str = "run") -> list[tuple[int, int]]:
    """What a resumed collection asks for: planned, and not finished."""
    done, plan = (
        [(row["_ng_task_index"], row["_ng_rollout_index"]) for row in rows_in(folder / f"{stem}{ending}")]
        for ending in (".jsonl", INPUTS)
    )
    assert len(set(plan)) == len(plan)
    assert set(done) <= set(plan)
    return [key for key in plan if key not in set(done)]


def test_new_rows_go_on_where_the_old_ones_end(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    before = contents_of(tmp_path)
    done = top_up(tmp_path, *BAND)
    assert done.exit_code == 0, done.stderr
    after = contents_of(tmp_path)
    assert set(after) == {*before, BACKUP}
    assert after[BACKUP] == before[f"run{INPUTS}"]
    assert after["run.jsonl"] == before["run.jsonl"]
    # 6 of 8 need 43 more, 4 of 8 none
    new = [row_of(1, repeat) for repeat in range(8, 51)]
    assert after[f"run{INPUTS}"] == before[f"run{INPUTS}"] + jsonl(new)
    assert still_to_come(tmp_path) == [(1, repeat) for repeat in range(8, 51)]


def test_the_same_question_again_changes_nothing(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    top_up(tmp_path, *BAND)
    before = contents_of(tmp_path)
    again = top_up(tmp_path, *BAND)
    assert again.exit_code == 0
    assert "0 more, of 0 tasks" in again.stdout
    assert "--resume" in again.stdout  # the repeats are still to come
    assert contents_of(tmp_path) == before


def test_a_dry_run_changes_nothing_and_says_the_same(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    before = contents_of(tmp_path)
    dry, wet = (json.loads(top_up(tmp_path, *BAND, *more, "--json").stdout) for more in (["--dry-run"], []))
    assert (dry.pop("dry_run"), wet.pop("dry_run")) == (True, False)
    assert (dry.pop("written"), dry.pop("commands")) == ([], [])
    assert wet.pop("written") == [f"run{INPUTS}", BACKUP]
    assert len(wet.pop("commands")) == 2
    assert dry == wet
    assert before == {name: content for name, content in contents_of(tmp_path).items() if name in before} | {
        f"run{INPUTS}": (tmp_path / BACKUP).read_bytes()
    }


def test_the_sums(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    told = object_of(top_up(tmp_path, *BAND, "--json", "--dry-run"))
    (row,) = told["plan"]
    assert (row["_ng_task_index"], row["rollouts"], row["passed"], row["more"]) == (1, 8, 6, 43)
    wanted: Row = {"tasks": 4, "settled": 3, "open_at_limit": 0, "topped_up": 1, "over_budget": 0, "repeats": 43}
    wanted |= {"redo": 0, "pending": 0, "repeats_tokens": 4300, "pending_tokens": 0, "budget_tokens": None}
    assert {name: told[name] for name in wanted} == wanted
    assert (told["pass_rule"], told["target"]) == ("reward >= 1", "in or out of 0.2:0.8 with probability 0.9")


@pytest.mark.parametrize(("order", "jobs"), [("as it was", "1"), ("shuffled", "2")])
def test_the_same_rows_whatever_the_order_and_the_jobs(order: str, jobs: str, tmp_path: Path) -> None:
    path = write_tasks(tmp_path)
    if order == "shuffled":
        lines = path.read_bytes().splitlines(keepends=True)
        random.Random(1).shuffle(lines)
        path.write_bytes(b"".join(lines))
    before = (tmp_path / f"run{INPUTS}").read_bytes()
    top_up(tmp_path, "--half-width", "0.1", "--jobs", jobs)
    new = rows_in(tmp_path / f"run{INPUTS}")[32:]
    assert (tmp_path / f"run{INPUTS}").read_bytes().startswith(before)
    # of Beta(6½ + 0.722 · 45, 2½ + 0.278 · 45) half the interval of 90 % is 0.0997, and 0.1003 for 44
    assert Counter(row["_ng_task_index"] for row in new) == {0: 1, 1: 45, 2: 58, 3: 1}
    assert new == [row_of(row["_ng_task_index"], row["_ng_rollout_index"]) for row in new]


def test_nothing_to_do(tmp_path: Path) -> None:
    write_tasks(tmp_path, {0: 8, 3: 0})
    before = contents_of(tmp_path)
    done = top_up(tmp_path, *BAND)
    assert done.exit_code == 0
    assert "nothing to add" in done.stdout
    assert "--resume" not in done.stdout
    assert contents_of(tmp_path) == before


def test_redone_rollouts_move_to_a_side_file(tmp_path: Path) -> None:
    path = write_tasks(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    done = top_up(tmp_path, "--redo", "_ng_task_index = 0 and _ng_rollout_index in (0, 7)")
    assert done.exit_code == 0, done.stderr
    assert "2 of the rollouts to redo are measured and scored" in done.stderr
    assert (tmp_path / REDONE).read_bytes() == lines[0] + lines[7]
    assert path.read_bytes() == b"".join(lines[1:7] + lines[8:])
    assert still_to_come(tmp_path) == [(0, 0), (0, 7)]
    assert not (tmp_path / BACKUP).exists()
    # the folder is still one run, and a second move goes to the end of the same file
    again = run_command(["topup", ".", "--redo", "_ng_task_index = 3 and _ng_rollout_index = 0", "-q"], tmp_path)
    assert again.exit_code == 0, again.stderr
    assert (tmp_path / REDONE).read_bytes() == lines[0] + lines[7] + lines[24]


def test_masked_rollouts_are_redone(tmp_path: Path) -> None:
    rows = [finished(0, repeat, reward=1.0, mask_sample=repeat < 2) for repeat in range(8)]
    write_run(tmp_path, plan=[row_of(0, repeat) for repeat in range(8)], done=rows)
    told = object_of(top_up(tmp_path, *BAND, "--redo", "_masked", "--json"))
    # six of six pass, which does; the two that come again count already
    assert (told["redo"], told["pending"], told["repeats"]) == (2, 2, 0)
    assert still_to_come(tmp_path) == [(0, 0), (0, 1)]


def test_unhealthy_rollouts_are_redone(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    verdicts = [{"_ng_task_index": 1, "_ng_rollout_index": repeat, "verdict": "unhealthy"} for repeat in (3, 5)]
    (tmp_path / "rollout_verdicts.jsonl").write_bytes(jsonl(verdicts))
    done = top_up(tmp_path, "--redo", "_verdict = 'unhealthy'")
    assert done.exit_code == 0, done.stderr
    assert "rollout_verdicts.jsonl still judges the rollouts to redo" in done.stderr
    assert still_to_come(tmp_path) == [(1, 3), (1, 5)]


def test_every_line_of_a_key_moves(tmp_path: Path) -> None:
    rows = [finished(0, 0, reward=0.0), finished(0, 1, reward=1.0), finished(0, 0, reward=1.0)]
    write_run(tmp_path, plan=[row_of(0, repeat) for repeat in range(2)], done=rows)
    done = top_up(tmp_path, "--redo", "_ng_rollout_index = 0", "--on-duplicate", "last")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "run.jsonl").read_bytes() == jsonl(rows[1:2])
    assert (tmp_path / REDONE).read_bytes() == jsonl([rows[0], rows[2]])


def test_rollouts_that_are_given_up_are_told(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    failure = {"_ng_task_index": 0, "_ng_rollout_index": 0, "_ng_failure_terminal": True}
    (tmp_path / "run_failures.jsonl").write_bytes(jsonl([failure]))
    done = top_up(tmp_path, "--redo", "_ng_task_index = 0 and _ng_rollout_index < 2")
    assert "1 of the rollouts to redo has failed too often" in done.stderr


def test_a_budget(tmp_path: Path) -> None:
    write_tasks(tmp_path, {0: 6, 1: 2, 2: 3, 3: 5})
    # 6 or 2 of 8 need 43 more, 3 or 5 of 8 need 2
    told = [
        object_of(top_up(tmp_path, *BAND, "--budget-tokens", str(budget), "--json", "--dry-run"))
        for budget in (199, 4799)
    ]
    chosen = [[row["_ng_task_index"] for row in one["plan"] if row["chosen"]] for one in told]
    assert chosen == [[], [0, 2, 3]]
    assert [one["over_budget"] for one in told] == [4, 1]
    done = top_up(tmp_path, *BAND, "--budget-tokens", "4799")
    assert "1 that need more get none (settled first, then cheapest first" in done.stdout
    assert Counter(task for task, _ in still_to_come(tmp_path)) == {0: 43, 2: 2, 3: 2}


def test_the_limit(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    done = top_up(tmp_path, *BAND, "--max-repeats", "5")
    assert "1 stay open at 5 more" in done.stdout
    assert still_to_come(tmp_path) == [(1, repeat) for repeat in range(8, 13)]


def test_the_commands_are_quoted(tmp_path: Path) -> None:
    folder = tmp_path / "it's a run"
    write_tasks(folder)
    told = object_of(run_command(["topup", str(folder), *BAND, "--json"], tmp_path))
    gym, ours = map(shlex.split, told["commands"])
    paths = [str(folder / name) for name in (f"run{INPUTS}", "run.jsonl")]
    assert gym == ["gym", "eval", "run", "--no-serve", "--resume", "--input", paths[0], "--output", paths[1]]
    assert ours[ours.index("eval") :] == ["eval", "run", "--no-serve", "--resume", "--output", paths[1]]


def test_shards_have_a_command_each(tmp_path: Path) -> None:
    write_tasks(tmp_path, {0: 8, 1: 6}, "a")
    write_tasks(tmp_path, {2: 5}, "b")
    told = object_of(run_command(["topup", ".", *BAND, "--json"], tmp_path))
    assert [len(still_to_come(tmp_path, stem)) for stem in "ab"] == [43, 2]
    assert [shlex.split(command)[-1] for command in told["commands"]] == ["a.jsonl", "a.jsonl", "b.jsonl", "b.jsonl"]


@pytest.mark.parametrize("name", ["plan.csv", "plan.parquet"])
def test_the_plan_as_a_file(name: str, tmp_path: Path) -> None:
    write_tasks(tmp_path)
    done = top_up(tmp_path, *BAND, "-o", name, "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Target ")
    path = tmp_path / name
    if name.endswith(".csv"):
        assert [row["more"] for row in csv.DictReader(path.read_text().splitlines())] == ["43"]
    else:
        assert pl.read_parquet(path)["more"].to_list() == [43]


def test_a_table_for_programs_has_nothing_beside_it(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    done = top_up(tmp_path, *BAND, "--format", "csv")
    assert len(done.stdout.splitlines()) == 2
    assert "gym eval run" in done.stderr


def test_a_run_that_names_fields(tmp_path: Path) -> None:
    path = write_tasks(tmp_path)
    rows = [{**row, "judge": {"ok": row["_ng_rollout_index"] != 2}} for row in rows_in(path)]
    path.write_bytes(jsonl(rows))
    done = top_up(tmp_path, "--field", "fine=row.judge.ok", "--redo", "not _fine")
    assert done.exit_code == 0, done.stderr
    assert still_to_come(tmp_path) == [(task, 2) for task in range(4)]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), ("nothing to top up for", "--half-width")),
        (("--redo", "nope > 1"), ("--redo", "nope", "Columns of rollouts")),
        (("--redo", "reward"), ("--redo", "neither true nor false")),
        (("--pass-rate", "0.8:0.2"), ("--pass-rate",)),
        (("--pass-rate", "20:80"), ("holds no pass rate", "between 0 and 1")),
        (("--pass-rate", "1:1"), ("one point has no probability",)),
        ((*BAND, "--confidence", "0.4"), ("--confidence 0.4 is out of range", "above 0.5 and below 1")),
        (("--half-width", "0.5"), ("--half-width 0.5 is out of range", "above 0 and below 0.5")),
        ((*BAND, "--score", "nope"), ("nope", "There are")),
        ((*BAND, "-o", f"run{INPUTS}"), ("would overwrite",)),
        ((*BAND, "-o", BACKUP, "-f", "csv"), ("would overwrite",)),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_refusals_change_nothing(args: tuple[str, ...], words: tuple[str, ...], tmp_path: Path) -> None:
    write_tasks(tmp_path)
    before = contents_of(tmp_path)
    done = top_up(tmp_path, *args)
    assert_refused(done, 2, *words)
    assert contents_of(tmp_path) == before


def test_a_budget_without_usage(tmp_path: Path) -> None:
    write_run(tmp_path, plan=[row_of(0, 0)], done=[finished(0, 0, reward=1.0)])
    assert_refused(top_up(tmp_path, *BAND, "--budget-tokens", "5"), 2, "no rollout says how many tokens")
    done = top_up(tmp_path, *BAND)
    assert done.exit_code == 0
    assert "tokens" not in done.stdout.partition("Target")[2].replace("tokens_each", "")


@pytest.mark.parametrize("victim", [f"run{INPUTS}", BACKUP, "run.jsonl", REDONE])
def test_a_read_only_file(victim: str, tmp_path: Path) -> None:
    write_tasks(tmp_path)
    path = tmp_path / victim
    path.touch()
    path.chmod(0o444)
    before = contents_of(tmp_path)
    assert_refused(
        top_up(tmp_path, *BAND, "--redo", "_ng_task_index = 0 and _ng_rollout_index = 0"),
        3,
        victim,
        "read-only",
        "chmod u+w",
    )
    assert contents_of(tmp_path) == before


def compress(folder: Path, name: str) -> None:
    path = folder / name
    path.with_name(f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


@pytest.mark.parametrize(("name", "run_name"), [(f"run{INPUTS}", "run.jsonl"), ("run.jsonl", "run.jsonl.gz")])
def test_compressed_files_are_refused(name: str, run_name: str, tmp_path: Path) -> None:
    write_tasks(tmp_path)
    compress(tmp_path, name)
    before = contents_of(tmp_path)
    assert_refused(run_command(["topup", run_name, *BAND], tmp_path), 3, "is a gzip file", "unpack it")
    assert run_command(["topup", run_name, *BAND, "--dry-run"], tmp_path).exit_code == 0
    assert contents_of(tmp_path) == before


def test_a_plain_name_does_not_make_a_gzip_file_plain(tmp_path: Path) -> None:
    path = write_tasks(tmp_path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert_refused(top_up(tmp_path, *BAND), 3, "run.jsonl", "is a gzip file")


def test_a_run_without_inputs(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    (tmp_path / f"run{INPUTS}").unlink()
    assert_refused(top_up(tmp_path, *BAND), 3, "has no inputs file", "--inputs")


def test_inputs_that_a_collection_would_not_find(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    (tmp_path / f"run{INPUTS}").rename(tmp_path / "plan.jsonl")
    before = contents_of(tmp_path)
    assert_refused(
        top_up(tmp_path, *BAND, "--inputs", "plan.jsonl"), 3, "plan.jsonl", "is not named after its rollouts"
    )
    shutil.move(tmp_path / "plan.jsonl", tmp_path / f"other{INPUTS}")
    assert_refused(top_up(tmp_path, *BAND, "--inputs", f"other{INPUTS}"), 3, "other.jsonl", "would start anew")
    (tmp_path / "other.jsonl").touch()
    words = ("run.jsonl", "would repeat them")
    assert_refused(top_up(tmp_path, *BAND, "--inputs", f"other{INPUTS}"), 3, *words)
    assert contents_of(tmp_path)["run.jsonl"] == before["run.jsonl"]


@pytest.mark.parametrize("plan", [f"whole{INPUTS}", f"p0{INPUTS}", INPUTS.removeprefix("_")])
def test_several_rollouts_files_have_to_be_joined(plan: str, tmp_path: Path) -> None:
    lines = write_tasks(tmp_path).read_bytes().splitlines(keepends=True)
    (tmp_path / "run.jsonl").unlink()
    (tmp_path / f"run{INPUTS}").rename(tmp_path / plan)
    for part in range(3):
        (tmp_path / f"p{part}.jsonl").write_bytes(b"".join(lines[part::3]))
    before = contents_of(tmp_path)
    done = run_command(["topup", ".", *BAND], tmp_path)
    assert_refused(done, 3, f"{plan}: has 3 rollouts files", "p0.jsonl, p1.jsonl, p2.jsonl", "Join them: cat ")
    assert contents_of(tmp_path) == before
    command, whole = (
        line.partition(start)[2].split(" alone")[0]
        for start, line in zip(("Join them: ", "Then name "), done.stderr.splitlines()[-2:], strict=True)
    )
    subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, check=True)
    assert sorted((tmp_path / whole).read_bytes().splitlines(keepends=True)) == sorted(lines)
    assert run_command(["topup", whole, *BAND], tmp_path).exit_code == 0


def test_inputs_with_a_torn_line(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    path = tmp_path / f"run{INPUTS}"
    path.write_bytes(path.read_bytes() + b'{"_ng_task_index": 9, "_ng')
    assert_refused(top_up(tmp_path, *BAND), 3, f"run{INPUTS}:33", "cannot be used")


def test_a_run_that_is_being_collected(tmp_path: Path) -> None:
    path = write_tasks(tmp_path)
    before = contents_of(tmp_path)
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert_refused(top_up(tmp_path, *BAND), 3, "run.jsonl", "is being collected")
    assert contents_of(tmp_path) == before


def test_no_rollout_index_is_left(tmp_path: Path) -> None:
    last = 2**63 - 1
    write_run(tmp_path, plan=[row_of(0, last)], done=[])
    (tmp_path / "run.jsonl").write_bytes(jsonl([finished(0, last, reward=1.0)]))
    assert_refused(top_up(tmp_path, *BAND), 2, "task 0 has no rollout index left")


def test_a_run_where_nothing_finished(tmp_path: Path) -> None:
    write_run(tmp_path, plan=[row_of(0, 0), row_of(1, 0)], done=b"")
    done = run(["topup", "run.jsonl", *BAND], tmp_path, env=environment())
    assert done.exit_code == 0, done.stderr
    assert Counter(task for task, _ in still_to_come(tmp_path)) == {0: 6, 1: 6}


def test_the_samples(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "partial", tmp_path / "run")
    told = object_of(run_command(["topup", "run", "--half-width", "0.2", "--redo", "_truncated", "--json"], tmp_path))
    assert told["redo"] == len(rows_in(tmp_path / "run" / "rollouts_redone.jsonl"))
    to_come = still_to_come(tmp_path / "run", "rollouts")
    failed = {
        (one["_ng_task_index"], one["_ng_rollout_index"])
        for one in rows_in(tmp_path / "run/rollouts_failures.jsonl")
        if one.get("_ng_failure_terminal")
    }
    assert len([key for key in to_come if key not in failed]) == told["pending"] + told["repeats"]
