"""`rollprof topup`, killed at some moment: every file is there whole, and asking again finishes the work."""

import random
import signal
import time
from pathlib import Path

import pytest

from tests.cli.processes import Process, end_of, run, start
from tests.cli.run_files import INPUTS, contents_of, write_run
from tests.runs import finished, planned

pytestmark = pytest.mark.slow

ASKED = ("topup", "run.jsonl", "--pass-rate", "0.2:0.8", "--redo", "_masked", "--quiet")
FILES = ("run.jsonl", f"run{INPUTS}")
SIDES = ("run_redone.jsonl", f"run{INPUTS}.bak")
MOMENTS = 9
MOST = 4 * MOMENTS
"""Later moments are tried only where the machine was too busy for the others to tell."""
STEPS = 3
LONGEST = 0.12
"""Seconds that writing takes, and some more."""


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A run that takes a while to write: 12 MB of inputs, 6 MB of rollouts."""
    folder = tmp_path_factory.mktemp("old")
    keys = [(task, repeat) for task in range(750) for repeat in range(8)]
    plan = [planned(*key, text="x" * 2000) for key in keys]
    done = [finished(*key, reward=float(key[1] < 6), mask_sample=key[0] % 5 == key[1], text="y" * 900) for key in keys]
    write_run(folder, plan=plan, done=done)
    return contents_of(folder)


@pytest.fixture(scope="module")
def new(old: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The same, topped up without a disturbance."""
    folder = written(tmp_path_factory.mktemp("new"), old)
    done = run(ASKED, folder)
    assert done.exit_code == 0, done.stderr
    return contents_of(folder)


def written(folder: Path, contents: dict[str, bytes]) -> Path:
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def is_writing(folder: Path) -> bool:
    return len(list(folder.iterdir())) > len(FILES)


def kill_while_it_writes(folder: Path, pause: float) -> Process:
    process = start(ASKED, folder)
    while process.poll() is None and not is_writing(folder):
        time.sleep(0.001)
    time.sleep(pause)
    process.send_signal(signal.SIGKILL)
    end_of(process)
    return process


def lines(content: bytes) -> set[bytes]:
    return set(content.splitlines(keepends=True))


def test_a_kill_leaves_whole_files(old: dict[str, bytes], new: dict[str, bytes], tmp_path: Path) -> None:
    chance = random.Random(6)
    states: set[tuple[tuple[str, bool], ...]] = set()
    for number in range(MOST):
        if number >= MOMENTS and len(states) >= STEPS:
            break
        folder = tmp_path / str(number)
        folder.mkdir()
        written(folder, old)
        kill_while_it_writes(folder, LONGEST * number / MOMENTS + chance.uniform(0, LONGEST / MOMENTS))
        left = {name: content for name, content in contents_of(folder).items() if not name.endswith(".tmp")}
        state = tuple((name, left.get(name) == new[name]) for name in (*SIDES[:1], *FILES, *SIDES[1:]))
        states.add(state)
        for name in FILES:
            assert left[name] in (old[name], new[name])
        for name in SIDES:
            assert left.get(name) in (None, new[name])
        assert lines(left["run.jsonl"]) | lines(left.get(SIDES[0], b"")) == lines(old["run.jsonl"])
        again = run(ASKED, folder)
        assert again.exit_code == 0, again.stderr
        assert {name: content for name, content in contents_of(folder).items() if not name.endswith(".tmp")} == new
    assert len(states) >= STEPS, "it was always killed at the same step"
