"""Files of any size, name and kind are read, or refused in words."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes import read_end, run
from tests.cli.run_files import (
    INPUTS,
    KEYS,
    OUTPUTS,
    assert_refused,
    object_of,
    rollout,
    rollouts,
    tasks_of,
    write_run,
)
from tests.command import run_command
from tests.packing import ALL_PACKS, Pack
from tests.runs import jsonl, planned

ODD_NAMES = [
    " a  run ",
    "run[0-9]{a,b}(c)*?",
    'it\'s "a" `run` $HOME \\',
    "a\nrun",
    "größe 大 😀",
    "v1.2.jsonl.run",
    "-run",
    "%s{}%d",
    "a\x1b[31mrun",
]
FEW = 64
LONG = "x" * 20_000_000


def test_names_may_hold_anything(tmp_path: Path) -> None:
    for number, name in enumerate(ODD_NAMES):
        write_run(tmp_path, name, plan=[planned(number)], done=[rollout(number)] * 2)
    stem = "".join(ODD_NAMES)[:60]
    args = ["profile", "--on-duplicate", "first", "--json", "-o", stem, "--", *(f"{name}.jsonl" for name in ODD_NAMES)]
    done = run_command(args, tmp_path)
    assert done.exit_code == 0, done.stderr
    told = object_of(done)
    assert told["outputs"] == [stem + ending for ending in OUTPUTS]
    places = [f"{name}.jsonl:{line}" for name in ODD_NAMES for line in (1, 2)]
    assert told["warnings"][0]["places"] == places[:10]
    assert len(tasks_of(tmp_path, stem)) == len(ODD_NAMES)


@pytest.mark.parametrize("name", ["a\n'run' [1]*.jsonl", "größe 大.jsonl"])
def test_outputs_stand_beside_rollouts_of_any_name(name: str, tmp_path: Path) -> None:
    write_run(tmp_path, name.removesuffix(".jsonl"))
    done = run_command(["profile", name], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert len(tasks_of(tmp_path, name.removesuffix(".jsonl"))) == 2


def test_a_file_without_a_byte(tmp_path: Path) -> None:
    write_run(tmp_path, done=b"")
    assert_refused(run_command(["profile", "run.jsonl"], tmp_path), 4, "4 materialized rows have no rollout")
    (tmp_path / f"run{INPUTS}").write_bytes(b"")
    assert run_command(["profile", "run.jsonl"], tmp_path).exit_code == 0
    assert tasks_of(tmp_path) == []


@pytest.mark.slow
def test_lines_of_20_megabytes(tmp_path: Path) -> None:
    plan = [planned(0, text=LONG), planned(1)]
    write_run(tmp_path, plan=plan, done=[rollout(0, text=LONG), rollout(1, n=2)])
    done = run_command(["profile", "run.jsonl", "--jobs", "2"], tmp_path)
    assert done.exit_code == 0, done.stderr
    first, second = tasks_of(tmp_path)
    assert first["sample"]["text"] == LONG
    assert second["mean/n"] == 2


@pytest.mark.slow
def test_a_line_of_20_megabytes_that_is_cut_off(tmp_path: Path) -> None:
    write_run(tmp_path, done=jsonl([*rollouts(KEYS[:3]), rollout(1, 1, text=LONG)])[:-9])
    done = run_command(["profile", "run.jsonl", "--partial", "--json"], tmp_path)
    (torn, *_) = object_of(done)["warnings"]
    assert (torn["code"], torn["places"]) == ("torn", ["run.jsonl:4"])


def test_compression_goes_by_the_content_not_by_the_name(tmp_path: Path) -> None:
    names = ["a.jsonl", "b.jsonl.zst", "c.jsonl.gz", "d.txt", "e"]
    plan = []
    for task, (name, pack) in enumerate(zip(names, ALL_PACKS.values(), strict=True)):
        plan.append(planned(task))
        (tmp_path / name).write_bytes(pack(jsonl([rollout(task)])))
    (tmp_path / "plan.jsonl").write_bytes(ALL_PACKS["zst-frames"](jsonl(plan)))
    done = run_command(["profile", *names, "-i", "plan.jsonl", "-o", "x"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert [row["num_rollouts"] for row in tasks_of(tmp_path, "x")] == [1] * len(names)


def test_a_plain_file_may_be_called_gz(tmp_path: Path) -> None:
    write_run(tmp_path).rename(tmp_path / "run.jsonl.gz")
    done = run_command(["profile", "."], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert len(tasks_of(tmp_path)) == 2


@pytest.mark.parametrize("pack", [bytes, ALL_PACKS["gz"]], ids=["plain", "gz"])
def test_pipes_as_a_shell_gives_them(pack: Pack, tmp_path: Path) -> None:
    path = write_run(tmp_path)
    contents = [pack(each.read_bytes()) for each in (path, tmp_path / f"run{INPUTS}")]
    with read_end(contents[0]) as done, read_end(contents[1]) as plan:
        numbers = [int(Path(end).name) for end in (done, plan)]
        ended = run(["profile", done, "--inputs", plan, "-o", "x"], tmp_path, pass_fds=numbers)
    assert ended.exit_code == 0, ended.stderr
    assert [row["num_rollouts"] for row in tasks_of(tmp_path, "x")] == [2, 2]


def test_rollouts_from_standard_input(tmp_path: Path) -> None:
    write_run(tmp_path)
    command = f"cat run.jsonl | '{sys.executable}' -m rollprof profile /dev/stdin --rollouts-only -o x"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(tasks_of(tmp_path, "x")) == 2


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    write_run(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")
    done = run(["profile", "."], tmp_path)
    assert done.exit_code == 0, done.stderr


@pytest.mark.slow
def test_100_000_files(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    keys = [divmod(number, 100) for number in range(100_000)]
    write_run(tmp_path, plan=[planned(*key) for key in keys])
    for task, index in keys:
        (tmp_path / "in" / f"{task}-{index}.jsonl").write_bytes(
            b'{"_ng_task_index":%d,"_ng_rollout_index":%d,"reward":1}\n' % (task, index)
        )
    done = run(["profile", "in/*.jsonl", "-i", f"run{INPUTS}", "-o", "x", "--json"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert object_of(done)["completion"]["completed_rollout_rows"] == 100_000


def test_more_files_than_may_be_open_at_once(tmp_path: Path) -> None:
    for task in range(2 * FEW):
        (tmp_path / f"{task}.jsonl").write_bytes(jsonl([rollout(task)]))

    def limit_open_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, FEW))

    done = run(["profile", "*.jsonl", "--rollouts-only", "-o", "x"], tmp_path, preexec_fn=limit_open_files)
    assert done.exit_code == 0, done.stderr
    assert len(tasks_of(tmp_path, "x")) == 2 * FEW


def test_devices(tmp_path: Path) -> None:
    write_run(tmp_path)
    done = run_command(["profile", "/dev/null", "-i", f"run{INPUTS}", "-o", "x", "--partial"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert tasks_of(tmp_path, "x") == []
