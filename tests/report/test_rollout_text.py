"""A rollout in words: every kind of item, what is left out, and nothing that steers a terminal."""

import json
from typing import Any

import pytest

from pipeline.errors import UsageError
from pipeline.report.rollout import answer_of, as_text, blocks_of
from pipeline.report.values import as_json, elided, plain, value_at, without_nan

BASE64 = "iVBORw0KGgoAAAANSUhEUgAA" * 30
Row = dict[str, Any]


def text_of(row: Row, *, full: bool = False) -> str:
    return as_text("title", blocks_of(row, full=full))


def of_output(*items: Any, **fields: Any) -> str:
    return text_of({"response": {"output": list(items), **fields}})


CALL = {"type": "function_call", "name": "bash", "call_id": "c1", "arguments": '{"command":"ls\\npwd","n":[1,2]}'}
ITEMS = [
    ({"type": "message", "role": "assistant", "content": "hello\nyou"}, "response · assistant", "  hello\n  you"),
    ({"role": "user", "content": [{"type": "input_text", "text": "hi"}]}, "response · user", "  hi"),
    ({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}, "response · message", "  refusal: no"),
    (
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "content": None},
        "response · reasoning",
        "  hm",
    ),
    (CALL, "response · call bash (c1)", "  command:\n    ls\n    pwd\n  n: [1, 2]"),
    (CALL | {"arguments": "{broken"}, "response · call bash (c1)", "  {broken"),
    (CALL | {"status": "incomplete"}, "response · call bash (c1)", "  status: incomplete"),
    (
        {"type": "function_call_output", "call_id": "c9", "output": "done\n\nok"},
        "output of call (c9)",
        "  done\n\n  ok",
    ),
    ({"type": "web_search_call", "query": "x", "tries": 2}, "response · web_search_call", "  query: x\n  tries: 2"),
    ("only text", "response · item", "  only text"),
    ({"odd": None}, "response · item", "  odd: null"),
    ({"type": ["x"], "role": {}, "status": []}, "response · ['x']", "  role: {}"),
    ({"type": "message", "role": "user", "content": [{"type": "input_audio", "id": 7}]}, "user", '  {"type": "input'),
]


@pytest.mark.parametrize(("item", "heading", "body"), ITEMS)
def test_every_kind_of_item(item: Any, heading: str, body: str) -> None:
    text = of_output(item)
    assert f"{heading}\n" in text
    assert body in text


def test_an_output_names_the_call_that_it_is_of() -> None:
    text = of_output(CALL, {"type": "function_call_output", "call_id": "c1", "output": [{"text": "files"}]})
    assert "── response · output of bash (c1)\n  files\n" in text


def test_a_whole_rollout_in_its_order() -> None:
    row = {
        "_ng_task_index": 1,
        "reward": 0.5,
        "responses_create_params": {"instructions": "be brief", "input": "why?", "tools": [{"name": "t"}, {}, 3]},
        "response": {
            "output": [{"type": "message", "role": "assistant", "content": [{"text": "so"}]}],
            "model": "m",
            "incomplete_details": {"reason": "max_output_tokens"},
            "usage": {"output_tokens": 3, "details": {"reasoning": 1}},
        },
        "note": "two\nlines",
    }
    assert text_of(row) == (
        "title\n\n── request · instructions\n  be brief\n\n── request · tools\n  t, {}, 3\n"
        "\n── request · user\n  why?\n\n── response · assistant\n  so\n"
        '\n── response\n  model: "m"\n  incomplete_details: {"reason": "max_output_tokens"}\n'
        '\n── verifier\n  reward: 0.5\n  note: "two\\nlines"\n'
        "\n── usage\n  output_tokens: 3\n  details.reasoning: 1\n"
    )


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"response": None},
        {"response": "text"},
        {"response": [1]},
        {"response": {"output": {"type": None}, "usage": 3}},
        {"responses_create_params": [1], "response": {"output": None}},
        {"responses_create_params": {"input": {"a": 1}, "tools": "x"}},
        {"responses_create_params": {"input": [None, [], {"content": {"a": 1}}]}},
        {"ng_trajectory": {"invocations": [None, {"conversation": 3}]}},
        {"ng_trajectory": [1]},
    ],
)
def test_odd_rows_are_shown_too(row: Row) -> None:
    assert text_of(row).startswith("title\n")


def trajectory(*items: Any) -> Row:
    return {"invocations": [{"invocation_id": "root", "conversation": list(items)}]}


def test_a_fuller_trajectory_stands_for_the_response() -> None:
    said = {"type": "message", "role": "assistant", "content": "done"}
    asked = {"role": "user", "content": "do"}
    row = {"response": {"output": [said]}, "ng_trajectory": trajectory(asked, CALL, said)}
    text = text_of(row)
    assert "── trajectory root · call bash (c1)\n" in text
    assert "── response ·" not in text
    assert "--field response.output" in text


def test_a_trajectory_that_is_no_fuller_is_a_field() -> None:
    said = {"type": "message", "role": "assistant", "content": "done"}
    row = {"response": {"output": [said]}, "ng_trajectory": trajectory({"role": "user", "content": "do"}, said)}
    text = text_of(row)
    assert "── response · assistant\n  done\n" in text
    assert '  ng_trajectory: {"invocations"' in text


LONG = {
    "token ids": (list(range(1234)), "<1,234 numbers left out>"),
    "log probabilities": ([{"token": "a", "logprob": -0.1}] * 40, "<40 log probabilities left out>"),
    "base64": (BASE64, f"<{len(BASE64)} characters of base64 left out>"),
    "data URL": (f"see data:image/png;base64,{BASE64}== there", "image/png;base64,<722 characters of base64 left out>"),
}


@pytest.mark.parametrize("kind", LONG)
def test_what_is_long_is_left_out(kind: str) -> None:
    value, note = LONG[kind]
    row = {"response": {"output": [{"type": "message", "role": "assistant", "content": "a", "x": value}]}, "y": value}
    text = text_of(row)
    assert text.count(note) == 2
    assert len(text) < 400
    assert note not in text_of(row, full=True)
    assert json.dumps(value) in text_of(row, full=True)


@pytest.mark.parametrize("value", [[1, 2, 3], ["a"] * 100, "a" * 3000, "word " * 1000, {"b": [[1], None]}])
def test_what_may_be_read_is_not_left_out(value: Any) -> None:
    assert elided(value) == value


def test_a_long_field_is_cut() -> None:
    row = {"stdout": "line\n" * 1000}
    assert text_of(row).endswith(" <4,002 characters left out>\n")
    assert len(text_of(row, full=True)) > 6000


def test_nothing_steers_a_terminal() -> None:
    steering = "\x1b[2J\x07\r\x9b31m\u202e\u2028\ud800"
    row = {
        "responses_create_params": {"input": steering},
        "response": {"output": [CALL | {"name": steering, "arguments": steering}], "usage": {steering: 1}},
        steering: {steering: steering},
    }
    for full in (False, True):
        text = as_text(steering, blocks_of(row, full=full))
        assert text.replace("\n", "").isprintable()
        assert "\\u001b[2J\\u0007\\r\\u009b31m\\u202e\\u2028\\ud800" in text


def test_letters_of_all_languages_stay() -> None:
    text = "größe 大きい\u3000x\u00a0y\tz\n→ 🎉"
    assert plain(text) == text


def test_json_has_no_nan_and_nothing_that_steers() -> None:
    assert as_json({"a": [float("nan"), float("-inf")], "b": "\x9b"}) == '{"a": [null, null], "b": "\\u009b"}'
    assert without_nan('{"a":\t0.10,\r"b":NaN,"c":"\u202e"}') == '{"a": 0.10, "b":null,"c":"\\u202e"}'


ROW: Row = {"a": {"b.c": {"d": 1}, "l": [{"t": "x"}, 2]}, "": 0, "e": [], "s": "text"}


@pytest.mark.parametrize(
    ("path", "value"),
    [("a.b.c.d", 1), ("a.l.0.t", "x"), ("a.l.-1", 2), ("a.l", [{"t": "x"}, 2]), ("", 0), ("e", [])],
)
def test_a_value_at_a_path(path: str, value: Any) -> None:
    assert value_at(ROW, path) == value


@pytest.mark.parametrize(
    ("path", "missing", "there"),
    [
        ("x", "the row has no x", "a, , e, s"),
        ("a.x.y", "a has no x", "b.c, l"),
        ("a.l.2", "a.l has no 2", "0 to 1"),
        ("a.l.t", "a.l has no t", "0 to 1"),
        ("a.l.0.t.z", "a.l.0.t has no z", '"x"'),
        ("e.0", "e has no 0", "an empty list"),
        ("s.\x1b", "s has no \\u001b", '"text"'),
    ],
)
def test_a_path_that_leads_nowhere(path: str, missing: str, there: str) -> None:
    with pytest.raises(UsageError) as raised:
        value_at(ROW, path)
    assert missing in raised.value.message
    assert there in raised.value.hint


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ({"extracted_answer": "A", "response": {"output": [{"role": "assistant", "content": "B"}]}}, "A"),
        ({"extracted_answer": None, "extracted": 3}, "3"),
        ({"response": {"output": [{"role": "assistant", "content": "B"}, CALL]}}, "B"),
        ({"response": {"output": [CALL]}}, None),
        ({"response": {"output": [{"type": "message", "content": None}]}}, None),
        ({}, None),
    ],
)
def test_the_answer_of_a_rollout(row: Row, answer: str | None) -> None:
    assert answer_of(row) == answer
