"""A sample is the text of its input row; a source that was changed meanwhile is refused."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.alignment import align
from pipeline.errors import Exit, FaultsError, SourceError
from pipeline.frames.inputs import inputs_of_rollouts, scan_inputs
from pipeline.frames.lazy import collect
from pipeline.frames.rollouts import scan_rollouts
from pipeline.options import ProfileOptions
from pipeline.output import profile_files as written_files
from pipeline.output.jsonl import agent_entries
from pipeline.output.profile_files import Written, write_profile
from pipeline.output.samples import Samples, sample_of_input
from pipeline.sources.files import Source, open_source
from tests.cli.run_files import OLD, OUTPUTS
from tests.packing import ALL_PACKS, Pack
from tests.runs import Profile, finished, jsonl, planned, profile_files, profile_sources, profiled, sources_of

SAMPLE = re.compile(r'"sample":(.*),"num_rollouts":', re.DOTALL)
TEXTS = [
    '"a":0.10,"b":1e-7,"c":12345678901234567890,"d":-0.0,"e":1E+2,"f":1e400',
    '"z":1, "a" : [ 1 , 2 ] ,\t"m":{"b":1,"a":2}',
    '"t":"\\u00e9\\/\\ud83d\\ude00\\ud800","u":"é\u2028\U0001f600"',
    '"a":1,"a":2',
    '"":"","_hidden":[],"sample":{"sample":1},"num_rollouts":7',
    '"deep":' + "[" * 999 + "]" * 999,
    '"nested":{"_ng_task_index":1,"_ng_rollout_index":2}',
    '"t":"NaN, Infinity","u":"\\"_ng_task_index\\":1"',
    '"q":"a,b\\"c;d","r":"\'"',
]  # fmt: skip

TWICE = [
    '{"_ng_task_index":5,"_ng_rollout_index":0,"x":COMPANY,"_ng_task_index":0}',
    '{"_ng_rollout_index":7,"_ng_task_index":0,"x":COMPANY,"_ng_rollout_index":0}',
    '{"_ng_task_index":5,"x":COMPANY,"_ng_task_index":0,"_ng_rollout_index":0}',
    '{"_ng_rollout_index":7,"x":COMPANY,"_ng_task_index":0,"_ng_rollout_index":0}',
    '{"_ng_task_index":5,"_ng_rollout_index":0,"x":COMPANY,"_ng\\u005ftask_index":0}',
]
BOM, ROW = b"\xef\xbb\xbf", jsonl([planned(text="{}")])


def row_texts(member: str, task: int = 0, rollout: int = 0) -> list[str]:
    """Rows with this text and their indices, each in another place."""
    first, second = f'"_ng_task_index":{task}', f'"_ng_rollout_index":{rollout}'
    return [
        "{" + f"{first},{second},{member}" + "}",
        "{" + f"{member},{first},{second}" + "}",
        "{" + f"{first},{member},{second}" + "}",
        "{ " + f"{second} , {first} , {member}" + " }",
        "{" + f"{member}, {second}, {first}" + "}",
        "{" + f"{first}.0,{second}e0,{member}" + "}",
        "{" + f'"_ng_task_index":"x",{first},{second},{member}' + "}",
        "{" + f'{member},"_ng\\u005ftask_index":{task},{second}' + "}",
    ]


def samples_in(content: bytes) -> list[str]:
    """The text of the sample of each profile row."""
    found = [SAMPLE.search(line) for line in content.decode().split("\n") if line]
    return [match[1] for match in found if match]


def inside(samples: list[str]) -> list[str]:
    """The text between the braces of each sample."""
    assert {sample.strip(" \t\r")[0] + sample[-1] for sample in samples} <= {"{}"}
    return [sample.strip(" \t\r")[1:-1].strip(" \t\r") for sample in samples]


@pytest.mark.parametrize("member", TEXTS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_text_of_a_row_stays_as_it_is(member: str, end: str, tmp_path: Path) -> None:
    rows = [row_texts(member, task)[task] for task in range(8)]
    content = end.join(rows).encode()
    profile = profiled(tmp_path, content, [finished(task, reward=1) for task in range(8)])
    assert inside(samples_in(profile.contents[0])) == [member] * 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("samples")


MEMBERS = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4, unique=True).map(",".join)


@settings(deadline=None, max_examples=25)
@given(members=st.lists(MEMBERS, min_size=1, max_size=5), data=st.data())
def test_rows_of_any_text_side_by_side(folder: Path, members: list[str], data: st.DataObject) -> None:
    rows = [data.draw(st.sampled_from(row_texts(member, task))) for task, member in enumerate(members)]
    spaces = [data.draw(st.sampled_from(["", " ", "\t", "\r"])) for _ in rows]
    order = data.draw(st.permutations(range(len(rows))))
    content = "".join(f"{spaces[task]}{rows[task]}{spaces[-task]}\n" for task in order)
    profile = profiled(folder, content.encode(), [finished(task, reward=1) for task in order])
    assert inside(samples_in(profile.contents[0])) == members


@pytest.mark.parametrize(
    ("member", "kept", "nulls"),
    [
        ('"a":NaN,"b":[Infinity, -Infinity]', '"a":null,"b":[null, null]', 3),
        ('"a":"NaN","NaN":NaN', '"a":"NaN","NaN":null', 1),
        ('"a":"NaN"', '"a":"NaN"', 0),
    ],
)
def test_only_what_is_no_json_becomes_null(member: str, kept: str, nulls: int, tmp_path: Path) -> None:
    content = ("{" + f'"_ng_task_index":0,"_ng_rollout_index":0,{member}' + "}\n").encode()
    written = write(tmp_path, sources_of(tmp_path, "inputs", [content]))
    assert samples_in(written.paths[0].read_bytes()) == ["{" + kept + "}"]
    assert written.nulls == nulls


def write(folder: Path, inputs: list[Source], before_writing: Callable[[], object] = lambda: None) -> Written:
    """Profiles one rollout of task 0; something may happen between reading and writing."""
    rollouts = sources_of(folder, "rollouts", [[finished(0, reward=1)]])
    frame = collect(align(scan_inputs(inputs), scan_rollouts(rollouts)).frame)
    before_writing()
    return write_profile(frame.lazy(), folder / "out", sources=inputs)


@pytest.mark.parametrize("pack", ALL_PACKS.values(), ids=ALL_PACKS)
def test_samples_come_from_anywhere_in_a_compressed_file(pack: Pack, tmp_path: Path) -> None:
    plan, rollouts = tmp_path / "plan", tmp_path / "rollouts"
    plan.write_bytes(pack(jsonl([planned(task, text="a" * 1000, number=task) for task in range(20)])))
    rollouts.write_bytes(jsonl([finished(task, reward=1) for task in range(20)]))
    profile = profile_sources(tmp_path, [open_source(plan)], [open_source(rollouts)])
    assert isinstance(profile, Profile)
    assert [row["sample"]["number"] for row in profile.tasks] == list(range(20))


def test_inputs_that_are_written_over_while_samples_are_fetched(tmp_path: Path) -> None:
    path = tmp_path / "plan"
    path.write_bytes(jsonl([planned(text="old")]))
    wanted = pl.DataFrame({"_ng_task_index": [0], "_input_source": [str(path)], "_input_line": [1]})
    os.utime(path, (1, 1))
    place = wanted.with_columns(_input_offset=pl.lit(0), _input_length=pl.lit(path.stat().st_size - 1))
    with (
        pytest.raises(SourceError, match="was changed while it was being profiled"),
        Samples(place, [open_source(path)], sample_of_input) as samples,
    ):
        path.write_bytes(jsonl([planned(text="new")]))
        assert "new" in samples.texts(place)[0]


def test_inputs_that_are_written_over_at_the_last_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, rollouts = tmp_path / "plan", tmp_path / "rollouts"
    plan.write_bytes(jsonl([planned(text="old")]))
    rollouts.write_bytes(jsonl([finished(reward=1)]))
    old = [tmp_path / f"out{ending}" for ending in OUTPUTS]
    for path in old:
        path.write_bytes(OLD)

    def entries(agents: pl.DataFrame, repeats: pl.DataFrame) -> list[dict[str, object]]:
        plan.write_bytes(jsonl([planned(text="new")]))
        os.utime(plan, (1, 1))
        return agent_entries(agents, repeats)

    monkeypatch.setattr(written_files, "agent_entries", entries)
    inputs = [open_source(plan)]
    frame = align(scan_inputs(inputs), scan_rollouts(rollouts)).frame
    with pytest.raises(SourceError, match="was changed while it was being profiled"):
        write_profile(frame, tmp_path / "out", sources=inputs)
    assert [path.read_bytes() for path in old] == [OLD] * 3
    assert len(list(tmp_path.iterdir())) == 5


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    found = profile_files(tmp_path, [ROW.replace(b"{}", b"\xed\xa0\x80")], [[finished(reward=1)]])
    assert isinstance(found, FaultsError)
    assert found.exit_code == Exit.UNREADABLE


@pytest.mark.parametrize("content", [BOM + ROW, BOM * 2 + ROW, b"\n" + BOM + ROW, b"\n " + BOM + ROW])
def test_a_byte_order_mark_is_in_no_sample(content: bytes, tmp_path: Path) -> None:
    found = profile_files(tmp_path, [content], [[finished(reward=1)]])
    assert isinstance(found, FaultsError) or [row["sample"]["text"] for row in found.tasks] == ["{}"]


@pytest.mark.parametrize("company", ["1", "NaN", "1e400", '"\\ud800"', "1" * 400])
@pytest.mark.parametrize("row", TWICE)
def test_an_index_that_is_there_twice_is_in_no_sample(row: str, company: str, tmp_path: Path) -> None:
    content = row.replace("COMPANY", company).encode() + b"\n"
    profile = profiled(tmp_path, content, [finished(reward=1)])
    assert list(profile.tasks[0]["sample"]) == ["x"]


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(jsonl([planned(9)]))


def replaced(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"x"', b'"y"'))
    os.utime(path, ns=(0, 0))


def shortened(path: Path) -> None:
    about = path.stat()
    path.write_bytes(path.read_bytes()[:-10])
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def moved_within(path: Path) -> None:
    about = path.stat()
    path.write_bytes(b" " + path.read_bytes()[:-1])
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def other_tasks(path: Path) -> None:
    about = path.stat()
    path.write_bytes(path.read_bytes().replace(b'_index": 0', b'_index": 7'))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


@pytest.mark.parametrize("change", [replaced, shortened, moved_within, other_tasks, Path.unlink, appended])
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_source_that_was_changed_is_refused(
    change: Callable[[Path], None], old: bytes | None, tmp_path: Path
) -> None:
    inputs = sources_of(tmp_path, "inputs", [[planned(0, x=1)]])
    tasks = tmp_path / "out_reward_profiling.jsonl"
    if old is not None:
        tasks.write_bytes(old)
    with pytest.raises(SourceError) as refusal:
        write(tmp_path, inputs, lambda: change(inputs[0].path))
    assert str(inputs[0].path) in refusal.value.where
    assert (tasks.read_bytes() if tasks.exists() else None) == old
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


def test_without_inputs_a_sample_says_what_was_asked_and_of_whom(tmp_path: Path) -> None:
    asked = {"responses_create_params": {"input": "?"}, "agent_ref": {"name": "a"}, "_ng_environment_server": "s"}
    rows = [{"reward": 1, **asked, **finished(task, other=1)} for task in range(2)]
    sources = sources_of(tmp_path, "rollouts", [rows])
    options = ProfileOptions(rollouts_only=True)
    rollouts = scan_rollouts(sources, options)
    frame = align(inputs_of_rollouts(rollouts), rollouts, options).frame
    written = write_profile(frame, tmp_path / "out", rollouts_only=True, sources=sources)
    samples = samples_in(written.paths[0].read_bytes())
    assert [json.loads(sample) for sample in samples] == [asked] * 2
    assert [list(json.loads(sample)) for sample in samples] == [list(asked)] * 2
