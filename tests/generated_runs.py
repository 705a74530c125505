"""Small runs made by Hypothesis: several agents, odd names, missing values, mixed types, masks.

Numbers are tame, so that exact figures and floating-point ones agree.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.runs import Row

TASKS, INDICES = (-3, 0, 1, 7), (-2, 0, 1, 5)
AGENTS = ("a", "B", "größe", "", 'q"', "{}")
NAMES = (
    "m",
    "n",
    "reward",
    "größe",
    "{x}",
    "a/b",
    "mean/m",
    "",
    'q"',
    "rollout_id",
    "rn",
    "*",
    "^m.*$",
    "row/n",
    "v/x",
)
USAGE_NAMES = ("input_tokens", "n", "reward", "u/v", "大", "rollout_id", "usage/d/c", "^n$")
NO_NUMBERS: tuple[Any, ...] = (None, "text", "1", [1], {"x": "y"}, float("nan"), float("inf"), 10**300)
MASKS: tuple[Any, ...] = (True, 1, "no", [0], False, 0, "", None)
NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.integers(-40, 40).map(lambda eighths: eighths / 8),
    st.booleans(),
    st.sampled_from([0.1, -0.0, 1e-3, 12345, 10**6]),
)
VALUES = st.one_of(NUMBERS, NUMBERS, NUMBERS, st.sampled_from(NO_NUMBERS[:-1]))
Lines = list[bytes]


class Run(NamedTuple):
    """The lines of a run; every rollout is planned."""

    inputs: Lines
    rollouts: Lines


@st.composite
def fields(draw: st.DrawFn, names: Sequence[str]) -> Row:
    """Some of these fields in some order."""
    chosen = draw(st.lists(st.sampled_from(names), max_size=5, unique=True))
    return {name: draw(VALUES) for name in chosen}


@st.composite
def runs(draw: st.DrawFn, *, partial: bool = False, masks: bool = True) -> Run:
    """A run of a few tasks, each of one agent or of several.

    Args:
        draw: Given by Hypothesis.
        partial: Whether planned rollouts may be missing.
        masks: Whether rollouts may be masked.
    """
    keys = draw(
        st.lists(st.tuples(st.sampled_from(TASKS), st.sampled_from(INDICES)), min_size=1, max_size=9, unique=True)
    )
    who = draw(agents(keys, all_named=partial))
    inputs, rollouts = [], []
    for key in keys:
        index = {"_ng_task_index": key[0], "_ng_rollout_index": key[1]}
        inputs.append(draw(shuffled({**index, **who[key], "text": draw(st.sampled_from(["a", "é\n", "\\"]))})))
        if not partial or draw(st.integers(0, 3)):
            rollouts.append(draw(rollout(index, masks=masks)))
    return Run(list(map(line, inputs)), list(map(line, rollouts)))


@st.composite
def agents(draw: st.DrawFn, keys: Sequence[tuple[int, int]], *, all_named: bool) -> dict[tuple[int, int], Row]:
    """What the input row of each key says of who runs it: the same for a task, or another for each rollout."""
    names = st.sampled_from(draw(st.lists(st.sampled_from(AGENTS), min_size=1, max_size=3, unique=True)))
    agent = st.builds(lambda name: {"agent_ref": {"name": name}}, names)
    server = st.builds(lambda name: {"_ng_environment_server": name}, names)
    kinds = [agent, st.builds(lambda one, other: one | other, agent, server)]
    kinds += [] if all_named else [server, st.just({})]
    about = st.one_of(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3)))
    by_task = {task: draw(about) for task in TASKS}
    fan_out = draw(st.booleans())
    return {key: draw(about) if fan_out else by_task[key[0]] for key in keys}


@st.composite
def rollout(draw: st.DrawFn, index: Row, *, masks: bool) -> Row:
    usage = {**draw(fields(USAGE_NAMES)), "d": draw(st.sampled_from([{"c": 1}, {"c": {"e": 0.5}}, None]))}
    row = {**draw(fields(NAMES)), "_hidden": 1, "response": {"usage": usage, "output": []}}
    row["v"] = draw(st.sampled_from([{"x": 1, "y": {"z": 0.5, "t": "text"}}, {"x": None}, {"y": {"w": True}}, 3, None]))
    if draw(st.booleans()):
        row["agent_ref"] = draw(st.sampled_from(["a", {"name": "é"}, {"name": None}, 7, True]))
    if masks and not draw(st.integers(0, 3)):
        mask = {"mask_sample": draw(st.sampled_from(MASKS))}
        row |= mask if draw(st.booleans()) else {"instance_config": mask}
    return draw(shuffled({**index, **row}))


def rollout_of(planned: bytes) -> st.SearchStrategy[bytes]:
    """Another rollout of an input row."""
    row = json.loads(planned)
    index = {name: row[name] for name in ("_ng_task_index", "_ng_rollout_index")}
    return rollout(index, masks=True).map(line)


@st.composite
def shuffled(draw: st.DrawFn, row: Row) -> Row:
    """The fields of a row in some order."""
    return {name: row[name] for name in draw(st.permutations(list(row)))}


@st.composite
def in_files(draw: st.DrawFn, lines: Lines) -> list[bytes]:
    """Lines in any order, over one to four files; the last line of a file may have no end."""
    order = draw(st.permutations(lines))
    files: list[list[bytes]] = [[] for _ in range(draw(st.integers(1, 4)))]
    for each in order:
        files[draw(st.integers(0, len(files) - 1))].append(each)
    return [b"".join(mine) if draw(st.booleans()) else b"".join(mine).removesuffix(b"\n") for mine in files]


def line(row: Row) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"
