"""Tables: the same rows in every format, whole, and harmless on a terminal."""

import csv
import io
import json
from typing import Any

import polars as pl
import pytest

from pipeline.output.tables import Format, cell, plain_table, write_table

FRAME = pl.DataFrame(
    {
        "name": ["a", "b|c", None, "esc\x1b[31m\nnew", 'q"u,o'],
        "n": [1, -2, None, 2**60, 5],
        "x": [0.1, float("nan"), float("inf"), None, 1e300],
        "flag": [True, False, None, True, False],
        "list": [["p", "q"], [], None, ["r"], ["s"]],
        "kind": pl.Series(["u", "v", None, "u", "v"], dtype=pl.Categorical),
    }
)
WANT: list[dict[str, Any]] = [
    {"name": "a", "n": 1, "x": 0.1, "flag": True, "list": ["p", "q"], "kind": "u"},
    {"name": "b|c", "n": -2, "x": None, "flag": False, "list": [], "kind": "v"},
    {"name": None, "n": None, "x": None, "flag": None, "list": None, "kind": None},
    {"name": "esc\x1b[31m\nnew", "n": 2**60, "x": None, "flag": True, "list": ["r"], "kind": "u"},
    {"name": 'q"u,o', "n": 5, "x": 1e300, "flag": False, "list": ["s"], "kind": "v"},
]


def written(form: Format, frame: pl.DataFrame = FRAME) -> bytes:
    file = io.BytesIO()
    write_table(frame, file, form)
    return file.getvalue()


def test_json_and_jsonl_hold_the_same_rows() -> None:
    assert json.loads(written("json")) == WANT
    assert [json.loads(line) for line in written("jsonl").decode().split("\n") if line] == WANT
    assert b"NaN" not in written("json") + written("jsonl")


def test_csv_holds_the_same_rows() -> None:
    rows = list(csv.DictReader(io.StringIO(written("csv").decode())))
    for row, want in zip(rows, WANT, strict=True):
        assert row["name"] == (want["name"] or "")
        assert row["n"] == ("" if want["n"] is None else str(want["n"]))
        assert (float(row["x"]) if row["x"] else None) == want["x"]
        assert row["list"] == ("" if want["list"] is None else json.dumps(want["list"]))
        assert row["flag"] == {True: "true", False: "false", None: ""}[want["flag"]]


def test_parquet_keeps_the_frame() -> None:
    read = pl.read_parquet(io.BytesIO(written("parquet")))
    assert read.drop("kind", "x").equals(FRAME.drop("kind", "x"))


@pytest.mark.parametrize("form", ["table", "md"])
def test_tables_for_people_are_whole_and_move_no_cursor(form: Format) -> None:
    text = written(form).decode()
    assert "\x1b" not in text
    assert "esc\\u001b[31m\\nnew" in text
    assert len(text.splitlines()) == len(FRAME) + (2 if form == "md" else 1)
    long = pl.DataFrame({"text": ["x" * 1000]})
    assert "x" * 1000 in written(form, long).decode()


def test_bars_in_markdown_end_no_cell() -> None:
    assert "b\\|c" in written("md").decode()


@pytest.mark.parametrize("form", ["table", "csv", "json", "jsonl", "md", "parquet"])
def test_no_rows(form: Format) -> None:
    assert written(form, FRAME.clear()) is not None
    if form == "json":
        assert json.loads(written(form, FRAME.clear())) == []
    if form == "jsonl":
        assert written(form, FRAME.clear()) == b""


def test_numbers_stand_to_the_right() -> None:
    assert plain_table(["a", "n"], [["x", 1], ["yy", 1234.5]]) == "a         n\nx         1\nyy  1,234.5"


def test_numbers_of_many_digits_have_an_exponent() -> None:
    assert [cell(value) for value in (999.96, 123456.0, -1e14, 1e15, -1e200)] == [
        "1,000",
        "123,456",
        "-100,000,000,000,000",
        "1e+15",
        "-1e+200",
    ]
