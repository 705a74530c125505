"""The sample runs that are collected: the command itself asks the demo's servers, and what it wrote is the sample."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ENVIRONMENT = Path(__file__).parent / "demo/env.yaml"
DATASET = "dataset.jsonl"
CANDIDATE_TASKS = 24


def complete(dataset: bytes) -> dict[str, bytes]:
    """Collect every task eight times."""
    return collected(dataset, "--num-repeats", "8")


def candidate(dataset: bytes) -> dict[str, bytes]:
    """Collect some of the tasks in another order, with fewer tokens for each answer and a model that often fails."""
    rows = dataset.splitlines(keepends=True)[::-1][:CANDIDATE_TASKS]
    faults = ("--demo-faults", "errors=always:0.1", "--backoff", "0")
    return collected(b"".join(rows), "--num-repeats", "3", "--max-output-tokens", "120", *faults)


def collected(dataset: bytes, *options: str) -> dict[str, bytes]:
    """Run `rollprof collect`, one rollout at a time so that the order of lines is the plan's, and take its files."""
    with TemporaryDirectory() as folder:
        (Path(folder) / DATASET).write_bytes(dataset)
        asked = ("--config", str(ENVIRONMENT), "--input", DATASET, "--output", "run/rollouts.jsonl")
        command = (sys.executable, "-m", "rollprof", "collect", *asked, "--concurrency", "1", "--quiet", *options)
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return {path.name: path.read_bytes() for path in sorted((Path(folder) / "run").iterdir())}
