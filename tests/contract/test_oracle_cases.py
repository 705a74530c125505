"""`profile` gives what is wanted of every recorded run."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command import run_command
from tests.contract.cases import INPUTS_FILENAME, Case, oracle_cases
from tests.slow_profile import Key, difference, not_json, read_json

FILE_SUFFIXES = (".jsonl.gz", ".jsonl.zst", ".jsonl", ".json")
PROFILE, AGENTS, REPEATS = "_reward_profiling.jsonl", "_agent_metrics.json", "_repeat_level_metrics.json"
INDICES = {"_ng_task_index", "_ng_rollout_index"}
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def by_name(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", oracle_cases(), ids=by_name)
def test_profile(case: Case, tmp_path: Path) -> None:
    case.write_to(tmp_path)
    before = files_in(tmp_path)
    done = run_command(
        ["profile", "--inputs", INPUTS_FILENAME, "--rollouts", case.rollouts_filename, *case.flags], tmp_path
    )
    assert done.exit_code in case.exit_codes, done.stderr
    assert "Traceback (most recent call last)" not in done.stderr
    if done.exit_code:
        assert files_in(tmp_path) == before
        assert done.stderr.strip()
    else:
        stem = stem_of(tmp_path / case.rollouts_filename)
        check_files(case, stem)
        check_samples(case, written(stem, PROFILE))


def files_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def stem_of(path: Path) -> str:
    """The path that names of written files begin with."""
    for suffix in FILE_SUFFIXES:
        if path.name.endswith(suffix) and path.name != suffix:
            return str(path).removesuffix(suffix)
    return str(path)


def written(stem: str, suffix: str) -> str:
    """The text of a written file: UTF-8 with LF."""
    text = Path(stem + suffix).read_bytes().decode("utf-8")
    assert "\r" not in text
    return text


def values_of(text: str, suffix: str) -> list[dict[str, Any]]:
    """The rows or entries of a file, in which nothing may stand that is not JSON."""
    if suffix == PROFILE:
        return [read_json(line, constant=not_json) for line in text.split("\n") if line.strip()]
    entries = read_json(text, constant=not_json)
    assert isinstance(entries, list)
    return entries


def check_files(case: Case, stem: str) -> None:
    """All three files are there, hold no null of their own, and are equal to those expected, if any are."""
    for suffix in (PROFILE, AGENTS, REPEATS):
        got = values_of(written(stem, suffix), suffix)
        assert not [key for row in got for key, value in row.items() if key != "sample" and has_null(value)]
        if suffix in case.expected:
            want = values_of(case.expected[suffix].decode("utf-8"), suffix)
            assert difference(compared(case, want), compared(case, got)) is None


def has_null(value: Any) -> bool:
    """Whether a figure, or any of a few figures, is null; `{"name": null}` is a nameless agent."""
    if isinstance(value, list):
        return any(has_null(inner) for inner in value)
    if isinstance(value, dict):
        return value != {"name": None} and any(has_null(inner) for inner in value.values())
    return value is None


def compared(case: Case, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without the keys a case leaves open."""
    return [{key: value for key, value in row.items() if not key.endswith(case.ignore_keys_ending)} for row in rows]


def check_samples(case: Case, profile: str) -> None:
    """Each sample is the text of the input row of the first rollout, but for its indices and for NaN."""
    assert case.inputs is not None
    texts = {}
    for text in case.inputs.removeprefix(b"\xef\xbb\xbf").decode("utf-8").split("\n"):
        if text.strip():
            row = read_json(text)
            texts[Key(int(row["_ng_task_index"]), int(row["_ng_rollout_index"]))] = text
    for line in profile.split("\n"):
        if line:
            first = read_json(line)["rollout_infos"][0]
            text = texts[Key(first["_ng_task_index"], first["_ng_rollout_index"])]
            want = [(name, value) for name, value in members(text) if read_json(name) not in INDICES]
            (sample,) = (value for name, value in members(line) if name == '"sample"')
            assert list(members("".join(sample))) == [(name, without_nan(value)) for name, value in want]


def members(text: str) -> Iterator[tuple[str, list[str]]]:
    """The names and values of an object as they are written, values in tokens."""
    depth, name, value = 0, "", list[str]()
    for part in TOKEN.findall(text):
        if depth == 1 and part in (",", "}") and name:
            yield name, value
            name, value = "", []
        elif depth == 1 and not name:
            name = part
        elif depth >= 1 and not (depth == 1 and part == ":"):
            value.append(part)
        depth += (part in ("{", "[")) - (part in ("}", "]"))


def without_nan(tokens: list[str]) -> list[str]:
    return ["null" if token in ("NaN", "Infinity", "-Infinity") else token for token in tokens]
