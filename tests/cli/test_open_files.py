"""A path that leads to an open file of the command means another file in a worker: standard input, and any number."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.cli.processes import environment, run
from tests.cli.run_files import INPUTS, assert_refused, contents_of, outputs_of, write_run
from tests.command import Finished
from tests.packing import PACKS, Pack
from tests.runs import finished, plan_of

ROWS = [finished(task, 0, reward=task % 2, text=os.urandom(2000).hex()) for task in range(4000)]
WORTH_WORKERS = ["--jobs", "2", "--no-cache", "-q", "-o", "x"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that is large enough for workers, and its profile."""
    folder = tmp_path_factory.mktemp("open")
    path = write_run(folder, plan=plan_of(ROWS), done=ROWS)
    assert run(["profile", path.name, "-q"], folder).exit_code == 0
    return folder


def profile(named: str, folder: Path, out: Path, *, stdin: IO[bytes] | int = subprocess.DEVNULL, more: int = 0) -> None:
    """Profiles rollouts by this name, which must give what their own name gives."""
    args = ["profile", named, "-i", str(folder / f"run{INPUTS}"), *WORTH_WORKERS]
    done = run(args, out, stdin=stdin, pass_fds=[more] if more else [])
    assert done.exit_code == 0, done.stderr
    assert outputs_of(out, "x") == outputs_of(folder)


@pytest.mark.parametrize("pack", [bytes, *PACKS.values()], ids=["plain", *PACKS])
@pytest.mark.parametrize("named", ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "link"])
def test_standard_input_led_from_a_file(named: str, pack: Pack, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(pack((folder / "run.jsonl").read_bytes()))
    (tmp_path / "link").symlink_to("/dev/stdin")
    with (tmp_path / "packed").open("rb") as file:
        profile(named, folder, tmp_path, stdin=file)


def test_inputs_from_standard_input(folder: Path, tmp_path: Path) -> None:
    with (folder / f"run{INPUTS}").open("rb") as file:
        done = run(["profile", str(folder / "run.jsonl"), "-i", "-", *WORTH_WORKERS], tmp_path, stdin=file)
    assert done.exit_code == 0, done.stderr
    assert outputs_of(tmp_path, "x") == outputs_of(folder)


def test_a_file_that_a_shell_opened(folder: Path, tmp_path: Path) -> None:
    with (folder / "run.jsonl").open("rb") as file:
        profile(f"/dev/fd/{file.fileno()}", folder, tmp_path, more=file.fileno())


def test_a_file_without_a_name_any_more(folder: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.write_bytes((folder / "run.jsonl").read_bytes())
    with gone.open("rb") as file:
        gone.unlink()
        profile("-", folder, tmp_path, stdin=file)


def test_standard_input_goes_on_where_it_is(folder: Path, tmp_path: Path) -> None:
    content = (folder / "run.jsonl").read_bytes()
    (tmp_path / "after a header").write_bytes(b"a line that somebody has read\n" + content)
    with (tmp_path / "after a header").open("rb", buffering=0) as file:
        file.readline()
        profile("-", folder, tmp_path, stdin=file)


def refused(folder: Path, temporary: Path) -> Finished:
    """A run that is refused for its last line, from a pipe; copies of pipes are made in another folder."""
    command = f"(cat '{folder}/run.jsonl'; echo x) | '{sys.executable}' -m rollprof profile - -q -o x"
    command += f" -i '{folder}/run{INPUTS}'"
    env = environment(TMPDIR=str(temporary), PYTHONPATH=str(Path(__file__).parents[2]))
    done = subprocess.run(["/bin/sh", "-c", command], cwd=temporary, env=env, capture_output=True, check=False)
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_refusal_leaves_no_copy_of_a_pipe(folder: Path, tmp_path: Path) -> None:
    assert_refused(refused(folder, tmp_path), 3, f"/dev/stdin:{len(ROWS) + 1}")
    assert contents_of(tmp_path) == {}


def test_no_room_for_the_copy_of_a_pipe(folder: Path, tiny_disk: Path) -> None:
    done = refused(folder, tiny_disk)
    assert_refused(done, 3, f"/dev/stdin: cannot be copied into {tiny_disk}: No space left", "TMPDIR")
    assert contents_of(tiny_disk) == {}


def test_a_closed_standard_input_is_no_empty_run(folder: Path, tmp_path: Path) -> None:
    args = ["profile", "-", "-i", str(folder / f"run{INPUTS}"), "--partial", *WORTH_WORKERS]
    done = run(args, tmp_path, stdin=None, preexec_fn=lambda: os.close(0))
    assert_refused(done, 3, "/dev/stdin: is closed, or a socket")


def test_the_outputs_of_a_run_on_standard_input_need_a_name(folder: Path, tmp_path: Path) -> None:
    with (folder / "run.jsonl").open("rb") as file:
        done = run(["profile", "-", "--rollouts-only"], tmp_path, stdin=file)
    assert_refused(done, 2, "/dev/stdin", "-o STEM")
    assert contents_of(tmp_path) == {}
