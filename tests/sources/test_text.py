"""Members are found in the text of an object, and what is kept keeps its every byte."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sources.text import members, only_members, with_members, with_more, with_nulls, without_indices

INDICES = ("_ng_task_index", "_ng_rollout_index")
SPACE = st.sampled_from(["", "", "", " ", "\t", " \r ", "  "])
ESCAPES = ['\\"', "\\\\", "\\/", "\\n", "\\u0041", "\\ud83d\\ude00", "\\ud800"]
LOOKALIKES = ["NaN", "-Infinity", ":NaN", ", nan", "inf", "_ng_task_index", '\\"_ng_task_index\\":1,']
LETTERS = st.one_of(
    st.sampled_from([*ESCAPES, *LOOKALIKES, *"{}[],:é\u2028"]),
    st.characters(min_codepoint=32, exclude_characters='"\\', exclude_categories=["Cs"]),
)
STRING = st.lists(LETTERS, max_size=5).map(lambda letters: '"' + "".join(letters) + '"')
NUMBER = st.sampled_from(["0", "-1", "0.10", "1e-7", "1E+2", "-0.0", "12345678901234567890", "1e400"])
NAN = st.sampled_from(["NaN", "Infinity", "-Infinity"])
KEY = st.one_of(
    STRING.filter(lambda text: json.loads(text) not in INDICES),
    st.sampled_from(['"a"', '""', '"_ng_task"', '"\\u005fng_other"']),
)
ESCAPED = ['"\\u005fng_task_index"', '"_ng\\u005frollout_index"', '"_ng_task_inde\\u0078"']
INDEX_KEY = st.sampled_from([*(f'"{name}"' for name in INDICES), *ESCAPED])
INDEX_VALUE = st.sampled_from(["0", "-12", "9223372036854775807", "1.0", "1e0", "1E2"])


def spaced(texts: Sequence[str], spaces: Sequence[str]) -> str:
    """Texts with white space before, between and behind them."""
    return spaces[0] + "".join(text + space for text, space in zip(texts, spaces[1:], strict=True))


@st.composite
def member(draw: st.DrawFn, keys: st.SearchStrategy[str], values: st.SearchStrategy[str]) -> str:
    return spaced([draw(keys), ":", draw(values)], [draw(SPACE) for _ in range(4)])


@st.composite
def object_of(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    inside = draw(st.lists(texts, max_size=6))
    return draw(SPACE) + "{" + (",".join(inside) or draw(SPACE)) + "}" + draw(SPACE)


@st.composite
def list_of(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    inside = [draw(SPACE) + text + draw(SPACE) for text in draw(st.lists(values, max_size=3))]
    return "[" + (",".join(inside) or draw(SPACE)) + "]"


def values_of(scalars: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """JSON values as text, at any depth, with indices as keys in them too."""
    keys = st.one_of(KEY, INDEX_KEY)
    return st.recursive(scalars, lambda inner: st.one_of(list_of(inner), object_of(member(keys, inner))), max_leaves=6)


SCALAR = st.one_of(STRING, NUMBER, st.sampled_from(["true", "false", "null"]))
OTHER = member(KEY, values_of(SCALAR))
INDEX = member(INDEX_KEY, INDEX_VALUE)
OBJECT = object_of(st.one_of(OTHER, INDEX))
OBJECT_WITH_NAN = object_of(st.one_of(member(KEY, values_of(st.one_of(SCALAR, NAN))), INDEX))


@st.composite
def row_text(draw: st.DrawFn) -> str:
    """A row as collection writes it: both indices once, side by side or not, before, behind or among the others."""
    parts = draw(st.lists(OTHER, max_size=4))
    plain = st.sampled_from(['"{}":{}', '"{}": {}', ' "{}" :{} ', '"{}":{}.0'])
    pair = [draw(plain).format(name, draw(st.integers(-20, 10**12))) for name in draw(st.permutations(INDICES))]
    if draw(st.booleans()):
        at = draw(st.integers(0, len(parts)))
        parts[at:at] = pair
    else:
        for text in pair:
            parts.insert(draw(st.sampled_from([0, len(parts)])), text)
    return draw(SPACE) + "{" + ",".join(parts) + "}" + draw(SPACE)


def pairs(text: str) -> list[tuple[str, Any]]:
    """Keys and values of the outermost object, with keys that are there twice; NaN is its name."""
    found: list[tuple[str, Any]] = []

    def keep(members: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        found[:] = members
        return members

    json.loads(text, object_pairs_hook=keep, parse_constant=str)
    return found


def member_texts(text: str) -> list[str]:
    """The text of each member, from its key to the end of its value, by a parser of its own."""
    decoder, at, found = json.JSONDecoder(), text.index("{") + 1, []
    while match := re.compile(r'[ \t\r\n,]*(?=")').match(text, at):
        _, key_end = decoder.raw_decode(text, match.end())
        _, at = decoder.raw_decode(text, re.compile(r"\s*:\s*").match(text, key_end).end())  # type: ignore[union-attr]
        found.append(text[match.end() : at])
    return found


def without_key(texts: list[str], names: Sequence[str]) -> list[str]:
    return [text for text in texts if json.JSONDecoder().raw_decode(text)[0] not in names]


@settings(deadline=None, max_examples=100)
@given(text=st.one_of(OBJECT, OBJECT_WITH_NAN, row_text()))
def test_members_are_those_of_a_parser(text: str) -> None:
    data = text.encode()
    found = list(members(data))
    assert [data[mine.start : mine.end].decode() for mine in found] == member_texts(text)
    assert [
        (mine.key, json.loads(data[mine.value : mine.end], object_pairs_hook=list, parse_constant=str))
        for mine in found
    ] == pairs(text)


@settings(deadline=None, max_examples=150)
@given(text=st.one_of(OBJECT, row_text()))
def test_without_indices_the_others_keep_text_and_order(text: str) -> None:
    kept = without_indices(text.encode()).decode()
    assert pairs(kept) == [(key, value) for key, value in pairs(text) if key not in INDICES]
    assert member_texts(kept) == without_key(member_texts(text), INDICES)
    assert kept.lstrip(" \t\r").startswith("{")
    assert kept.endswith("}")


@settings(deadline=None, max_examples=80)
@given(text=row_text())
def test_without_indices_that_are_known_to_stand_there_once(text: str) -> None:
    kept = without_indices(text.encode(), once=True).decode()
    assert member_texts(kept) == without_key(member_texts(text), INDICES)
    assert pairs(kept) == [(key, value) for key, value in pairs(text) if key not in INDICES]


INNER = '{"a":{"_ng_task_index":1,"_ng_rollout_index":2}}'
QUOTED = '{"a":"{\\"_ng_task_index\\":0,\\"_ng_rollout_index\\":1}"}'


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("{}", "{}"),
        ('{"a":1} ', '{"a":1}'),
        ('{"_ng_task_index":0,"_ng_rollout_index":1}', "{}"),
        ('{"_ng_task_index":0,"_ng_rollout_index":1,"a":1}', '{"a":1}'),
        ('{"_ng_rollout_index":0, "_ng_task_index":1, "a": 0.10, "b": 1}', '{"a": 0.10, "b": 1}'),
        ('{"a":1,"_ng_task_index":0,"_ng_rollout_index":1}', '{"a":1}'),
        ('{"a":1, "_ng_task_index": 0, "b":2, "_ng_rollout_index": 1}', '{"a":1, "b":2}'),
        ('{"_ng_task_index":0,"a":[],"_ng_rollout_index":1}', '{"a":[]}'),
        ('{"_ng_task_index":0.0,"_ng_rollout_index":1e0,"a":1}', '{"a":1}'),
        ('{"a":1,"_ng_task_index":0.0,"_ng_rollout_index":1e0}', '{"a":1}'),
        ('{"_ng_task_index":9,"a":{"_ng_task_index":1},"_ng_rollout_index":8}', '{"a":{"_ng_task_index":1}}'),
        ('{"a":[{"_ng_task_index":1}],"_ng_task_index":9,"_ng_rollout_index":8}', '{"a":[{"_ng_task_index":1}]}'),
        (INNER[:-1] + ',"_ng_task_index":9,"_ng_rollout_index":8}', INNER),
        ('{"_ng_task_index":9,"_ng_rollout_index":8,' + INNER[1:], INNER),
        ('{"\\u005fng_task_index":0,"_ng_rollout_index":1,"_ng_task_index":2,"a":1}', '{"a":1}'),
        ('{"_ng_task_index":"x","_ng_task_index":0,"_ng_rollout_index":1,"a":1}', '{"a":1}'),
        (QUOTED[:-1] + ',"_ng_task_index":0,"_ng_rollout_index":1}', QUOTED),
        ('{"_ng_task_index":0,"_ng_rollout_index":1,' + QUOTED[1:], QUOTED),
        ('{"_ng_task_index":0,"_ng_rollout_index":1,"_ng_environment_server":"s"}', '{"_ng_environment_server":"s"}'),
        ('{"a":"}","_ng_task_index":0,"_ng_rollout_index":1}', '{"a":"}"}'),
    ],
)
def test_without_indices(text: str, kept: str) -> None:
    assert without_indices(text.encode()).decode() == kept


@settings(deadline=None, max_examples=100)
@given(text=OBJECT, wanted=st.lists(st.sampled_from(["a", "", "_ng_task_index", "_ng_task", "none"]), max_size=4))
def test_only_members_are_the_last_of_each_key_in_row_order(text: str, wanted: list[str]) -> None:
    kept = only_members(text.encode(), wanted).decode()
    all_pairs, texts = pairs(text), member_texts(text)
    last = {key: place for place, (key, _) in enumerate(all_pairs) if key in wanted}
    assert pairs(kept) == [all_pairs[place] for place in sorted(last.values())]
    assert member_texts(kept) == [texts[place] for place in sorted(last.values())]


@settings(deadline=None, max_examples=150)
@given(text=st.one_of(OBJECT_WITH_NAN, OBJECT))
def test_nulls_stand_for_what_is_no_number_and_strings_stay(text: str) -> None:
    found: list[str] = []
    json.loads(text, object_pairs_hook=list, parse_constant=found.append)
    replaced, count = with_nulls(text.encode())
    assert count == len(found)
    want = json.loads(text, object_pairs_hook=list, parse_constant=lambda _: None)
    assert json.loads(replaced, object_pairs_hook=list, parse_constant=refuse) == want
    assert member_texts(replaced.decode()) == [with_nulls_outside_strings(mine) for mine in member_texts(text)]
    if not found:
        assert replaced == text.encode()


def refuse(constant: str) -> None:
    raise AssertionError(constant)


def with_nulls_outside_strings(text: str) -> str:
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text, flags=re.DOTALL)
    parts[::2] = [re.sub(r"-?(NaN|Infinity)", "null", part) for part in parts[::2]]
    return "".join(parts)


@pytest.mark.parametrize(
    ("text", "replaced", "count"),
    [
        ("{}", "{}", 0),
        ('{"a":NaN}', '{"a":null}', 1),
        ('{"a" : \t -Infinity , "b":[NaN,Infinity]}', '{"a" : \t null , "b":[null,null]}', 3),
        ('{"a":"NaN","NaN":": NaN, NaN"}', '{"a":"NaN","NaN":": NaN, NaN"}', 0),
        ('{"a":"NaN","b":NaN,"NaN":"\\"NaN"}', '{"a":"NaN","b":null,"NaN":"\\"NaN"}', 1),
        ('{"a":"x:NaN","b":' + " " * 40 + "NaN}", '{"a":"x:NaN","b":' + " " * 40 + "null}", 1),
        ('{"a":"banana","b":"information"}', '{"a":"banana","b":"information"}', 0),
    ],
)
def test_with_nulls(text: str, replaced: str, count: int) -> None:
    assert with_nulls(text.encode()) == (replaced.encode(), count)


CHANGES = st.dictionaries(st.sampled_from(["a", "", "_ng_task_index", "new", "é"]), NUMBER, max_size=4)


@settings(deadline=None, max_examples=100)
@given(OBJECT, CHANGES)
def test_members_are_set_and_the_rest_stays(text: str, changes: dict[str, str]) -> None:
    changed = with_members(text.encode(), {key: value.encode() for key, value in changes.items()}).decode()
    as_text = json.JSONDecoder(parse_float=str, parse_int=str)
    assert as_text.decode(changed) == as_text.decode(text) | changes
    assert without_key(member_texts(changed), list(changes)) == without_key(member_texts(text), list(changes))
    assert len(member_texts(changed)) == len(without_key(member_texts(text), list(changes))) + len(changes)


@pytest.mark.parametrize(
    ("text", "changes", "changed"),
    [
        (b"{}", {}, b"{}"),
        (b" { } ", {"a": b"1"}, b'{"a":1}'),
        (b'{"a": 0, "b" : [1] }', {"a": b"{}"}, b'{"a": {}, "b" : [1] }'),
        (b'{"a":0,"b":1,"a":2}', {"a": b"3"}, b'{"b":1,"a":3}'),
        (b'{"b":1}', {"a": b"3"}, b'{"b":1,"a":3}'),
    ],
)
def test_members_that_are_set(text: bytes, changes: dict[str, bytes], changed: bytes) -> None:
    assert with_members(text, changes) == changed


def test_more_members() -> None:
    assert with_more(b' {"a": {}} ', {"b": b"1", "\u00e9": b"[]"}) == b' {"a": {},"b":1,"\\u00e9":[]} '
