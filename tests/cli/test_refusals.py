"""A refusal says what is wrong, where, and what to do; it ends with its exit code and changes nothing."""

import lzma
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.processes import run
from tests.cli.run_files import (
    INPUTS,
    KEYS,
    OLD,
    OUTPUTS,
    assert_refused,
    contents_of,
    rollout,
    rollouts,
    write_old_outputs,
    write_run,
)
from tests.command import run_command
from tests.packing import PACKS
from tests.runs import Row, jsonl, planned

BIG = jsonl([rollout(task, 0, text="x" * 1000) for task in range(500)])
BIG_PLAN = [planned(task, text="x" * 1000) for task in range(500)]


def broken_link(folder: Path) -> None:
    (folder / "link.jsonl").symlink_to("nowhere")


def linked_in_a_circle(folder: Path) -> None:
    (folder / "link.jsonl").symlink_to("link.jsonl")


def inputs_are_a_folder(folder: Path) -> None:
    (folder / f"run{INPUTS}").unlink()
    (folder / f"run{INPUTS}").mkdir()


def without_inputs(folder: Path) -> None:
    (folder / f"run{INPUTS}").unlink()


def a_folder(folder: Path) -> None:
    (folder / "folder").mkdir()


def an_output_is_a_folder(folder: Path) -> None:
    (folder / f"run{OUTPUTS[2]}").unlink()
    (folder / f"run{OUTPUTS[2]}").mkdir()


def packed(folder: Path) -> None:
    (folder / "run.jsonl").write_bytes(lzma.compress((folder / "run.jsonl").read_bytes()))


def planned_twice(folder: Path) -> None:
    for path in (folder / "run.jsonl", folder / f"run{INPUTS}"):
        path.write_bytes(2 * path.read_bytes())


def empty_without_inputs(folder: Path) -> None:
    (folder / f"run{INPUTS}").unlink()
    (folder / "run.jsonl").write_bytes(b"")


def nothing(_folder: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("before", "args", "exit_code", "words"),
    [
        (nothing, ["absent.jsonl"], 3, ["absent.jsonl: no such file"]),
        (nothing, ["absent/*.jsonl"], 3, ["absent/*.jsonl", "nothing matches"]),
        (nothing, ["run.jsonl/x"], 3, ["run.jsonl/x"]),
        (nothing, ["run.jsonl", "-i", "absent.jsonl"], 3, ["absent.jsonl: no such file"]),
        (nothing, ["run.jsonl", "-i", "."], 3, [".: is a folder"]),
        (a_folder, ["--rollouts", "folder", "--inputs", f"run{INPUTS}"], 3, ["folder: is a folder"]),
        (broken_link, ["link.jsonl", "--inputs", f"run{INPUTS}"], 3, ["link.jsonl: no such file"]),
        (linked_in_a_circle, ["link.jsonl", "--inputs", f"run{INPUTS}"], 3, ["link.jsonl"]),
        (broken_link, ["run.jsonl", "--inputs", "link.jsonl"], 3, ["link.jsonl: no such file"]),
        (without_inputs, ["run.jsonl"], 3, [f"run{INPUTS}", "--inputs", "--rollouts-only"]),
        (empty_without_inputs, ["run.jsonl"], 3, ["run.jsonl: is empty"]),
        (packed, ["run.jsonl"], 3, ["run.jsonl: is packed with xz", "gzip or zstd"]),
        (planned_twice, ["run.jsonl"], 4, ["8 input rows share", "--rollouts-only"]),
        (nothing, ["run.jsonl", "-i", "run.jsonl"], 2, ["run.jsonl: is named as rollouts and as inputs"]),
        (nothing, ["run.jsonl", "--output-dir", ""], 2, ["--output-dir needs a name"]),
        (nothing, ["run.jsonl", "-o", "new/"], 2, ["new/: is a folder", "--output-dir"]),
        (nothing, ["/dev/null", "-o", "x"], 3, ["/dev/null: a pipe has no inputs file"]),
        (inputs_are_a_folder, ["run.jsonl"], 3, [f"run{INPUTS}"]),
        (nothing, ["run.jsonl", "--output-dir", "run.jsonl"], 3, ["run.jsonl"]),
        (a_folder, ["run.jsonl", "-o", "folder"], 3, ["folder: is a folder", "--output-dir"]),
        (an_output_is_a_folder, ["run.jsonl"], 3, [f"run{OUTPUTS[2]}: cannot be written"]),
    ],
    ids=lambda value: "" if callable(value) else " ".join(map(str, value)) if isinstance(value, list) else str(value),
)
def test_of_paths(
    before: Callable[[Path], None], args: list[str], exit_code: int, words: list[str], tmp_path: Path
) -> None:
    write_run(tmp_path)
    write_old_outputs(tmp_path)
    before(tmp_path)
    found = contents_of(tmp_path)
    assert_refused(run_command(["profile", *args], tmp_path), exit_code, *words)
    assert contents_of(tmp_path) == found


BAD_LINES = {
    b"nonsense": "is not JSON",
    b'{"reward":1}': "has no _ng_task_index",
    b'{"_ng_task_index":1}': "has no _ng_rollout_index",
    b'{"_ng_task_index":"1","_ng_rollout_index":1}': "_ng_task_index is text, not a whole number",
    b'{"_ng_task_index":1,"_ng_rollout_index":0.5}': "_ng_rollout_index is 0.5, not a whole number",
    b'{"_ng_task_index":true,"_ng_rollout_index":0}': "_ng_task_index is a boolean, not a whole number",
    b'{"_ng_task_index":1,"_ng_rollout_index":1,"\xff":1}': "is not UTF-8",
    b"[" * 20_000: "",
    b"\x00\x00": "is not JSON",
    b"null": "holds null, not an object",
}


@pytest.mark.parametrize("role", ["rollouts", "inputs"])
def test_of_lines(role: str, tmp_path: Path) -> None:
    path = write_run(tmp_path)
    bad = path if role == "rollouts" else tmp_path / f"run{INPUTS}"
    bad.write_bytes(b"\n" + b"\n".join(BAD_LINES) + b"\n" + bad.read_bytes())
    write_old_outputs(tmp_path)
    found = contents_of(tmp_path)
    done = run_command(["profile", "run.jsonl"], tmp_path)
    places = [f"{bad.name}:{number} {reason}" for number, reason in enumerate(BAD_LINES.values(), 2)]
    assert_refused(done, 3, "10 lines cannot be used", *places, "--on-bad-line skip")
    assert contents_of(tmp_path) == found


UNNUMBERED = [{"reward": 1, "responses_create_params": {"input": "a"}, "response": {}}] * 3
NUMBER = "--rollouts-only --assign-indices"


@pytest.mark.parametrize("skip", [[], ["--on-bad-line", "skip"]], ids=["", "skip"])
@pytest.mark.parametrize(
    ("plan", "done", "more", "words"),
    [
        (None, UNNUMBERED, [], ["3 lines cannot be used", NUMBER]),
        (UNNUMBERED, UNNUMBERED, [], ["6 lines cannot be used", NUMBER]),
        (None, UNNUMBERED, ["--rollouts-only"], ["3 lines cannot be used", NUMBER]),
        (UNNUMBERED, None, [], ["3 lines cannot be used", "Not one line of the inputs", "--rollouts-only"]),
        (None, b"nonsense\n" * 2, ["--partial"], ["2 lines cannot be used", "Not one line of the rollouts"]),
        (None, b'nonsense\n{"_ng', [], ["1 line cannot be used", "1 line is cut off", "Not one line of the rollouts"]),
    ],
)
def test_of_lines_not_one_of_which_can_be_used(
    plan: list[Row] | None, done: list[Row] | bytes | None, more: list[str], words: list[str], skip: list[str],
    tmp_path: Path,
) -> None:  # fmt: skip
    write_run(tmp_path, plan=plan, done=done)
    found = contents_of(tmp_path)
    refused = run_command(["profile", "run.jsonl", *more, *skip], tmp_path)
    assert_refused(refused, 3, *words)
    assert "--on-bad-line" not in refused.stderr
    assert contents_of(tmp_path) == found


@pytest.mark.parametrize("command", [["query", "hardest"], ["export", "-o", "out.parquet"]], ids=" ".join)
def test_of_no_usable_line_by_whatever_reads_a_run(command: list[str], tmp_path: Path) -> None:
    write_run(tmp_path, done=UNNUMBERED)
    assert_refused(run_command([*command, "run.jsonl", "--on-bad-line", "skip"], tmp_path), 3, NUMBER)


def test_of_no_line_yet_is_none(tmp_path: Path) -> None:
    for done in (b"", b'{"_ng_task'):
        write_run(tmp_path, done=done)
        assert run_command(["profile", "run.jsonl", "--partial"], tmp_path).exit_code == 0
    write_run(tmp_path, done=UNNUMBERED)
    numbered = ["profile", "run.jsonl", *NUMBER.split(), "-o", "out"]
    assert run_command(numbered, tmp_path).exit_code == 0


def test_of_two_runs_asks_whether_they_are(tmp_path: Path) -> None:
    for stem in ("a/rollouts", "b/rollouts", "x y/p0", "x y/p1"):
        write_run(tmp_path / stem.split("/")[0], stem.split("/")[1])
    write_run(tmp_path / "z", done=rollouts([*KEYS, KEYS[0]]))
    asked, choose = "Are these two runs?", "--on-duplicate first"
    for command in (["query", "hardest"], ["export", "-o", "out.parquet"], ["profile", "-o", "out"]):
        done = run_command([*command, "a", "b"], tmp_path)
        compare = "rollprof compare a/rollouts.jsonl b/rollouts.jsonl"
        assert_refused(done, 4, "8 rollouts share their key", asked, compare, choose)
        assert done.stderr.index(asked) < done.stderr.index(choose)
    done = run_command(["query", "hardest", "x y"], tmp_path)
    assert_refused(done, 4, "rollprof compare 'x y/p0.jsonl' 'x y/p1.jsonl'")
    assert_refused(run_command(["query", "hardest", "a", "x y"], tmp_path), 4, "rollprof compare a 'x y'")
    assert_refused(run_command(["query", "hardest", "a", "b", "x y"], tmp_path), 4, "rollprof compare A B")
    done = run_command(["query", "hardest", "z"], tmp_path)
    assert_refused(done, 4, choose)
    assert asked not in done.stderr


def test_of_keys_that_are_planned_and_done_twice_names_both_ways_out(tmp_path: Path) -> None:
    keys = [*KEYS, KEYS[0]]
    write_run(tmp_path, plan=[planned(*key) for key in keys], done=rollouts(keys))
    ways = ["--rollouts-only", "--on-duplicate first"]
    assert_refused(run_command(["profile", "run.jsonl"], tmp_path), 4, *ways)
    done = run_command(["profile", "run.jsonl", *" ".join(ways).split()], tmp_path)
    assert done.exit_code == 0, done.stderr


def test_of_shards_that_share_a_few_keys_does_not_ask(tmp_path: Path) -> None:
    write_run(tmp_path, "p0", plan=[planned(task) for task in range(9)], done=rollouts((task, 0) for task in range(5)))
    (tmp_path / "p1.jsonl").write_bytes(jsonl(rollouts((task, 0) for task in range(4, 9))))
    done = run_command(["query", "hardest", "."], tmp_path)
    assert_refused(done, 4, "2 rollouts share their key", "--on-duplicate")
    assert "two runs" not in done.stderr


@pytest.mark.parametrize(
    ("pack", "kept"), [("gz", 0.5), ("gz", 0.999), ("zst", 0.5)], ids=["half a gz", "gz without its end", "half a zst"]
)
def test_of_a_compressed_file_that_is_cut_off(pack: str, kept: float, tmp_path: Path) -> None:
    write_run(tmp_path, plan=BIG_PLAN)
    (tmp_path / "run.jsonl").unlink()
    packed = PACKS[pack](BIG)
    (tmp_path / f"run.jsonl.{pack}").write_bytes(packed[: int(len(packed) * kept)])
    write_old_outputs(tmp_path)
    found = contents_of(tmp_path)
    assert_refused(run_command(["profile", f"run.jsonl.{pack}", "--partial"], tmp_path), 3, f"run.jsonl.{pack}")
    assert contents_of(tmp_path) == found


def test_of_a_full_disk(tiny_disk: Path, tmp_path: Path) -> None:
    write_run(tmp_path, plan=BIG_PLAN, done=BIG)
    write_old_outputs(tiny_disk)
    done = run_command(["profile", "run.jsonl", "--output-dir", str(tiny_disk)], tmp_path)
    assert_refused(done, 3, f"{tiny_disk}/run{OUTPUTS[0]}: cannot be written: No space left", "--output-dir")
    assert contents_of(tiny_disk) == {f"run{ending}": OLD for ending in OUTPUTS}


def test_of_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    write_run(tmp_path, plan=BIG_PLAN, done=BIG)
    write_old_outputs(tmp_path)
    found = contents_of(tmp_path)
    limit = 100_000

    def set_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = run(["profile", "run.jsonl"], tmp_path, preexec_fn=set_limit)
    assert_refused(done, 3, f"run{OUTPUTS[0]}: cannot be written: File too large")
    assert contents_of(tmp_path) == found


def test_of_a_file_system_that_is_read_only(tmp_path: Path) -> None:
    write_run(tmp_path)
    assert_refused(run_command(["profile", "run.jsonl", "--output-dir", "/proc"], tmp_path), 3, "/proc")


def test_makes_no_folder(tmp_path: Path) -> None:
    write_run(tmp_path, done=rollouts([(0, 0)]))
    assert_refused(run_command(["profile", "run.jsonl", "--output-dir", "new"], tmp_path), 4)
    assert not (tmp_path / "new").exists()


def test_of_keys_tells_how_to_go_on(tmp_path: Path) -> None:
    write_run(tmp_path, "a b", done=rollouts([(0, 0)]))
    done = run_command(["profile", "a b.jsonl", "--counts"], tmp_path)
    assert_refused(done, 4, "1 of 4 finished (25.00 %)", "rollprof profile 'a b.jsonl' --counts --partial")
    rest = "eval run --no-serve --resume"
    assert f"gym {rest} --input 'a b{INPUTS}' --output 'a b.jsonl'" in done.stderr
    assert f"-m rollprof {rest} --output 'a b.jsonl'" in done.stderr


def test_of_keys_tells_how_to_go_on_where_the_names_do_not_say(tmp_path: Path) -> None:
    write_run(tmp_path, done=rollouts([(0, 0)]))
    (tmp_path / f"run{INPUTS}").rename(tmp_path / "plan.jsonl")
    done = run_command(["profile", "-r", "run.jsonl", "-i", "plan.jsonl"], tmp_path)
    assert_refused(done, 4, "The rest:", "gym eval run --no-serve --resume, or", "with what it was begun with")


def test_of_an_option_without_its_value_is_no_other_command(tmp_path: Path) -> None:
    write_run(tmp_path)
    done = run_command(["profile", "run.jsonl", "--nested"], tmp_path)
    assert_refused(done, 2, "'--nested' requires an argument", "rollprof profile --help.")
    assert "is an option of" not in done.stderr
