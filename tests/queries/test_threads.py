"""Figures have the same digits whatever the number of threads."""

import os
import random
import subprocess
import sys
from pathlib import Path

from tests.queries.asking import rollout
from tests.runs import jsonl

SCRIPT = """
import sys
from tests.queries.asking import answer
from tests.queries.test_all import FORMS
from pipeline import open_run
run = open_run(sys.argv[1])
run.load()
for name, parameters in FORMS:
    print(name, parameters, answer(run, name, **parameters).write_csv())
"""


def test_digits_do_not_depend_on_threads(tmp_path: Path) -> None:
    chance = random.Random(7)
    rollouts = [
        rollout(task, repeat, chance.random(), chance.randint(1, 9999), agent="ab"[task % 2], m=chance.random())
        for task in range(3000)
        for repeat in range(4)
    ]
    (tmp_path / "rollouts.jsonl").write_bytes(jsonl(rollouts))
    printed = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, tmp_path / "rollouts.jsonl"],
            env={**os.environ, "POLARS_MAX_THREADS": threads},
            cwd=Path(__file__).parents[2],
            check=True,
            capture_output=True,
        ).stdout
        for threads in ("1", "5")
    }
    assert len(printed) == 1
