"""A refusal says what, where and what to do; what was taken for what is told."""

from pathlib import Path

import pytest

from tests.cli.accidents import accident_at
from tests.cli.processes import environment, read_end, run
from tests.cli.run_files import INPUTS, KEYS, object_of, outputs_of, rollouts, write_run
from tests.command import run_command
from tests.packing import gz
from tests.runs import jsonl


@pytest.mark.parametrize(
    "args",
    [
        ["absent.jsonl"],
        ["absent/*.jsonl"],
        ["link.jsonl"],
        ["cut.jsonl.gz", "--inputs", f"run{INPUTS}"],
        ["run.jsonl", "++allow_partial_rollouts=maybe"],
        ["run.jsonl", "--nested", "a..b"],
    ],
    ids=" ".join,
)
def test_a_refusal_says_what_to_do(args: list[str], tmp_path: Path) -> None:
    path = write_run(tmp_path)
    (tmp_path / "link.jsonl").symlink_to("nowhere")
    (tmp_path / "cut.jsonl.gz").write_bytes(gz(path.read_bytes())[:40])
    assert object_of(run_command(["profile", *args, "--json"], tmp_path))["hint"]


def test_a_broken_link_is_told_before_its_inputs_are_looked_for(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to("nowhere")
    done = run_command(["profile", "link.jsonl"], tmp_path)
    assert "link.jsonl: no such file" in done.stderr


def test_several_files_that_need_a_name_are_named(tmp_path: Path) -> None:
    write_run(tmp_path, "a")
    write_run(tmp_path, "b")
    done = run_command(["profile", "."], tmp_path)
    assert done.exit_code == 2
    assert "a.jsonl" in done.stderr
    assert "b.jsonl" in done.stderr


def test_what_a_pattern_matched_is_told(tmp_path: Path) -> None:
    write_run(tmp_path)
    done = run_command(["profile", "*.jsonl"], tmp_path)
    assert "rollouts: run.jsonl" in done.stderr.splitlines()


@pytest.mark.parametrize("content", [b"garbage\n", None], ids=["its first line is bad", "a broken link"])
def test_a_part_of_the_run_that_was_left_out_is_told(content: bytes | None, tmp_path: Path) -> None:
    # Nobody sees in a run that may be partial that a whole file of it is missing.
    write_run(tmp_path, "part0", done=rollouts(KEYS[:2]))
    part = tmp_path / "part1.jsonl"
    if content is None:
        part.symlink_to("nowhere")
    else:
        part.write_bytes(content + jsonl(rollouts(KEYS[2:])))
    done = run_command(["profile", ".", "--partial", "-o", "x"], tmp_path)
    assert "part1.jsonl" in done.stderr


@pytest.mark.parametrize("role", ["rollouts", "inputs"])
def test_a_fault_in_a_pipe_is_told_under_its_name(role: str, tmp_path: Path) -> None:
    path = write_run(tmp_path)
    paths = {"rollouts": path, "inputs": tmp_path / f"run{INPUTS}"}
    with read_end(paths[role].read_bytes() + b"nonsense\n") as pipe:
        named = {name: str(each) for name, each in paths.items()} | {role: pipe}
        args = ["profile", named["rollouts"], "--inputs", named["inputs"], "-o", "x", "--json"]
        done = run(args, tmp_path, pass_fds=[int(Path(pipe).name)])
    assert object_of(done)["places"] == {"malformed": [f"{pipe}:5"]}


def test_a_pipe_of_a_shell_gives_the_outputs_no_name(tmp_path: Path) -> None:
    path = write_run(tmp_path)
    with read_end(path.read_bytes()) as pipe:
        args = ["profile", pipe, "--inputs", f"run{INPUTS}"]
        done = run(args, tmp_path, pass_fds=[int(Path(pipe).name)], env=environment(TMPDIR=str(tmp_path)))
    assert done.exit_code in {2, 3}
    assert not list(tmp_path.glob("*_reward_profiling.jsonl"))


def test_a_bug_says_where_to_report_it(tmp_path: Path) -> None:
    write_run(tmp_path / "in")
    accident = accident_at(("write_profile", "profile_files.py", "sys"), action="raise RuntimeError", folder=tmp_path)
    done = run(["profile", "run.jsonl", "--json"], tmp_path / "in", env=accident)
    assert done.exit_code == 1
    assert "report" in done.stderr
    assert object_of(done)["exit_code"] == 1


@pytest.mark.parametrize("cores", ["²", "2(x3)"])
def test_an_odd_number_of_cores_from_slurm(cores: str, tmp_path: Path) -> None:
    write_run(tmp_path)
    done = run(["profile", "run.jsonl", "--quiet"], tmp_path, env=environment(SLURM_CPUS_PER_TASK=cores))
    assert (done.exit_code, done.stderr) == (0, "")
    assert outputs_of(tmp_path)
