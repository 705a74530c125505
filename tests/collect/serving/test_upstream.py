"""Where questions are posted to, and what is posted."""

from typing import Any

import pytest

from pipeline.collect.serving.upstream import request_body, responses_url
from pipeline.errors import UsageError


@pytest.mark.parametrize(
    ("url", "posted"),
    [
        ("http://host", "http://host/v1/responses"),
        ("http://host:8000/", "http://host:8000/v1/responses"),
        ("https://host/v1", "https://host/v1/responses"),
        ("https://host/openai/v1/", "https://host/openai/v1/responses"),
        ("https://host/v1/responses", "https://host/v1/responses"),
        ("https://host/v1?version=2", "https://host/v1/responses?version=2"),
        ("http://[::1]:80/v1", "http://[::1]:80/v1/responses"),
    ],
)
def test_responses_url(url: str, posted: str) -> None:
    assert responses_url(url) == posted


@pytest.mark.parametrize("url", ["host/v1", "https://me:hush@host/v1", "http://a..b"])
def test_no_url(url: str) -> None:
    with pytest.raises(UsageError, match="--model-url"):
        responses_url(url)


@pytest.mark.parametrize(
    ("params", "body"),
    [
        ({"input": "a"}, {"input": "a", "model": "m"}),
        ({"input": "a", "model": "other"}, {"input": "a", "model": "m"}),
        ({"input": "a", "temperature": None, "top_p": 0.5}, {"input": "a", "top_p": 0.5, "model": "m"}),
        ({"input": "a", "stream": True}, {"input": "a", "model": "m"}),
        ({"input": "a", "metadata": {"k": "v"}}, {"input": "a", "metadata": {"k": "v"}, "model": "m"}),
        ({"input": "a", "metadata": {"extra_body": '{"seed": 3}'}}, {"input": "a", "seed": 3, "model": "m"}),
        (
            {"input": "a", "metadata": {"extra_body": '{"seed": 3, "input": "b"}', "k": "v"}},
            {"input": "a", "seed": 3, "metadata": {"k": "v"}, "model": "m"},
        ),
        ({"input": "a", "metadata": {"extra_body": "no JSON"}}, {"input": "a", "model": "m"}),
        ({"input": "a", "metadata": {"extra_body": "[1]"}}, {"input": "a", "model": "m"}),
    ],
)
def test_request_body(params: dict[str, Any], body: dict[str, Any]) -> None:
    assert request_body(params, "m") == body
