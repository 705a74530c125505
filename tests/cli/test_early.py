"""Workers that start before the command line is parsed: when they do, and that none is left behind."""

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pipeline.cli import early
from pipeline.sources import workers
from tests.cli.processes import end_of, start
from tests.runs import finished, jsonl, plan_of

ROWS = [finished(task, 0, reward=task % 2, text="x" * 4000) for task in range(9000)]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many workers were started."""
    numbers: list[int] = []
    monkeypatch.setattr(early, "start_spares", numbers.append)
    monkeypatch.setattr(early, "usable_cores", lambda: 8)
    yield numbers
    early.end_early()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("early")
    (folder / "large.jsonl").write_bytes(jsonl(ROWS))
    (folder / "large_materialized_inputs.jsonl").write_bytes(jsonl(plan_of(ROWS)))
    (folder / "small.jsonl").write_bytes(jsonl(ROWS[:5]))
    return folder


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["profile", "large.jsonl"], [8]),
        (["eval", "profile", "+rollouts_jsonl_fpath=large.jsonl"], [8]),
        (["profile", "--rollouts=large.jsonl", "-j", "3"], [3]),
        (["profile", "--jobs=2", "."], [2]),
        (["profile", "--jobs", "99", "large.jsonl"], [8]),
        (["profile", "large.jsonl", "--jobs"], [0]),
        (["profile", "large.jsonl", "--jobs", "x"], [0]),
        (["profile", "small.jsonl"], []),
        (["profile", "absent.jsonl"], []),
        (["profile", "a\0b", "large.jsonl"], [8]),
        (["profile"], []),
        (["query", "pass_rates", "large.jsonl"], []),
        ([], []),
    ],
    ids=str,
)
def test_when_workers_start(
    arguments: list[str], want: list[int], started: list[int], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    early.start_early(arguments)
    assert started == want


def test_a_pool_takes_the_spares_and_the_rest_end(folder: Path) -> None:
    workers.start_spares(3)
    spares = list(workers._spares)  # noqa: SLF001
    with workers.Pool(2) as pool:
        assert list(pool.submit(os.path.basename, ["a/b", "c/d"])) == ["b", "d"]
        assert len(workers._spares) == 1  # noqa: SLF001
        workers.end_spares()
    assert [process.wait() != 0 for process in spares] == [True] * 3
    assert folder.exists()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["large.jsonl", "-o", "out", "-q"], 0),
        (["large.jsonl", "-o", "out", "-q", "--jobs", "1"], 0),
        (["large.jsonl", "--nope"], 2),
        (["large.jsonl", "absent.jsonl", "-o", "out"], 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_worker_outlives_the_command(args: list[str], code: int, folder: Path) -> None:
    done = end_of(start(["profile", *args], folder))
    assert done.exit_code == code
    assert "Traceback" not in done.stderr
    left = [process for process in psutil.process_iter(["cmdline", "cwd"]) if process.info["cwd"] == str(folder)]
    assert left == []
