"""Three thousand rollouts at a concurrency of 256: all of them right, and nothing grows."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from tests.collect.env_process import row, served

ROLLOUTS, CONCURRENCY = 3000, 256
GROWTH_BYTES = 8 << 20

pytestmark = pytest.mark.slow


async def collected(url: str) -> list[tuple[int, Any]]:
    free = asyncio.Semaphore(CONCURRENCY)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONCURRENCY)) as session:

        async def one(index: int) -> tuple[int, Any]:
            made = row(f"Task {index // 8}? {'x' * 500}", task=index // 8, rollout=index % 8)
            async with free, session.post(f"{url}/run", json=made) as response:
                return response.status, (await response.json()).get("reward")

        return list(await asyncio.gather(*map(one, range(ROLLOUTS))))


def test_memory_is_flat(tmp_path: Path) -> None:
    with served("-e", "numeric_answer", "--demo-faults", "errors=0.02", cwd=tmp_path) as servers:
        process = psutil.Process(servers.process.pid)
        first = asyncio.run(collected(servers.url))
        before = process.memory_info().rss
        second = asyncio.run(collected(servers.url))
        third = asyncio.run(collected(servers.url))
        assert process.memory_info().rss - before < GROWTH_BYTES
        assert process.num_fds() < CONCURRENCY + 100
    failed = [status for status, _ in first if status != 200]
    assert 0 < len(failed) < ROLLOUTS * 0.04
    assert second == third
    assert {status for status, _ in second} == {200}
    assert all(one == other for one, other in zip(first, second, strict=True) if one[0] == 200)
