"""A model behind HTTP: what is passed on, and what becomes of everything that can go wrong there."""

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import wait_for
from tests.collect.env_process import Reply, Served, post, row, served
from tests.collect.fake_upstream import Upstream, upstream

KEY = "sk-hush-hush"
ODD_KEY = "sk-FAKE+hush/abc==12345"
HERE = Path(__file__).parent
TIMEOUT_SECONDS = 1.5


@pytest.fixture(scope="module")
def behind() -> Iterator[tuple[Served, Upstream]]:
    with upstream() as endpoint, served(*options(endpoint), cwd=HERE, A_KEY=KEY) as servers:
        yield servers, endpoint


def options(endpoint: Upstream) -> list[str]:
    args = ["-e", "numeric_answer", "--model", "a-model", "--model-url", endpoint.url, "--model-api-key-env", "A_KEY"]
    return [*args, "--model-timeout", str(TIMEOUT_SECONDS)]


def test_what_is_asked_and_answered(behind: tuple[Served, Upstream]) -> None:
    servers, endpoint = behind
    made = row("What is it?")
    made["responses_create_params"] |= {"temperature": 0.5, "model": None}
    result = servers.run(made).content
    assert endpoint.asked[-1] == {
        "input": made["responses_create_params"]["input"],
        "temperature": 0.5,
        "model": "a-model",
    }
    assert endpoint.paths[-1] == "/v1/responses"
    assert endpoint.headers[-1]["Authorization"] == f"Bearer {KEY}"
    assert result["response"] == endpoint.response
    assert (result["reward"], result["extracted_answer"]) == (1.0, "42")
    assert result["responses_create_params"] == made["responses_create_params"]
    assert servers.ready["model"] == "a-model"


def test_the_proxy_alone(behind: tuple[Served, Upstream]) -> None:
    servers, endpoint = behind
    assert servers.run({"input": "plain", "stream": True}, path="/v1/responses").content == endpoint.response
    assert endpoint.asked[-1] == {"input": "plain", "model": "a-model"}


@pytest.mark.parametrize(
    ("prompt", "error", "said"),
    [
        ("429", (429, "http_error", "HTTP 429"), "429: slow down"),
        ("500", (500, "http_error", "HTTP 500"), "500: a plain failure"),
        ("400", (400, "http_error", "HTTP 400"), "no such parameter"),
        ("302", (502, "http_error", "HTTP 302"), "302"),
        ("html", (502, "malformed_response", "ContentTypeError"), "text/html"),
        ("malformed", (502, "malformed_response", "JSONDecodeError"), "no JSON"),
        ("empty body", (502, "malformed_response", "JSONDecodeError"), "no JSON"),
        ("not utf-8", (502, "malformed_response", "JSONDecodeError"), "no JSON"),
        ("a list", (502, "malformed_response", "NoResponse"), "output"),
        ("no output", (502, "malformed_response", "NoResponse"), "output"),
        ("failed", (502, "model_failed", "server_error"), "failed: sorry"),
        ("odd header", (429, "http_error", "HTTP 429"), "429"),
        ("10 MB", (502, "malformed_response", "ResponseTooLarge"), "8 MB"),
        ("cut", (502, "connection_error", "ClientPayloadError"), "no answer from http://127.0.0.1"),
        ("drop", (502, "connection_error", "ServerDisconnectedError"), "no answer from http://127.0.0.1"),
        ("hang", (504, "timeout_exceeded", "TimeoutError"), "1.5 s"),
    ],
)
def test_what_goes_wrong(prompt: str, error: tuple[int, str, str], said: str, behind: tuple[Served, Upstream]) -> None:
    servers, _ = behind
    for path, body in (("/run", row(prompt)), ("/v1/responses", {"input": prompt})):
        done = servers.run(body, path=path)
        assert done.error == error
        assert said in done.content["error"]["message"]
        assert "reached" not in done.content["error"]
        assert done.headers.get("retry-after") == ("7" if prompt == "429" else None)
    assert servers.run(row("And now?")).status == 200


def test_the_key_is_never_repeated(behind: tuple[Served, Upstream]) -> None:
    servers, _ = behind
    done = servers.run(row("echo key"))
    assert done.error == (401, "http_error", "HTTP 401")
    assert KEY.encode() not in done.body
    assert b"Incorrect key: Bearer ***" in done.body


@pytest.mark.parametrize(
    ("prompt", "key", "blotted"),
    [
        ("echo escaped", ODD_KEY, b"k***"),
        ("refuse escaped", ODD_KEY, b"Incorrect key: Bearer ***"),
        ("echo as type", "sk-HUSH-hush", b"x/bearer ***"),
        ("echo as header", KEY, b"429"),
    ],
)
def test_the_key_is_not_repeated_in_other_forms(prompt: str, key: str, blotted: bytes, tmp_path: Path) -> None:
    with upstream() as endpoint, served(*options(endpoint), cwd=tmp_path, A_KEY=key) as servers:
        done = servers.run(row(prompt))
    said = str(done.headers) + json.dumps(done.content)
    assert blotted in done.body
    assert not [form for form in (key, key.replace("/", "\\\\/"), "sk-", "u0068", "u0068".upper()) if form in said]
    assert "hush" not in said.lower()


def test_a_key_in_a_response_is_blotted_out(tmp_path: Path) -> None:
    with upstream() as endpoint, served(*options(endpoint), cwd=tmp_path, A_KEY=KEY) as servers:
        endpoint.response = {**endpoint.response, "metadata": {"key": KEY}}
        assert servers.run(row("?")).content["response"]["metadata"] == {"key": "***"}


def test_a_caller_that_goes_away_ends_the_question(tmp_path: Path) -> None:
    args = ["-e", "numeric_answer", "--model", "m", "--model-timeout", "60"]
    with upstream() as endpoint, served(*args, "--model-url", endpoint.url, cwd=tmp_path) as servers:
        with pytest.raises(TimeoutError):
            post(f"{servers.url}/run", row("hang"), timeout=0.5)
        assert endpoint.gone.wait(10)


def test_connections_are_bounded_and_waiting_takes_no_time(tmp_path: Path) -> None:
    config = """
model: {name: m, url: "%s", max_connections: 3, timeout: 1.0}
agents: {a: {environment: numeric_answer}}
"""
    with upstream() as endpoint:
        (tmp_path / "env.yaml").write_text(config % endpoint.url)
        with served("-c", "env.yaml", cwd=tmp_path) as servers:
            replies: list[Reply] = []
            threads = [threading.Thread(target=lambda: replies.append(servers.run(row("slow")))) for _ in range(24)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        # 24 in threes of 0.2 s are 1.6 s, longer than each may take.
        assert [reply.status for reply in replies] == [200] * 24
        assert endpoint.open == [0, 3]


def test_nobody_is_there(tmp_path: Path) -> None:
    with upstream() as endpoint:
        url = endpoint.url
    with served("-e", "numeric_answer", "--model", "m", "--model-url", url, cwd=tmp_path) as servers:
        done = servers.run(row("?"))
        assert done.error == (502, "connection_error", "ClientConnectorError")
        assert done.content["error"]["reached"] is False


def test_signals_do_not_wait_for_a_model_that_hangs(tmp_path: Path) -> None:
    args = ["-e", "numeric_answer", "--model", "m"]
    with upstream() as endpoint, served(*args, "--model-url", endpoint.url, cwd=tmp_path) as servers:
        asking = threading.Thread(target=lambda: _ask_in_vain(servers))
        asking.start()
        wait_for(lambda: endpoint.open[0] == 1)
        servers.process.terminate()
        assert servers.process.wait(timeout=5) == 143
        asking.join(timeout=5)
        assert endpoint.gone.wait(5)


def _ask_in_vain(servers: Served) -> None:
    with contextlib.suppress(OSError):
        assert servers.run(row("hang")).status >= 500
