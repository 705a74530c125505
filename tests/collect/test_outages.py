"""Agents and models that go away: whether they were away, come back, or are waited for in vain."""

import asyncio
import socket
import time
from pathlib import Path

import pytest

from pipeline.collect.outages import LOOK_AFTER_SECONDS, Outages, Watch
from pipeline.errors import SourceError
from tests.cli.processes import end_of, run, start, wait_for
from tests.cli.run_files import assert_refused
from tests.collect.datasets import failures_of, rollouts_of, row, write_dataset
from tests.collect.fake_upstream import upstream


def listening(port: int = 0) -> socket.socket:
    return socket.create_server(("127.0.0.1", port))


def free_port() -> int:
    with listening() as held:
        port: int = held.getsockname()[1]
    return port


def outages(patience: float, ended: str = "") -> Outages:
    return Outages(Watch(patience, lambda: ended, "rollprof collect --resume"))


def test_one_that_is_there_was_not_away() -> None:
    with listening() as held:
        assert not asyncio.run(outages(5.0).outlast(f"http://127.0.0.1:{held.getsockname()[1]}"))


def test_one_that_comes_back_is_waited_for_once() -> None:
    port = free_port()
    watched = outages(30.0)

    async def lost(number: int) -> list[bool]:
        url = f"http://127.0.0.1:{port}"
        waiting = [asyncio.create_task(watched.outlast(url)) for _ in range(number)]
        await asyncio.sleep(2 * LOOK_AFTER_SECONDS)
        assert len(watched.waits) == 1
        with listening(port):
            return await asyncio.gather(*waiting)

    assert asyncio.run(lost(5)) == [True] * 5
    assert watched.waits == {}


@pytest.mark.parametrize(
    ("patience", "ended", "words"),
    [(0.4, "", "has been out of reach for 0 s"), (60.0, "was killed by signal 9", "was killed by signal 9")],
)
def test_one_that_stays_away_ends_the_collection(patience: float, ended: str, words: str) -> None:
    began = time.monotonic()
    with pytest.raises(SourceError, match=words) as refused:
        asyncio.run(outages(patience, ended).outlast(f"http://127.0.0.1:{free_port()}"))
    assert refused.value.hint.endswith("rollprof collect --resume")
    assert time.monotonic() - began < 10


NUMERIC = ["--environment", "numeric_answer", "-a", "numeric_answer_agent", "--model", "m"]


def collecting(folder: Path, port: int, patience: str) -> list[str]:
    """The arguments of a collection whose model is at a port."""
    write_dataset(folder, [row(f"{one}?", agent=None, expected_answer="42") for one in range(6)])
    args = ["collect", "-i", "data.jsonl", "-o", "out.jsonl", *NUMERIC, "--model-url", f"http://127.0.0.1:{port}"]
    return [*args, "--patience", patience]


def test_a_model_that_comes_back_costs_no_attempt(tmp_path: Path) -> None:
    port = free_port()
    process = start(collecting(tmp_path, port, "60"), tmp_path)
    wait_for((tmp_path / "out_materialized_inputs.jsonl").exists)
    time.sleep(1.5)
    assert rollouts_of(tmp_path) == []
    with upstream(port):
        done = end_of(process)
    assert done.exit_code == 0, done.stderr
    assert len(rollouts_of(tmp_path)) == 6
    assert failures_of(tmp_path) == []


def test_a_model_that_stays_away_ends_the_collection_and_no_attempt_is_used(tmp_path: Path) -> None:
    port = free_port()
    args = collecting(tmp_path, port, "1")
    done = run(args, tmp_path)
    assert_refused(done, 3, "the model has been out of reach for 1 s (--patience)", "go on with", "--resume")
    assert f"no answer from http://127.0.0.1:{port}" in done.stderr
    assert (rollouts_of(tmp_path), failures_of(tmp_path)) == ([], [])
    with upstream(port):
        assert run([*args, "--resume"], tmp_path).exit_code == 0
    assert len(rollouts_of(tmp_path)) == 6


def test_a_connection_to_the_model_that_breaks_is_an_attempt(tmp_path: Path) -> None:
    with upstream() as endpoint:
        args = collecting(tmp_path, int(endpoint.url.split(":")[2].partition("/")[0]), "60")
        write_dataset(tmp_path, [row(text, agent=None, expected_answer="42") for text in ("drop", "?")])
        assert run([*args, "--max-attempts", "2", "--backoff", "0.01"], tmp_path).exit_code == 0
    assert [one["_ng_failure_type"] for one in failures_of(tmp_path)] == ["ServerDisconnectedError"] * 2


def test_a_model_that_another_rollout_reaches_is_not_away() -> None:
    async def waited() -> None:
        watched = outages(0.4)
        since = time.monotonic() - 10
        watched.heard("a")
        await watched.outlast_model("a", since=since, said="")
        with pytest.raises(SourceError, match="out of reach for 10 s"):
            await watched.outlast_model("b", since=since, said="")

    asyncio.run(waited())
