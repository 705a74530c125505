"""Outputs take their places together, and never that of something else."""

import os
import signal
from pathlib import Path

import pytest

from tests.cli.accidents import accident_at
from tests.cli.processes import run
from tests.cli.run_files import INPUTS, OLD, OUTPUTS, outputs_of, write_old_outputs, write_run
from tests.command import run_command


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_between_two_renames(number: int, tmp_path: Path) -> None:
    # A mask of the main thread holds nothing back where other threads take signals.
    folder = tmp_path / "in"
    write_run(folder)
    write_old_outputs(folder)
    renames = [("replace", "pathlib", "sys")] * 2
    kill = f"if not points: os.kill(os.getpid(), {int(number)}), __import__('time').sleep(0.2)"
    done = run(["profile", "run.jsonl"], folder, env=accident_at(*renames, action=kill, folder=tmp_path))
    assert len({content == OLD for content in outputs_of(folder)}) == 1
    assert ("nothing was changed" in done.stderr) == (outputs_of(folder)[0] == OLD)


def test_rollouts_are_not_overwritten(tmp_path: Path) -> None:
    path = write_run(tmp_path).rename(tmp_path / f"run{OUTPUTS[0]}")
    before = path.read_bytes()
    done = run_command(["profile", "--rollouts", path.name, "--inputs", f"run{INPUTS}", "-o", "run"], tmp_path)
    assert path.read_bytes() == before
    assert done.exit_code in {2, 3}


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    # For root this can be /dev/null, where a link leads that is to keep an output from being kept.
    write_run(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / f"run{OUTPUTS[1]}").symlink_to("pipe")
    run_command(["profile", "run.jsonl"], tmp_path)
    assert (tmp_path / "pipe").is_fifo()


def test_every_output_may_be_thrown_away(tmp_path: Path) -> None:
    write_run(tmp_path)
    for ending in OUTPUTS:
        (tmp_path / f"run{ending}").symlink_to("/dev/null")
    done = run_command(["profile", "run.jsonl"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert Path("/dev/null").is_char_device()


def test_a_folder_that_was_removed(tmp_path: Path) -> None:
    path = write_run(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    done = run(["profile", str(path)], gone, preexec_fn=gone.rmdir)
    assert (done.exit_code, "Traceback" in done.stderr) == (0, False), done.stderr
