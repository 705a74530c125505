"""A pipe can be read once, from its beginning, and may bring compressed text."""

import os
import threading
from pathlib import Path

import pytest

from tests.command import run_command
from tests.packing import PACKS
from tests.runs import finished, jsonl, planned

CONTENTS = {"plan.jsonl": jsonl([planned(), planned(1)]), "run.jsonl": jsonl([finished(1), finished(0, reward=1)])}


@pytest.mark.parametrize(
    ("piped", "pack"), [("plan.jsonl", bytes), ("plan.jsonl", PACKS["zst"]), ("run.jsonl", PACKS["gz"])]
)
def test_a_pipe_is_read_once(piped: str, pack: type[bytes], tmp_path: Path) -> None:
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / piped).unlink()
    os.mkfifo(tmp_path / piped)
    threading.Thread(target=(tmp_path / piped).write_bytes, args=(pack(CONTENTS[piped]),), daemon=True).start()
    done = run_command(["profile", "--rollouts", "run.jsonl", "--inputs", "plan.jsonl"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "run_reward_profiling.jsonl").read_bytes().count(b"\n") == 2
