"""Of a key that is twice in an object the last one counts, at every depth and for every name."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.options import ProfileOptions
from tests.runs import finished, means, planned, profiled
from tests.sources.nasty_rows import row

NESTED = ProfileOptions(nested=("v", "usage"))


@pytest.mark.parametrize(
    ("members", "found"),
    [
        (b'"v":{"a":1},"v":{"b":2}', {"v/b": 2}),
        (b'"v":{"a":1},"v":2', {"v": 2}),
        (b'"v":{"a":1,"a":"x"}', {}),
        (b'"v":{"x":{"a":1},"x":{"b":2}}', {"v/x/b": 2}),
        (b'"response":{"usage":{"d":{"a":1},"d":{"b":2}}}', {"usage/d/b": 2}),
        (b'"response":{"usage":{"d":{"a":1,"a":null}}}', {}),
    ],
)
def test_the_last_of_two_counts(members: bytes, found: dict[str, Any], tmp_path: Path) -> None:
    profile = profiled(tmp_path, [planned(1, 2)], row(members) + b"\n", NESTED)
    assert means(profile.tasks[0]) == found


@pytest.mark.parametrize(
    ("rollout", "found"),
    [
        (finished(**{"v": {"a": 1}, "v/a": 2}), {"v/v/a": 1, "v/a": 2}),
        (finished(**{"v/a": 2, "v": {"a": 1}}), {"v/a": 2, "v/v/a": 1}),
        (finished(usage={"d": {"a": 1}, "usage/d/a": 2}), {"usage/usage/d/a": 1, "usage/d/a": 2}),
        (finished(usage={"d": {"a": 1}}, **{"usage/d/a": 2}), {"usage/d/a": 2, "usage/usage/d/a": 1}),
    ],
)
def test_a_made_name_that_a_literal_field_has_is_prefixed_again(
    rollout: dict[str, Any], found: dict[str, Any], tmp_path: Path
) -> None:
    profile = profiled(tmp_path, [planned()], [rollout], NESTED)
    assert list(means(profile.tasks[0]).items()) == list(found.items())
