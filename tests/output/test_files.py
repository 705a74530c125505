"""Files appear whole or not at all."""

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import SourceError
from pipeline.output.files import check_folder, whole_files

ROOT = Path(__file__).parents[2]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, hidden ones too."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_files_take_their_places_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with whole_files(tmp_path / "a", tmp_path / "b") as (first, second):
        first.write(b"new ")
        first.flush()
        second.write(b"other")
        assert contents(tmp_path).keys() >= {"a"}
        assert (tmp_path / "a").read_bytes() == b"old"
        assert not (tmp_path / "b").exists()
        first.write(b"content")
    assert contents(tmp_path) == {"a": b"new content", "b": b"other"}


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("a.tmp", ".a.tmp", "b"):
        (tmp_path / name).write_bytes(b"kept")
    with whole_files(tmp_path / "a") as (file,):
        file.write(b"new")
    assert contents(tmp_path) == {"a.tmp": b"kept", ".a.tmp": b"kept", "b": b"kept", "a": b"new"}


class OwnError(Exception):
    """An exception that knows nothing of files."""


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (OwnError("a bug"), OwnError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (SystemExit(143), SystemExit),
        (SourceError("was changed"), SourceError),
        (OSError(errno.ENOSPC, "No space left on device"), SourceError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
@pytest.mark.parametrize("old", [None, b"old"])
def test_on_any_error_nothing_is_changed(
    error: BaseException, raised: type[BaseException], old: bytes | None, tmp_path: Path
) -> None:
    if old is not None:
        (tmp_path / "a").write_bytes(old)
    before = contents(tmp_path)
    with pytest.raises(raised), whole_files(tmp_path / "a", tmp_path / "b") as (first, second):
        first.write(b"half" * 1_000_000)
        second.write(b"half")
        raise error
    assert contents(tmp_path) == before


def test_where_only_the_last_cannot_take_its_place_none_does(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "c").mkdir()
    with pytest.raises(SourceError) as refusal, whole_files(*(tmp_path / name for name in "abc")) as files:
        for file in files:
            file.write(b"new")
    assert refusal.value.where == str(tmp_path / "c")
    assert contents(tmp_path) == {"a": b"old"}


@pytest.mark.parametrize("function", ["fsync", "replace", "open"])
def test_when_the_system_will_not_write_nothing_is_changed(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch, pytest.raises(SourceError) as refusal:
        patch.setattr(os, function, fail)
        with whole_files(tmp_path / "a", tmp_path / "b") as (first, second):
            first.write(b"new")
            second.write(b"new")
    assert "cannot be written: Input/output error" in refusal.value.message
    assert refusal.value.where == str(tmp_path / "a")
    assert contents(tmp_path) == {"a": b"old"}


def test_a_full_device_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/dev/full")
    with pytest.raises(SourceError), whole_files(tmp_path / "a") as (file,):
        file.write(b"x" * 10_000_000)
        raise OSError(errno.ENOSPC, "No space left on device")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_ended_leaves_the_old_file(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    script = textwrap.dedent("""
        import signal, sys
        from pathlib import Path
        from pipeline.output.files import whole_files
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        with whole_files(Path("a")) as (file,):
            file.write(b"half")
            file.flush()
            print("writing", flush=True)
            signal.pause()
        """)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(10) in {143, -signal.SIGKILL}
    assert (tmp_path / "a").read_bytes() == b"old"
    assert len(contents(tmp_path)) == (1 if number == signal.SIGTERM else 2)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link(there: bool, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if there:
        (elsewhere / "target").write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(Path("elsewhere") / "target")
    with whole_files(link) as (file,):
        file.write(b"new")
    assert link.is_symlink()
    assert contents(elsewhere) == {"target": b"new"}


def test_permissions_follow_the_mask_of_the_process(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with whole_files(tmp_path / "a") as (file,):
            file.write(b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["größe 大小", "a" * 250, "[1] *", "-x", ".hidden"])
def test_names_of_any_kind(name: str, tmp_path: Path) -> None:
    with whole_files(tmp_path / name) as (file,):
        file.write(b"new")
    assert contents(tmp_path) == {name: b"new"}


def folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    ("path", "make", "says"),
    [
        ("file/stem", Path.touch, "is no folder"),
        ("stem", folder, "is a folder"),
    ],
)
def test_a_place_that_cannot_be_written_is_told_before_the_work(
    path: str, make: Callable[[Path], None], says: str, tmp_path: Path
) -> None:
    make(tmp_path / path.split("/", maxsplit=1)[0])
    with pytest.raises(SourceError, match=says):
        check_folder(tmp_path / path)


def test_a_folder_that_is_there_is_fine(tmp_path: Path) -> None:
    check_folder(tmp_path / "stem")
    assert contents(tmp_path) == {}


FULL = """
import resource, sys
from pathlib import Path
from pipeline.errors import SourceError
from pipeline.output.files import whole_files
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with whole_files(Path("a"), Path("b")) as (first, second):
        second.write(b"x" * 10)
        for _ in range(int(sys.argv[1])):
            first.write(b"x" * 100)
except SourceError as error:
    print(error)
"""


@pytest.mark.parametrize("pieces", [11, 10_000], ids=["in the buffer", "beyond the buffer"])
def test_a_full_disk_is_one_refusal_and_leaves_nothing(pieces: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(pieces)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False, text=True)
    assert done.stdout.startswith("a: cannot be written: File too large\n")
    assert (done.stderr, contents(tmp_path)) == ("", {})
