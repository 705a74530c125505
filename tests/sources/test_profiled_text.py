"""`reward_profiles` gains an entry, and no other byte of the row changes."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sources import rows
from pipeline.sources.contents import content_of_row
from pipeline.sources.profiled_text import with_reward_profile
from pipeline.sources.rows import BadLineError

ENTRY = {"model_hf_path": "m/b", "num_generations": 4, "pass_rate": 0.25}
TEXT = b'{"model_hf_path": "m/b", "num_generations": 4, "pass_rate": 0.25}'
COMPACT = TEXT.replace(b": ", b":").replace(b", ", b",")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (b'{"a": 1}', b'{"a": 1, "reward_profiles": [' + TEXT + b"]}"),
        (b'{"a":1e-7 }\r', b'{"a":1e-7,"reward_profiles":[' + COMPACT + b"] }\r"),
        (b"{ }", b'{"reward_profiles": [' + TEXT + b"] }"),
        (b'{"reward_profiles": null, "a": 0.10}', b'{"reward_profiles": [' + TEXT + b'], "a": 0.10}'),
        (b'{"reward_profiles": [ ], "a": "]"}', b'{"reward_profiles": [' + TEXT + b' ], "a": "]"}'),
        (
            b'{"reward_profiles": [{"model_hf_path": "m/a", "pass_rate": 1.0, "x": [1, "]"]} ]}',
            b'{"reward_profiles": [{"model_hf_path": "m/a", "pass_rate": 1.0, "x": [1, "]"]}, ' + TEXT + b" ]}",
        ),
        (
            b'{"reward_profiles": [{"model_hf_path":"m/b","pass_rate":1.0}, {"model_hf_path": "m/a"}]}',
            b'{"reward_profiles": [' + TEXT + b', {"model_hf_path": "m/a"}]}',
        ),
        (
            b'{"reward_profiles": [3], "reward_profiles": [7]}',
            b'{"reward_profiles": [3], "reward_profiles": [7, ' + TEXT + b"]}",
        ),
    ],
)
def test_an_entry_is_added(line: bytes, wanted: bytes) -> None:
    assert with_reward_profile(line, ENTRY) == wanted
    assert with_reward_profile(wanted, ENTRY) == wanted


@pytest.mark.parametrize("value", ["{}", "3", '"x"', "true"])
def test_what_is_no_list_is_refused(value: str) -> None:
    with pytest.raises(BadLineError, match="no list"):
        with_reward_profile(f'{{"reward_profiles": {value}}}'.encode(), ENTRY)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(), JSON, max_size=4), st.lists(JSON, max_size=3), st.booleans())
def test_the_rest_means_what_it_meant(row: dict[str, Any], profiles: list[Any], there: bool) -> None:
    before = row | ({"reward_profiles": profiles} if there else {})
    after = json.loads(with_reward_profile(json.dumps(before).encode(), ENTRY))
    assert after.pop("reward_profiles") == [*(profiles if there else before.pop("reward_profiles", [])), ENTRY]
    before.pop("reward_profiles", None)
    assert after == before


@pytest.mark.parametrize(
    "line", [b'{"a": 1.0, "_ng_task_index": 3}', b'{"a":1,"reward_profiles":[{"model_hf_path":"x"}]}']
)
def test_the_row_is_still_known_by_its_content(line: bytes) -> None:
    found = [content_of_row(rows.parse(memoryview(text))) for text in (line, with_reward_profile(line, ENTRY))]
    assert found[0] == found[1]
