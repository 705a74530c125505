"""The recorded cases: small runs with the answer wanted for each, packed into two files beside this one."""

import json
import lzma
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
INPUTS_FILENAME = "materialized_inputs.jsonl"
ROLLOUTS_FILENAME = "rollouts.jsonl"


@dataclass(frozen=True)
class Case:
    """A run and what profiling it must give.

    Attributes:
        name: Its name, which begins with its number.
        what: What it is about, in words.
        flags: Arguments of the command beside the two paths.
        exit_codes: The exit codes that are right.
        rollouts_filename: The path of the rollouts in the folder of the run.
        rollouts_is_directory: Whether that path is a folder.
        inputs: Content of the materialized inputs; None where the file does not exist.
        rollouts: Content of the rollouts; None where the file does not exist.
        extra_files: Content of further files by their names.
        expected: Content of the wanted files by what follows the stem in their names.
        ignore_keys_ending: Endings of keys that are not compared.
        values: Figures worked out by hand.
    """

    name: str
    what: str
    flags: tuple[str, ...]
    exit_codes: tuple[int, ...]
    rollouts_filename: str
    rollouts_is_directory: bool
    inputs: bytes | None
    rollouts: bytes | None
    extra_files: Mapping[str, bytes]
    expected: Mapping[str, bytes]
    ignore_keys_ending: tuple[str, ...]
    values: Mapping[str, Any]

    def write_to(self, folder: Path) -> None:
        """Write the files of the run into a folder."""
        rollouts = folder / self.rollouts_filename
        rollouts.parent.mkdir(parents=True, exist_ok=True)
        if self.rollouts_is_directory:
            rollouts.mkdir()
        contents = {INPUTS_FILENAME: self.inputs, self.rollouts_filename: self.rollouts, **self.extra_files}
        for name, content in contents.items():
            if content is not None:
                (folder / name).write_bytes(content)


def oracle_cases() -> list[Case]:
    """Recorded runs with whole expected files."""
    return list(_unpack("oracle.json.xz"))


def public_cases() -> dict[str, Case]:
    """Runs made after public reports, by number (`c01`), with figures worked out by hand."""
    return {case.name.partition("-")[0]: case for case in _unpack("public.json.xz")}


@cache
def _unpack(filename: str) -> tuple[Case, ...]:
    packed = json.loads(lzma.decompress((HERE / filename).read_bytes()))
    return tuple(_case(about) for about in packed)


def _case(about: dict[str, Any]) -> Case:
    return Case(
        name=about["name"],
        what=about["what"],
        flags=tuple(about["flags"]),
        exit_codes=tuple(about["exit_codes"]),
        rollouts_filename=about["rollouts_filename"],
        rollouts_is_directory=about["rollouts_is_directory"],
        inputs=_bytes(about["inputs"]),
        rollouts=_bytes(about["rollouts"]),
        extra_files={name: text.encode("latin-1") for name, text in about["extra_files"].items()},
        expected={suffix: text.encode("latin-1") for suffix, text in about["expected"].items()},
        ignore_keys_ending=tuple(about["ignore_keys_ending"]),
        values=about["values"],
    )


def _bytes(text: str | None) -> bytes | None:
    """Packed contents are a character a byte."""
    return None if text is None else text.encode("latin-1")
