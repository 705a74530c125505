"""What a head server says of agents, read from anyone's and from our own."""

import pytest

from pipeline.collect.head import Address, config_yaml, urls_in
from pipeline.sources.yaml_files import yaml_value


@pytest.mark.parametrize(
    ("entry", "address"),
    [
        (
            {"responses_api_agents": {"simple": {"host": "127.0.0.1", "port": 12, "entrypoint": "app.py"}}},
            "http://127.0.0.1:12",
        ),
        ({"responses_api_agents": {"simple": {"host": "0.0.0.0", "port": 12}}}, "http://127.0.0.1:12"),  # noqa: S104
        ({"responses_api_agents": {"simple": {"host": "::1", "port": 12}}}, "http://[::1]:12"),
        ({"responses_api_agents": {"simple": {"port": 12}}}, "http://127.0.0.1:12"),
        ({"responses_api_agents": {"simple": {"host": "h"}}}, None),
        ({"responses_api_agents": {}}, None),
        ({"responses_api_models": {"m": {"host": "h", "port": 12}}}, None),
        ("text", None),
        (None, None),
    ],
)
def test_what_a_head_says(entry: object, address: str | None) -> None:
    assert urls_in({"a": entry}) == ({} if address is None else {"a": address})


def test_what_ours_says_is_read() -> None:
    places = {"a": ("127.0.0.1", 12), "b": ("0.0.0.0", 13), "a_environment_server": ("::1", 14)}  # noqa: S104
    addresses = {name: Address(name, "numeric_answer", *place) for name, place in places.items()}
    assert urls_in(yaml_value(config_yaml(addresses, called="far.example"))) == {
        "a": "http://127.0.0.1:12",
        "b": "http://far.example:13",
        "a_environment_server": "http://[::1]:14",
    }
