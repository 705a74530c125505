"""`rollprof inspect` tells what is in the files of a run, whatever that is."""

import gzip
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import environment, read_end, run
from tests.cli.run_files import FAILURES, INPUTS, OUTPUTS, assert_refused, object_of, rollouts, write_run
from tests.command import Finished, run_command
from tests.packing import Pack, gz, zst
from tests.runs import finished, jsonl, planned

PACKS = {"gz": gz, "zst": zst}
NOTHING_USABLE = [b"", b"\n \n\t\r\n", b"\xff\xfe\n\x00\x01", b"[1]\n7\nnull\n", b"{" * 2000, b"x" * 20_000_000]


def inspect(folder: Path, *args: str) -> dict[str, Any]:
    """What `inspect --json` tells."""
    done = run_command(["inspect", *args, "--json", "--no-cache"], folder)
    assert done.exit_code == 0, done.stderr
    return object_of(done)


def told(folder: Path, *args: str) -> str:
    """What `inspect` tells people."""
    done = run_command(["inspect", *args, "--no-cache", "--quiet"], folder)
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


def field(facts: dict[str, Any], name: str, role: str = "rollouts") -> dict[str, Any]:
    (found,) = [one for one in facts["fields"] if (one["role"], one["field"]) == (role, name)]
    return {key: value for key, value in found.items() if key not in {"role", "field"}}


def types(facts: dict[str, Any], name: str, role: str = "rollouts") -> dict[str, tuple[int, str]]:
    return {one["type"]: (one["rows"], one["first"]) for one in field(facts, name, role)["types"]}


def lines_of(facts: dict[str, Any], role: str) -> list[tuple[int, ...]]:
    kinds = ("lines", "usable", "blank", "malformed", "torn")
    return [tuple(file[kind] for kind in kinds) for file in facts["files"] if file["role"] == role]


def test_a_clean_run(tmp_path: Path) -> None:
    write_run(tmp_path)
    facts = inspect(tmp_path, "run.jsonl")
    assert facts["schema_version"] == 1
    assert lines_of(facts, "rollouts") == lines_of(facts, "inputs") == [(4, 4, 0, 0, 0)]
    assert [file["bytes"] for file in facts["files"]] == [
        (tmp_path / name).stat().st_size for name in ("run.jsonl", f"run{INPUTS}")
    ]
    assert [(one["role"], one["field"]) for one in facts["fields"]] == [
        *(("rollouts", name) for name in ("_ng_task_index", "_ng_rollout_index", "reward", "response")),
        ("usage", "total_tokens"),
        *(("inputs", name) for name in ("_ng_task_index", "_ng_rollout_index", "agent_ref")),
    ]
    # the reward is the task and half the index: 0.0, 0.5, 1.0, 1.5
    assert field(facts, "reward") == {
        "rows": 4,
        "coverage": 1.0,
        "first": "run.jsonl:1",
        "types": [{"type": "fractional", "rows": 4, "first": "run.jsonl:1"}],
        "repeated": 0,
        "min": 0.0,
        "max": 1.5,
        "not_finite": 0,
    }
    assert (field(facts, "total_tokens", "usage")["min"], field(facts, "_ng_task_index", "inputs")["max"]) == (10, 1)
    assert facts["repeats"] == {"finished": [{"repeats": 2, "tasks": 2}], "planned": [{"repeats": 2, "tasks": 2}]}
    assert facts["agents"] == [
        {"agent": "a", "server": None, "planned": 4, "finished": 0, "masked": 0, "tasks": 2},
        {"agent": None, "server": None, "planned": 0, "finished": 4, "masked": 0, "tasks": 2},
    ]
    assert (facts["inputs_known"], facts["keys"], facts["bad_lines"], facts["profile"]) == (True, [], [], [])
    assert (facts["failures"], facts["verdicts"]) == (None, None)


def test_every_type_of_a_field_and_where_it_is_first(tmp_path: Path) -> None:
    values = (1, 2.5, "x", True, None, [1], {"a": 1}, 3, float("nan"), float("inf"))
    rows = [finished(0, number, v=value, _own=value) for number, value in enumerate(values)]
    (tmp_path / "run.jsonl").write_bytes(jsonl([finished(1, 0), *rows]))
    facts = inspect(tmp_path, "run.jsonl")
    expected = {
        "whole": (2, "run.jsonl:2"),
        "fractional": (3, "run.jsonl:3"),
        "text": (1, "run.jsonl:4"),
        "boolean": (1, "run.jsonl:5"),
        "null": (1, "run.jsonl:6"),
        "list": (1, "run.jsonl:7"),
        "object": (1, "run.jsonl:8"),
    }
    assert types(facts, "v") == types(facts, "_own") == expected
    about = field(facts, "v")
    assert (about["rows"], about["coverage"], about["first"]) == (10, 10 / 11, "run.jsonl:2")
    assert (about["min"], about["max"], about["not_finite"]) == (1, 3, 2)  # true is 1
    text = told(tmp_path, "run.jsonl")
    assert "v: 2 NaN, Infinity or beyond a double" in text
    assert "v: false and true are 0 and 1 in its range" in text
    assert " 90.90 %" in text


def test_names_that_are_there_twice_and_names_in_both_places(tmp_path: Path) -> None:
    line = b'{"_ng_task_index":0,"_ng_rollout_index":0,"n":"x","n":4,"tokens":7,"response":{"usage":{"tokens":9}}}\n'
    (tmp_path / "run.jsonl").write_bytes(line)
    facts = inspect(tmp_path, "run.jsonl")
    assert types(facts, "n") == {"whole": (1, "run.jsonl:1")}
    assert field(facts, "n")["repeated"] == 1
    assert [field(facts, "tokens", role)["min"] for role in ("rollouts", "usage")] == [7, 9]


def test_numbers_under_nested_objects(tmp_path: Path) -> None:
    rows = [finished(0, 0), finished(0, 1, parts={"a": {"b": 2}}), finished(0, 2, parts={"a": {"b": 5}})]
    (tmp_path / "run.jsonl").write_bytes(jsonl(rows))
    about = field(inspect(tmp_path, "run.jsonl", "--nested", "parts"), "parts/a/b")
    assert (about["types"], about["min"], about["max"]) == (
        [{"type": "number", "rows": 2, "first": "run.jsonl:2"}],
        2,
        5,
    )


def test_lines_of_every_kind(tmp_path: Path) -> None:
    whole, other = (json.dumps(finished(0, index)).encode() for index in range(2))
    no_index = b'{"reward": 1}'
    lines = [whole, b"", b"nonsense", b" \t", no_index, no_index, b"\xff", other, b'{"reward": ']
    write_run(tmp_path, plan=[planned(0, 0), planned(0, 1)], done=b"\n".join(lines))
    facts = inspect(tmp_path, "run.jsonl")
    assert lines_of(facts, "rollouts") == [(9, 2, 2, 4, 1)]
    assert [(bad["lines"], bad["first"], bad["torn"]) for bad in facts["bad_lines"]] == [
        (2, "run.jsonl:5", False),
        (1, "run.jsonl:3", False),
        (1, "run.jsonl:7", False),
        (1, "run.jsonl:9", True),
    ]
    assert facts["bad_lines"][0]["reason"] == "has no _ng_task_index and no _ng_rollout_index"
    # rows without indices cannot be used, but their fields are told all the same
    assert types(facts, "reward") == {"whole": (2, "run.jsonl:5")}
    assert field(facts, "_ng_task_index")["coverage"] == 0.5


@pytest.mark.parametrize("content", NOTHING_USABLE, ids=["empty", "blank", "binary", "no object", "deep", "20 MB"])
def test_nothing_that_can_be_used(content: bytes, tmp_path: Path) -> None:
    for name in ("run.jsonl", f"run{INPUTS}", f"run{FAILURES}", "rollout_verdicts.jsonl"):
        (tmp_path / name).write_bytes(content)
    facts = inspect(tmp_path, "run.jsonl", "--jobs", "1")
    assert [file["role"] for file in facts["files"]] == ["rollouts", "inputs", "failures", "verdicts"]
    for file in facts["files"]:
        assert (file["usable"], file["bytes"]) == (0, len(content))
        assert file["blank"] + file["malformed"] + file["torn"] == file["lines"]


def test_a_text_for_people(tmp_path: Path) -> None:
    write_run(tmp_path, plan=[planned(0, 0, note="x")], done=[finished(0, 0, {"n": 3}, reward=0.5, mask_sample=True)])
    assert (
        told(tmp_path, "run.jsonl")
        == f"""\
Files
          file                           bytes  lines  usable  blank  malformed  torn
rollouts  run.jsonl                        115      1       1      0          0     0
inputs    run_materialized_inputs.jsonl     87      1       1      0          0     0
no failures, no verdicts beside them

Fields of rollouts
field              coverage  type        rows  min  max  first
_ng_task_index     100.00 %  whole          1    0    0  run.jsonl:1
_ng_rollout_index  100.00 %  whole          1    0    0  run.jsonl:1
reward             100.00 %  fractional     1  0.5  0.5  run.jsonl:1
mask_sample        100.00 %  boolean        1    -    -  run.jsonl:1
response           100.00 %  object         1    -    -  run.jsonl:1

Fields of response.usage
field  coverage  type   rows  min  max  first
n      100.00 %  whole     1    3    3  run.jsonl:1

Fields of inputs
field              coverage  type    rows  min  max  first
_ng_task_index     100.00 %  whole      1    0    0  run{INPUTS}:1
_ng_rollout_index  100.00 %  whole      1    0    0  run{INPUTS}:1
agent_ref          100.00 %  object     1    -    -  run{INPUTS}:1
note               100.00 %  text       1    -    -  run{INPUTS}:1

Repeats
rollouts of a task  tasks in inputs  tasks in rollouts
                 1                1                  1

Agents
agent  server  tasks  in inputs  rollouts  masked
a      -           1          1         0       0
-      -           1          0         1       1

Rollouts to know of
                     rollouts  first
masked                      1  run.jsonl:1
no agent, no server         1  run.jsonl:1

Keys
no fault

Profile
none beside the rollouts
"""
    )


def test_faults_of_keys(tmp_path: Path) -> None:
    done = rollouts([(0, 0), (0, 1), (0, 0), (0, 1), (7, 7)])
    done[3]["reward"] = 9
    write_run(tmp_path, plan=[planned(*key) for key in ((0, 0), (0, 1), (1, 0), (1, 1), (1, 1))], done=done)
    keys = {fault["kind"]: fault for fault in inspect(tmp_path, "run.jsonl")["keys"]}
    assert keys["duplicate_rollouts"] == {
        "kind": "duplicate_rollouts",
        "rows": 4,
        "keys": 2,
        "first": [
            {"task": 0, "rollout": 0, "lines": ["run.jsonl:1", "run.jsonl:3"], "content": "identical"},
            {"task": 0, "rollout": 1, "lines": ["run.jsonl:2", "run.jsonl:4"], "content": "conflicting"},
        ],
        "compared": 2,
        "identical": 1,
        "conflicting": 1,
    }
    places = {
        kind: [(key["task"], key["rollout"], key["lines"]) for key in fault["first"]] for kind, fault in keys.items()
    }
    assert places["duplicate_inputs"] == [(1, 1, [f"run{INPUTS}:4", f"run{INPUTS}:5"])]
    assert places["extra_rollouts"] == [(7, 7, ["run.jsonl:5"])]
    assert places["missing_rollouts"] == [(1, 0, [f"run{INPUTS}:3"]), (1, 1, [f"run{INPUTS}:4"])]
    text = told(tmp_path, "run.jsonl")
    assert "4 rollouts share their key with another (2 keys: 1 identical, 1 conflicting)\n" in text
    assert "  task 0, rollout 1 conflicting: run.jsonl:2, run.jsonl:4\n" in text
    assert "1 rollout has no input row\n  task 7, rollout 7: run.jsonl:5\n" in text


def test_only_the_first_thousand_duplicates_are_compared(tmp_path: Path) -> None:
    rows = rollouts((task, 0) for task in range(1200))
    (tmp_path / "run.jsonl").write_bytes(jsonl(rows) * 2)
    (fault,) = inspect(tmp_path, "run.jsonl")["keys"]
    assert (fault["rows"], fault["keys"], fault["compared"], fault["identical"]) == (2400, 1200, 1000, 1000)
    assert len(fault["first"]) == 10
    assert ", 200 not compared)\n" in told(tmp_path, "run.jsonl")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_duplicates_across_files(suffix: str, tmp_path: Path) -> None:
    for name, reward in (("a", 1), ("b", 2)):
        content = jsonl([finished(0, 0, reward=1), finished(0, 1, reward=reward)])
        (tmp_path / f"{name}.jsonl{suffix}").write_bytes(gzip.compress(content) if suffix else content)
    (fault,) = inspect(tmp_path, f"a.jsonl{suffix}", f"b.jsonl{suffix}")["keys"]
    assert [key["content"] for key in fault["first"]] == ["identical", "conflicting"]
    assert fault["first"][1]["lines"] == [f"a.jsonl{suffix}:2", f"b.jsonl{suffix}:2"]


def test_no_inputs(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(jsonl(rollouts()))
    facts = inspect(tmp_path, "run.jsonl")
    assert (facts["inputs_known"], facts["keys"], facts["repeats"]["planned"]) == (False, [], [])
    assert "without inputs nothing is known to be missing or extra" in told(tmp_path, "run.jsonl")


def test_tasks_without_rollouts(tmp_path: Path) -> None:
    write_run(tmp_path, done=rollouts([(1, 0)]))
    assert inspect(tmp_path, "run.jsonl")["repeats"]["finished"] == [
        {"repeats": 0, "tasks": 1},
        {"repeats": 1, "tasks": 1},
    ]


def test_agents_and_masks(tmp_path: Path) -> None:
    done = [
        finished(0, 0, agent_ref={"name": "b"}, mask_sample=1),
        finished(0, 1, agent_ref={"name": "b"}, instance_config={"mask_sample": True}),
        finished(1, 0, agent_ref={"name": "a"}, _ng_environment_server="s", reward="x"),
        finished(1, 1, agent_ref={"name": "b"}) | {"response": 7},
    ]
    (tmp_path / "run.jsonl").write_bytes(jsonl(done))
    facts = inspect(tmp_path, "run.jsonl")
    assert facts["agents"] == [
        {"agent": "a", "server": "s", "planned": 0, "finished": 1, "masked": 0, "tasks": 1},
        {"agent": "b", "server": None, "planned": 0, "finished": 3, "masked": 2, "tasks": 2},
    ]
    assert {one["flag"]: (one["rollouts"], one["first"]) for one in facts["flagged"]} == {
        "masked": (2, "run.jsonl:1"),
        "text_reward": (1, "run.jsonl:3"),
        "odd_response": (1, "run.jsonl:4"),
        "not_finite": (0, None),
        "no_agent": (0, None),
    }


def test_what_lies_beside(tmp_path: Path) -> None:
    path = write_run(tmp_path, done=rollouts([(0, 0)]))
    failures = [planned(0, 0, _ng_failure_class="late"), planned(0, 1, _ng_failure_class="late"), planned(1, 1)]
    (tmp_path / f"run{FAILURES}").write_bytes(jsonl(failures) + b"\nnonsense\n")
    verdicts = [
        planned(0, 0, verdict="healthy", findings=[]),
        planned(0, 0, verdict="unhealthy", findings=["loop", "cut"]),
        planned(0, 1, verdict="unhealthy", findings=["loop"]),
    ]
    (tmp_path / "rollout_verdicts.jsonl").write_bytes(jsonl(verdicts))
    for number, ending in enumerate(OUTPUTS[:2]):
        (tmp_path / f"run{ending}").write_bytes(b"profile")
        os.utime(tmp_path / f"run{ending}", (path.stat().st_mtime + 10 * number - 5,) * 2)
    facts = inspect(tmp_path, "run.jsonl")
    assert lines_of(facts, "failures") == [(5, 3, 1, 1, 0)]
    assert facts["failures"] == {
        "attempts": 3,
        "keys": 3,
        "finished_keys": 1,
        "classes": {"late": 2, "unnamed": 1},
        "missing": {"late": 1, "unknown": 1, "unnamed": 1},
    }
    assert facts["verdicts"] == {"keys": 2, "verdicts": {"unhealthy": 2}, "findings": {"loop": 2, "cut": 1}}
    assert facts["profile"] == [
        {"file": f"run{OUTPUTS[0]}", "bytes": 7, "older": True},
        {"file": f"run{OUTPUTS[1]}", "bytes": 7, "older": False},
    ]


def damaged(content: bytes) -> bytes:
    return gzip.compress(content)[:-12]


def in_the_middle(packed: bytes) -> bytes:
    """Another file of the same length that starts and ends like this one."""
    third = len(packed) // 3
    return packed[:third] + bytes(byte ^ 255 for byte in packed[third : 2 * third]) + packed[2 * third :]


@pytest.mark.parametrize("role", [f"run{INPUTS}.gz", f"run{FAILURES}.gz"])
def test_a_damaged_file_beside_the_rollouts(role: str, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(jsonl(rollouts()))
    (tmp_path / role).write_bytes(damaged(jsonl([planned(0, 0)])))
    facts = inspect(tmp_path, "run.jsonl")
    assert lines_of(facts, "rollouts") == [(4, 4, 0, 0, 0)]
    assert facts["inputs_known"] is False
    (file,) = [file for file in facts["files"] if file["file"] == role]
    assert "ended before" in file["unreadable"]
    assert f"{role} cannot be read: " in told(tmp_path, "run.jsonl")


def many(task: int) -> bytes:
    """Lines of 2,000 rollouts of a task that do not shrink to nothing."""
    chance = random.Random(task)
    return jsonl([finished(task, repeat, reward=chance.random(), mark=chance.random()) for repeat in range(2000)])


@pytest.mark.parametrize(("suffix", "pack"), PACKS.items())
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_rollouts_that_are_cut_off_are_told_up_to_there(suffix: str, pack: Pack, jobs: str, tmp_path: Path) -> None:
    packed, name = pack(many(0)), f"run.jsonl.{suffix}"
    (tmp_path / name).write_bytes(packed[: len(packed) // 2])
    (tmp_path / "whole.jsonl").write_bytes(many(1))
    facts = inspect(tmp_path, name, "whole.jsonl", "--jobs", jobs)
    (lines, usable, *_), whole = lines_of(facts, "rollouts")
    assert 100 < usable < 2000
    assert usable in {lines, lines - 1}  # the last one may be torn
    assert whole == (2000, 2000, 0, 0, 0)
    assert "ended before" in facts["files"][0]["unreadable"]
    assert facts["files"][1]["unreadable"] is None
    assert field(facts, "mark")["rows"] == usable + 2000
    text = told(tmp_path, name, "whole.jsonl")
    assert f"rollouts: {name} cannot be read: " in text
    assert f"(told is what could be unpacked before that: {lines:,} lines)\n" in text


@pytest.mark.parametrize(("suffix", "pack"), PACKS.items())
@pytest.mark.parametrize("damage", [in_the_middle, lambda packed: packed[:5]], ids=["middle", "head"])
@pytest.mark.parametrize("named", [".", "*.jsonl*"])
def test_rollouts_that_are_damaged_are_named_and_the_others_told(
    suffix: str, pack: Pack, damage: Callable[[bytes], bytes], named: str, tmp_path: Path
) -> None:
    for task, name in enumerate(("a", "b", "c")):
        packed = pack(many(task))
        (tmp_path / f"{name}.jsonl.{suffix}").write_bytes(damage(packed) if name == "b" else packed)
    facts = inspect(tmp_path, named)
    usable = {file["file"]: file["usable"] for file in facts["files"]}
    unpacked = usable.pop(f"b.jsonl.{suffix}") or 0
    assert unpacked < 2000
    assert set(usable.values()) == {2000}
    assert [bool(file["unreadable"]) for file in facts["files"]].count(True) == 1
    assert field(facts, "mark")["rows"] >= 4000 + unpacked
    assert f"rollouts: b.jsonl.{suffix} cannot be read: " in told(tmp_path, named)
    assert_refused(
        run_command(["profile", named, "--rollouts-only", "-o", "out"], tmp_path), 3, "b.jsonl", "cannot be read"
    )


def test_nothing_of_a_damaged_file_is_kept_in_the_cache(tmp_path: Path) -> None:
    cache, chance = tmp_path / "cache", random.Random(0)
    large = [finished(0, repeat, text=chance.randbytes(5_000_000).hex()) for repeat in range(2)]
    (tmp_path / "run.jsonl.gz").write_bytes(damaged(jsonl(large)))
    env = environment(ROLLPROF_CACHE_DIR=str(cache))
    answers = [run(["inspect", "run.jsonl.gz"], tmp_path, env=env) for _ in range(2)]
    assert [answer.exit_code for answer in answers] == [0, 0]
    assert answers[0].stdout == answers[1].stdout
    assert not cache.exists() or not list(cache.iterdir())
    refused = run(["profile", "run.jsonl.gz", "--rollouts-only"], tmp_path, env=env)
    assert_refused(refused, 3, "run.jsonl.gz", "cannot be read")


def test_a_profile_is_no_rollouts(tmp_path: Path) -> None:
    (tmp_path / f"run{OUTPUTS[0]}").write_bytes(b"{}\n")
    done = run_command(["inspect", f"run{OUTPUTS[0]}"], tmp_path)
    assert_refused(done, 3, f"run{OUTPUTS[0]}", "is a profile", "rollprof query")


@pytest.mark.parametrize("name", ["absent.jsonl", "absent/*.jsonl", "empty"])
def test_what_is_not_there(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert_refused(run_command(["inspect", name], tmp_path), 3, name)


def test_a_parquet_file_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "other.parquet").write_bytes(b"PAR1 nothing PAR1")
    assert_refused(run_command(["inspect", "other.parquet"], tmp_path), 3, "other.parquet")


def test_a_pipe(tmp_path: Path) -> None:
    with read_end(jsonl(rollouts())) as path:
        done = run(["inspect", path, "--json"], tmp_path, pass_fds=(int(path.rpartition("/")[2]),))
    assert done.exit_code == 0, done.stderr
    assert lines_of(object_of(done), "rollouts") == [(4, 4, 0, 0, 0)]


def test_a_folder_of_several_runs(tmp_path: Path) -> None:
    write_run(tmp_path, "one", plan=[planned(0, 0)], done=rollouts([(0, 0)]))
    write_run(tmp_path, "two", plan=[planned(1, 0)], done=rollouts([(1, 0)], more="x"))
    facts = inspect(tmp_path, ".")
    assert lines_of(facts, "rollouts") == lines_of(facts, "inputs") == [(1, 1, 0, 0, 0)] * 2
    assert types(facts, "more") == {"text": (1, "two.jsonl:1")}


def test_names_that_cannot_be_printed(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(b'{"_ng_task_index":0,"_ng_rollout_index":0,"a\\ud800\\u001b[2J":1}\n')
    facts = inspect(tmp_path, "run.jsonl")
    assert lines_of(facts, "rollouts") == [(1, 0, 0, 1, 0)]
    assert facts["fields"][2]["field"] == "a\\ud800\x1b[2J"
    assert "\x1b" not in told(tmp_path, "run.jsonl")


def large_run(folder: Path) -> None:
    """A run that is worth workers and the cache, with every kind of line in its middle."""
    rows = jsonl([finished(task, 0, {"n": task}, reward=task / 2, text="x" * 9000) for task in range(1200)])
    late = jsonl([finished(5000, 0, late=1)])
    (folder / "run.jsonl").write_bytes(rows + b"\n\nnonsense\n" + late + rows)


def test_workers_and_the_cache_change_nothing(tmp_path: Path) -> None:
    large_run(tmp_path)
    env = environment(ROLLPROF_CACHE_DIR=str(tmp_path / "cache"))

    def ask(*args: str) -> Finished:
        done = run(["inspect", "run.jsonl", *args], tmp_path, env=env)
        assert done.exit_code == 0, done.stderr
        return done

    answers = [ask(*args) for args in (("--no-cache", "--jobs", "1"), ("--no-cache", "--jobs", "2"), (), ())]
    assert len(list((tmp_path / "cache").iterdir())) == 2  # the rows, and what was counted of their fields
    assert len({answer.stdout for answer in answers}) == 1
    facts = object_of(ask("--json"))
    assert lines_of(facts, "rollouts") == [(2404, 2401, 2, 1, 0)]
    assert types(facts, "late") == {"whole": (1, "run.jsonl:1204")}
    assert field(facts, "n", "usage")["max"] == 1199
    with (tmp_path / "run.jsonl").open("ab") as file:
        file.write(jsonl([finished(6000, 0, newer=True)]))
    assert types(object_of(ask("--json")), "newer") == {"boolean": (1, "run.jsonl:2405")}
