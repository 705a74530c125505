"""What a line says: its indices, its agent, its mask, its numbers; and what is wrong with it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.frames.lazy import collect
from pipeline.frames.rollouts import scan_rollouts
from pipeline.options import ReadOptions
from pipeline.sources import rows
from tests.sources.nasty_rows import KEY, READ_OR_NOT, READABLE, UNREADABLE, as_read, row

ROOT = Path(__file__).parents[2]
LINES = READABLE | UNREADABLE | READ_OR_NOT


def read(folder: Path, line: bytes, *nested: str) -> dict[str, Any]:
    """The row of the frame for a line."""
    path = folder / "rollouts.jsonl"
    path.write_bytes(line + b"\n")
    (found,) = collect(scan_rollouts(path, ReadOptions(nested=nested))).to_dicts()
    return found


def metrics(folder: Path, line: bytes, *nested: str) -> dict[str, Any]:
    """The metrics of a line, in order."""
    found = read(folder, line, *nested)
    assert found["_problem"] is None
    return {name: value for name, value in found.items() if not name.startswith("_") and value is not None}


@pytest.mark.parametrize("name", READABLE)
def test_readable_lines(name: str, tmp_path: Path) -> None:
    assert read(tmp_path, READABLE[name])["_problem"] is None


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_lines(name: str, tmp_path: Path) -> None:
    found = read(tmp_path, UNREADABLE[name])
    assert found["_problem"]
    assert [found["_ng_task_index"], found["_agent"], found["_masked"]] == [None] * 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a":1', "is not JSON"),
        (b"{}{}", "is not JSON"),
        (b'{"a":"\xff"}', "is not UTF-8"),
        (b"[" * 5000 + b"]" * 5000, "nested deeper"),
        (b"[1]", "holds a list, not an object"),
        (b"true", "holds a boolean, not an object"),
        (b"null", "holds null, not an object"),
        (b"1.5", "holds a number, not an object"),
        (b'"x"', "holds text, not an object"),
    ],
)
def test_reasons(text: bytes, reason: str) -> None:
    with pytest.raises(rows.BadLineError, match=reason):
        rows.parse(memoryview(text))


@pytest.mark.parametrize(
    ("value", "number"),
    [(0, 0), (-5, -5), (0.0, 0), (-0.0, 0), (3e0, 3), (1e18, 10**18), (2**63 - 1, 2**63 - 1), (-(2**63), -(2**63))],
)
def test_whole_numbers(value: float, number: int) -> None:
    found = rows.whole_number(value, "index")
    assert (type(found), found) == (int, number)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (2**63, "does not fit 64 bits"),
        (-(2**63) - 1, "does not fit 64 bits"),
        pytest.param(10**400, "does not fit 64 bits", id="400 digits"),
        pytest.param(-(10**5000), "does not fit 64 bits", id="5000 digits"),
        (float(2**63), "does not fit 64 bits"),
        (0.5, "0.5, not a whole number"),
        (float("nan"), "nan, not a whole number"),
        (float("inf"), "inf, not a whole number"),
        ("1", "text, not a whole number"),
        (True, "a boolean, not a whole number"),
        (None, "null, not a whole number"),
        ([1], "a list, not a whole number"),
        ({}, "an object, not a whole number"),
    ],
)
def test_other_values_are_no_index(value: object, reason: str) -> None:
    with pytest.raises(rows.BadLineError, match=f"^index is .*{reason}"):
        rows.whole_number(value, "index")


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        (b'{"name":"a"}', "a"),
        (b'{"type":"x","name":"a","more":1}', "a"),
        (b'{"name":"a","name":"b"}', "b"),
        (b'{"name":"a","name":null}', None),
        (b'{"name":""}', ""),
        (b'{"name":7}', "7"),
        (b'{"name":0.5}', "0.5"),
        (b'{"name":true}', None),
        (b'{"name":["a"]}', None),
        (b'{"name":{"name":"a"}}', None),
        (b'{"type":"x"}', None),
        (b"{}", None),
        (b'"a"', "a"),
        ('"\U0001f600"'.encode(), "\U0001f600"),
        (b"7", "7"),
        (b"-1.5", "-1.5"),
        (b"12345678901234567890123", "12345678901234567890123"),
        (b"null", None),
        (b"false", None),
        (b'["a"]', None),
    ],
)
def test_agents(reference: bytes, name: str | None, tmp_path: Path) -> None:
    assert read(tmp_path, row(b'"agent_ref":' + reference))["_agent"] == name
    assert rows.agent_name(json.loads(reference, object_pairs_hook=dict)) == name


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        (b"true", True),
        (b"false", False),
        (b"null", False),
        (b"1", True),
        (b"-0.5", True),
        (b"0", False),
        (b"0.0", False),
        (b"-0.0", False),
        (b"NaN", True),
        (b'"false"', True),
        (b'""', False),
        (b"[0]", True),
        (b"[]", False),
        (b'{"a":0}', True),
        (b"{}", False),
    ],
)
def test_masks(value: bytes, masked: bool, tmp_path: Path) -> None:
    mask = b'"mask_sample":' + value
    for line in (row(mask), row(b'"instance_config":{' + mask + b"}")):
        assert read(tmp_path, line)["_masked"] is masked
    assert read(tmp_path, row(mask, b'"instance_config":{"mask_sample":true}'))["_masked"] is True
    assert read(tmp_path, row(b'"config":{' + mask + b"}"))["_masked"] is False


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (row(), {}),
        (row(b'"b":1,"a":0.5,"c":true'), {"b": 1, "a": 0.5, "c": 1}),
        (
            row(b'"_a":1,"mask_sample":0,"response":3,"agent_ref":4,"t":"1","n":null,"l":[1],"o":{"m":1}'),
            {"agent_ref": 4},
        ),
        (row(b'"response":{"usage":{"b":1,"_c":2,"a":3,"t":"x"},"other":4},"z":5'), {"z": 5, "b": 1, "a": 3}),
        (row(b'"m":1,"n":2,"m":3'), {"m": 3, "n": 2}),
        (row(b'"m":1,"n":2,"m":"x"'), {"n": 2}),
        (row(b'"m":"x","n":2,"m":1'), {"m": 1, "n": 2}),
        (row(b'"response":{"usage":{"a":1}},"response":{"usage":{"b":2}}'), {"b": 2}),
        (row(b'"response":{"usage":{"a":1},"usage":{"b":2}}'), {"b": 2}),
        (row(b'"response":{"usage":{"a":1},"usage":null}'), {}),
        (row(b'"response":{"usage":{"a":1,"b":2,"a":3}}'), {"a": 3, "b": 2}),
        (row(b'"response":"usage","m":1'), {"m": 1}),
        (row(b'"response":[],"m":1'), {"m": 1}),
        (row(b'"usage":{"a":1},"m":1'), {"m": 1}),
    ],
)
def test_metrics(line: bytes, found: dict[str, Any], tmp_path: Path) -> None:
    assert list(metrics(tmp_path, line).items()) == list(found.items())


VERIFIER = b'"a":1,"v":{"x":0.5,"deep":{"y":true,"_z":1,"l":[2]},"t":"1"},"b":2'
USAGE = b'"response":{"usage":{"n":1,"details":{"c":2,"d":{"e":3}},"m":4}}'


@pytest.mark.parametrize(
    ("members", "nested", "found"),
    [
        (VERIFIER, (), {"a": 1, "b": 2}),
        (VERIFIER, ("v",), {"a": 1, "v/x": 0.5, "v/deep/y": 1, "b": 2}),
        (VERIFIER, ("v.deep",), {"a": 1, "v/deep/y": 1, "b": 2}),
        (VERIFIER, ("v.deep", "v"), {"a": 1, "v/deep/y": 1, "v/x": 0.5, "b": 2}),
        (VERIFIER, ("a", "v.t", "v.none", "none", "v.deep.l"), {"a": 1, "b": 2}),
        (USAGE, ("usage",), {"n": 1, "usage/details/c": 2, "usage/details/d/e": 3, "m": 4}),
        (USAGE, ("v",), {"n": 1, "m": 4}),
        (b'"v":2,"v":{"x":1}', ("v",), {"v/x": 1}),
        (b'"v":{"a":1},"v":{"b":2}', ("v",), {"v/b": 2}),
        (b'"v":{"a":1},"v":2', ("v",), {"v": 2}),
        (b'"v":{"a":1,"a":"x"}', ("v",), {}),
        (b'"v":{"x":{"a":1},"x":{"b":2}}', ("v",), {"v/x/b": 2}),
        (b'"response":{"usage":{"d":{"a":1},"d":{"b":2}}}', ("usage",), {"usage/d/b": 2}),
        (b'"response":{"usage":{"d":{"a":1,"a":null}}}', ("usage",), {}),
        (b'"v":{"a":1},"v/a":2', ("v",), {"v/v/a": 1, "v/a": 2}),
        (b'"v/a":2,"v":{"a":1}', ("v",), {"v/a": 2, "v/v/a": 1}),
        (b'"response":{"usage":{"d":{"a":1},"usage/d/a":2}}', ("usage",), {"usage/usage/d/a": 1, "usage/d/a": 2}),
        (b'"usage/d/a":2,"response":{"usage":{"d":{"a":1}}}', ("usage",), {"usage/d/a": 2, "usage/usage/d/a": 1}),
        (b'"v":{"x":1e400,"y":NaN,"z":3}', ("v",), {"v/z": 3}),
    ],
)
def test_nested(members: bytes, nested: tuple[str, ...], found: dict[str, Any], tmp_path: Path) -> None:
    assert list(metrics(tmp_path, row(members), *nested).items()) == list(found.items())


@pytest.mark.parametrize("blank", [b"", b" ", b"\t", b"\r", b" \t\r", b" " * 1001, b"\t" * 5000])
def test_blank_lines_are_no_rows_but_count_as_lines(blank: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(blank + b"\n" + row() + b"\n" + blank)
    frame = collect(scan_rollouts(path))
    assert frame["_line"].to_list() == [2]
    assert frame["_problem"].to_list() == [None]


@pytest.fixture(scope="module")
def nasty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nasty") / "rollouts.jsonl"
    path.write_bytes(b"\n".join(LINES.values()) + b"\n")
    return path


@pytest.fixture(scope="module")
def read_here(nasty_file: Path) -> list[dict[str, Any]]:
    return as_read(nasty_file)


@pytest.fixture(scope="module")
def read_without_the_wheel(nasty_file: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-W", "error", "-m", "tests.sources.nasty_rows", str(nasty_file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return list(json.loads(done.stdout))


@pytest.mark.parametrize("name", LINES)
def test_the_other_parser_gives_the_same(
    name: str, read_here: list[dict[str, Any]], read_without_the_wheel: list[dict[str, Any]]
) -> None:
    at = list(LINES).index(name)
    assert read_here[at]["_line"] == at + 1
    assert read_without_the_wheel[at] == read_here[at]


def test_the_key_of_every_readable_line_is_its_last(read_here: list[dict[str, Any]]) -> None:
    assert KEY in READABLE["plain"]
    keys = pl.DataFrame(read_here[: len(READABLE)]).select("_ng_task_index", "_ng_rollout_index").unique()
    assert set(keys.rows()) == {(1, 2), (2**63 - 1, -(2**63))}
