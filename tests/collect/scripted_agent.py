"""An agent that does what each row says: a real server, in a process of its own.

A row's `behave` lists what happens at its attempts, one after another; the last one stays. A row that a file of
results knows by `task:rollout` gets its result. Every request is noted in a file as `task:rollout:attempt`.
"""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.cli.processes import environment

Row = dict[str, Any]
ROOT = Path(__file__).parents[2]
HUGE = 10 << 20


def result_of(row: Row) -> Row:
    """What a rollout of this row gives: always the same for the same key, but for the time it took."""
    key = f"{row['_ng_task_index']}:{row['_ng_rollout_index']}"
    draw = hashlib.blake2b(key.encode(), digest_size=2).digest()
    usage = {"input_tokens": 10, "output_tokens": draw[1], "total_tokens": 10 + draw[1]}
    response = {"id": f"resp_{key}", "output": [], "usage": usage}
    return {
        "responses_create_params": row["responses_create_params"],
        "response": response,
        "reward": float(draw[0] % 2),
        "seconds": asyncio.get_event_loop().time(),
    }


def answered(content: Any) -> web.Response:
    return web.Response(body=json.dumps(content).encode(), content_type="application/json")


async def ok(_request: web.Request, row: Row) -> web.Response:
    return answered(result_of(row))


async def slow(_request: web.Request, row: Row) -> web.Response:
    await asyncio.sleep(0.02)
    return answered(result_of(row))


async def hang(_request: web.Request, _row: Row) -> web.Response:
    await asyncio.sleep(3600)
    raise AssertionError


async def disconnect(request: web.Request, _row: Row) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def no_usage(_request: web.Request, row: Row) -> web.Response:
    return answered(result_of(row) | {"response": {"id": "x", "usage": None}})


async def huge(_request: web.Request, row: Row) -> web.Response:
    return answered(result_of(row) | {"text": "x" * HUGE})


async def pretty(_request: web.Request, row: Row) -> web.Response:
    return web.Response(text=json.dumps(result_of(row), indent=2), content_type="application/json")


async def own_keys(_request: web.Request, row: Row) -> web.Response:
    own = {"_ng_task_index": 99, "_ng_environment_server": "server", "agent_ref": {"name": "other"}}
    return answered(own | result_of(row))


async def declared(_request: web.Request, row: Row) -> web.Response:
    return answered(result_of(row) | {"_ng_failure_class": "judge_failed", "reward": 0.0})


async def terminal(_request: web.Request, row: Row) -> web.Response:
    failed = {"_ng_failure_class": "timeout_exceeded", "_ng_failure_terminal": True, "reward": 0.0}
    return answered(result_of(row) | failed)


async def not_kept(_request: web.Request, row: Row) -> web.Response:
    return answered(result_of(row) | {"_ng_failure_class": "kill_shaped", "_ng_no_persist": True})


def body(content: bytes, content_type: str = "application/json") -> Callable[..., Awaitable[web.Response]]:
    async def answer(_request: web.Request, _row: Row) -> web.Response:
        return web.Response(body=content, content_type=content_type)

    return answer


def status(
    code: int, content: bytes = b"Internal Server Error", **headers: str
) -> Callable[..., Awaitable[web.Response]]:
    async def answer(_request: web.Request, _row: Row) -> web.Response:
        return web.Response(
            status=code, body=content, headers={name.replace("_", "-"): headers[name] for name in headers}
        )

    return answer


ERROR = b'{"error": {"class": "model_error", "type": "BadGateway", "message": "the model is gone"}}'
BEHAVIOURS: dict[str, Callable[[web.Request, Row], Awaitable[web.Response]]] = {
    "ok": ok,
    "slow": slow,
    "hang": hang,
    "disconnect": disconnect,
    "no usage": no_usage,
    "huge": huge,
    "pretty": pretty,
    "own keys": own_keys,
    "declared": declared,
    "terminal": terminal,
    "not kept": not_kept,
    "empty": body(b""),
    "malformed": body(b'{"reward": 1.0, "resp'),
    "html": body(b"<html>please log in</html>", "text/html"),
    "list": body(b"[1]"),
    "no reward": body(b'{"response": {}}'),
    "nan": body(b'{"reward": 1.0, "score": NaN, "text": "NaN", "response": {"usage": {}}}'),
    "error as success": body(ERROR),
    "500": status(500),
    "502": status(502, ERROR),
    "429": status(429, Retry_After="1"),
    "odd number to retry": status(429, Retry_After="\u00b2"),
    "odd date to retry": status(429, Retry_After="Mon, 30 Nov 2026 09:33:18 +99999999999999"),
    "nowhere": status(307, Location="http://a..b/run"),
    "surrogate": body(b'{"reward": 1.0, "\\udc00k": 1}'),
    "no number": body(b'{"reward": null, "response": {}}'),
    "long number": body(b'{"reward": ' + b"9" * 5000 + b"}"),
    "404": status(404, b"no such page"),
    "422": status(422, ERROR.replace(b"model_error", b"bad_request")),
    "secret": status(500, b"the key is open-sesame"),
}


def application(log: Path, results: Row) -> web.Application:
    app = web.Application(client_max_size=1 << 26)
    notes = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def run(request: web.Request) -> web.Response:
        row = json.loads(await request.read())
        attempt = row["_ng_attempt_index"]
        os.write(notes, f"{row['_ng_task_index']}:{row['_ng_rollout_index']}:{attempt}\n".encode())
        if known := results.get(f"{row['_ng_task_index']}:{row['_ng_rollout_index']}"):
            return answered(known)
        behave = row.get("behave", ["ok"])
        return await BEHAVIOURS[behave[min(attempt, len(behave) - 1)]](request, row)

    async def head(request: web.Request) -> web.Response:
        host, port = request.host.split(":")
        agent = {"responses_api_agents": {"simple_agent": {"host": host, "port": int(port), "entrypoint": "app.py"}}}
        model = {"responses_api_models": {"x": {"host": host, "port": 1}}}
        config = {"a": agent, "b": agent, "policy_model": model, "policy_model_name": "m"}
        return answered(json.dumps(config))  # JSON is YAML

    app.router.add_post("/run", run)
    app.router.add_get("/global_config_dict_yaml", head)
    return app


async def main(log: Path, port: int, results: Row) -> None:
    runner = web.AppRunner(application(log, results), handle_signals=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


class Agent:
    """A running agent: its address, its process, and what it was asked."""

    def __init__(self, log: Path, port: int, *results: Path) -> None:
        self.log = log
        command = [sys.executable, "-m", "tests.collect.scripted_agent", str(log), str(port), *map(str, results)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment())
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[str]:
        """The requests that came: `task:rollout:attempt`."""
        return self.log.read_text().split() if self.log.exists() else []

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def agent(folder: Path, port: int = 0, *results: Path) -> Iterator[Agent]:
    """An agent that runs as long as the block."""
    running = Agent(folder / "asked.txt", port, *results)
    try:
        yield running
    finally:
        running.end()


if __name__ == "__main__":
    known: Row = json.loads(Path(sys.argv[3]).read_text()) if sys.argv[3:] else {}
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), known))
