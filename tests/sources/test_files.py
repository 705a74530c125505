"""What a user names becomes the files of a run, each by its role."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from pipeline.errors import RollprofError, SourceError, UsageError
from pipeline.sources.files import open_source
from pipeline.sources.runs import RunFiles, find_run
from tests.packing import PACKS, Pack, gz, zst
from tests.runs import finished, jsonl, planned

ROLLOUTS, INPUTS, FAILURES = jsonl([finished(reward=1)]), jsonl([planned()]), b"{}\n"
ARTIFACTS = (
    "_reward_profiling.jsonl",
    "_agent_metrics.json",
    "_repeat_level_metrics.json",
    "_aggregate_metrics.json",
    "_verdicts.jsonl",
    "_reward_profiling.jsonl.gz",
)


def make(folder: Path, *names: str) -> None:
    """Files with the content that their names promise; `STEM*` is a whole run."""
    for name in names:
        path = folder / name.removesuffix("*")
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("*"):
            make(folder, f"{name[:-1]}.jsonl", f"{name[:-1]}_materialized_inputs.jsonl", f"{name[:-1]}_failures.jsonl")
        elif "materialized_inputs" in name:
            path.write_bytes(INPUTS)
        else:
            path.write_bytes(FAILURES if "failures" in name else ROLLOUTS)


def in_folder(folder: Path, names: Iterable[str]) -> list[Path]:
    return [folder / name for name in names]


def names_of(found: RunFiles, folder: Path) -> dict[str, list[str]]:
    """The names of the files of each role that has any."""
    roles = {"rollouts": found.rollouts, "inputs": found.inputs, "failures": found.failures}
    return {
        role: [str(source.path.relative_to(folder)) for source in sources] for role, sources in roles.items() if sources
    }


WHOLE = {"rollouts": ["run.jsonl"], "inputs": ["run_materialized_inputs.jsonl"], "failures": ["run_failures.jsonl"]}


@pytest.mark.parametrize(
    ("there", "named", "found"),
    [
        (["run*"], ["run.jsonl"], WHOLE),
        (["run*"], ["."], WHOLE),
        (["run*"], ["*.jsonl"], WHOLE),
        (["run*"], ["r?n.jsonl"], WHOLE),
        (["run*"], ["[r]un.jsonl"], WHOLE),
        (["run*", "other*"], ["run.jsonl"], WHOLE),
        (["run.jsonl", "run_materialized_inputs.jsonl"], ["."], {**WHOLE, "failures": []}),
        (
            ["run.jsonl", "materialized_inputs.jsonl", "failures.jsonl"],
            ["."],
            {"rollouts": ["run.jsonl"], "inputs": ["materialized_inputs.jsonl"], "failures": ["failures.jsonl"]},
        ),
        (
            ["run.jsonl", "materialized_inputs.jsonl"],
            ["run.jsonl"],
            {"rollouts": ["run.jsonl"], "inputs": ["materialized_inputs.jsonl"]},
        ),
        (
            ["a*", "b*"],
            ["."],
            {
                "rollouts": ["a.jsonl", "b.jsonl"],
                "inputs": ["a_materialized_inputs.jsonl", "b_materialized_inputs.jsonl"],
                "failures": ["a_failures.jsonl", "b_failures.jsonl"],
            },
        ),
        (
            ["b*", "a.jsonl", "a_materialized_inputs.jsonl"],
            ["b.jsonl", "a.jsonl"],
            {
                "rollouts": ["b.jsonl", "a.jsonl"],
                "inputs": ["b_materialized_inputs.jsonl", "a_materialized_inputs.jsonl"],
                "failures": ["b_failures.jsonl"],
            },
        ),
        (
            ["x/a.jsonl", "y/b.jsonl", "y/b_materialized_inputs.jsonl"],
            ["**/*.jsonl"],
            {"rollouts": ["x/a.jsonl", "y/b.jsonl"], "inputs": ["y/b_materialized_inputs.jsonl"]},
        ),
        (
            ["s0.jsonl", "s1.jsonl", "s0_materialized_inputs.jsonl"],
            ["s*.jsonl"],
            {"rollouts": ["s0.jsonl", "s1.jsonl"], "inputs": ["s0_materialized_inputs.jsonl"]},
        ),
        (
            ["run.v1.2.jsonl", "run.v1.2_materialized_inputs.jsonl"],
            ["run.v1.2.jsonl"],
            {"rollouts": ["run.v1.2.jsonl"], "inputs": ["run.v1.2_materialized_inputs.jsonl"]},
        ),
        (
            ["run.json", "run_materialized_inputs.jsonl"],
            ["run.json"],
            {"rollouts": ["run.json"], "inputs": ["run_materialized_inputs.jsonl"]},
        ),
        (
            ["rollouts", "rollouts_materialized_inputs.jsonl"],
            ["rollouts"],
            {"rollouts": ["rollouts"], "inputs": ["rollouts_materialized_inputs.jsonl"]},
        ),
        (["run*", "run.jsonl.bak", "notes.txt", "deeper/run.jsonl"], ["."], WHOLE),
    ],
)
def test_found(there: list[str], named: list[str], found: dict[str, list[str]], tmp_path: Path) -> None:
    make(tmp_path, *there)
    want = {role: names for role, names in found.items() if names}
    assert names_of(find_run(in_folder(tmp_path, named)), tmp_path) == want


@pytest.mark.parametrize(
    "stem",
    [
        "run [1]",
        "a*b",
        "what?",
        "[a-z]",
        "größe 大小",
        "with 'quotes' \"too\"",
        "-dash",
        " blank ",
        ".hidden",
        "new\nline",
    ],
)
def test_names_of_any_kind(stem: str, tmp_path: Path) -> None:
    make(tmp_path, f"{stem}.jsonl", f"{stem}_materialized_inputs.jsonl")
    found = find_run([tmp_path / f"{stem}.jsonl"])
    assert names_of(found, tmp_path) == {
        "rollouts": [f"{stem}.jsonl"],
        "inputs": [f"{stem}_materialized_inputs.jsonl"],
    }
    assert names_of(find_run([tmp_path]), tmp_path) == names_of(found, tmp_path)


def test_an_existing_path_is_itself_and_no_pattern(tmp_path: Path) -> None:
    make(tmp_path, "run[12].jsonl", "run1.jsonl", "run2.jsonl")
    named = tmp_path / "run[12].jsonl"
    assert names_of(find_run(rollouts=[named], inputs_wanted=False), tmp_path) == {"rollouts": ["run[12].jsonl"]}
    named.unlink()
    found = find_run(rollouts=[named], inputs_wanted=False)
    assert names_of(found, tmp_path) == {"rollouts": ["run1.jsonl", "run2.jsonl"]}


@pytest.mark.parametrize("named", [".", "*", "*.jsonl*"])
def test_artifacts_are_never_taken_for_rollouts(named: str, tmp_path: Path) -> None:
    make(tmp_path, "run*", *(f"run{ending}" for ending in ARTIFACTS), "rollout_verdicts.jsonl")
    assert names_of(find_run([tmp_path / named]), tmp_path) == WHOLE


@pytest.mark.parametrize(
    "content",
    [INPUTS, b"", b"\n", b"no JSON\n", b"[]\n", b'{"text":"reward"}\n', b'{"nested":{"reward":1}}\n'],
)
def test_in_a_folder_only_what_starts_like_rollouts_is_taken(content: bytes, tmp_path: Path) -> None:
    make(tmp_path, "run*")
    (tmp_path / "dataset.jsonl").write_bytes(content)
    assert names_of(find_run([tmp_path]), tmp_path) == WHOLE


@pytest.mark.parametrize("first", [b'{"reward":0}', b'\n \n{"response":{}}', b'\xef\xbb\xbf{"a":1,"reward":null}'])
def test_what_rollouts_start_like(first: bytes, tmp_path: Path) -> None:
    (tmp_path / "anything.jsonl").write_bytes(first + b"\nno JSON\n")
    assert names_of(find_run([tmp_path], inputs_wanted=False), tmp_path) == {"rollouts": ["anything.jsonl"]}


@pytest.mark.parametrize(
    ("suffix", "pack", "compression"),
    [(".jsonl.gz", gz, "gz"), (".jsonl.zst", zst, "zst"), (".jsonl", gz, "gz")],
)
def test_compressed_files(suffix: str, pack: Pack, compression: str, tmp_path: Path) -> None:
    (tmp_path / f"run{suffix}").write_bytes(pack(ROLLOUTS))
    (tmp_path / f"run_materialized_inputs{suffix}").write_bytes(pack(INPUTS))
    found = find_run([tmp_path / f"run{suffix}"])
    sources = [*found.rollouts, *found.inputs]
    assert [source.path.name for source in sources] == [f"run{suffix}", f"run_materialized_inputs{suffix}"]
    assert {(source.compression, source.seekable) for source in sources} == {(compression, False)}


@pytest.mark.parametrize("suffix", PACKS)
@pytest.mark.parametrize("text", ["", "a" * 1000])
def test_compressed_rollouts_are_found_in_a_folder(suffix: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.jsonl.{suffix}"
    path.write_bytes(PACKS[suffix](jsonl([finished(reward=1, text=text)])))
    found = find_run([tmp_path], inputs_wanted=False)
    assert [source.path for source in found.rollouts] == [path]


def test_inputs_that_are_named_win_over_those_beside(tmp_path: Path) -> None:
    make(tmp_path, "run*", "plan.jsonl", "other_materialized_inputs.jsonl")
    found = find_run([tmp_path / "run.jsonl"], inputs=[tmp_path / "plan.jsonl"])
    assert names_of(found, tmp_path)["inputs"] == ["plan.jsonl"]
    found = find_run([tmp_path / "run.jsonl"], inputs=[tmp_path / "*_materialized_inputs.jsonl"])
    assert names_of(found, tmp_path)["inputs"] == ["other_materialized_inputs.jsonl", "run_materialized_inputs.jsonl"]


def test_rollouts_that_are_named_as_such_are_taken_whatever_they_are_called(tmp_path: Path) -> None:
    make(tmp_path, "run_failures.jsonl", "run_materialized_inputs.jsonl")
    named, inputs = [tmp_path / "run_failures.jsonl"], [tmp_path / "run_materialized_inputs.jsonl"]
    with pytest.raises(SourceError, match="is called like what lies beside rollouts"):
        find_run(rollouts=named, inputs=inputs)
    named[0].write_bytes(ROLLOUTS)
    found = find_run(rollouts=named, inputs=inputs)
    assert names_of(found, tmp_path)["rollouts"] == ["run_failures.jsonl"]


def test_each_file_is_taken_once(tmp_path: Path) -> None:
    make(tmp_path, "run*")
    (tmp_path / "link.jsonl").symlink_to("run.jsonl")
    named = ["run.jsonl", ".", "*.jsonl", "link.jsonl", "../" + tmp_path.name + "/run.jsonl"]
    assert names_of(find_run(in_folder(tmp_path, named)), tmp_path) == WHOLE


def test_a_file_named_again_keeps_its_place(tmp_path: Path) -> None:
    make(tmp_path, "a.jsonl", "b.jsonl")
    (tmp_path / "again.jsonl").symlink_to("a.jsonl")
    named = in_folder(tmp_path, ["a.jsonl", "b.jsonl", "again.jsonl"])
    assert names_of(find_run(named, inputs_wanted=False), tmp_path) == {"rollouts": ["a.jsonl", "b.jsonl"]}


def test_notes_say_what_was_found_by_name(tmp_path: Path) -> None:
    make(tmp_path, "run*")
    beside = [f"inputs: {tmp_path}/run_materialized_inputs.jsonl", f"failures: {tmp_path}/run_failures.jsonl"]
    assert list(find_run([tmp_path / "run.jsonl"]).notes) == beside
    assert sorted(find_run([tmp_path]).notes) == sorted([*beside, f"rollouts: {tmp_path}/run.jsonl"])


def test_notes_say_nothing_of_inputs_that_are_not_used(tmp_path: Path) -> None:
    make(tmp_path, "run*", "plan.jsonl")
    used = [f"failures: {tmp_path}/run_failures.jsonl", f"rollouts: {tmp_path}/run.jsonl"]
    assert sorted(find_run([tmp_path / "run*"], inputs=[tmp_path / "plan.jsonl"]).notes) == used
    assert sorted(find_run([tmp_path / "run*"], inputs_wanted=False).notes) == used


@pytest.mark.parametrize(
    ("named", "taken"),
    [
        (["*.jsonl"], ["run.jsonl"]),
        (["run_reward_profiling.jsonl", "run.jsonl"], ["run.jsonl"]),
        (["../{}/run_reward_profiling.jsonl", "."], ["run.jsonl"]),
        (["run_reward_profiling.jsonl"], ["run_reward_profiling.jsonl"]),
        (["run_reward_profiling.jsonl", "x/run.jsonl"], ["run_reward_profiling.jsonl", "x/run.jsonl"]),
    ],
)
def test_a_profile_is_left_out_where_its_own_rollouts_are_there(
    named: list[str], taken: list[str], tmp_path: Path
) -> None:
    make(tmp_path, "run*", "run_reward_profiling.jsonl", "x/run.jsonl")
    found = find_run([tmp_path / name.format(tmp_path.name) for name in named], inputs_needed=False, profiles=True)
    assert names_of(found, tmp_path)["rollouts"] == taken
    left = [note for note in found.notes if note.startswith("left out: ")]
    assert len(left) == (taken == ["run.jsonl"])
    assert all("run_reward_profiling.jsonl (a profile, whose rollouts are named too)" in note for note in left)


def test_folders_of_runs_are_told(tmp_path: Path) -> None:
    make(tmp_path, *(f"{run}/run*" for run in "dcba"), "e/run_materialized_inputs.jsonl", "f/deeper/run.jsonl")
    (tmp_path / "g").mkdir()
    with pytest.raises(SourceError, match="no rollouts found, but in its folders") as refused:
        find_run([tmp_path])
    assert (
        refused.value.hint
        == "Name one: " + ", ".join(str(tmp_path / run) for run in "abc") + ", …; or several as one run, with -o STEM."
    )
    with pytest.raises(SourceError, match="no rollouts found\n"):
        find_run([tmp_path / "g"])


def test_what_a_source_is(tmp_path: Path) -> None:
    make(tmp_path, "run.jsonl")
    path = tmp_path / "run.jsonl"
    os.utime(path, ns=(1, 123_456_789))
    source = open_source(str(path))
    assert (source.path, source.size, source.modified) == (path, len(ROLLOUTS), 123_456_789)
    assert source.seekable


@pytest.mark.parametrize(
    ("there", "named", "kind", "says"),
    [
        ([], [], UsageError, "no rollouts named"),
        ([], ["none.jsonl"], SourceError, "none.jsonl: no such file"),
        ([], ["none*.jsonl"], SourceError, "nothing matches"),
        ([], ["."], SourceError, "no rollouts found"),
        (["run_materialized_inputs.jsonl"], ["."], SourceError, "run_materialized_inputs.jsonl is something else"),
        (["run_reward_profiling.jsonl"], ["."], SourceError, "run_reward_profiling.jsonl is something else"),
        (["run_reward_profiling.jsonl"], ["run_reward_profiling.jsonl"], SourceError, "run_.*: is a profile"),
        (["run.jsonl"], ["."], SourceError, "looked for .*run_materialized_inputs.jsonl"),
        (["run.jsonl"], ["run.jsonl"], SourceError, "--rollouts-only"),
        (["run.jsonl", "other_materialized_inputs.jsonl"], ["run.jsonl"], SourceError, "no inputs file"),
    ],
)
def test_refusals(there: list[str], named: list[str], kind: type[RollprofError], says: str, tmp_path: Path) -> None:
    make(tmp_path, *there)
    with pytest.raises(kind, match=says):
        find_run(in_folder(tmp_path, named))


@pytest.mark.parametrize("role", ["rollouts", "inputs"])
def test_a_folder_in_the_place_of_a_file_is_refused(role: str, tmp_path: Path) -> None:
    make(tmp_path, "run*")
    named = {"rollouts": [tmp_path / "run.jsonl"], "inputs": [tmp_path / "run_materialized_inputs.jsonl"]}
    named[role] = [tmp_path]
    with pytest.raises(SourceError, match="is a folder"):
        find_run(rollouts=named["rollouts"], inputs=named["inputs"])


def test_a_link_to_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").symlink_to("nowhere")
    with pytest.raises(SourceError, match="no such file"):
        find_run([tmp_path / "run.jsonl"], inputs_wanted=False)
