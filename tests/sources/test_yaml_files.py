"""Files that people write in YAML, well or badly."""

from pathlib import Path

import pytest

from pipeline.errors import SourceError
from pipeline.sources.yaml_files import read_yaml, yaml_value

HINT = "Write it like a: 1."


@pytest.mark.parametrize(
    ("content", "keys"),
    [
        (b"a: [1, b]", {"a": [1, "b"]}),
        (b"", {}),
        (b"# nothing\n", {}),
        (b'a: "\\ud83d\\ude00"', {"a": "\U0001f600"}),
        (b"a: &x {b: 1}\nc: {<<: *x, b: 2}\n1: 3\n'1': 4\n", {"a": {"b": 1}, "c": {"b": 2}, 1: 3, "1": 4}),
    ],
)
def test_keys(content: bytes, keys: object, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    assert read_yaml(path, hint=HINT) == keys


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: [", "is no YAML"),
        (b"a: \x07", "is no YAML"),
        (b"\xff\xfe", "is no YAML"),
        (b"a: !!python/object:os.system {}", "is no YAML"),
        (b"a: 2026-13-45", "is no YAML: month"),
        (b"a: !!timestamp x", "is no YAML"),
        (b"a: !!int x", "is no YAML"),
        (b'a: !!int ""', "is no YAML"),
        (b"a: !!bool x", "is no YAML"),
        (b"? [a]\n: b", "is no YAML"),
        (b"[" * 100_000, "is no YAML: it is nested deeper than 50"),
        (b"[" * 20_000 + b"]" * 20_000, "is no YAML: it is nested deeper than 50"),
        (b"a: 1\nb: 2\na: 3\n", "is no YAML: the key 'a' stands there twice"),
        (b"a: {b: {c: 1, 'c': 2}}", "is no YAML: the key 'c' stands there twice"),
        (b'{"\\ud800": 1}', "is no YAML: half a letter stands there"),
        (b"- a\n- b\n", "holds no keys"),
        (b"text", "holds no keys"),
        (b"0", "holds no keys"),
    ],
)
def test_no_keys(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(SourceError) as refused:
        read_yaml(path, hint=HINT)
    assert refused.value.message.startswith(message)
    assert (refused.value.where, refused.value.hint) == (str(path), HINT)
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("name", ["absent.yaml", "."])
def test_no_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read_yaml(tmp_path / name, hint=HINT)


def test_a_value() -> None:
    assert yaml_value("- 1\n- a") == [1, "a"]
    with pytest.raises(ValueError, match="expected"):
        yaml_value("- [")
