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
LATEST_SECONDS = 0.9
MOST_LINES = 25
REPEATS = 20
DEMO = ROOT / "sample_data/demo"
COMMAND = [
    *("collect", "-i", str(DEMO / "arithmetic.jsonl"), "--config", str(DEMO / "env.yaml"), "-n", str(REPEATS)),
    *("--seed", "7", "--demo-faults", "errors=0.1,no-usage=0.05,malformed=0.05", "--demo-delay", "60"),
    *("--concurrency", "8", "--backoff", "0.01", "-o", "out.jsonl", "--resume"),
]


def killed(chance: random.Random, folder: Path, *, begun: bool) -> str:
    """Starts the collection and kills it or its server; what was killed.

    Args:
        chance: Decides when, and whom.
        folder: Where it runs.
        begun: Whether it has collected something by then; else it may just have started.
    """
    process = start(COMMAND, folder)
    whom = chance.choice(["collector", "server"])
    if begun:
        enough = lines_in(folder) + chance.randint(1, MOST_LINES)
        wait_for(lambda: process.poll() is not None or lines_in(folder) >= enough, timeout=60)
    time.sleep(chance.uniform(0.0, 0.05 if begun else LATEST_SECONDS))
    servers = children_of(process)
    assert process.poll() is None, "it came to its end"
    os.kill(servers[0] if whom == "server" and servers else process.pid, signal.SIGKILL)
    check_end(process, servers)
    return whom


def lines_in(folder: Path) -> int:
    path = folder / "out.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def check_end(process: Process, servers: list[int]) -> None:
    done = end_of(process, timeout=30)
    assert done.exit_code in {3, -signal.SIGKILL}, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    wait_for(lambda: all(map(has_ended, servers)), timeout=20)


@pytest.mark.slow
def test_kills(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    for folder in (calm, disturbed):
        folder.mkdir()
    victims = [killed(chance, disturbed, begun=number % 2 == 1) for number in range(KILLS)]
    assert set(victims) == {"collector", "server"}
    assert KILLS // 2 <= len(rollouts_of(disturbed, torn=True)) < 36 * REPEATS
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
