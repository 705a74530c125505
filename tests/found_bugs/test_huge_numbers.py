"""Whole numbers beyond a double are read, counted and left out, and are no index."""

from pathlib import Path

import pytest

from pipeline.frames.lazy import collect
from pipeline.frames.rollouts import scan_rollouts
from pipeline.sources import rows
from tests.runs import finished, means, planned, profiled
from tests.sources.nasty_rows import row

HUGE = {"400 digits": b"1" * 400, "minus 400 digits": b"-" + b"1" * 400, "5000 digits": b"1" * 5000}


@pytest.mark.parametrize("number", HUGE.values(), ids=HUGE)
def test_a_metric_beyond_a_double_is_left_out(number: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(row(b'"m":' + number + b',"n":1') + b"\n")
    frame = collect(scan_rollouts(path))
    assert frame.select("_problem", "_unfinite", "m", "n").rows() == [(None, 1, None, 1)]


@pytest.mark.parametrize("number", HUGE.values(), ids=HUGE)
def test_an_index_beyond_a_double_is_a_bad_line(number: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(b'{"_ng_task_index":' + number + b',"_ng_rollout_index":2}\n')
    (problem,) = collect(scan_rollouts(path))["_problem"]
    assert "does not fit 64 bits" in problem


@pytest.mark.parametrize("number", HUGE.values(), ids=HUGE)
def test_a_value_that_is_no_metric_does_not_matter(number: bytes, tmp_path: Path) -> None:
    line = row(b'"agent_ref":{"name":"a"},"list":[' + number + b"]") + b"\n"
    profile = profiled(tmp_path, line, [finished(1, 2, reward=1)])
    assert means(profile.tasks[0]) == {"reward": 1}


def test_messages_about_an_index_of_any_length() -> None:
    with pytest.raises(rows.BadLineError, match="does not fit 64 bits"):
        rows.whole_number(10**400, "index")


def test_the_number_does_not_hurt_other_rollouts(tmp_path: Path) -> None:
    profile = profiled(tmp_path, [planned(), planned(0, 1)], [finished(m=10**400), finished(0, 1, m=1)])
    assert means(profile.tasks[0]) == {"m": 1}
