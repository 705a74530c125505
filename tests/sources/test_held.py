"""A setting holds as long as anybody needs it, whoever of several leaves first."""

import sys
import threading
from pathlib import Path

from pipeline.frames.rollouts import scan_rollouts
from pipeline.options import ReadOptions
from pipeline.sources.held import Held
from tests.runs import finished, jsonl


def test_the_last_puts_back_what_was_before() -> None:
    state = ["before"]

    def begin() -> str:
        was = state[0]
        state[0] = "within"
        return was

    held = Held(begin, lambda was: state.__setitem__(0, was))
    with held:
        with held:
            assert state == ["within"]
        assert state == ["within"]
    assert state == ["before"]
    with held:
        assert state == ["within"]


def test_numbers_of_any_length_in_several_threads(tmp_path: Path) -> None:
    limit = sys.get_int_max_str_digits()
    paths = []
    for number in range(4):
        rows = [finished(task, 0, m=1) for task in range(2000 * (number + 1))]
        paths.append(tmp_path / f"{number}.jsonl")
        last = jsonl([finished(10**6, 0, m=7)]).replace(b'"m": 7', b'"m": 1' + b"0" * 5000)
        paths[-1].write_bytes(jsonl(rows) + last)
    rounds = 3
    unfinite: list[int] = []

    def read(path: Path) -> None:
        for _ in range(rounds):
            frame = scan_rollouts(path, ReadOptions(jobs=1)).collect()
            unfinite.append(int(frame["_unfinite"].sum()))

    threads = [threading.Thread(target=read, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert unfinite == [1] * rounds * len(paths)
    assert sys.get_int_max_str_digits() == limit
