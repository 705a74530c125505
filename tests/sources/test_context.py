"""Short texts and fields of rows: which of them are kept, and as what."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pipeline
from pipeline.errors import UsageError
from pipeline.options import ProfileOptions
from pipeline.sources.inputs import Inputs
from pipeline.sources.rollouts import Rollouts
from tests.runs import Content, Row, finished, jsonl, planned


def rollouts_of(folder: Path, rollouts: Content, inputs: Content = (), *fields: str) -> pl.DataFrame:
    """The rollouts of a run of these rows, with fields asked for."""
    (folder / "r.jsonl").write_bytes(jsonl(rollouts))
    if inputs:
        (folder / "r_materialized_inputs.jsonl").write_bytes(jsonl(inputs))
    options = ProfileOptions(partial=True, context=True, fields=fields, jobs=1)
    return pipeline.collect_frame(pipeline.open_run(folder / "r.jsonl", options=options).rollouts)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("maths", "maths"),
        ("", ""),
        ("x" * 128, "x" * 128),
        ("x" * 129, None),
        ("ö" * 64, "ö" * 64),
        ("ö" * 65, None),
        ("\ud800", None),
        ("a\nb\x00", "a\nb\x00"),
        (1, None),
        (True, None),
        (None, None),
        (["x"], None),
        ({"x": "y"}, None),
    ],
    ids=repr,
)
def test_short_texts_of_both_rows(text: Any, kept: str | None, tmp_path: Path) -> None:
    rows = [finished(0, 0, domain="here"), finished(0, 1, domain=text)]
    inputs = [planned(0, 0, domain="there"), planned(0, 1, domain=text)]
    found = rollouts_of(tmp_path, rows, inputs)
    assert found["_row.domain"].to_list() == ["here", kept]
    assert found["_input.domain"].to_list() == ["there", kept]
    assert found.schema["_row.domain"] == found.schema["_input.domain"] == pl.Categorical


def test_names_that_start_with_an_underscore_are_not_kept(tmp_path: Path) -> None:
    found = rollouts_of(tmp_path, [finished(0, 0, _hidden="x", plain="y")])
    assert [name for name in found.columns if name.startswith("_row.")] == ["_row.plain"]


def test_the_last_of_repeated_fields_counts(tmp_path: Path) -> None:
    line = b'{"_ng_task_index":0,"_ng_rollout_index":0,"d":"first","reward":1,"d":"last"}\n'
    found = rollouts_of(tmp_path, line, (), "x=row.d")
    assert found["_row.d"].to_list() == found["_x"].to_list() == ["last"]


ENDINGS: list[tuple[Row | str | None, bool | None]] = [
    ({"status": "completed"}, False),
    ({"status": "incomplete"}, True),
    ({"incomplete_details": {"reason": "max_output_tokens"}}, True),
    ({"incomplete_details": {"reason": ""}}, False),
    ({"incomplete_details": {}}, False),
    ({"incomplete_details": None, "status": None}, False),
    ({}, False),
    (None, None),
    ("text", None),
]


@pytest.mark.parametrize(("response", "truncated"), ENDINGS, ids=repr)
def test_truncation(response: Any, truncated: bool | None, tmp_path: Path) -> None:
    found = rollouts_of(tmp_path, [{**finished(0, 0), "response": response}])
    assert found["_truncated"].to_list() == [truncated]


@pytest.mark.parametrize(
    ("values", "dtype", "want"),
    [
        ([1, 2], pl.Int64, [1, 2]),
        ([1, 2.5], pl.Float64, [1.0, 2.5]),
        ([True, None], pl.Boolean, [True, None]),
        (["a", None], pl.String, ["a", None]),
        (["a", 1], pl.String, ["a", "1"]),
        ([True, 1], pl.String, ["true", "1"]),
        ([[1], {"x": 1}], pl.Boolean, [None, None]),
        ([2**70, 1], pl.Float64, [2.0**70, 1.0]),
        (["x" * 1000, "y"], pl.String, ["x" * 1000, "y"]),
    ],
    ids=repr,
)
def test_fields_of_any_path(values: list[Any], dtype: Any, want: list[Any], tmp_path: Path) -> None:
    rows = [finished(0, number, deep={"er": value}) for number, value in enumerate(values)]
    inputs = [planned(0, number, deep={"er": value}) for number, value in enumerate(values)]
    found = rollouts_of(tmp_path, rows, inputs, "mine=row.deep.er", "theirs=input.deep.er", "none=row.deep.er.x")
    assert found["_mine"].to_list() == found["_theirs"].to_list() == want
    if any(value is not None for value in want):
        assert found.schema["_mine"] == found.schema["_theirs"] == dtype
    assert found["_none"].to_list() in ([None] * len(values), [None, 1])


def test_a_field_is_a_column_where_no_row_has_it(tmp_path: Path) -> None:
    assert rollouts_of(tmp_path, b"", (), "x=row.a")["_x"].to_list() == []


@pytest.mark.parametrize(
    "field", ["x", "x=", "=row.a", "x=a", "x=row", "x=row.", "x=row..a", "agent=row.a", "_line=row.a"]
)
def test_fields_that_cannot_be(field: str) -> None:
    with pytest.raises(UsageError, match="--field"):
        ProfileOptions(fields=(field,))


def test_no_field_takes_the_name_of_a_column(tmp_path: Path) -> None:
    columns = rollouts_of(tmp_path, [finished()], [planned()]).columns
    read = {*Rollouts.columns, *Inputs.columns} - {"_labels"}  # which becomes texts before there are fields
    own = [name for name in {*columns, *read} if name.startswith("_")]
    assert len(own) > 15
    for name in own:
        with pytest.raises(UsageError, match="is taken"):
            ProfileOptions(fields=(f"{name}=row.a",))
    assert ProfileOptions(fields=("prompt=row.a", "digest=row.b")).fields


def test_lines_that_cannot_be_used_shift_nothing(tmp_path: Path) -> None:
    rows = [finished(0, 0, d="a"), finished(0, 2, d="c")]
    content = [json.dumps(row).encode() for row in rows]
    lines = b"\n".join([content[0], b"{broken", b'{"_ng_task_index":0,"d":"b"}', b"", content[1]]) + b"\n"
    found = rollouts_of(tmp_path, lines, (), "d=row.d")
    assert found["_row.d"].to_list() == found["_d"].to_list() == ["a", "c"]
