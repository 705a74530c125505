"""The lines of a dataset that tasks were planned by: found by their number, checked by what they ask."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import Exit, FaultsError
from pipeline.output.originals import Key, originals
from pipeline.sources import rows
from pipeline.sources.asking import Asking, asking_of
from pipeline.sources.files import open_source


def text(question: str, **fields: Any) -> bytes:
    return json.dumps({"responses_create_params": {"input": question}, **fields}).encode()


def asks(line: bytes) -> Asking:
    return asking_of(rows.parse(memoryview(line)))


def taken(folder: Path, content: bytes, wanted: dict[Key, Asking]) -> list[tuple[tuple[Key, ...], bytes]]:
    path = folder / "data.jsonl"
    path.write_bytes(content)
    return [(line.keys, line.text) for line in originals(open_source(path), wanted)]


A: Key = (0, "a")
B: Key = (1, "a")
C: Key = (2, "a")


def test_lines_come_byte_for_byte_in_the_order_of_the_dataset(tmp_path: Path) -> None:
    odd = b' {"x": 0.10, "n": 12345678901234567890, "responses_create_params":{"input":"\\u0041"}}\t\r'
    content = text("first") + b"\n\n" + odd + b"\n" + text("third")
    wanted = {C: asks(text("third")), B: asks(odd)}
    assert taken(tmp_path, content, wanted) == [((B,), odd), ((C,), text("third"))]


@pytest.mark.parametrize("pack", [gzip.compress, lambda content: b"\xef\xbb\xbf" + content], ids=["gzip", "mark"])
def test_any_file(pack: Any, tmp_path: Path) -> None:
    assert taken(tmp_path, pack(text("first") + b"\n"), {A: asks(text("first"))}) == [((A,), text("first"))]


def test_of_identical_lines_the_first_is_taken_once(tmp_path: Path) -> None:
    content = b"\n".join([text("x"), text("x"), text("y")])
    assert taken(tmp_path, content, {A: asks(text("x")), B: asks(text("y"))}) == [((A,), text("x")), ((B,), text("y"))]


def test_a_line_is_for_all_agents_of_its_task(tmp_path: Path) -> None:
    wanted: dict[Key, Asking] = {(0, "a"): asks(text("x")), (0, "b"): asks(text("x"))}
    assert taken(tmp_path, text("x"), wanted) == [(((0, "a"), (0, "b")), text("x"))]


def test_rows_of_one_task_that_name_their_agents(tmp_path: Path) -> None:
    of_a, of_b = (text("x", _ng_task_index=5, agent_ref={"name": name}) for name in "ab")
    wanted: dict[Key, Asking] = {(5, "a"): asks(of_a), (5, "b"): asks(of_b)}
    found = taken(tmp_path, of_b + b"\n" + of_a + b"\n", wanted)
    assert found == [(((5, "b"),), of_b), (((5, "a"),), of_a)]


def test_both_numberings_of_rows_with_and_without_an_index(tmp_path: Path) -> None:
    content = text("own", _ng_task_index=0) + b"\n" + text("other") + b"\n"
    own = {A: asks(text("own"))}
    assert taken(tmp_path, content, own | {B: asks(text("other"))})[1] == ((B,), text("other"))
    # NeMo Gym gives 0 to the second row as well
    assert taken(tmp_path, content, {A: asks(text("other"))}) == [((A,), text("other"))]


@pytest.mark.parametrize(
    ("content", "counts", "words"),
    [
        ([text("y"), text("x"), text("z")], (2, 0), "of 3 tasks 2 ask something else there (first: task 0 at "),
        ([text("x")], (0, 2), "of 3 tasks 2 are not in it (first: task 1)"),
        ([], (0, 3), "3 are not in it"),
        ([text("x"), text("y", domain="new"), text("z")], (1, 0), "(first: task 1 at "),
    ],
    ids=["turned", "too short", "empty", "edited"],
)
def test_another_dataset(content: list[bytes], counts: tuple[int, int], words: str, tmp_path: Path) -> None:
    wanted: dict[Key, Asking] = {(task, "a"): asks(text(question)) for task, question in enumerate("xyz")}
    with pytest.raises(FaultsError) as refused:
        taken(tmp_path, b"\n".join(content), wanted)
    assert refused.value.exit_code == Exit.CONTRACT
    assert tuple(refused.value.counts.values()) == counts
    assert words in str(refused.value)


def test_lines_that_are_no_rows_are_all_told(tmp_path: Path) -> None:
    content = text("x") + b'\n{"a": \n[1]\n{"_ng_task_index": "1"}\n'
    with pytest.raises(FaultsError) as refused:
        taken(tmp_path, content, {A: asks(text("x"))})
    assert refused.value.exit_code == Exit.UNREADABLE
    assert refused.value.counts == {"malformed": 3}
    path = tmp_path / "data.jsonl"
    assert refused.value.places == {"malformed": [f"{path}:{line}" for line in (2, 3, 4)]}
