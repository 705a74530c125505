"""What stands in a compressed file before its cut."""

import random
from pathlib import Path

import pytest

from pipeline.sources.damaged import before_the_cut, damage_of
from pipeline.sources.files import open_source
from pipeline.sources.lines import lines_of
from tests.packing import Pack, gz, zst

CHANCE = random.Random(0)
CONTENT = b"".join(b"%d\n" % CHANCE.getrandbits(8000) for _ in range(400))
packs = pytest.mark.parametrize("pack", [gz, zst])


@packs
@pytest.mark.parametrize("share", [0.001, 0.5, 0.9, 0.999])
def test_a_file_without_its_end(pack: Pack, share: float, tmp_path: Path) -> None:
    packed = pack(CONTENT)
    (tmp_path / "r").write_bytes(packed[: int(len(packed) * share)])
    source = open_source(tmp_path / "r")
    assert "ended before" in str(damage_of(source))
    cut = before_the_cut(source)
    assert cut is not None
    assert (cut.shown, cut.size, cut.compression) == (source.shown, source.size, source.compression)
    found = b"".join(bytes(view) + b"\n" * ended for _, view, ended in lines_of(cut.whole()))
    assert found == CONTENT[: cut.content]


@packs
def test_a_whole_file(pack: Pack, tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(pack(CONTENT))
    source = open_source(tmp_path / "r")
    assert damage_of(source) is None
    assert before_the_cut(source) is None


def test_other_damage(tmp_path: Path) -> None:
    packed = bytearray(zst(CONTENT))
    packed[len(packed) // 2 :] = bytes(len(packed) - len(packed) // 2)
    (tmp_path / "r").write_bytes(packed)
    source = open_source(tmp_path / "r")
    assert damage_of(source) is not None
    assert before_the_cut(source) is None
