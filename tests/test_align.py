"""Rollouts are matched with the inputs that planned them; what does not match is told."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.errors import Exit
from pipeline.frames.lazy import collect
from pipeline.options import ProfileOptions
from pipeline.report.faults import refusal
from tests.runs import Content, Row, align_files, aligned, finished, jsonl, plan_of, planned

STRICT, PARTIAL = ProfileOptions(), ProfileOptions(partial=True)
FIRST, LAST = ProfileOptions(on_duplicate="first"), ProfileOptions(on_duplicate="last")
DROP = ProfileOptions(on_extra="drop")
SKIP = ProfileOptions(on_bad_line="skip")
PLACES = ("_source", "_line", "_offset", "_length")


def kinds(problems: pl.DataFrame) -> dict[str, int]:
    return dict(Counter(problems["_kind"]))


def test_a_row_of_the_frame_is_a_planned_rollout(tmp_path: Path) -> None:
    inputs = jsonl([planned(1), planned(0, 1)]) + b"\n" + jsonl([planned(0, 0)])
    frame, problems = aligned(tmp_path, inputs, [finished(1, m=1), finished(0, 0, m=2)], PARTIAL)
    assert frame.select("_ng_task_index", "_ng_rollout_index", "_finished", "m").rows() == [
        (0, 0, True, 2),
        (0, 1, False, None),
        (1, 0, True, 1),
    ]
    assert frame.select("_input_line", "_line").rows() == [(4, 2), (2, None), (1, 1)]
    for row in frame.iter_rows(named=True):
        start = row["_input_offset"]
        text = inputs[start : start + row["_input_length"]]
        assert text == jsonl([planned(row["_ng_task_index"], row["_ng_rollout_index"])]).rstrip()
        assert row["_input_source"].endswith("inputs0.jsonl")
    assert kinds(problems) == {"missing_rollouts": 1}
    assert problems.select("_role", "_line", "_ng_task_index", "_ng_rollout_index").rows() == [("inputs", 2, 0, 1)]


def test_types_of_the_internal_columns(tmp_path: Path) -> None:
    for inputs, rollouts in (([planned()], [finished(m=1)]), ([planned()], b""), (b"", b"")):
        frame, problems = aligned(tmp_path, inputs, rollouts)
        want = {
            "_ng_task_index": pl.Int64,
            "_ng_rollout_index": pl.Int64,
            "_finished": pl.Boolean,
            "_masked": pl.Boolean,
            "_measured": pl.Boolean,
            "_agent": pl.String,
            "_agent_order": pl.UInt32,
            "_row_agent": pl.UInt32,
            "_source": pl.String,
            "_line": pl.Int64,
            "_offset": pl.Int64,
            "_length": pl.Int64,
            "_flags": pl.UInt8,
            "_unfinite": pl.UInt32,
            "_shape": pl.String,
            "_own_agent": pl.String,
            "_own_server": pl.String,
            **{f"_input{place}": pl.String if place == "_source" else pl.Int64 for place in PLACES},
        }
        assert {name: dtype for name, dtype in frame.schema.items() if name.startswith("_")} == want
        assert list(problems.schema.dtypes()) == [pl.String] * 3 + [pl.Int64] * 3 + [pl.String]


PLAN = [planned(), planned(0, 1), planned(1)]
DONE = [finished(reward=1), finished(0, 1, reward=2), finished(1, reward=3)]
TORN = b'{"_ng_task_index":0'


@pytest.mark.parametrize(
    ("inputs", "rollouts", "options", "faults"),
    [
        (PLAN, DONE, STRICT, {}),
        (PLAN, DONE[::-1], STRICT, {}),
        (b"", b"", STRICT, {}),
        (PLAN, DONE[:1], STRICT, {"missing_rollouts": 2}),
        (PLAN, DONE[:1], PARTIAL, {}),
        (PLAN, b"", PARTIAL, {}),
        (PLAN[:1], DONE, STRICT, {"extra_rollouts": 2}),
        (PLAN[:1], DONE, PARTIAL, {"extra_rollouts": 2}),
        (PLAN[:1], DONE, DROP, {}),
        (PLAN[:2], DONE[1:], DROP, {"missing_rollouts": 1}),
        (PLAN, [*DONE, *DONE[:2]], STRICT, {"duplicate_rollouts": 4}),
        (PLAN, [*DONE, *DONE[:2]], PARTIAL, {"duplicate_rollouts": 4}),
        (PLAN, [*DONE, DONE[0], DONE[0]], FIRST, {}),
        (PLAN, [*DONE, *DONE], LAST, {}),
        ([*PLAN, PLAN[0]], DONE, STRICT, {"duplicate_inputs": 2}),
        ([*PLAN, planned(x=1)], DONE, FIRST, {"duplicate_inputs": 2}),
        ([*PLAN, PLAN[0]], DONE, PARTIAL, {"duplicate_inputs": 2}),
        (
            [*PLAN, PLAN[0]],
            [*DONE[:2], DONE[1], finished(7)],
            STRICT,
            {"duplicate_inputs": 2, "duplicate_rollouts": 2, "extra_rollouts": 1, "missing_rollouts": 1},
        ),
        (PLAN, [*DONE, finished(7), finished(7)], FIRST, {"extra_rollouts": 2}),
        (PLAN, [*DONE, finished(7), finished(7)], DROP, {"duplicate_rollouts": 2}),
        ([*PLAN, PLAN[0]], b"no JSON\n", STRICT, {"malformed": 1}),
        (b"[]\n", b"no JSON\n", STRICT, {"malformed": 2}),
        (PLAN, jsonl(DONE) + TORN, STRICT, {"torn": 1}),
        (PLAN, jsonl(DONE) + TORN, PARTIAL, {}),
        (jsonl(PLAN) + TORN, DONE, PARTIAL, {}),
        (PLAN, jsonl(DONE) + b"no JSON\n" + TORN, STRICT, {"malformed": 1, "torn": 1}),
        (PLAN, jsonl(DONE) + b"no JSON\n" + TORN, PARTIAL, {"malformed": 1}),
        (PLAN, jsonl(DONE) + b"no JSON\n" + TORN, SKIP, {}),
        (PLAN, jsonl(DONE[:2]) + b"no JSON\n", SKIP, {"missing_rollouts": 1}),
    ],
)
def test_faults(
    inputs: Content, rollouts: Content, options: ProfileOptions, faults: dict[str, int], tmp_path: Path
) -> None:
    problems = aligned(tmp_path, inputs, rollouts, options)[1]
    error = refusal(problems, options)
    assert (error.counts if error else {}) == faults
    if error:
        of_lines = set(faults) & {"malformed", "torn"}
        assert error.exit_code == (Exit.UNREADABLE if of_lines else Exit.CONTRACT)
        assert all(places and len(places) == min(10, faults[kind]) for kind, places in error.places.items())


def test_a_refusal_lists_ten_places_and_the_full_number(tmp_path: Path) -> None:
    problems = aligned(tmp_path, [planned(task) for task in range(25)], b"")[1]
    error = refusal(problems, STRICT)
    assert error
    assert error.counts == {"missing_rollouts": 25}
    assert error.keys == {"missing_rollouts": [(task, 0) for task in range(10)]}
    assert error.places == {"missing_rollouts": [f"{tmp_path}/inputs0.jsonl:{line}" for line in range(1, 11)]}
    assert "25 materialized rows" in error.message
    assert "15 more" in error.message


@pytest.mark.parametrize(("options", "values"), [(FIRST, [1, 4]), (LAST, [5, 6]), (STRICT, [1, 4])])
def test_which_of_duplicates_is_kept_goes_by_files_and_lines(
    options: ProfileOptions, values: list[int], tmp_path: Path
) -> None:
    rollouts = [
        [finished(0, m=1), finished(0, m=2)],
        [finished(0, m=3), finished(1, m=4)],
        [finished(0, m=5), finished(1, m=6)],
    ]
    frame = collect(align_files(tmp_path, [[planned(1), planned(0)]], rollouts, options).frame)
    assert frame["m"].to_list() == values


def test_extra_rollouts_are_in_no_row(tmp_path: Path) -> None:
    frame, problems = aligned(tmp_path, PLAN[:1], DONE, DROP)
    assert frame.select("_ng_task_index", "_ng_rollout_index").rows() == [(0, 0)]
    assert problems.select("_kind", "_role", "_line").rows() == [
        ("extra_rollouts", "rollouts", 2),
        ("extra_rollouts", "rollouts", 3),
    ]


@pytest.mark.parametrize(("masked", "measured"), [("exclude", [True, False, False]), ("include", [True, True, False])])
def test_what_is_measured(masked: Any, measured: list[bool], tmp_path: Path) -> None:
    rollouts = [finished(m=1), finished(0, 1, mask_sample=True)]
    frame = aligned(tmp_path, PLAN, rollouts, ProfileOptions(partial=True, masked=masked))[0]
    assert frame["_measured"].to_list() == measured
    assert frame["_masked"].to_list() == [False, True, False]


def who(*names: tuple[str | None, str | None]) -> list[Row]:
    """Input rows of one task each with these environment servers and agents."""
    servers = [{} if server is None else {"_ng_environment_server": server} for server, _ in names]
    return [planned(task, 0, agent, **servers[task]) for task, (_, agent) in enumerate(names)]


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [
        (who((None, "a"), (None, "b"), (None, "a")), ["a", "b", "a"]),
        (who(("s", "a")), ["a"]),
        (who(("s", None)), ["s"]),
        (who(("s", None), (None, "a")), ["s", "a"]),
        (who(("s", "a"), ("t", "a")), ["s", "t"]),
        (who(("s", "a"), ("s", "b")), ["s", "s"]),
        (who(("s", "a"), (None, "a")), ["s", "a"]),
        (who(("s", "a"), ("t", "b")), ["a", "b"]),
        (who(("s", "a"), ("s", None)), ["s", "s"]),
        (who((None, "b"), (None, None)), ["b", "b"]),
        (who((None, "b"), (None, "c"), (None, None)), ["b", "c", None]),
        (who((None, None), (None, None)), [None, None]),
        (who(("s", "a"), (None, None)), ["a", "a"]),
        (who(("s", None), (None, None)), ["s", "s"]),
        (who(("s", "a"), ("t", "a"), (None, None)), ["s", "t", None]),
        (who((None, ""), (None, "a")), ["", "a"]),
    ],
)
def test_labels(inputs: list[Row], labels: list[str | None], tmp_path: Path) -> None:
    frame = aligned(tmp_path, inputs, [finished(row["_ng_task_index"]) for row in inputs])[0]
    assert frame["_agent"].to_list() == labels


@pytest.mark.parametrize(
    ("planned_agents", "rollout_agents", "labels"),
    [
        (["a", "b"], ["x", "y"], ["a", "b"]),
        ([None, "b"], ["a", "x"], ["a", "b"]),
        ([None, None], ["a", "b"], ["a", "b"]),
        ([None, None], ["a", None], ["a", "a"]),
        ([None, None, None], ["a", None, "b"], ["a", None, "b"]),
    ],
)
def test_a_row_without_agent_takes_its_rollouts(
    planned_agents: list[str | None], rollout_agents: list[str | None], labels: list[str | None], tmp_path: Path
) -> None:
    inputs = [planned(task, 0, agent) for task, agent in enumerate(planned_agents)]
    rollouts = [finished(task, agent_ref={"name": agent}) for task, agent in enumerate(rollout_agents)]
    assert aligned(tmp_path, inputs, rollouts)[0]["_agent"].to_list() == labels


def test_the_servers_of_rollouts_do_not_matter(tmp_path: Path) -> None:
    rollouts = [finished(_ng_environment_server="s", agent_ref="x")]
    assert aligned(tmp_path, [planned()], rollouts)[0]["_agent"].to_list() == ["a"]


def test_agents_are_ordered_by_name_the_nameless_last(tmp_path: Path) -> None:
    names = ["é", "b", None, "B", "a", "", "\U0001f600", "ab"]
    inputs = [planned(task, 0, name) for task, name in enumerate(names)]
    frame = aligned(tmp_path, inputs, [finished(row["_ng_task_index"]) for row in inputs])[0]
    known = sorted(name for name in names if name is not None)
    ordered = frame.sort("_agent_order")["_agent"].to_list()
    assert ordered == [*known, None]


@pytest.mark.parametrize(
    ("agents", "fan_out"),
    [
        ([("a", 0), ("a", 1)], False),
        ([("a", 0), ("b", 1)], False),
        ([("a", 0), ("b", 0)], True),
        ([("a", 0), ("a", 0), ("a", 1), ("b", 1)], True),
        ([(None, 0), ("a", 0), ("b", 1)], True),
    ],
)
def test_fan_out(agents: list[tuple[str | None, int]], fan_out: bool, tmp_path: Path) -> None:
    rollouts = [finished(task, index) for index, (_, task) in enumerate(agents)]
    inputs = [planned(task, index, agent) for index, (agent, task) in enumerate(agents)]
    frame = aligned(tmp_path, inputs, rollouts)[0]
    orders = [order + 1 if fan_out else 0 for order in frame["_agent_order"]]
    assert frame["_row_agent"].to_list() == orders


@pytest.mark.parametrize("masked", [None, True])
def test_fan_out_goes_by_the_plan(masked: bool | None, tmp_path: Path) -> None:
    inputs = [planned(0, 0, "a"), planned(0, 1, "b"), planned(1, 0, "a")]
    rollouts = [finished(0, 0), finished(1, 0)] + ([finished(0, 1, mask_sample=True)] if masked else [])
    frame = aligned(tmp_path, inputs, rollouts, PARTIAL)[0]
    assert frame["_row_agent"].to_list() == [1, 2, 1]


def test_any_index_of_64_bits_is_a_key(tmp_path: Path) -> None:
    keys = [(2**63 - 1, -(2**63)), (-(2**63), 2**63 - 1), (-1, 5), (0, 0), (2**53, 0), (2**53 + 1, 0)]
    rollouts = [finished(*key, m=1) for key in keys]
    frame, problems = aligned(tmp_path, plan_of(rollouts[::-1]), rollouts)
    assert frame.select("_ng_task_index", "_ng_rollout_index").rows() == sorted(keys)
    assert problems.is_empty()


def test_a_run_is_joined_once_for_all_that_is_asked_of_it(tmp_path: Path) -> None:
    found = align_files(tmp_path, [[planned(0)]], [[finished(0, m=1)]], PARTIAL)
    joins = pl.explain_all([found.frame, found.problems]).count("JOIN:")
    assert joins == 4, "inputs with rollouts, groups with their labels, these with rows, and what is extra"
