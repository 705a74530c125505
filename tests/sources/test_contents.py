"""A task is known by what it asks: not by its number, its agent, or how the answer is sampled."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import SourceError
from pipeline.sources import rows
from pipeline.sources.contents import content_of_request, content_of_row, contents_at
from pipeline.sources.fetching import Place
from pipeline.sources.files import open_source

PROMPT = {"input": [{"role": "user", "content": "6 * 7?"}], "tools": [{"name": "sum", "strict": True}]}
ROW = {"responses_create_params": PROMPT, "uuid": "u-1", "limits": {"steps": 3, "rate": 0.25}}


def of_text(text: str | bytes) -> str:
    return content_of_row(rows.parse(memoryview(text.encode() if isinstance(text, str) else text)))


def of_row(row: dict[str, Any]) -> str:
    return of_text(json.dumps(row))


SAME: dict[str, dict[str, Any]] = {
    "indices": ROW | {"_ng_task_index": 7, "_ng_rollout_index": 1, "_ng_environment_server": "s"},
    "the agent": ROW | {"agent_ref": {"name": "b"}, "skills_ref": "x", "reward_profiles": [1]},
    "sampling": ROW
    | {
        "responses_create_params": PROMPT
        | {"seed": 3, "temperature": 1.0, "top_p": 0.9, "max_output_tokens": 9, "model": "m", "metadata": {"a": "b"}}
    },
    "the order of keys": dict(reversed(ROW.items())) | {"limits": {"rate": 0.25, "steps": 3}},
    "how numbers are written": ROW | {"limits": {"steps": 3.0, "rate": 0.250}},
}
OTHER: dict[str, dict[str, Any]] = {
    "the prompt": ROW | {"responses_create_params": PROMPT | {"input": "6 * 8?"}},
    "the tools": ROW | {"responses_create_params": PROMPT | {"tools": []}},
    "a field of the task": ROW | {"uuid": "u-2"},
    "a number": ROW | {"limits": {"steps": 4, "rate": 0.25}},
    "the order of a list": ROW | {"responses_create_params": PROMPT | {"tools": [{"b": 1}, {"a": 1}]}},
    "a number as text": ROW | {"limits": {"steps": "3", "rate": 0.25}},
    "true for one": ROW | {"limits": {"steps": True, "rate": 0.25}},
    "null for nothing": ROW | {"more": None},
    "a seed of the task itself": ROW | {"seed": 1},
    "no request": {"uuid": "u-1", "limits": ROW["limits"]},
}


@pytest.mark.parametrize("what", SAME)
def test_not_part_of_a_task(what: str) -> None:
    assert of_row(SAME[what]) == of_row(ROW)


@pytest.mark.parametrize("what", OTHER)
def test_part_of_a_task(what: str) -> None:
    assert of_row(OTHER[what]) != of_row(ROW)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('{"a": 1e0, "b": 1e-7}', '{"a":1,"b":0.0000001}'),
        ('{"a": -0.0}', '{"a": 0}'),
        ('{"a": 1, "a": 2}', '{"a": 2}'),
        ('{"a": {"x": 1, "x": 2}}', '{"a": {"x": 2}}'),
        ('{"a": NaN, "b": -Infinity}', '{"a": null, "b": null}'),
        ('{"a": "\\u00e9 2.0"}', '{"a": "é 2.0"}'),
        ('{"a": 123456789012345678901234567890}', '{ "a":123456789012345678901234567890 }'),
        ('{"a": "\\ud800", "b": 2.0}', '{"b": 2, "a": "\\ud800"}'),
    ],
)
def test_spelled_in_two_ways(left: str, right: str) -> None:
    assert of_text(left) == of_text(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('{"a": 123456789012345678901234567890}', '{"a": 123456789012345678901234567891}'),
        ('{"a": 9007199254740993}', '{"a": 9007199254740992}'),
        ('{"a": "\\ud800"}', '{"a": "\\udfff"}'),
        ('{"a": "1"}', '{"a": 1}'),
    ],
)
def test_nearly_the_same(left: str, right: str) -> None:
    assert of_text(left) != of_text(right)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_white_space_order_and_escapes_do_not_matter(row: dict[str, Any]) -> None:
    spaced = json.dumps(dict(reversed(row.items())), indent=1, ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert of_text(json.dumps(row, separators=(",", ":"))) == of_text(spaced)


def test_the_request_alone_is_in_a_rollout_too() -> None:
    rollout = {"response": {"output": []}, "reward": 1.0, "responses_create_params": PROMPT | {"seed": 5}}
    asked = {"responses_create_params": PROMPT}
    assert content_of_request(rollout) == content_of_request(ROW) == content_of_row(asked)
    assert content_of_request({"reward": 1}) == content_of_request({})


REQUESTS: list[Any] = [1, None, "a", [], {}]


def test_a_request_that_is_no_object() -> None:
    assert len({of_row({"responses_create_params": request}) for request in REQUESTS}) == 5


def place(line: bytes, *, offset: int = 0, task: int = 0, rollout: int = 0) -> Place:
    return Place(task, rollout, 1, offset, len(line))


def test_the_sample_of_a_profile_row(tmp_path: Path) -> None:
    line = json.dumps({"_ng_task_index": 0, "mean/reward": 1.0, "sample": ROW}).encode()
    path = tmp_path / "run_reward_profiling.jsonl"
    path.write_bytes(line + b"\n")
    assert contents_at(open_source(path), [place(line)]) == [of_row(ROW)]


def test_a_row_that_is_no_longer_there(tmp_path: Path) -> None:
    (tmp_path / "inputs.jsonl").write_bytes(b'{"_ng_task_index": 0, "_ng_rollout_index": 0}\n')
    with pytest.raises(SourceError, match="was changed since it was read"):
        contents_at(open_source(tmp_path / "inputs.jsonl"), [place(b"", offset=3)])


def test_nested_as_deep_as_rows_may_be(tmp_path: Path) -> None:
    line = b'{"_ng_task_index": 0, "_ng_rollout_index": 0, "a": %s%s}' % (b"[" * 900, b"]" * 900)
    (tmp_path / "inputs.jsonl").write_bytes(line + b"\n")
    source = open_source(tmp_path / "inputs.jsonl")
    try:
        assert len(contents_at(source, [place(line)])[0]) == 32
    except SourceError as error:
        assert "nested too deep" in str(error)  # noqa: PT017 - how deep depends on the version of Python
