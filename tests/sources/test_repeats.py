"""Rows of further repeats: the index and the seed are new, every other byte is the old one."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sources.repeats import template_of
from tests.runs import Row

INDEX = "_ng_rollout_index"
BODY = '{"seed": 0}'


def row_of(line: bytes, index: int) -> bytes:
    return template_of(line).row(index)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (b'{"_ng_task_index":5,"_ng_rollout_index":1}', b'{"_ng_task_index":5,"_ng_rollout_index":12}'),
        (b' {"_ng_rollout_index" : 1.0 , "x":0.10}\r', b' {"_ng_rollout_index" : 12 , "x":0.10}\r'),
        (b'{"_ng_rollout_index":1e0,"a":"_ng_rollout_index"}', b'{"_ng_rollout_index":12,"a":"_ng_rollout_index"}'),
        (
            b'{"a":"\\"_ng_rollout_index\\":3","_ng_rollout_index":3}',
            b'{"a":"\\"_ng_rollout_index\\":3","_ng_rollout_index":12}',
        ),
        (b'{"_ng_rollout_index":1,"_ng_rollout_index":2}', b'{"_ng_rollout_index":1,"_ng_rollout_index":12}'),
        (
            b'{"a":{"_ng_rollout_index":1},"_ng_rollout\\u005findex":2}',
            b'{"a":{"_ng_rollout_index":1},"_ng_rollout\\u005findex":12}',
        ),
        (
            b'{"a":{"_ng_rollout_index":1},"_ng_rollout_index":2}',
            b'{"a":{"_ng_rollout_index":1},"_ng_rollout_index":12}',
        ),
    ],
)
def test_only_the_index_is_another(line: bytes, wanted: bytes) -> None:
    assert row_of(line, 12) == wanted
    assert not template_of(line).seeded


def with_body(body: str) -> bytes:
    """A row whose extra_body is written as this JSON text."""
    return f'{{"responses_create_params":{{"metadata":{{"extra_body":{body}}}}},"{INDEX}":0}}'.encode()


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (r'"{\"seed\": 0}"', r'"{\"seed\": 7}"'),
        (r'"{\"seed\": 1234567, \"top_k\": 20}"', r'"{\"seed\": 7, \"top_k\": 20}"'),
        (
            r'"{\"note\": \"\u00e9 \\u00e9 \ud83d\ude00 é\", \"seed\": 0}"',
            r'"{\"note\": \"\u00e9 \\u00e9 \ud83d\ude00 é\", \"seed\": 7}"',
        ),
        (r'"{\"seed\":1,\"seed\":null}"', r'"{\"seed\":1,\"seed\":7}"'),
        (r'"{\u0022seed\u0022:3}"', r'"{\u0022seed\u0022:7}"'),
        (r'"{\"seed\":\u0031\u0032}"', r'"{\"seed\":7}"'),
    ],
)
def test_the_seed_is_the_new_index(body: str, wanted: str) -> None:
    made = row_of(with_body(body), 7)
    assert made == with_body(wanted).replace(b'"_ng_rollout_index":0', b'"_ng_rollout_index":7')
    assert json.loads(json.loads(made)["responses_create_params"]["metadata"]["extra_body"])["seed"] == 7
    assert template_of(with_body(body)).seeded


@pytest.mark.parametrize(
    "body", ['"{}"', '"no JSON {"', "null", '{"seed":0}', r'"[{\"seed\":0}]"', r'"{\"inner\":{\"seed\":0}}"', '""']
)
def test_without_a_seed_there_is_none(body: str) -> None:
    line = with_body(body)
    assert row_of(line, 7) == line.replace(b'"_ng_rollout_index":0', b'"_ng_rollout_index":7')
    assert not template_of(line).seeded


@pytest.mark.parametrize(
    "place", [b'"metadata":{}', b'"metadata":null', b'"metadata":"extra_body"', b'"extra_body":"{}"']
)
def test_a_row_may_have_no_extra_body(place: bytes) -> None:
    line = b'{"responses_create_params":{' + place + b'},"_ng_rollout_index":0}'
    assert row_of(line, 3) == line.replace(b'"_ng_rollout_index":0', b'"_ng_rollout_index":3')


TEXTS = st.text(max_size=12) | st.sampled_from(["_ng_rollout_index", '"_ng_rollout_index":5', "\\u00", "extra_body"])
VALUES = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    before=st.dictionaries(TEXTS, VALUES, max_size=3),
    after=st.dictionaries(TEXTS, VALUES, max_size=3),
    body=st.dictionaries(st.text(max_size=6), VALUES, max_size=3),
    seeded=st.booleans(),
    ascii_only=st.booleans(),
    spaced=st.booleans(),
    index=st.integers(-(2**63), 2**63 - 1),
)
def test_a_row_means_the_same_but_for_index_and_seed(
    *, before: Row, after: Row, body: Row, seeded: bool, ascii_only: bool, spaced: bool, index: int
) -> None:
    body = {key: value for key, value in body.items() if key != "seed"} | ({"seed": 3} if seeded else {})
    params = {"input": "x", "metadata": {"extra_body": json.dumps(body, ensure_ascii=ascii_only)}}
    row = {**before, "responses_create_params": params, INDEX: 3, **after}
    row[INDEX] = 3
    row["responses_create_params"] = params
    separators = (", ", ": ") if spaced else (",", ":")
    line = json.dumps(row, ensure_ascii=ascii_only, separators=separators).encode("utf-8", "surrogatepass")
    made = json.loads(row_of(line, index))
    wanted_body = {**body, **({"seed": index} if seeded else {})}
    assert json.loads(made["responses_create_params"]["metadata"].pop("extra_body")) == wanted_body
    assert made == {**row, INDEX: index, "responses_create_params": {"input": "x", "metadata": {}}}
    assert row_of(row_of(line, index), 3) == line
