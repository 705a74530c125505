"""The HTTP side: one app for each agent, and one for the head."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import orjson

from pipeline import names
from pipeline.collect.environments.base import Row
from pipeline.collect.head import CONFIG, Address, config_yaml
from pipeline.collect.serving.agent import Agent
from pipeline.collect.serving.faults import RolloutFaultError, bad_request

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

JSON = "application/json"
CLIENT_CLOSED = 499

Work = Callable[[Row], Awaitable[bytes]]
Tell = Callable[[str], None]


def agent_app(agent: Agent, tell: Tell) -> FastAPI:
    """What an agent's port answers; failures that are nobody's but ours are told as well."""
    from fastapi import FastAPI

    async def seed_session(row: Row) -> bytes:
        await agent.seed_session(row)
        return b"{}"

    async def verify(row: Row) -> bytes:
        response = row.get(names.RESPONSE)
        if not isinstance(response, dict):
            raise bad_request("RowError", "there is no response to verify")
        return await agent.verdict(row, response)

    app = FastAPI(title=agent.name, openapi_url=None)
    works: dict[str, Work] = {
        "/run": agent.run,
        "/v1/responses": agent.respond,
        "/seed_session": seed_session,
        "/verify": verify,
        "/aggregate_metrics": mean_reward,
    }
    for path, work in works.items():
        app.add_api_route(path, endpoint(work, tell), methods=["POST"], response_model=None)
    _add_health(app, {"status": "ok", "agent": agent.name, "environment": agent.environment_name})
    return app


def head_app(addresses: Mapping[str, Address]) -> FastAPI:
    """What the head's port answers: where the agents are, as NeMo Gym's head does."""
    from fastapi import FastAPI
    from fastapi import Request as Asked
    from fastapi import Response as Answer

    async def config(request: Request) -> Response:
        called = request.url.hostname or ""
        return Answer(orjson.dumps(config_yaml(addresses, called=called)), media_type=JSON)

    config.__annotations__ = {"request": Asked, "return": Answer}
    app = FastAPI(title="head", openapi_url=None)
    app.add_api_route(CONFIG, config, response_model=None)
    _add_health(app, {"status": "ok", "agents": {name: one.url for name, one in addresses.items()}})
    return app


async def mean_reward(body: Row) -> bytes:
    """What NeMo Gym's collector asks for after its last rollout: the mean reward; a profile says the rest."""
    given = body.get("verify_responses")
    rows = [row for row in given if isinstance(row, dict)] if isinstance(given, list) else []
    rewards = [row[names.REWARD] for row in rows if isinstance(row.get(names.REWARD), int | float)]
    metrics = {f"mean/{names.REWARD}": sum(rewards) / len(rewards)} if rewards else {}
    return orjson.dumps({"group_level_metrics": [], "agent_metrics": metrics, "key_metrics": metrics})


def endpoint(work: Work, tell: Tell) -> Callable[..., Any]:
    """Reads a JSON object, works, and answers with the result or with what went wrong.

    The work ends when the caller goes away: nobody would pay for an answer that nobody reads.
    """
    from fastapi import Request as Asked
    from fastapi import Response as Answer

    async def answer(request: Request) -> Response:
        try:
            row = object_in(await request.body())
            result = await unless_gone(request, work(row))
        except RolloutFaultError as fault:
            return _failed(fault)
        except Exception as error:  # noqa: BLE001 - a bug ends one rollout, and is told
            tell(f"unexpected {type(error).__name__}: {error}")
            return _failed(RolloutFaultError("internal_error", type(error).__name__, str(error), status=500))
        return Answer(result, media_type=JSON) if result is not None else Answer(status_code=CLIENT_CLOSED)

    answer.__annotations__ = {"request": Asked, "return": Answer}
    return answer


def _failed(fault: RolloutFaultError) -> Response:
    from fastapi import Response as Answer

    return Answer(orjson.dumps(fault.content), fault.status, fault.headers, JSON)


def object_in(body: bytes) -> Row:
    """The JSON object in a request.

    Raises:
        RolloutFaultError: It holds none.
    """
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise bad_request("JSONDecodeError", f"the body is no JSON: {error}", status=HTTPStatus.BAD_REQUEST) from None
    if not isinstance(content, dict):
        raise bad_request("TypeError", "the body is no JSON object", status=HTTPStatus.BAD_REQUEST)
    return content


async def unless_gone(request: Request, work: Awaitable[bytes]) -> bytes | None:
    """What the work gives; None, and the work is cancelled, if the caller goes away first."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _add_health(app: FastAPI, content: Row) -> None:
    from fastapi import Response as Answer

    body = orjson.dumps(content)
    app.add_api_route("/healthz", lambda: Answer(body, media_type=JSON), response_model=None)
