"""The number of Polars' threads changes no byte, and no number of them is too many."""

import random
from pathlib import Path

import pytest

from tests.cli.processes import end_of, environment, start
from tests.runs import finished, jsonl, plan_of

ROLLOUTS = [
    finished(
        task, index, {"output_tokens": (task * 7919 + index * 104729) % 997}, reward=((task * 31 + index) % 17) / 7
    )
    for task in range(3000)
    for index in range(4)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("threads")
    (folder / "r.jsonl").write_bytes(jsonl(ROLLOUTS))
    (folder / "r_materialized_inputs.jsonl").write_bytes(jsonl(plan_of(ROLLOUTS)))
    return folder


def outputs(folder: Path, threads: int) -> list[bytes]:
    env = environment(POLARS_MAX_THREADS=str(threads))
    done = end_of(start(["profile", "r.jsonl", "-q", "-o", f"t{threads}"], folder, env=env))
    assert (done.exit_code, done.stderr) == (0, "")
    return [path.read_bytes() for path in sorted(folder.glob(f"t{threads}_*"))]


@pytest.mark.parametrize("threads", [3, 16, 64])
def test_threads_do_not_matter(threads: int, folder: Path) -> None:
    assert outputs(folder, threads) == outputs(folder, 1)


def test_zeros_of_both_signs_have_one_median(tmp_path: Path) -> None:
    chance = random.Random(3)
    rows = [
        finished(task, index, reward=chance.choice([0.0, -0.0, 1.0]), m=chance.choice([0.0, -0.0, -1.0, None]))
        for task in range(300)
        for index in range(4)
    ]
    (tmp_path / "r.jsonl").write_bytes(jsonl(rows))
    (tmp_path / "r_materialized_inputs.jsonl").write_bytes(jsonl(plan_of(rows)))
    assert outputs(tmp_path, 2) == outputs(tmp_path, 1)
