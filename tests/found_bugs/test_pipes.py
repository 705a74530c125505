"""A pipe can be read once, from its beginning, and may bring compressed text."""

import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.runs import finished, jsonl, planned

ROOT = Path(__file__).parents[2]
INPUTS, ROLLOUTS = jsonl([planned()]), jsonl([finished(reward=1)])


def profile_from_pipe(folder: Path, piped: str, contents: dict[str, bytes]) -> "subprocess.CompletedProcess[bytes]":
    """Profiles a run of which one file is a named pipe."""
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / piped).unlink()
    os.mkfifo(folder / piped)
    threading.Thread(target=(folder / piped).write_bytes, args=(contents[piped],), daemon=True).start()
    command = [sys.executable, "-m", "rollprof", "profile", "--rollouts", "run.jsonl", "--inputs", "plan.jsonl"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False, timeout=5)


@pytest.mark.parametrize("piped", ["plan.jsonl", "run.jsonl"])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_pipe_is_read_once(piped: str, compressed: bool, tmp_path: Path) -> None:
    contents = {"plan.jsonl": INPUTS, "run.jsonl": ROLLOUTS}
    if compressed:
        contents[piped] = gzip.compress(contents[piped])
    done = profile_from_pipe(tmp_path, piped, contents)
    assert done.returncode == 0, done.stderr.decode()
