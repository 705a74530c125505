"""The checked-in samples are what their script writes, and have what their README promises."""

import gzip
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from math import isinf, isnan
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]
Key = tuple[int, int]

SAMPLES = Path(__file__).parents[2] / "sample_data"
README = " ".join((SAMPLES / "README.md").read_text(encoding="utf-8").split())
FILES = [
    "candidate/rollouts.jsonl",
    "candidate/rollouts_begun_with.json",
    "candidate/rollouts_failures.jsonl",
    "candidate/rollouts_materialized_inputs.jsonl",
    "complete/rollouts.jsonl",
    "complete/rollouts_begun_with.json",
    "complete/rollouts_materialized_inputs.jsonl",
    "demo/arithmetic.jsonl",
    "nasty/rollouts.jsonl",
    "nasty/rollouts_materialized_inputs.jsonl",
    "partial/rollouts.jsonl",
    "partial/rollouts_failures.jsonl",
    "partial/rollouts_materialized_inputs.jsonl",
    "sharded/shard0.jsonl",
    "sharded/shard0_materialized_inputs.jsonl",
    "sharded/shard1.jsonl",
    "sharded/shard1_materialized_inputs.jsonl",
    "sharded/shard2.jsonl.gz",
    "sharded/shard2_materialized_inputs.jsonl",
]
GZIP_HEADER_BYTES = 10


def lines_of(name: str) -> list[bytes]:
    data = (SAMPLES / name).read_bytes()
    return (gzip.decompress(data) if name.endswith(".gz") else data).splitlines(keepends=True)


def rows_of(name: str) -> list[Row]:
    return [json.loads(line) for line in lines_of(name)]


def key_of(row: Row) -> Key:
    return row["_ng_task_index"], row["_ng_rollout_index"]


def keys_of(rows: Iterable[Row]) -> set[Key]:
    return {key_of(row) for row in rows}


def agents_of_tasks(rows: Iterable[Row]) -> dict[int, str]:
    return {row["_ng_task_index"]: row["agent_ref"]["name"] for row in rows}


def write_samples(out: Path) -> dict[str, bytes]:
    subprocess.run([sys.executable, str(SAMPLES / "make_samples.py"), "--out", str(out)], check=True)
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return write_samples(tmp_path_factory.mktemp("samples"))


def test_the_script_writes_these_files(written: dict[str, bytes]) -> None:
    assert sorted(written) == FILES


@pytest.mark.parametrize("name", FILES)
def test_the_script_writes_the_checked_in_bytes(written: dict[str, bytes], name: str) -> None:
    made, kept = written[name], (SAMPLES / name).read_bytes()
    if name.endswith(".gz"):
        # The packed bytes depend on the build of zlib, the header and the text do not.
        assert made[:GZIP_HEADER_BYTES] == kept[:GZIP_HEADER_BYTES]
        made, kept = gzip.decompress(made), gzip.decompress(kept)
    assert made == kept


def test_a_second_run_writes_the_same_bytes(written: dict[str, bytes], tmp_path: Path) -> None:
    assert write_samples(tmp_path) == written


def test_the_samples_are_small() -> None:
    assert sum((SAMPLES / name).stat().st_size for name in FILES) < 1_500_000


@pytest.mark.parametrize(
    "command",
    [
        "sample_data/complete",
        "sample_data/candidate --partial",
        "sample_data/partial --partial",
        "sample_data/sharded/shard*.jsonl* --output-dir out -o run",
        "sample_data/nasty --partial",
    ],
)
def test_the_readme_has_the_command(command: str) -> None:
    assert f".venv/bin/rollprof profile {command} ```" in README


@pytest.mark.parametrize("name", [name for name in FILES if "_materialized_inputs" in name])
def test_inputs_rows_name_their_agent_and_end_with_indices(name: str) -> None:
    rows = rows_of(name)
    assert all(list(row)[-2:] == ["_ng_task_index", "_ng_rollout_index"] for row in rows)
    assert sum("agent_ref" not in row for row in rows) == (1 if name.startswith("nasty/") else 0)


class TestComplete:
    inputs = rows_of("complete/rollouts_materialized_inputs.jsonl")
    rollouts = rows_of("complete/rollouts.jsonl")

    def test_every_planned_rollout_finished_once(self) -> None:
        keys = [key_of(row) for row in self.rollouts]
        tasks, repeats = len({task for task, _ in keys}), len({repeat for _, repeat in keys})
        assert len(set(keys)) == len(keys) == tasks * repeats
        assert set(keys) == keys_of(self.inputs)
        assert keys == [key_of(row) for row in self.inputs]
        assert f"{tasks} tasks with {repeats} repeats each, all {len(keys)} rollouts finished" in README

    def test_two_agents_with_their_own_tasks(self) -> None:
        tasks = Counter(agents_of_tasks(self.inputs).values())
        assert agents_of_tasks(self.rollouts) == agents_of_tasks(self.inputs)
        assert f"{tasks['math_agent']} tasks of `math_agent`" in README
        assert f"and {tasks['choice_agent']} of `choice_agent`" in README

    def test_pass_rates_spread_from_none_to_all(self) -> None:
        passes: dict[int, int] = defaultdict(int)
        for row in self.rollouts:
            passes[row["_ng_task_index"]] += row["reward"] == 1.0
        spread = Counter(passes.values())
        assert set(spread) == set(range(9))
        assert f"{spread[0]} tasks never pass, {spread[8]} always do" in README

    def test_truncated_and_unboxed(self) -> None:
        truncated = [row for row in self.rollouts if row["response"]["status"] == "incomplete"]
        assert all(row["extracted_answer"] is None and row["reward"] == 0.0 for row in truncated)
        unrewarded = sum(row.get("correct", False) and not row["boxed"] for row in self.rollouts)
        assert f"{len(truncated)} responses are truncated, and {unrewarded} answers are right" in README

    def test_lengths_depend_on_difficulty_and_on_being_right(self) -> None:
        difficulty = {row["_ng_task_index"]: row["difficulty"] for row in self.inputs}
        lengths: dict[object, list[int]] = defaultdict(list)
        for row in self.rollouts:
            for group in (difficulty[row["_ng_task_index"]], row["reward"]):
                lengths[group].append(row["response"]["usage"]["output_tokens"])
        mean = {group: sum(values) / len(values) for group, values in lengths.items()}
        assert mean["easy"] < mean["medium"] < mean["hard"]
        assert mean[1.0] < mean[0.0]

    def test_fields_agree_with_each_other(self) -> None:
        for row in self.rollouts:
            used = row["response"]["usage"]
            assert used["input_tokens"] + used["output_tokens"] == used["total_tokens"]
            correct = row["extracted_answer"] == row["expected_answer"]
            assert row.get("correct", correct) is correct
            assert row["reward"] == float(correct and row.get("boxed", True))
            assert ("boxed" in row) == (row["agent_ref"]["name"] == "math_agent")

    def test_what_is_planned_is_the_demos_dataset(self) -> None:
        planned = [row for row in self.inputs if row["_ng_rollout_index"] == 0]
        without = [{name: row[name] for name in row if not name.startswith("_ng_")} for row in planned]
        assert without == rows_of("demo/arithmetic.jsonl")


class TestCandidate:
    inputs = rows_of("candidate/rollouts_materialized_inputs.jsonl")
    rollouts = rows_of("candidate/rollouts.jsonl")
    failures = rows_of("candidate/rollouts_failures.jsonl")

    def test_its_tasks_are_those_of_the_complete_run_under_other_numbers(self) -> None:
        prompts = {json.dumps(row["responses_create_params"]["input"]): key_of(row)[0] for row in TestComplete.inputs}
        numbers = {
            (key_of(row)[0], prompts[json.dumps(row["responses_create_params"]["input"])]) for row in self.inputs
        }
        assert all(mine != theirs for mine, theirs in numbers)
        tasks, repeats = len(numbers), len({key_of(row)[1] for row in self.inputs})
        assert f"{tasks} of the tasks of the complete run, numbered anew, with {repeats} repeats each" in README
        assert f"{len(self.rollouts)} of {len(self.inputs)} planned rollouts finished" in README

    def test_what_it_lost_failed_three_times(self) -> None:
        lost = keys_of(self.inputs) - keys_of(self.rollouts)
        assert Counter(map(key_of, self.failures)) == dict.fromkeys(lost, 3)

    def test_its_answers_are_shorter(self) -> None:
        truncated = [row for row in self.rollouts if row["response"]["status"] == "incomplete"]
        assert all(row["response"]["usage"]["output_tokens"] <= 120 for row in self.rollouts)
        assert f"{len(truncated)} responses are cut at 120 tokens" in README


class TestPartial:
    inputs = rows_of("partial/rollouts_materialized_inputs.jsonl")
    rollouts = rows_of("partial/rollouts.jsonl")
    failures = rows_of("partial/rollouts_failures.jsonl")

    def test_some_tasks_are_whole_some_half_some_missing(self) -> None:
        planned, finished = keys_of(self.inputs), keys_of(self.rollouts)
        assert finished < planned
        assert f"of {len(planned)} planned rollouts {len(finished)} finished" in README
        per_task = Counter(task for task, _ in finished)
        tasks = Counter(per_task[task] for task in {task for task, _ in planned})
        assert f"{tasks[8]} tasks are whole, {tasks[4]} are half done and {tasks[0]} have no rollout" in README

    def test_fates(self) -> None:
        planned, finished, failed = keys_of(self.inputs), keys_of(self.rollouts), keys_of(self.failures)
        assert failed < planned
        unknown = planned - finished - failed
        under_way = {task for task, _ in finished}
        lost = sum(task in under_way for task, _ in unknown)
        assert f"holds {len(self.failures)} failed attempts" in README
        assert f"{len(failed & finished)} rollouts were retried to success" in README
        assert f"{len(failed - finished)} failed for good" in README
        assert f"{len(unknown)} are neither finished nor failed ({lost} of them lost" in README

    def test_attempts_are_numbered_from_zero(self) -> None:
        attempts: dict[Key, list[int]] = defaultdict(list)
        for row in [*self.failures, *self.rollouts]:
            attempts[key_of(row)].append(row.get("_ng_attempt_index", 0))
        assert all(numbers == list(range(len(numbers))) for numbers in attempts.values())

    def test_failure_lines(self) -> None:
        classes = {row["_ng_failure_class"] for row in self.failures}
        assert classes == {"http_error", "judge_failed", "timeout_exceeded"}
        terminal = [row.get("_ng_failure_terminal") for row in self.failures]
        assert set(terminal) == {True, None}
        for row in self.failures:
            assert {"_ng_failure_type", "_ng_failure_message", "_ng_attempt_index", "agent_ref"} <= set(row)


class TestSharded:
    inputs = tuple(lines_of(f"sharded/shard{shard}_materialized_inputs.jsonl") for shard in range(3))
    rollouts = tuple(rows_of(f"sharded/{name}") for name in ("shard0.jsonl", "shard1.jsonl", "shard2.jsonl.gz"))

    def test_the_shards_make_one_run(self) -> None:
        keys = [key_of(row) for shard in self.rollouts for row in shard]
        tasks, repeats = len({task for task, _ in keys}), len({repeat for _, repeat in keys})
        assert len(set(keys)) == len(keys) == tasks * repeats
        assert set(keys) == keys_of(json.loads(line) for shard in self.inputs for line in shard)
        assert f"{tasks} tasks with {repeats} repeats each, as three jobs of two repeats" in README

    def test_each_job_has_two_repeats(self) -> None:
        repeats = [{row["_ng_rollout_index"] for row in shard} for shard in self.rollouts]
        assert repeats == [{0, 1}, {2, 3}, {4, 5}]

    def test_one_inputs_row_is_in_two_files(self) -> None:
        copies = Counter(line for shard in self.inputs for line in shard)
        (shared,) = (line for line, count in copies.items() if count > 1)
        assert key_of(json.loads(shared)) == (0, 0)
        assert [shared in shard for shard in self.inputs] == [True, True, False]

    def test_the_last_shard_is_gzip_without_a_time(self) -> None:
        header = (SAMPLES / "sharded/shard2.jsonl.gz").read_bytes()[:GZIP_HEADER_BYTES]
        assert header[:2] == b"\x1f\x8b"
        assert header[4:8] == bytes(4)


class TestDemo:
    rows = rows_of("demo/arithmetic.jsonl")

    def test_two_agents_with_their_own_tasks(self) -> None:
        tasks = Counter(row["agent_ref"]["name"] for row in self.rows)
        assert f"{tasks['math_agent']} word problems for `math_agent`" in README
        assert f"{tasks['choice_agent']} questions of multiple choice for `choice_agent`" in README

    def test_no_task_is_there_twice(self) -> None:
        assert len({row["uuid"] for row in self.rows}) == len(self.rows)
        assert len({json.dumps(row["responses_create_params"]) for row in self.rows}) == len(self.rows)

    def test_difficulties_and_domains_vary(self) -> None:
        assert set(Counter(row["difficulty"] for row in self.rows)) == {"easy", "medium", "hard"}
        assert len({row["domain"] for row in self.rows}) > 5

    def test_options_hold_the_one_right_answer(self) -> None:
        for row in self.rows:
            if "options" in row:
                letters = [letter for option in row["options"] for letter in option]
                texts = [text for option in row["options"] for text in option.values()]
                assert letters == list("ABCD")
                assert len(set(texts)) == 4
                assert row["expected_answer"] in letters

    def test_largest_fractions_are_the_largest(self) -> None:
        for row in self.rows:
            if row["domain"] == "fractions":
                options = {letter: Fraction(text) for option in row["options"] for letter, text in option.items()}
                assert max(options, key=options.__getitem__) == row["expected_answer"]


def own_total(row: Row) -> bool:
    return "total_tokens" in row


def other_total(row: Row) -> bool:
    return own_total(row) and row["total_tokens"] != row["response"]["usage"]["total_tokens"]


class TestNasty:
    inputs = rows_of("nasty/rollouts_materialized_inputs.jsonl")
    lines = lines_of("nasty/rollouts.jsonl")
    rollouts = tuple(json.loads(line) for line in lines[:-1] if line.strip())

    def test_the_last_line_is_torn(self) -> None:
        assert not self.lines[-1].endswith(b"\n")
        with pytest.raises(json.JSONDecodeError):
            json.loads(self.lines[-1])
        assert len(keys_of(self.inputs) - keys_of(self.rollouts)) == 1
        assert f"{len(self.inputs)} planned rollouts" in README

    def test_line_ends(self) -> None:
        assert self.lines.count(b"\n") == 1
        crlf = sum(line.endswith(b"\r\n") for line in self.lines)
        assert f"there is 1 blank line, {crlf} lines end in CRLF" in README

    def test_a_metric_appears_late(self) -> None:
        late = [place for place, row in enumerate(self.rollouts) if "judge_score" in row]
        assert late == list(range(late[0], len(self.rollouts)))
        assert f"`judge_score` appears only after {late[0]} rollouts" in README

    @pytest.mark.parametrize(
        ("field", "types"),
        [("accuracy", {bool, int, float}), ("score", {int, str}), ("reward", {float, str, type(None)})],
    )
    def test_mixed_types(self, field: str, types: set[type]) -> None:
        assert {type(row[field]) for row in self.rollouts} == types

    @pytest.mark.parametrize(
        ("holds", "promise"),
        [
            (lambda row: row["mask_sample"], "{} rollouts are masked at the top level"),
            (lambda row: row.get("instance_config", {}).get("mask_sample"), "and {} in `instance_config`"),
            (lambda row: row["reward"] is None, "{} rewards are null"),
            (lambda row: isinstance(row["reward"], str), "and {} are text"),
            (own_total, "{} rollouts have a `total_tokens` of their own"),
            (other_total, "{} of them another number"),
        ],
    )
    def test_counted(self, holds: Callable[[Row], object], promise: str) -> None:
        count = sum(bool(holds(row)) for row in self.rollouts)
        assert count
        assert promise.format(count) in README

    def test_numbers_that_are_none(self) -> None:
        assert sum(isnan(row["confidence"]) for row in self.rollouts) == 2
        assert sum(isinf(row["confidence"]) for row in self.rollouts) == 1
        assert sum(b":1e400," in line for line in self.lines) == 1
        assert "`confidence` is NaN twice and 1e400 once" in README

    def test_agents(self) -> None:
        (unnamed,) = (row for row in self.inputs if "agent_ref" not in row)
        assert key_of(unnamed) in keys_of(self.rollouts)
        names = set(agents_of_tasks(self.rollouts).values())
        (odd,) = (name for name in names if not name.isascii())
        assert " " in odd
        assert "/" in odd
        assert f"one agent is called `{odd}`" in README
