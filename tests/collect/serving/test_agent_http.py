"""What an agent's port and the head's answer, in real processes."""

import contextlib
import http.client
import json
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.collect.env_process import Reply, ended_within, first_line, get, post, row, served, started

OWN = """
import asyncio
import numpy as np

print("being imported")

class Grader:
    def __init__(self):
        self.seeded = []
        print("being made")

    def seed_session(self, row):
        self.seeded.append(row["name"])

    async def verify(self, row, response):
        await asyncio.sleep(0)
        print("verifying" * 1000)
        return {"ok": {"reward": True, "length": 3, "mask_sample": True, "seeded": self.seeded[-1]},
                "late": {"response": "mine", "reward": 0.25},
                "numpy": {"reward": np.int64(1), "score": np.float32(0.5)},
                "list": [1.0],
                "none": {},
                "text": {"reward": "1"},
                "nan": {"reward": float("nan")},
                "set": {"reward": 1, "found": {1, 2}},
                "raise": None}[row["name"]] or {}["gone"]
"""


@pytest.fixture(scope="module")
def numeric() -> Any:
    with served("--environment", "numeric_answer", cwd=Path(__file__).parent) as servers:
        yield servers


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("own")
    (folder / "http_grader.py").write_text(OWN)
    with served("--environment", "http_grader:Grader", cwd=folder, stderr=subprocess.DEVNULL) as servers:
        yield servers


def test_a_result(numeric: Any) -> None:
    made = row("What is 6 times 7?", uuid="u", domain="x")
    done: Reply = numeric.run(made)
    assert (done.status, done.headers["content-type"]) == (200, "application/json")
    result = done.content
    assert list(result) == [
        "responses_create_params",
        "response",
        "reward",
        "mask_sample",
        "failure_kind",
        "failure_reason",
        "expected_answer",
        "extracted_answer",
        "correct",
        "boxed",
    ]
    assert result["responses_create_params"] == made["responses_create_params"]
    assert (result["response"]["object"], result["response"]["model"]) == ("response", "demo")


def test_each_step_alone(numeric: Any) -> None:
    made = row("What is 6 times 7?")
    result = numeric.run(made).content
    assert numeric.run(made, path="/seed_session").content == {}
    assert numeric.run({**made, "response": result["response"]}, path="/verify").content == result
    params = {"input": "What is 6 times 7?", "max_output_tokens": 2}
    assert numeric.run(params, path="/v1/responses").content["status"] == "incomplete"


def test_the_mean_reward(numeric: Any) -> None:
    body = {"verify_responses": [{"reward": 1.0}, {"reward": 0.0}, {"reward": None}, {}]}
    metrics = numeric.run(body, path="/aggregate_metrics").content
    assert metrics["agent_metrics"] == {"mean/reward": 0.5}
    assert numeric.run({}, path="/aggregate_metrics").content["agent_metrics"] == {}


@pytest.mark.parametrize(
    ("path", "body", "error"),
    [
        ("/run", b"", (400, "bad_request", "JSONDecodeError")),
        ("/run", b'{"a": ', (400, "bad_request", "JSONDecodeError")),
        ("/run", b"[1]", (400, "bad_request", "TypeError")),
        ("/run", b'{"a": "\xff"}', (400, "bad_request", "JSONDecodeError")),
        ("/run", {}, (422, "bad_request", "RowError")),
        ("/run", {"responses_create_params": {}}, (422, "bad_request", "RowError")),
        ("/run", {"responses_create_params": {"input": 3}}, (422, "bad_request", "RowError")),
        ("/run", row("Without?", expected_answer="none"), (422, "bad_request", "RowError")),
        ("/verify", row("Without?"), (422, "bad_request", "RowError")),
        ("/verify", row("Text?", response="text"), (422, "bad_request", "RowError")),
    ],
)
def test_refused(path: str, body: Any, error: tuple[int, str, str], numeric: Any) -> None:
    assert numeric.run(body, path=path).error == error


@pytest.mark.parametrize(("method", "status"), [("/nowhere", 404), ("/healthz", 405)])
def test_no_such_path(method: str, status: int, numeric: Any) -> None:
    assert numeric.run({}, path=method).status == status


def test_a_large_row(numeric: Any) -> None:
    assert numeric.run(row("x" * (5 << 20))).status == 200


def test_an_environment_of_ones_own(own: Any) -> None:
    result = own.run(row("?", name="ok")).content
    assert (result["reward"], result["mask_sample"]) == (1.0, True)
    assert (result["length"], result["seeded"]) == (3, "ok")
    assert list(own.agents) == ["Grader_agent"]


def test_the_response_is_the_models(own: Any) -> None:
    result = own.run(row("?", name="late")).content
    assert (result["reward"], result["response"]["model"]) == (0.25, "demo")


def test_numbers_of_numpy_are_numbers(own: Any) -> None:
    result = own.run(row("?", name="numpy")).content
    assert (result["reward"], result["score"]) == (1.0, 0.5)


def test_what_an_environment_prints_is_in_nobodys_way(own: Any) -> None:
    # 20 prints of 9 kB are more than the pipe of standard output holds, which nobody reads here.
    assert {own.run(row("?", name="ok")).status for _ in range(20)} == {200}


@pytest.mark.parametrize(
    ("name", "detail", "said"),
    [
        ("list", "NoVerdict", "list"),
        ("none", "KeyError", "'gone'"),
        ("text", "NoReward", "reward"),
        ("nan", "NoReward", "reward"),
        ("set", "TypeError", "set"),
        ("raise", "KeyError", "at http_grader.py:26"),
        ("unknown", "KeyError", "at http_grader.py:18"),
    ],
)
def test_an_environment_that_fails(name: str, detail: str, said: str, own: Any) -> None:
    done = own.run(row("?", name=name))
    assert done.error == (500, "verifier_error", detail)
    assert said in done.content["error"]["message"]
    assert own.run(row("?", name="ok")).status == 200


def test_the_head_says_where_agents_are(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("agents: {one: {environment: numeric_answer}}\n")
    (tmp_path / "b.yaml").write_text("seed: 3\nagents: {étude №1: {environment: multiple_choice}}\n")
    with served("--config", "a.yaml", "--config", "b.yaml", cwd=tmp_path) as servers:
        text = json.loads(get(f"{servers.head}/global_config_dict_yaml").body)
        found = yaml.safe_load(text)
        agents = [name for name, about in found.items() if "responses_api_agents" in about]
        assert agents == list(servers.agents) == ["one", "étude №1"]
        for name, url in servers.agents.items():
            (about,) = found[name]["responses_api_agents"].values()
            assert f"http://{about['host']}:{about['port']}" == url
            assert about["entrypoint"]
            relay = found[f"{name}_environment_server"]["environment_servers"]["legacy_agent"]
            assert relay == {**about, "agent_server": {"type": "responses_api_agents", "name": name}}
            assert get(f"{url}/healthz").content["agent"] == name
        assert get(f"{servers.head}/healthz").content["agents"] == servers.agents
        assert servers.ready["agents"]["one"]["environment"] == "numeric_answer"
        assert (servers.ready["schema_version"], servers.ready["model"]) == (1, "demo")


def test_agents_at_every_address_are_where_the_head_was_called(tmp_path: Path) -> None:
    with served("-e", "numeric_answer", "--host", "0.0.0.0", cwd=tmp_path) as servers:  # noqa: S104
        assert servers.head.startswith("http://127.0.0.1:")
        near = servers.head.replace("127.0.0.1", "127.0.0.2")
        found = yaml.safe_load(get(f"{near}/global_config_dict_yaml").content)
        assert found["numeric_answer_agent"]["responses_api_agents"]["numeric_answer_agent"]["host"] == "127.0.0.2"


def test_many_at_once(numeric: Any) -> None:
    found: dict[int, Any] = {}

    def ask(first: int) -> None:
        for index in range(first, 200, 20):
            found[index] = numeric.run(row("The same?", rollout=index)).content

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200
    for index in (0, 57, 199):
        assert post(f"{numeric.url}/run", row("The same?", rollout=index)).content == found[index]


ENDS = """
import asyncio
import sys


class Ends:
    def seed_session(self, row):
        if row["at"] == "seed":
            sys.exit(4)

    def answers(self, row):
        if row["at"] == "answers":
            raise KeyboardInterrupt
        raise {"SystemExit": SystemExit, "StopIteration": StopIteration}.get(row["at"], ValueError)(1)


class Verdicts:
    def verify(self, row, response):
        if row["at"] == "huge":
            return {"reward": 10**400}
        raise {"exit": SystemExit, "interrupt": KeyboardInterrupt, "cancel": asyncio.CancelledError,
               "stop": StopIteration, "recursion": RecursionError}[row["at"]]("no")


class Later:
    async def verify(self, row, response):
        await asyncio.sleep(0)
        return Verdicts().verify(row, response)


class EndsEarly(Ends):
    def verify(self, row, response):
        return {"reward": 1.0}
"""


@pytest.mark.parametrize(
    ("environment", "raised"),
    [
        *[
            (
                name,
                {
                    "exit": "SystemExit",
                    "interrupt": "KeyboardInterrupt",
                    "cancel": "CancelledError",
                    "huge": "NoReward",
                },
            )
            for name in ("Verdicts", "Later")
        ],
        ("EndsEarly", {"seed": "SystemExit", "answers": "KeyboardInterrupt", "StopIteration": "StopIteration"}),
    ],
)
def test_what_would_end_the_servers_ends_a_rollout(environment: str, raised: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "ending_grader.py").write_text(ENDS)
    with served("-e", f"ending_grader:{environment}", cwd=tmp_path) as servers:
        found = {at: servers.run(row("?", at=at)).error for at in raised}
    assert found == {at: (500, "verifier_error", kind) for at, kind in raised.items()}


STUCK = """
import time


class Sleeps:
    def verify(self, row, response):
        if row["for"]:
            print("at work", flush=True)
            time.sleep(row["for"])
        return {"reward": 1.0}


class Spins:
    def verify(self, row, response):
        print("at work", flush=True)
        while True:
            pass


class SpinsInTheLoop:
    async def verify(self, row, response):
        return Spins().verify(row, response)
"""


def test_a_slow_verify_holds_up_nobody(tmp_path: Path) -> None:
    (tmp_path / "slow_grader.py").write_text(STUCK)
    with served("-e", "slow_grader:Sleeps", cwd=tmp_path) as servers:
        statuses: list[int] = []
        ask = lambda: statuses.append(servers.run(row("?", **{"for": 2})).status)  # noqa: E731
        slow = [threading.Thread(target=ask) for _ in range(3)]
        start = time.monotonic()
        for thread in slow:
            thread.start()
        assert servers.run(row("?", **{"for": 0})).status == 200
        assert time.monotonic() - start < 1.5
        for thread in slow:
            thread.join()
        assert time.monotonic() - start < 5
    assert statuses == [200] * 3


@pytest.mark.parametrize("how", [None, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", ["Sleeps", "Spins", "SpinsInTheLoop"])
def test_the_servers_end_whatever_an_environment_does(name: str, how: int | None, tmp_path: Path) -> None:
    (tmp_path / "stuck_grader.py").write_text(STUCK)
    args = ["-e", f"stuck_grader:{name}", "--json", "--port", "0", "--head-port", "0"]
    args += [] if how else ["--exit-with-stdin"]
    with started(args, tmp_path, stdin=subprocess.DEVNULL if how else subprocess.PIPE) as process:
        (about,) = first_line(process)["agents"].values()
        asking = threading.Thread(target=_ask_in_vain, args=(about["url"],))
        asking.start()
        assert process.stderr is not None
        assert process.stderr.readline() == b"at work\n"
        if how is None:
            assert process.stdin is not None
            process.stdin.close()
            process.stdin = None
        else:
            process.send_signal(how)
        done = ended_within(process, 8)
        asking.join(timeout=5)
    assert done.exit_code == (128 + how if how else 0)
    assert "Traceback" not in done.stderr
    assert "Fatal" not in done.stderr


def _ask_in_vain(url: str) -> None:
    with contextlib.suppress(OSError, http.client.HTTPException):
        post(f"{url}/run", row("?", **{"for": 60}))
