"""Killed at any moment, collector or server, a collection goes on where it was and gives the same profile."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.cli.processes import Process, children_of, end_of, has_ended, run, start, wait_for
from tests.cli.run_files import outputs_of
from tests.collect.datasets import failures_of, inputs_of, keys, rollouts_of
from tests.collect.scripted_agent import ROOT

KILLS = 20
SEED = 20261130
LATEST_SECONDS = 1.6
REPEATS = 24
DEMO = ROOT / "sample_data/demo"
COMMAND = [
    *("collect", "-i", str(DEMO / "arithmetic.jsonl"), "--config", str(DEMO / "env.yaml"), "-n", str(REPEATS)),
    *("--seed", "7", "--demo-faults", "errors=0.1,no-usage=0.05,malformed=0.05", "--demo-delay", "60"),
    *("--concurrency", "8", "--backoff", "0.01", "-o", "out.jsonl", "--resume"),
]


def killed(chance: random.Random, folder: Path) -> str:
    """Starts the collection and kills it or its server at some moment; what was killed."""
    process = start(COMMAND, folder)
    end = time.monotonic() + chance.uniform(0.0, LATEST_SECONDS)
    whom = chance.choice(["collector", "server"])
    while time.monotonic() < end and process.poll() is None:
        time.sleep(0.002)
    servers = children_of(process)
    victim = servers[0] if whom == "server" and servers else process.pid
    if process.poll() is None:
        os.kill(victim, signal.SIGKILL)
    check_end(process, servers)
    return "nobody" if process.returncode == 0 else whom


def check_end(process: Process, servers: list[int]) -> None:
    done = end_of(process, timeout=30)
    assert done.exit_code in {0, 3, -signal.SIGKILL}, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    wait_for(lambda: all(map(has_ended, servers)), timeout=20)


@pytest.mark.slow
def test_kills(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    for folder in (calm, disturbed):
        folder.mkdir()
    victims = [killed(chance, disturbed) for _ in range(KILLS)]
    assert set(victims) == {"collector", "server"}  # it never came to its end
    assert 100 < len(rollouts_of(disturbed, torn=True)) < 36 * REPEATS
    for folder in (disturbed, calm):
        done = run(COMMAND, folder)
        assert done.exit_code == 0, done.stderr
        assert run(["profile", "out.jsonl", "--nested", "usage"], folder).exit_code == 0
    planned = keys(inputs_of(calm))
    assert len(planned) == 36 * REPEATS
    assert sorted(keys(rollouts_of(disturbed))) == planned
    assert sorted(map(str, rollouts_of(disturbed))) == sorted(map(str, rollouts_of(calm)))
    assert sorted(map(str, failures_of(disturbed))) == sorted(map(str, failures_of(calm)))
    assert outputs_of(disturbed, "out") == outputs_of(calm, "out")
