"""Agents that go away: whether they were away, come back, or are waited for in vain."""

import asyncio
import socket
import time

import pytest

from pipeline.collect.outages import LOOK_AFTER_SECONDS, Outages, Watch
from pipeline.errors import SourceError


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
