"""A metric may have any name, those that Polars reads as patterns too."""

from pathlib import Path

import pytest
from polars import selectors as cs

from pipeline.frames.lazy import collect
from pipeline.frames.rollouts import scan_rollouts
from tests.runs import finished, jsonl, means, planned, profiled

PATTERNS = ["*", "^a.*$", "^.*$", "^none$"]


@pytest.mark.parametrize("name", PATTERNS)
def test_a_metric_of_that_name(name: str, tmp_path: Path) -> None:
    fields = {name: 1, "a": 2, "ab": 3}
    profile = profiled(tmp_path, [planned()], [finished(**fields)])
    assert means(profile.tasks[0]) == fields
    profile = profiled(tmp_path, [planned()], [finished(usage=fields)])
    assert means(profile.tasks[0]) == fields


@pytest.mark.parametrize("name", PATTERNS)
def test_it_can_be_selected_from_a_scan(name: str, tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(jsonl([finished(**{name: 1, "a": 2, "ab": 3})]))
    assert collect(scan_rollouts(path).select(cs.by_name(name))).to_dicts() == [{name: 1}]
