"""`rollprof query`: by name, in SQL, with tables of the user's own, in every format."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.cli.processes import end_of, start
from tests.command import Finished, run_command
from tests.runs import finished, jsonl, plan_of

ROWS = [
    finished(task, index, {"output_tokens": 100 * index}, reward=task * index / 2, **{"a/b": index, "odd *": 1})
    for task in range(3)
    for index in range(2)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "r.jsonl").write_bytes(jsonl(ROWS))
    (tmp_path / "r_materialized_inputs.jsonl").write_bytes(jsonl(plan_of(ROWS)))
    return tmp_path


def rows_of(done: Finished) -> list[dict[str, object]]:
    assert (done.exit_code, "Traceback" in done.stderr) == (0, False), done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


def sql(folder: Path, text: str, *more: str) -> list[dict[str, object]]:
    return rows_of(run_command(["query", "--sql", text, "r.jsonl", "--json", "-q", *more], folder))


@pytest.mark.parametrize("words", [["pass_rates", "r.jsonl"], ["r.jsonl", "pass_rates"]])
def test_the_run_stands_before_or_behind_the_name(words: list[str], folder: Path) -> None:
    rows = rows_of(run_command(["query", *words, "--json", "-q", "-p", "threshold=0.5"], folder))
    assert [(row["_ng_task_index"], row["passed"]) for row in rows] == [(0, 0), (1, 1), (2, 1)]


@pytest.mark.parametrize(
    ("rules", "passed", "said"),
    [
        ("pass_threshold: 0.5", [0, 1, 1], "threshold=0.5, as these rules say"),
        ("pass_threshold: 0\nagents: {a: 0.5}", [2, 2, 2], "thresholds of single agents, which do not count here"),
        ("score: output_tokens\npass_threshold: 0", [0, 0, 1], "judges the reward: a rollout passes if reward >= 1"),
    ],
)
def test_the_threshold_is_that_of_the_rules_of_the_run(rules: str, passed: list[int], said: str, folder: Path) -> None:
    (folder / "rollprof.yaml").write_text(rules)
    done = run_command(["query", "pass_rates", "r.jsonl", "--json"], folder)
    assert [row["passed"] for row in rows_of(done)] == passed
    assert "Rules: rollprof.yaml" in done.stderr
    assert said in done.stderr
    given = run_command(["query", "pass_rates", "r.jsonl", "--json", "-p", "threshold=1"], folder)
    assert ([row["passed"] for row in rows_of(given)], "rules" in given.stderr) == ([0, 0, 1], False)
    refused = run_command(["query", "pass_rates", "r.jsonl", "-o", "rollprof.yaml", "-f", "csv"], folder)
    assert (refused.exit_code, "would overwrite" in refused.stderr) == (2, True)


def test_sql_over_every_frame(folder: Path) -> None:
    assert sql(folder, 'select sum("a/b") as s, max("odd *") as m from rollouts') == [{"s": 3, "m": 1}]
    assert sql(folder, 'select "mean/reward" as m from tasks order by 1') == [{"m": 0.0}, {"m": 0.25}, {"m": 0.5}]
    assert sql(folder, 'select count(*) as n, max("mean/reward") as m from agents') == [{"n": 1, "m": 0.25}]
    assert sql(folder, "select count(*) as n from repeats") == [{"n": 2}]
    assert sql(folder, "select count(*) as n from inputs") == [{"n": 6}]
    assert sql(folder, "select count(*) as n from failures") == [{"n": 0}]


def test_sql_in_a_file(folder: Path) -> None:
    (folder / "q.sql").write_text("select max(reward) as r from rollouts")
    assert rows_of(run_command(["query", "q.sql", "r.jsonl", "--json"], folder)) == [{"r": 1.0}]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_tables_of_the_users_own(suffix: str, folder: Path) -> None:
    labels = pl.DataFrame({"task": [0, 1, 2], "label": ["x", "y", "y"]})
    path = folder / f"labels.{suffix}"
    {"csv": labels.write_csv, "parquet": labels.write_parquet, "jsonl": labels.write_ndjson}[suffix](path)  # type: ignore[operator]
    text = "select label, avg(reward) as r from rollouts join labels on _ng_task_index = task group by label order by 1"
    found = sql(folder, text, "--table", f"labels={path.name}")
    assert found == [{"label": "x", "r": 0.0}, {"label": "y", "r": 0.375}]


def test_the_list_names_every_query(folder: Path) -> None:
    rows = rows_of(run_command(["query", "--list", "--json"], folder))
    assert {"pass_rates", "hardest", "coverage", "zero_signal"} <= {str(row["query"]) for row in rows}
    assert all(row["answers"] for row in rows)


def test_a_gate_on_rows(folder: Path) -> None:
    some, none = ("select * from rollouts where reward >= 0", "select * from rollouts where reward > 5")
    done = run_command(["query", "--sql", some, "r.jsonl", "--fail-if-rows", "--json"], folder)
    assert (done.exit_code, len(done.stdout.splitlines())) == (5, 6)
    assert run_command(["query", "--sql", none, "r.jsonl", "--fail-if-rows"], folder).exit_code == 0


def test_a_limit_is_told(folder: Path) -> None:
    done = run_command(["query", "pass_rates", "r.jsonl", "--limit", "2", "--json"], folder)
    assert len(rows_of(done)) == 2
    assert "2 of 3 shown" in done.stderr


@pytest.mark.parametrize("suffix", ["csv", "json", "jsonl", "md", "parquet"])
def test_a_file_says_its_format_by_its_name(suffix: str, folder: Path) -> None:
    done = run_command(["query", "pass_rates", "r.jsonl", "-o", f"out/x.{suffix}"], folder)
    assert (done.exit_code, done.stdout) == (0, "")
    content = (folder / "out" / f"x.{suffix}").read_bytes()
    starts = {"csv": b"_ng_task", "json": b"[{", "jsonl": b'{"', "md": b"| _ng", "parquet": b"PAR1"}
    assert content.startswith(starts[suffix])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "h.xlsx"], "Known are .csv, .json, .jsonl, .md, .parquet and .txt"),
        (["-o", "h.csv.gz"], ".gz is no format"),
        (["-o", "h.parquet", "-f", "csv"], "h.parquet: is to hold csv, not parquet"),
        (["-o", "h.txt", "--json"], "h.txt: is to hold json, not txt"),
    ],
)
def test_a_name_that_says_another_format(words: list[str], said: str, folder: Path) -> None:
    done = run_command(["query", "pass_rates", "r.jsonl", *words], folder)
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
    assert not list(folder.glob("h.*"))
    assert run_command(["query", "pass_rates", "r.jsonl", "-f", "csv", "-o", "h.tsv"], folder).exit_code == 0
    assert run_command(["query", "pass_rates", "r.jsonl", "-o", "h"], folder).exit_code == 0


def test_the_same_bytes_on_a_terminal_and_in_a_pipe(folder: Path) -> None:
    done = run_command(["query", "pass_rates", "r.jsonl", "-q"], folder)
    assert done.stdout.splitlines()[0].split()[:2] == ["_ng_task_index", "_agent"]
    assert "\x1b" not in done.stdout


MISTAKES = [
    (["query"], "no query named"),
    (["query", "r.jsonl"], "r.jsonl is a run; name a query before it"),
    (["query", "nope", "r.jsonl"], "no query is named 'nope'"),
    (["query", "hardst", "r.jsonl"], "Did you mean hardest?"),
    (["query", "pass_rates", "r.jsonl", "--by", "input.a.b"], "--field b=input.a.b --by b"),
    (["query", "pass_rates", "r.jsonl", "--raw"], "--raw is an option of show."),
    (["query", "pass_rates", "r.jsonl", "-p", "nope=1"], "takes threshold"),
    (["query", "pass_rates", "r.jsonl", "-p", "threshold=x"], "threshold=x"),
    (["query", "pass_rates", "r.jsonl", "--by", "nope"], "no column 'nope'"),
    (["query", "--sql", "select nope from rollouts", "r.jsonl"], "nope"),
    (["query", "--sql", "select * from nope", "r.jsonl"], "Tables: rollouts"),
    (["query", "--sql", "select r.A/b from rollouts r", "r.jsonl"], 'Double quotes belong around "a/b".'),
    (["query", "--sql", "selec", "r.jsonl"], "SQL"),
    (["query", "--sql", "", "r.jsonl"], "SQL"),
    (["query", "--sql", "drop table rollouts", "r.jsonl"], "SQL"),
    (["query", "--sql", "select 1", "r.jsonl", "--by", "reward"], "--by"),
    (["query", "--sql", "select 1", "r.jsonl", "--table", "x"], "NAME=FILE"),
    (["query", "--sql", "select 1", "r.jsonl", "--table", "rollouts=x.csv"], "NAME=FILE"),
    (["query", "--sql", "select 1", "r.jsonl", "--table", "x=y.txt"], "what kind"),
    (["query", "pass_rates", "r.jsonl", "--field", "x"], "--field"),
    (["query", "pass_rates", "r.jsonl", "--format", "xml"], "--format"),
]


@pytest.mark.parametrize(
    ("args", "said"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_mistakes(args: list[str], said: str, folder: Path) -> None:
    done = run_command(args, folder)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("file", ["no.csv", "no.jsonl", "no.parquet", "no.sql"])
def test_a_file_that_is_not_there_is_named_once(file: str, folder: Path) -> None:
    named = [file] if file.endswith(".sql") else ["--sql", "select 1", "--table", f"l={file}"]
    done = run_command(["query", *named, "r.jsonl"], folder)
    assert (done.exit_code, done.stdout) == (3, "")
    assert f"rollprof: {file}: cannot be read: No such file or directory\n  Name a " in done.stderr


@pytest.mark.parametrize("args", [["nope.jsonl", "pass_rates"], ["absent.sql", "r.jsonl"]])
def test_files_that_are_not_there(args: list[str], folder: Path) -> None:
    done = run_command(["query", *args], folder)
    assert (done.exit_code, done.stdout) == (3, "")


def test_broken_contracts_are_refused(folder: Path) -> None:
    (folder / "twice.jsonl").write_bytes(jsonl([ROWS[0], ROWS[0]]))
    done = run_command(["query", "pass_rates", "twice.jsonl"], folder)
    assert (done.exit_code, done.stdout) == (4, "")
    assert "twice.jsonl:2" in done.stderr
    assert run_command(["query", "pass_rates", "twice.jsonl", "--on-duplicate", "last"], folder).exit_code == 0


def test_a_reader_that_leaves_is_no_trouble(folder: Path) -> None:
    command = f"{sys.executable} -m rollprof query metric_table r.jsonl --format csv | head -1"
    done = end_of(start(["-c", command], folder, program=("bash",)))
    assert (done.exit_code, len(done.stdout.splitlines())) == (0, 1)
    assert "Traceback" not in done.stderr


def test_metrics_whose_names_are_patterns(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(jsonl([finished(0, 0, reward=1, **{"*": 2, "^a$": 3})]))
    args = ["r.jsonl", "--rollouts-only", "--json", "-q"]
    (row,) = rows_of(run_command(["query", "--sql", "select * from rollouts", *args], tmp_path))
    assert (row["(*)"], row["(^a$)"]) == (2, 3)
    (row,) = rows_of(run_command(["query", "--sql", 'select "(*)" + "(^a$)" as x from rollouts', *args], tmp_path))
    assert row == {"x": 5}


def test_text_columns_join_and_match(folder: Path) -> None:
    rows = [{**row, "domain": f"d{row['_ng_task_index']}"} for row in ROWS]
    (folder / "r.jsonl").write_bytes(jsonl(rows))
    pl.DataFrame({"domain": ["d1", "d2"], "label": ["x", "y"]}).write_csv(folder / "l.csv")
    text = (
        'select l.label, count(*) as n from rollouts join l on rollouts."_row.domain" = l.domain group by 1 order by 1'
    )
    assert sql(folder, text, "--table", "l=l.csv") == [{"label": "x", "n": 2}, {"label": "y", "n": 2}]
    assert sql(folder, """select count(*) as n from rollouts where "_row.domain" like 'd%'""") == [{"n": 6}]


def test_a_table_is_the_file_of_exactly_that_name(folder: Path) -> None:
    (folder / "x[1].csv").write_text("a\n1\n")
    (folder / "x1.csv").write_text("a\n9\n")
    assert sql(folder, "select a from l", "--table", "l=x[1].csv") == [{"a": 1}]


@pytest.mark.parametrize("content", ["", "a,b\n1\n1,2,3\n"])
def test_tables_that_cannot_be_read(content: str, folder: Path) -> None:
    (folder / "bad.csv").write_text(content)
    done = run_command(["query", "--sql", "select * from l", "r.jsonl", "--table", "l=bad.csv"], folder)
    assert (done.exit_code, done.stdout) == (3, "")
    assert "bad.csv: cannot be read" in done.stderr


def test_verdicts_that_cannot_be_used_are_told(folder: Path) -> None:
    verdict = {"_ng_task_index": 0, "_ng_rollout_index": 0, "verdict": "healthy"}
    (folder / "rollout_verdicts.jsonl").write_bytes(b'{"_ng_task_index":0,\n' + jsonl([verdict, verdict]))
    done = run_command(["query", "coverage", "r.jsonl", "--json"], folder)
    assert rows_of(done)[0]["healthy"] == 1
    assert "1 line of the verdicts cannot be used (first: rollout_verdicts.jsonl:1)" in done.stderr
    assert "2 verdicts are about a rollout that another is about too" in done.stderr
