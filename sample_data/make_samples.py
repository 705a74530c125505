#!/usr/bin/env python3
"""Write the sample runs: python sample_data/make_samples.py [--out DIR].

The same bytes come out every time: those that are invented draw from generators with seeds of their own, and those that
are collected ask the demo model, which has a seed too. Collecting needs the extra `collect`.
"""

from __future__ import annotations

import argparse
import gzip
import io
import operator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from collected import candidate, complete
from demo_tasks import DATASET, demo_tasks
from invented_rollouts import Key, dumps, in_finishing_order, inputs_row, rollout, rollout_identity
from invented_tasks import Draws, Problem, Row, draw_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Plan = list[tuple[Problem, Key]]
Files = dict[str, bytes]
Fate = tuple[str, ...]

INPUTS = "rollouts_materialized_inputs.jsonl"
ROLLOUTS = "rollouts.jsonl"
FAILURES = "rollouts_failures.jsonl"

DONE = "done"
FAILURE_DETAILS: dict[str, Row] = {
    "http_error": {
        "_ng_failure_type": "ClientResponseError",
        "_ng_failure_message": "503, message='Service Unavailable'",
        "_ng_failure_http_status": 503,
    },
    "judge_failed": {
        "_ng_failure_type": "JudgeError",
        "_ng_failure_message": "the judge gave no verdict in 3 tries",
    },
    "timeout_exceeded": {
        "_ng_failure_type": "TimeoutError",
        "_ng_failure_message": "no result after 600 s",
        "_ng_failure_terminal": True,
    },
}
WHOLE: list[Fate] = [(DONE,)] * 7 + [("http_error", DONE)]
HALF: list[Fate] = [
    *[(DONE,)] * 3,
    ("judge_failed", DONE),
    ("http_error", "judge_failed"),
    ("timeout_exceeded",),
    (),
    (),
]
ONLY_FAILED: list[Fate] = [("timeout_exceeded",)] * 2 + [()] * 6
NOT_STARTED: list[Fate] = [()] * 8
FATES_OF_TASKS = [WHOLE] * 5 + [HALF] * 5 + [ONLY_FAILED] + [NOT_STARTED] * 3

NASTY_AGENT = "étude/math agent №1"
ACCURACIES = (True, 0.5, 1, False, 0.25)
MASKED = {12, 47, 81}
MASKED_INSIDE = {30, 66}
NAN = {17, 58}
OVERFLOW = {73}
UNSCORED = {5, 26, 52, 90}
REWARD_IN_WORDS = {9, 37}
OTHER_TOTAL = range(3, 100, 10)
SAME_TOTAL = range(7, 100, 10)
WITHOUT_AGENT = 20
BLANK_LINE_AFTER = 40
CRLF = range(60, 80)
LATE = range(100, 104)


def plan_of(tasks: Sequence[Problem], repeats: range) -> Plan:
    """Plan every repeat of every task, task by task."""
    return [(problem, (task, repeat)) for task, problem in enumerate(tasks) for repeat in repeats]


def jsonl(rows: Iterable[Row]) -> bytes:
    """Write rows as lines."""
    return "".join(f"{dumps(row)}\n" for row in rows).encode()


def inputs_of(plan: Plan) -> list[Row]:
    """Make the inputs rows of a plan."""
    return [inputs_row(problem, key) for problem, key in plan]


def rollouts_of(plan: Plan, draws: Draws) -> list[Row]:
    """Make the rollouts of a plan that was carried out to its end."""
    return in_finishing_order(rollout(problem, key, draws) for problem, key in plan)


def partial(draws: Draws) -> Files:
    """Make a run that was stopped early, with its failed attempts beside it."""
    plan = plan_of(draw_problems(draws, math=8, choice=6), range(8))
    fates = [fate for fates in FATES_OF_TASKS for fate in draws.sample(fates, k=len(fates))]
    finished, failed = [], []
    for (problem, key), fate in zip(plan, fates, strict=True):
        for attempt, outcome in enumerate(fate):
            row = rollout(problem, key, draws)
            if outcome == DONE:
                finished.append(row | ({"_ng_attempt_index": attempt} if attempt else {}))
            else:
                failed.append(failure(row, outcome, attempt=attempt) | rollout_identity(problem, key))
    failed.sort(key=operator.itemgetter("_ng_attempt_index"))
    return {
        INPUTS: jsonl(inputs_of(plan)),
        ROLLOUTS: jsonl(in_finishing_order(finished)),
        FAILURES: jsonl(failed),
    }


def failure(row: Row, kind: str, *, attempt: int) -> Row:
    """Make a failed attempt; where the judge failed there is a response, and a reward that means nothing."""
    judged = {name: row[name] for name in ("responses_create_params", "response")} | {"reward": 0.0}
    return {
        **(judged if kind == "judge_failed" else {}),
        "_ng_failure_class": kind,
        **FAILURE_DETAILS[kind],
        "_ng_attempt_index": attempt,
    }


def sharded(draws: Draws) -> Files:
    """Make one run of six repeats as three jobs of two; the last job packed its rollouts."""
    tasks = draw_problems(draws, math=5, choice=4)
    files = {}
    for shard, (first, end) in enumerate(pairwise((0, 2, 4, 6))):
        plan = plan_of(tasks, range(first, end))
        of_first_job = [inputs_row(tasks[0], (0, 0))] if shard == 1 else []
        files[f"shard{shard}_materialized_inputs.jsonl"] = jsonl(of_first_job + inputs_of(plan))
        files[f"shard{shard}.jsonl"] = jsonl(rollouts_of(plan, draws))
    files["shard2.jsonl.gz"] = gzipped(files.pop("shard2.jsonl"))
    return files


def gzipped(data: bytes) -> bytes:
    """Pack bytes without a time or a name in the header."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
        file.write(data)
    return packed.getvalue()


def nasty(draws: Draws) -> Files:
    """Make a run with most of what can be odd about the lines of a rollouts file."""
    plan = plan_of(draw_problems(draws, math=7, choice=6), range(8))
    inputs, rollouts = inputs_of(plan), rollouts_of(plan, draws)
    for row in inputs + rollouts:
        if row["agent_ref"]["name"] == "math_agent":
            row["agent_ref"]["name"] = NASTY_AGENT
    del inputs[plan_place(plan, rollouts[WITHOUT_AGENT])]["agent_ref"]
    lines = [nasty_line(spoilt(row, place), place) for place, row in enumerate(rollouts)]
    lines[-1] = lines[-1][: len(lines[-1]) // 2]
    return {INPUTS: jsonl(inputs), ROLLOUTS: "".join(lines).encode()}


def plan_place(plan: Plan, row: Row) -> int:
    """Find the place of a rollout in the plan."""
    return [key for _, key in plan].index((row["_ng_task_index"], row["_ng_rollout_index"]))


def spoilt(row: Row, place: int) -> Row:
    """Give one rollout the odd values of its place in the file."""
    odd: Row = {
        "accuracy": ACCURACIES[place % len(ACCURACIES)],
        "score": "n/a" if place % 2 else place % 7,
        "confidence": round(1 - row["reward_components"]["brevity"], 2),
        "mask_sample": place in MASKED,
    }
    if place in NAN:
        odd["confidence"] = float("nan")
    if place in OVERFLOW:
        odd["confidence"] = float("inf")
    if place in UNSCORED:
        odd["reward"] = None
    if place in REWARD_IN_WORDS:
        odd["reward"] = "unscored"
    if place in OTHER_TOTAL:
        odd["total_tokens"] = row["response"]["usage"]["total_tokens"] + 250
    if place in SAME_TOTAL:
        odd["total_tokens"] = row["response"]["usage"]["total_tokens"]
    if place in MASKED_INSIDE:
        odd["instance_config"] = {"mask_sample": True}
    if place in LATE:
        odd["judge_score"] = place % 5 / 4
    return row | odd


def nasty_line(row: Row, place: int) -> str:
    """Write one rollout with the number and the line end of its place in the file."""
    text = dumps(row).replace(":Infinity", ":1e400")
    end = "\r\n" if place in CRLF else "\n"
    return text + end + ("\n" if place == BLANK_LINE_AFTER else "")


INVENTED: dict[str, Callable[[Draws], Files]] = {
    "partial": partial,
    "sharded": sharded,
    "nasty": nasty,
    "demo": demo_tasks,
}
COLLECTED: dict[str, Callable[[bytes], Files]] = {"complete": complete, "candidate": candidate}


def main() -> None:
    """Write every sample into a folder of its name."""
    parser = argparse.ArgumentParser(description="Write the sample runs.")
    here = Path(__file__).parent
    parser.add_argument("--out", type=Path, default=here, metavar="DIR", help="default: beside this script")
    out: Path = parser.parse_args().out
    samples = {sample: make(Draws(f"rollprof {sample}")) for sample, make in INVENTED.items()}
    samples |= {sample: make(samples["demo"][DATASET]) for sample, make in COLLECTED.items()}
    for sample, files in samples.items():
        folder = out / sample
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
