"""Signals that the command does not end by."""

import signal
from pathlib import Path

import pytest

from tests.cli.accidents import accident_at
from tests.cli.processes import end_of, environment, run, start, wait_for
from tests.cli.run_files import write_run

TRIES = 4
SOME_BYTES = 1 << 22


def test_while_a_pipe_is_copied(tmp_path: Path) -> None:
    # A file cannot be closed by a handler that interrupts a write to it: "reentrant call".
    for number in range(TRIES):
        temporary = tmp_path / f"temporary{number}"
        temporary.mkdir()
        env = environment(TMPDIR=str(temporary))
        process = start(["profile", "/dev/zero", "--rollouts-only", "-o", "x"], tmp_path, env=env)
        wait_for(lambda place=temporary: any(size_of(path) > SOME_BYTES for path in place.iterdir()))  # type: ignore[misc]
        process.send_signal(signal.SIGTERM)
        done = end_of(process)
        assert done.exit_code == 143, done.stderr
        assert "Traceback" not in done.stderr
        assert not list(temporary.iterdir())


@pytest.mark.parametrize("module", ["typer", "pipeline/cli/peer"])
def test_while_the_command_is_still_being_loaded(module: str, tmp_path: Path) -> None:
    write_run(tmp_path / "in")
    interrupt = f"os.kill(os.getpid(), {int(signal.SIGINT)})"
    env = accident_at(("<module>", module, "sys"), action=interrupt, folder=tmp_path)
    done = run(["profile", "run.jsonl"], tmp_path / "in", env=env)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.exit_code in {130, -signal.SIGINT}


def size_of(path: Path) -> int:
    """How long a file is, 0 when it has gone meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
