"""`rollprof show`: lists of rollouts, one of them in full, the best beside the worst; and what it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import end_of, read_end, start
from tests.cli.run_files import assert_refused, write_run
from tests.cli.terminal import on_terminal
from tests.command import Finished, run_command
from tests.packing import PACKS
from tests.runs import Row, finished, jsonl, planned

STEERING = "\x1b[31mred\x9b2J"
CALL = {"type": "function_call", "name": "sum", "call_id": "c1", "arguments": '{"a": 1}', "prompt_token_ids": [5] * 99}


def rollout(task: int, index: int, *, reward: Any = 0.0, tokens: int = 10, say: str = "hello", **fields: Any) -> Row:
    items = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "let me see"}]},
        CALL,
        {"type": "function_call_output", "call_id": "c1", "output": "2"},
        {"type": "odd_call", "what": "thing"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": say}]},
    ]
    return {
        "responses_create_params": {"instructions": "be kind", "input": [{"role": "user", "content": f"task {task}"}]},
        "response": {"output": items, "usage": {"output_tokens": tokens}},
        "reward": reward,
        **fields,
        "_ng_task_index": task,
        "_ng_rollout_index": index,
    }


DONE = [
    rollout(0, 0, reward=0.0, tokens=70),
    rollout(0, 1, reward=1.0, tokens=50, say="first line\nsecond line"),
    rollout(0, 2, reward=1.0, tokens=30, extracted_answer="42"),
    rollout(0, 3, reward=0.0, tokens=90),
    rollout(0, 4, reward=0.5, tokens=99),
    rollout(1, 0, reward=1.0, tokens=10),
    rollout(-1, 0, reward=0.25, tokens=20, say=STEERING),
    rollout(-1, 7, reward=0.0, tokens=20, mask_sample=True),
]
PLAN = [planned(row["_ng_task_index"], row["_ng_rollout_index"]) for row in DONE]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_run(tmp_path, plan=PLAN, done=DONE)
    return tmp_path


def show(folder: Path, *words: str, run: str = "run.jsonl") -> str:
    done = run_command(["show", run, *words], folder)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def refused(folder: Path, *words: str, run: str = "run.jsonl") -> Finished:
    return run_command(["show", run, *words], folder)


def keys_of(listing: str) -> list[str]:
    return [line.split()[0] for line in listing.splitlines()[1:]]


def test_a_rollout_in_full(folder: Path) -> None:
    assert show(folder, "0:1") == (
        "rollout 0:1 · reward 1 · run.jsonl:2\n"
        "\n── request · instructions\n  be kind\n"
        "\n── request · user\n  task 0\n"
        "\n── response · reasoning\n  let me see\n"
        "\n── response · call sum (c1)\n  a: 1\n  prompt_token_ids: <99 numbers left out>\n"
        "\n── response · output of sum (c1)\n  2\n"
        "\n── response · odd_call\n  what: thing\n"
        "\n── response · assistant\n  first line\n  second line\n"
        "\n── verifier\n  reward: 1.0\n"
        "\n── usage\n  output_tokens: 50\n"
    )
    assert f"prompt_token_ids: {json.dumps([5] * 99)}\n" in show(folder, "0:1", "--full")


def test_the_line_as_it_stands(folder: Path) -> None:
    lines = (folder / "run.jsonl").read_text().splitlines(keepends=True)
    assert [show(folder, key, "--raw") for key in ("0:0", "0:4", "-1:7")] == [lines[0], lines[4], lines[7]]


@pytest.mark.parametrize("words", [["-1:0"], ["--raw", "-1:0"], ["--", "-1:0"], ["-1:0", "--field", "reward"]])
def test_a_negative_key(words: list[str], folder: Path) -> None:
    assert "0.25" in show(folder, *words)


def test_the_row_as_one_object(folder: Path) -> None:
    shown = show(folder, "0:2", "--json")
    assert shown.count("\n") == 1
    assert json.loads(shown) == DONE[2]


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ("reward", "1.0\n"),
        ("response.output.4.content.0.text", "first line\nsecond line\n"),
        ("response.output.-1.content.0", '{\n  "type": "output_text",\n  "text": "first line\\nsecond line"\n}\n'),
        ("response.output.1.prompt_token_ids", json.dumps([5] * 99, indent=2) + "\n"),
    ],
)
def test_a_field(field: str, shown: str, folder: Path) -> None:
    assert show(folder, "0:1", "--field", field) == shown


def test_a_text_field_as_json(folder: Path) -> None:
    shown = show(folder, "0:1", "--field", "response.output.4.content.0.text", "--json")
    assert shown == '"first line\\nsecond line"\n'


def test_a_field_that_is_not_there_is_told_with_those_that_are(folder: Path) -> None:
    assert_refused(refused(folder, "0:1", "--field", "response.outputs"), 2, "response has no outputs", "output, usage")


@pytest.mark.parametrize("way", [[], ["--full"], ["--field", "response.output"], ["--json"]], ids=str)
def test_nothing_in_a_rollout_steers_a_terminal(way: list[str], folder: Path) -> None:
    shown = show(folder, "-1:0", *way)
    assert "\\u001b[31mred\\u009b2J" in shown
    assert shown.replace("\n", "").isprintable()


def test_a_text_field_does_not_steer_a_terminal_either(folder: Path) -> None:
    shown = show(folder, "-1:0", "--field", "response.output.4.content.0.text")
    assert shown == "\\u001b[31mred\\u009b2J\n"


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_on_a_terminal_that_wants_it(env: dict[str, str], coloured: bool, folder: Path) -> None:
    on_it = on_terminal(["show", "run.jsonl", "0:1", "-q"], folder, env=env).stdout
    assert ("\x1b[1m" in on_it) == coloured
    assert on_it.replace("\x1b[1m", "").replace("\x1b[0m", "") == show(folder, "0:1")


@pytest.mark.parametrize("pack", PACKS)
def test_compressed_runs(pack: str, tmp_path: Path) -> None:
    path = write_run(tmp_path, plan=PLAN, done=DONE)
    packed = path.with_name(f"run.jsonl.{pack}")
    packed.write_bytes(PACKS[pack](path.read_bytes()))
    path.unlink()
    assert json.loads(show(tmp_path, "0:3", "--raw", run=packed.name)) == DONE[3]
    assert "second line" in show(tmp_path, "0:1", run=packed.name)
    assert "42" in show(tmp_path, run=packed.name)


def test_a_pipe(folder: Path) -> None:
    with read_end(jsonl(DONE)) as pipe:
        number = int(pipe.rpartition("/")[2])
        done = end_of(start(["show", "-r", pipe, "0:1", "--rollouts-only", "--raw"], folder, pass_fds=[number]))
    assert json.loads(done.stdout) == DONE[1], done.stderr


def test_a_reader_that_has_seen_enough(folder: Path) -> None:
    process = start(["show", "run.jsonl", "0:1"], folder)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    done = end_of(process)
    assert "Traceback" not in done.stderr
    assert done.exit_code in {0, 3}


def test_a_list(folder: Path) -> None:
    listing = show(folder)
    assert listing.splitlines()[0].split() == [
        *("key", "_agent", "reward", "output_tokens", "_truncated", "_verdict", "answer")
    ]
    assert keys_of(listing) == ["-1:0", "-1:7", "0:0", "0:1", "0:2", "0:3", "0:4", "1:0"]
    assert "first line second line" in listing
    assert "42" in listing
    assert "\x1b" not in listing


def test_a_list_is_short(tmp_path: Path) -> None:
    done = [rollout(0, index) for index in range(30)]
    write_run(tmp_path, plan=[planned(0, index) for index in range(30)], done=done)
    shown = run_command(["show", "run.jsonl"], tmp_path)
    assert len(keys_of(shown.stdout)) == 20
    assert "20 of 30 shown" in shown.stderr
    assert len(keys_of(show(tmp_path, "--limit", "3"))) == 3
    assert len(keys_of(show(tmp_path, "--limit", "0"))) == 30


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["0"], ["0:0", "0:1", "0:2", "0:3", "0:4"]),
        (["-1"], ["-1:0", "-1:7"]),
        (["--where", "reward < 1 and output_tokens > 80"], ["0:3", "0:4"]),
        (["--where", "_ng_task_index = 5"], []),
        (["--where", "\"_row.extracted_answer\" = '42'"], ["0:2"]),
        (["0", "--sort", "output_tokens"], ["0:2", "0:1", "0:0", "0:3", "0:4"]),
        (["0", "--sort", "-reward", "--limit", "2"], ["0:1", "0:2"]),
    ],
)
def test_which_rollouts_are_listed(words: list[str], keys: list[str], folder: Path) -> None:
    assert keys_of(show(folder, *words)) == keys


def test_a_list_as_json(folder: Path) -> None:
    rows = json.loads(show(folder, "0", "--json", "--sort", "-output_tokens", "--limit", "1"))
    about = {"key": "0:4", "_agent": "a", "reward": 0.5, "output_tokens": 99, "_truncated": False, "_verdict": None}
    assert rows == [about | {"answer": "hello"}]


def test_a_list_of_rollouts_without_rewards(tmp_path: Path) -> None:
    write_run(tmp_path, plan=[planned()], done=[{"_ng_task_index": 0, "_ng_rollout_index": 0}])
    assert keys_of(show(tmp_path)) == ["0:0"]
    assert show(tmp_path, "0:0") == "rollout 0:0 · run.jsonl:1\n"
    done = run_command(["show", "run.jsonl", "--contrast", "0"], tmp_path)
    assert (done.exit_code, done.stdout) == (0, "")


def titles(text: str) -> list[str]:
    return [" ".join(line.split()[:4]) for line in text.splitlines() if " · rollout " in line]


@pytest.mark.parametrize(
    ("words", "expected", "told"),
    [
        (["0"], ["best passing · rollout", "worst failing · rollout"], ""),
        (["1"], ["best passing · rollout"], "task 1 has no failing rollout"),
        (["-1"], ["worst failing · rollout"], "task -1 has no passing rollout"),
        (
            ["-1", "--threshold", "0.2"],
            ["best passing · rollout"],
            "has no failing rollout (a rollout passes if reward >= 0.2)",
        ),
    ],
)
def test_contrast(words: list[str], expected: list[str], told: str, folder: Path) -> None:
    done = run_command(["show", "run.jsonl", "--contrast", *words], folder)
    assert done.exit_code == 0, done.stderr
    assert titles(done.stdout) == expected
    assert told in done.stderr


def test_contrast_by_another_score(folder: Path) -> None:
    shown = json.loads(show(folder, "--contrast", "0", "--json", "--score", "output_tokens", "--pass-threshold", "60"))
    assert shown == {"passing": DONE[4], "failing": DONE[2]}
    (folder / "rollprof.yaml").write_text("pass_threshold: 0.5\n")
    assert json.loads(show(folder, "--contrast", "-1", "--json")) == {"passing": None, "failing": DONE[6]}
    assert json.loads(show(folder, "--contrast", "0", "--json"))["failing"] == DONE[3]
    done = refused(folder, "--contrast", "0", "-o", "rollprof.yaml", "-f", "json")
    assert_refused(done, 2, "would overwrite")


def test_contrast_takes_the_shortest_pass_and_the_longest_failure(folder: Path) -> None:
    shown = json.loads(show(folder, "--contrast", "0", "--json"))
    assert shown == {"passing": DONE[2], "failing": DONE[3]}
    assert json.loads(show(folder, "--contrast", "1", "--json")) == {"passing": DONE[5], "failing": None}


def test_contrast_without_token_counts(tmp_path: Path) -> None:
    done = [{"_ng_task_index": 0, "_ng_rollout_index": index, "reward": index % 2} for index in range(4)]
    write_run(tmp_path, plan=[planned(0, index) for index in range(4)], done=done)
    assert json.loads(show(tmp_path, "--contrast", "0", "--json")) == {"passing": done[1], "failing": done[0]}


def test_a_file_for_the_output(folder: Path) -> None:
    text = show(folder, "0:1")
    assert show(folder, "0:1", "-o", "out/one.txt") == ""
    assert (folder / "out/one.txt").read_text() == text
    show(folder, "0:1", "-o", "one.json")
    assert json.loads((folder / "one.json").read_text()) == DONE[1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["5:0"], ["no task 5", "3 tasks: -1 to 1"]),
        (["5"], ["no task 5"]),
        (["0:9"], ["no rollout 0:9", "5 rollouts of task 0: 0 to 4"]),
        (["-1:1"], ["no rollout -1:1", "0, 7"]),
        (["99999999999999999999999:0"], ["no task 99999999999999999999999 "]),
        (["0:99999999999999999999999"], ["no rollout 0:99999999999999999999999 "]),
        (["--contrast", "7"], ["no task 7"]),
        (["--contrast", "0", "0:1"], ["--contrast"]),
        (["--contrast", "x"], ["--contrast"]),
        (["--contrast", "0", "--score", "absent"], ["there is no column 'absent'"]),
        (["--contrast", "0", "--threshold", "nan"], ["'nan' is no threshold"]),
        (["0", "--score", "reward"], ["--contrast and --against"]),
        (["--raw"], ["--raw is for one rollout"]),
        (["0", "--field", "reward"], ["--field is for one rollout"]),
        (["--full"], ["--full is for one rollout"]),
        (["0:1", "--raw", "--full"], ["--raw"]),
        (["0:1", "--where", "reward < 1"], ["--where"]),
        (["0:1", "--limit", "1"], ["--limit"]),
        (["0:1", "-f", "csv"], ["csv is for lists"]),
        (["--sort", "nonsense"], ["nonsense", "output_tokens"]),
        (["--where", "nonsense > 1"], ["nonsense", "output_tokens"]),
        (["--where", "_row.extracted_answer = '42'"], ['Double quotes belong around "_row.extracted_answer".']),
        (["--where", "reward <"], ["--where"]),
        (["--where", "reward"], ["--where", "neither true nor false"]),
        (["--where", ""], ["--where"]),
        (["--where", "* "], ["--where"]),
        (["--where", "reward < 'x'"], ["--where"]),
        (["--nonsense"], ["--nonsense"]),
        (["0:1", "-x"], ["-x"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes(words: list[str], told: list[str], folder: Path) -> None:
    assert_refused(refused(folder, *words), 2, *told)


def test_a_run_is_needed(tmp_path: Path) -> None:
    assert_refused(run_command(["show", "0:1"], tmp_path), 2, "no rollouts named")
    assert_refused(run_command(["show", "absent.jsonl", "0:1"], tmp_path), 3, "absent.jsonl")


def test_a_file_that_is_called_like_a_key(tmp_path: Path) -> None:
    write_run(tmp_path, "12", plan=PLAN, done=DONE)
    (tmp_path / "12.jsonl").rename(tmp_path / "12")
    assert "hello" in show(tmp_path, run="12")
    assert "task 0" in show(tmp_path, "0:1", run="12")


def test_a_mistake_for_programs(folder: Path) -> None:
    done = refused(folder, "5:0", "--json")
    assert (done.exit_code, json.loads(done.stdout)["kind"]) == (2, "usage")


def deep(levels: int) -> bytes:
    return b'{"_ng_task_index":0,"_ng_rollout_index":0,"x":' + b"[" * levels + b"]" * levels + b"}\n"


def test_a_row_that_is_nested_deep(tmp_path: Path) -> None:
    write_run(tmp_path, plan=[planned()], done=deep(1000))
    assert_refused(refused(tmp_path, "0:0"), 3, "nested deeper", "--raw")
    assert show(tmp_path, "0:0", "--raw").encode() == deep(1000)


def exported(folder: Path) -> None:
    done = run_command(["export", "run.jsonl", "-o", "run.parquet", "-q"], folder)
    assert done.exit_code == 0, done.stderr


def test_an_export_finds_its_dump(folder: Path) -> None:
    exported(folder)
    assert json.loads(show(folder, "0:1", "--raw", run="run.parquet")) == DONE[1]
    assert "second line" in show(folder, "0", run="run.parquet")
    assert "second line" in show(folder.parent, "0:1", run=f"{folder.name}/run.parquet")


def test_an_export_without_its_dump(folder: Path) -> None:
    exported(folder)
    (folder / "run.jsonl").unlink()
    assert_refused(refused(folder, "0:1", run="run.parquet"), 3, "is not there", "export")
    listed = run_command(["show", "run.parquet"], folder)
    assert len(keys_of(listed.stdout)) == len(DONE)
    assert "without answers: " in listed.stderr


def test_a_dump_that_was_edited_after_its_export(folder: Path) -> None:
    exported(folder)
    (folder / "run.jsonl").write_bytes(jsonl([DONE[0] | {"more": 1}, *DONE[1:]]))
    for words in (["0:0"], ["0:1", "--raw"]):
        assert_refused(refused(folder, *words, run="run.parquet"), 3, "changed since it was exported")


def test_another_dump_of_the_same_name_is_not_taken(folder: Path) -> None:
    exported(folder)
    other = folder / "other"
    other.mkdir()
    (other / "run.jsonl").write_bytes((folder / "run.jsonl").read_bytes().replace(b"second line", b"another one"))
    assert "second line" in show(other, "0:1", run="../run.parquet")


def test_a_kept_run_is_read_again_when_it_is_edited(folder: Path) -> None:
    padding = "x" * 2_000_000
    path = write_run(folder, plan=PLAN, done=[row | {"padding": padding} for row in DONE])
    first = show(folder, "0:1")
    assert show(folder, "0:1") == first
    path.write_bytes(jsonl([row | {"padding": padding, "note": "edited"} for row in DONE]))
    assert '  note: "edited"\n' in show(folder, "0:1")


def test_a_rollout_of_a_run_that_breaks_the_contract(tmp_path: Path) -> None:
    rows = [finished(0, 0, reward=1), finished(0, 0, reward=0), finished(7, 1)]
    (tmp_path / "r.jsonl").write_bytes(jsonl(rows) + b"{broken\n")
    done = run_command(["show", "r.jsonl", "0:0", "--field", "reward"], tmp_path)
    assert (done.exit_code, done.stdout) == (0, "1\n")
    assert "2 rollouts share this key (r.jsonl:1, r.jsonl:2)" in done.stderr
    assert run_command(["show", "r.jsonl"], tmp_path).exit_code == 3
