"""Which name a number goes by, and in which order the metrics stand."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars import selectors as cs

from pipeline.frames.lazy import collect
from pipeline.frames.rollouts import scan_rollouts
from pipeline.options import ReadOptions
from tests.runs import Row, finished, sources_of

NAN = float("nan")
PATTERNS = ("*", "^n.*$", "^.*$", "^none$")
ODD_NAMES = ("n", "rn", "un", "r", "u", "", "mean/n", "{}", "{n}", "n n", 'q"', "\x00", *PATTERNS)
ODD = {name: number for number, name in enumerate(ODD_NAMES)}


def metrics(folder: Path, rows: list[Row], options: ReadOptions | None = None) -> tuple[list[str], list[Row]]:
    """The metrics that any measured row has, in order, and what each row has of them."""
    frame = collect(scan_rollouts(sources_of(folder, "rollouts", [rows]), options)).sort("_line")
    names = [name for name in frame.columns if not name.startswith("_")]
    measured = frame.filter(~pl.col("_masked"))
    return [name for name in names if measured[name].count()], [
        {name: row[name] for name in names if row[name] is not None} for row in frame.to_dicts()
    ]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([finished(n=1)], [{"n": 1}]),
        ([finished(usage={"n": 1})], [{"n": 1}]),
        ([finished(n=1, usage={"n": 2})], [{"n": 2, "row/n": 1}]),
        ([finished(n=2, usage={"n": 2})], [{"n": 2}]),
        ([finished(n=2.0, usage={"n": 2})], [{"n": 2}]),
        ([finished(n=True, usage={"n": 1})], [{"n": 1}]),
        ([finished(n=1), finished(0, 1, usage={"n": 2})], [{"row/n": 1}, {"n": 2}]),
        ([finished(n=1, usage={"n": "2"})], [{"n": 1}]),
        ([finished(n=1, usage={"n": None})], [{"n": 1}]),
        ([finished(n=1, usage={"n": NAN})], [{"n": 1}]),
        ([finished(n=NAN, usage={"n": 2})], [{"n": 2}]),
        ([finished(n="1", usage={"n": 2})], [{"n": 2}]),
        ([finished(reward=1, usage={"reward": 2})], [{"reward": 1, "usage/reward": 2}]),
        ([finished(reward=1, usage={"reward": 1})], [{"reward": 1, "usage/reward": 1}]),
        ([finished(usage={"reward": 1})], [{"usage/reward": 1}]),
        ([finished(usage={"rollout_id": 1})], [{"row/rollout_id": 1}]),
        ([finished(rollout_id=1)], [{"row/rollout_id": 1}]),
        ([finished(rollout_id="0:0", m=1)], [{"m": 1}]),
        ([finished(usage={"rollout_id": "0:0"}, rollout_id=1)], [{"row/rollout_id": 1}]),
        ([finished(n=1, usage={"n": 2}, **{"row/n": 3})], [{"row/row/n": 1, "row/n": 3, "n": 2}]),
        ([finished(n=1, usage={"n": 2, "row/n": 3})], [{"row/row/n": 1, "n": 2, "row/n": 3}]),
        (
            [finished(n=1, usage={"n": 2}, **{"row/n": 3, "row/row/n": 4})],
            [{"row/row/row/n": 1, "row/n": 3, "row/row/n": 4, "n": 2}],
        ),
        (
            [finished(usage={"reward": 1}, **{"usage/reward": 2})],
            [{"usage/reward": 2, "usage/usage/reward": 1}],
        ),
        ([finished(rollout_id=1, **{"row/rollout_id": 2})], [{"row/row/rollout_id": 1, "row/rollout_id": 2}]),
        ([finished(n=1, usage={"n": 2}), finished(0, 1, **{"row/n": NAN})], [{"row/n": 1, "n": 2}, {}]),
        (
            [finished(n=1), finished(0, 1, usage={"n": 2, "row/n": 3}, **{"row/n": 3})],
            [{"row/row/n": 1}, {"n": 2, "row/n": 3}],
        ),
        (
            [finished(0, usage={"n": 2, "row/n": 3}, **{"row/n": 3}), finished(1, n=1)],
            [{"n": 2, "row/n": 3}, {"row/row/n": 1}],
        ),
        (
            [finished(0, usage={"row/n": 3}), finished(1, usage={"n": 1}, **{"n": 1, "row/n": 2})],
            [{"row/n": 3}, {"row/row/n": 2, "n": 1}],
        ),
        ([finished(**ODD)], [ODD]),
        ([finished(usage=ODD)], [ODD]),
        ([finished(**ODD), finished(0, 1, usage=ODD)], [{f"row/{name}": value for name, value in ODD.items()}, ODD]),
    ],
)
def test_names(rows: list[Row], found: list[dict[str, Any]], tmp_path: Path) -> None:
    assert metrics(tmp_path, rows)[1] == found


@pytest.mark.parametrize("name", PATTERNS)
def test_a_name_that_polars_would_take_for_a_pattern_can_be_selected(name: str, tmp_path: Path) -> None:
    (source,) = sources_of(tmp_path, "rollouts", [[finished(**ODD)]])
    assert collect(scan_rollouts([source]).select(cs.by_name(name))).to_dicts() == [{name: ODD[name]}]


def test_names_that_clash_twice_do_not_go_by_the_order_of_lines(tmp_path: Path) -> None:
    usage = {"n": 5, "row/n": 6}
    rows = [finished(0, usage=usage, **{"n": 1, "row/n": 2}), finished(1, usage=usage, **{"row/n": 3, "n": 4})]
    names, found = metrics(tmp_path, rows)
    assert metrics(tmp_path, rows[::-1]) == (names, found[::-1])
    assert found[0] == {"row/row/n": 1, "row/row/row/n": 2, "n": 5, "row/n": 6}


@pytest.mark.parametrize(
    ("masked", "found"),
    [("exclude", [{"n": 1}, {"usage/n": 2}]), ("include", [{"row/n": 1}, {"n": 2}])],
)
def test_only_measured_rollouts_decide(masked: Any, found: list[Row], tmp_path: Path) -> None:
    rows = [finished(n=1), finished(0, 1, usage={"n": 2}, mask_sample=True)]
    assert metrics(tmp_path, rows, ReadOptions(masked=masked))[1] == found


@pytest.mark.parametrize(
    ("rows", "order"),
    [
        ([finished(b=1, a=2, usage={"d": 3, "c": 4})], ["b", "a", "d", "c"]),
        ([finished(0, 1, b=1), finished(0, 0, a=1)], ["a", "b"]),
        ([finished(1, 0, b=1), finished(0, 5, a=1)], ["a", "b"]),
        ([finished(0, 2, b=1), finished(0, -1, a=1), finished(-3, 7, c=1)], ["c", "a", "b"]),
        ([finished(b=None, a=1), finished(0, 1, b=1, c=1)], ["a", "b", "c"]),
        ([finished(b="x", a=1), finished(0, 1, c=1, b=1)], ["a", "c", "b"]),
        ([finished(b=NAN, a=1), finished(0, 1, c=1, b=1)], ["a", "c", "b"]),
        ([finished(n=1, a=1, usage={"b": 1, "n": 1})], ["a", "b", "n"]),
        ([finished(n=2, a=1, usage={"b": 1, "n": 1})], ["row/n", "a", "b", "n"]),
        ([finished(b=1, mask_sample=1), finished(0, 1, a=1), finished(0, 2, b=1)], ["a", "b"]),
        ([finished(b=1, mask_sample=1), finished(0, 1, a=1)], ["a"]),
        ([finished(usage={"a": 1}, b=1), finished(0, 1, c=1, usage={"a": 1, "d": 1})], ["b", "a", "c", "d"]),
    ],
)
def test_order_is_that_of_first_numbers_over_rows_sorted_by_key(
    rows: list[Row], order: list[str], tmp_path: Path
) -> None:
    assert metrics(tmp_path, rows)[0] == order
    assert metrics(tmp_path, rows[::-1])[0] == order
