"""Thousands of rollouts, hundreds at a time: no memory, files or ports run out."""

import resource
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.cli.processes import Process, end_of, start
from tests.cli.run_files import object_of
from tests.collect.datasets import keys, rollouts_of, row, write_dataset
from tests.collect.scripted_agent import Agent, agent

ROLLOUTS, CONCURRENCY = 3000, 256
TASKS = 30
FLAT_MB = 40


class Watched(threading.Thread):
    """Looks at a process as long as it runs: its memory, its open files, its connections."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self.process = process
        self.memory: list[float] = []
        self.files: list[int] = []

    def run(self) -> None:
        folder = Path(f"/proc/{self.process.pid}")
        while self.process.poll() is None:
            try:
                status = (folder / "status").read_text()
                self.files.append(sum(1 for _ in (folder / "fd").iterdir()))
            except OSError:
                return
            for line in status.splitlines():
                if line.startswith("VmRSS"):
                    self.memory.append(int(line.split()[1]) / 1024)
            time.sleep(0.02)


def collected(folder: Path, one: Agent, rollouts: int, name: str) -> tuple[Watched, float]:
    """Collects that many rollouts; what was seen, and rollouts a second."""
    write_dataset(folder, [row("x" * 2000 + str(task)) for task in range(TASKS)])
    args = ["-i", "data.jsonl", "-o", f"{name}.jsonl", "-n", str(rollouts // TASKS), "--agent-url", one.url]
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 4096))  # noqa: E731 - fewer than are needed
    process = start(["collect", *args, "--concurrency", str(CONCURRENCY), "--json"], folder, preexec_fn=limit)
    watched = Watched(process)
    watched.start()
    done = end_of(process)
    watched.join()
    assert done.exit_code == 0, done.stderr
    told = object_of(done)
    assert (told["finished"], told["failed"], told["failed_attempts_now"]) == (rollouts, 0, 0)
    assert len(set(keys(rollouts_of(folder, name)))) == rollouts
    return watched, rollouts / told["seconds"]


@pytest.mark.slow
def test_three_thousand_rollouts(tmp_path: Path) -> None:
    with agent(tmp_path) as one:
        few, _ = collected(tmp_path, one, ROLLOUTS // 4, "few")
        many, rate = collected(tmp_path, one, ROLLOUTS, "many")
    sys.stdout.write(f"{rate:.0f} rollouts a second; {max(many.memory):.0f} MB, {max(many.files)} open files at most\n")
    assert max(many.memory) < max(few.memory) + FLAT_MB
    assert max(many.files) <= CONCURRENCY + 32
