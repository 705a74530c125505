"""A file that is one JSON array is told as such, with what makes lines of it."""

import itertools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.errors import SourceError
from pipeline.sources.arrays import is_array
from pipeline.sources.files import open_source
from pipeline.sources.runs import find_run
from tests.packing import PACKS
from tests.runs import finished, planned

ROWS = [finished(task, reward=1, text="]\n") for task in range(3)]
INDENTS = (None, 0, 2)


def array(indent: int | None) -> bytes:
    return json.dumps(ROWS, indent=indent).encode()


@pytest.mark.parametrize("indent", INDENTS)
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b" \n\n "])
@pytest.mark.parametrize("after", [b"", b"\n", b"\n \n"])
def test_arrays(indent: int | None, before: bytes, after: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(before + array(indent) + after)
    assert is_array(open_source(tmp_path / "run.jsonl"))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[",
        b"[]\n",
        b"[1, 2]\n",
        b"[" * 5000,
        b'{"reward": 1}\n',
        b'[{"reward": 1}]\n{"reward": 1}\n',
        b'{"reward": 1}\n[{"reward": 1}]\n',
        b"\x1f\x8b[{",
        b"[\xff",
    ],
)
def test_other_contents_are_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(content)
    assert not is_array(open_source(tmp_path / "run.jsonl"))


ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst")


@pytest.mark.parametrize(
    ("role", "ending", "named"),
    [
        *itertools.product(("run", "run_materialized_inputs"), ENDINGS, (".", "{}")),
        ("run", ".json", "{}"),  # in a folder rollouts have another suffix
    ],
)
def test_the_hint_makes_lines_of_it(role: str, ending: str, named: str, tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    for path, row in (("run.jsonl", finished(reward=1)), ("run_materialized_inputs.jsonl", planned())):
        (folder / path).write_bytes(json.dumps(row).encode() + b"\n")
    (folder / f"{role}.jsonl").unlink()
    pack = PACKS.get(ending.removeprefix(".jsonl."), bytes)
    (folder / f"{role}{ending}").write_bytes(pack(array(2)))
    what = folder / named.format(f"run{ending if role == 'run' else '.jsonl'}")
    with pytest.raises(SourceError, match=f"{role}{ending}: is one JSON array") as refused:
        find_run([what])
    command = refused.value.hint.partition(": ")[2]
    if any(shutil.which(tool) is None for tool in ("jq", "gzip", "zstd")):
        pytest.skip("the tools of the hint are not there")
    subprocess.run(["/bin/sh", "-c", command], check=True)
    lines = (folder / f"{role}.jsonl").read_bytes().splitlines()
    assert list(map(json.loads, lines)) == ROWS
    assert json.loads(array(2)) == ROWS
    assert find_run([folder / "run.jsonl"]).rollouts[0].path == folder / "run.jsonl"


def test_the_hint_overwrites_no_lines(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(array(None))
    (tmp_path / "run.jsonl").touch()
    with pytest.raises(SourceError) as refused:
        find_run([tmp_path / "run.json"])
    assert refused.value.hint.endswith(f"> {tmp_path}/run_lines.jsonl")


def test_what_has_no_name_is_not_written_beside(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(array(None))
    with (tmp_path / "run.json").open() as file, pytest.raises(SourceError) as refused:
        find_run([f"/dev/fd/{file.fileno()}"])
    assert refused.value.hint == "Make lines of it: jq -c '.[]'"
