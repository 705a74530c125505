"""Segments of sources → chunks of columns: the loops over lines that workers run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

from pipeline import names
from pipeline.sources import rows
from pipeline.sources.columns import Column, numbers
from pipeline.sources.lines import Segment, lines_of

TORN = "is cut off in the middle: it has no line end"
TEXT_REWARD = 1
ODD_RESPONSE = 2


class Job(NamedTuple):
    """What one worker reads in one go.

    Attributes:
        segments: The byte ranges, in order.
        nested: Paths of objects whose numbers are metrics as well.
        digests: Whether to keep a digest of each line, to tell identical rows of several files.
        prompts: Whether to keep a digest of each prompt, to number dumps that have no indices.
    """

    segments: tuple[Segment, ...]
    nested: tuple[tuple[str, ...], ...] = ()
    digests: bool = False
    prompts: bool = False


class BadLine(NamedTuple):
    """A line that could not be used, and why."""

    source: int
    line: int
    offset: int
    length: int
    reason: str
    torn: bool


class Chunk(NamedTuple):
    """The rows of a job as columns.

    Attributes:
        columns: Internal columns by name.
        metrics: (place, name) → numbers; the place is `row` or `usage`.
        texts: Column name → (code of each row, the texts; code -1 is none).
        shapes: The metric names in row order, (row names, usage names), that `_shape` counts.
        lines: How many lines each segment has.
        bad: Lines that could not be used; their line numbers count from the segment's start.
        bytes: How much was read.
    """

    columns: dict[str, Column]
    metrics: dict[tuple[str, str], Column]
    texts: dict[str, tuple[bytes, list[str]]]
    shapes: list[tuple[tuple[str, ...], tuple[str, ...]]]
    lines: list[int]
    bad: list[BadLine]
    bytes: int


Add = Callable[[int, int, int, memoryview], None]


def read_rollouts(job: Job) -> Chunk:
    """Reads rollouts: both indices, agent, server, mask, flags, shape and every metric of each line."""
    return _read(job, _Rollouts(job))


def read_inputs(job: Job) -> Chunk:
    """Reads planned rollouts: both indices, agent, server and the place of each line."""
    return _read(job, _Inputs(job))


def read_failures(job: Job) -> Chunk:
    """Reads failed attempts: both indices, failure class and the place of each line."""
    return _read(job, _Failures(job))


class _Builder:
    """Collects the columns that every kind of row has."""

    texts: tuple[str, ...] = ()

    def __init__(self, job: Job) -> None:
        self.job = job
        self.whole: dict[str, list[int | None]] = {
            name: [] for name in (names.TASK, names.ROLLOUT, "_source", "_line", "_offset", "_length")
        }
        self.codes: dict[str, list[int]] = {name: [] for name in self.texts}
        self.labels: dict[str, dict[str | None, int]] = {name: {None: -1} for name in self.texts}
        self._task, self._rollout, self._source, self._line, self._offset, self._length = (
            column.append for column in self.whole.values()
        )

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        raise NotImplementedError

    def place(self, key: tuple[int | None, int | None], source: int, line: int, offset: int, length: int) -> None:
        self._task(key[0])
        self._rollout(key[1])
        self._source(source)
        self._line(line)
        self._offset(offset)
        self._length(length)

    def text(self, column: str, value: str | None) -> None:
        codes = self.labels[column]
        self.codes[column].append(codes.setdefault(value, len(codes) - 1))

    def metrics(self) -> dict[tuple[str, str], Column]:
        return {}

    def shapes(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        return []

    def chunk(self, lines: list[int], bad: list[BadLine], read: int) -> Chunk:
        texts = {
            column: (numbers(self.codes[column]).values, [label for label in self.labels[column] if label is not None])
            for column in self.texts
        }
        metrics = self.metrics()
        columns = {name: numbers(values) for name, values in self.whole.items()}
        return Chunk(columns, metrics, texts, self.shapes(), lines, bad, read)


class _Inputs(_Builder):
    texts = ("_agent", "_server")

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        if job.digests:
            self.whole["_digest"] = []

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        of = rows.parse(view)
        key = _key(of)
        agent = rows.agent_name(rows.last(of, names.AGENT_REF))
        server = rows.label_text(rows.last(of, names.ENVIRONMENT_SERVER))
        self.place(key, source, line, offset, len(view))
        self.text("_agent", agent)
        self.text("_server", server or None)
        if self.job.digests:
            self.whole["_digest"].append(_digest(bytes(view).rstrip()))


class _Failures(_Builder):
    texts = ("_failure_class",)

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        of = rows.parse(view)
        key = _key(of)
        reason = rows.label_text(rows.last(of, names.FAILURE_CLASS))
        self.place(key, source, line, offset, len(view))
        self.text("_failure_class", reason)


class _Plan:
    """What to take from rows that have the same keys and the same kinds of values."""

    __slots__ = ("agent", "config", "flags", "groups", "mask", "names", "response", "rollout", "server", "take", "task")

    def __init__(self, of: rows.Fields, reserved: frozenset[str]) -> None:
        final = {key: position for position, key in enumerate(of[0])}
        metrics = rows.metric_positions(of, reserved)
        rows.check_names(metrics)
        self.names = tuple(metrics)
        self.take = rows.take(metrics.values())
        self.task = final.get(names.TASK, -1)
        self.rollout = final.get(names.ROLLOUT, -1)
        self.agent = final.get(names.AGENT_REF, -1)
        self.server = final.get(names.ENVIRONMENT_SERVER, -1)
        self.response = final.get(names.RESPONSE, -1)
        self.mask = final.get(names.MASK, -1)
        self.config = final.get(names.INSTANCE_CONFIG, -1)
        reward = of[1][final[names.REWARD]] if names.REWARD in final else None
        self.flags = TEXT_REWARD if reward is not None and type(reward) not in rows.NUMBERS else 0
        self.groups: dict[_Plan, _Group] = {}


class _Group(NamedTuple):
    """Rows of one shape: their positions in the chunk, and the numbers of all of them in a row."""

    number: int
    rows: list[int]
    values: list[Any]


NO_FIELDS: rows.Fields = ((), ())


class _Rollouts(_Builder):
    texts = ("_agent", "_server")

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.whole |= {"_masked": [], "_flags": [], "_shape": []}
        if job.prompts:
            self.whole["_prompt"] = []
        self.plans: dict[tuple[Any, ...], _Plan] = {}
        self.usage_plans: dict[tuple[Any, ...], _Plan] = {}
        self.usage_places: dict[tuple[str, ...], tuple[int, bool]] = {}
        self.no_usage = _Plan(NO_FIELDS, frozenset())
        self.groups: list[tuple[_Plan, _Plan, _Group]] = []
        self.paths = tuple(path for path in job.nested if path[0] != names.USAGE)
        self.usage_paths = tuple(path for path in job.nested if path[0] == names.USAGE)

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        of = rows.parse(view)
        if self.paths:
            of = rows.with_nested(of, self.paths)
        keys, values = of
        signature = (*keys, *map(type, values))
        plan = self.plans.get(signature)
        if plan is None:
            plan = self.plans[signature] = _Plan(of, names.NOT_METRICS)
        key = self._index(plan, values)
        agent = None if plan.agent < 0 else rows.agent_name(values[plan.agent])
        server = None if plan.server < 0 else rows.label_text(values[plan.server])
        usage_plan, usage, flags = self._usage(None if plan.response < 0 else values[plan.response])
        masked = (plan.mask >= 0 or plan.config >= 0) and rows.is_masked(
            None if plan.mask < 0 else values[plan.mask], None if plan.config < 0 else values[plan.config]
        )
        if self.job.prompts:
            self.whole["_prompt"].append(_prompt(of))
        group = plan.groups.get(usage_plan) or self._group(plan, usage_plan)
        group.rows.append(len(self.whole["_shape"]))
        group.values.extend(plan.take(values))
        group.values.extend(usage_plan.take(usage))
        self.whole["_shape"].append(group.number)
        self.whole["_masked"].append(masked)
        self.whole["_flags"].append(plan.flags | flags)
        self.place(key, source, line, offset, len(view))
        self.text("_agent", agent)
        self.text("_server", server or None)

    def _index(self, plan: _Plan, values: tuple[Any, ...]) -> tuple[int | None, int | None]:
        if self.job.prompts and plan.task < 0 and plan.rollout < 0:
            return None, None
        return _whole(values, plan.task, names.TASK), _whole(values, plan.rollout, names.ROLLOUT)

    def _usage(self, response: object) -> tuple[_Plan, tuple[Any, ...], int]:
        """The plan and values of `response.usage`; anything but an object there is no usage."""
        if type(response) not in rows.OBJECTS:
            return self.no_usage, (), ODD_RESPONSE if response else 0
        usage = self._last_usage(response)
        if type(usage) not in rows.OBJECTS:
            return self.no_usage, (), ODD_RESPONSE if usage else 0
        of = rows.fields(usage)
        if self.usage_paths:
            of = _with_nested_usage(of, self.usage_paths)
        signature = (*of[0], *map(type, of[1]))
        plan = self.usage_plans.get(signature)
        if plan is None:
            plan = self.usage_plans[signature] = _Plan(of, frozenset())
        return plan, of[1], 0

    def _last_usage(self, response: Any) -> object:
        """The value of the last `usage` key; a lookup gives the first, which is it unless there are several."""
        keys = tuple(response)
        found = self.usage_places.get(keys)
        if found is None:
            several = keys.count(names.USAGE) > 1
            last = max((i for i, key in enumerate(keys) if key == names.USAGE), default=-1)
            found = self.usage_places[keys] = (last, several)
        last, several = found
        if last < 0:
            return None
        return tuple(response.values())[last] if several else response.get(names.USAGE)

    def _group(self, plan: _Plan, usage_plan: _Plan) -> _Group:
        group = plan.groups[usage_plan] = _Group(len(self.groups), [], [])
        self.groups.append((plan, usage_plan, group))
        return group

    def shapes(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        return [(plan.names, usage_plan.names) for plan, usage_plan, _ in self.groups]

    def metrics(self) -> dict[tuple[str, str], Column]:
        """Each metric as a column over all rows of the chunk."""
        height = len(self.whole["_shape"])
        columns: dict[tuple[str, str], list[Any]] = {}
        for plan, usage_plan, group in self.groups:
            places = [("row", name) for name in plan.names] + [("usage", name) for name in usage_plan.names]
            for position, place in enumerate(places):
                values = group.values[position :: len(places)]
                if len(values) == height:
                    columns[place] = values
                    continue
                column = columns.setdefault(place, [None] * height)
                for row, value in zip(group.rows, values, strict=True):
                    column[row] = value
        return {place: numbers(values) for place, values in columns.items()}


def _read(job: Job, builder: _Builder) -> Chunk:
    """Adds every line of the job's segments; a line that cannot be used is kept as bad, a blank one is skipped."""
    lines: list[int] = []
    bad: list[BadLine] = []
    read = 0
    for segment in job.segments:
        number = 0
        for number, (offset, view, terminated) in enumerate(lines_of(segment), 1):
            read += len(view) + terminated
            try:
                builder.add(segment.source, number, offset, view)
            except rows.BadLineError as error:
                if len(view) > 1000 or bytes(view).strip():
                    torn = not terminated and not _complete(view)
                    bad.append(
                        BadLine(segment.source, number, offset, len(view), TORN if torn else str(error), torn)
                    )
        lines.append(number)
    return builder.chunk(lines, bad, read)


def _complete(view: memoryview) -> bool:
    """Whether a line without an end is a whole JSON value all the same."""
    try:
        rows.parse(view)
    except rows.BadLineError:
        return False
    return True


def _key(of: rows.Fields) -> tuple[int, int]:
    final = {key: position for position, key in enumerate(of[0])}
    return (
        _whole(of[1], final.get(names.TASK, -1), names.TASK),
        _whole(of[1], final.get(names.ROLLOUT, -1), names.ROLLOUT),
    )


def _whole(values: tuple[Any, ...], position: int, field: str) -> int:
    if position < 0:
        raise rows.BadLineError(f"has no {field}")
    value = values[position]
    if type(value) is int and value in rows.INDEX_RANGE:
        return value
    return rows.whole_number(value, field)


def _digest(text: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little", signed=True)


def _prompt(of: rows.Fields) -> int:
    """A digest of what a rollout was asked: the input, instructions and tools of its request."""
    params = rows.last(of, names.PARAMS)
    if not isinstance(params, rows.OBJECTS):
        raise rows.BadLineError(f"has no {names.PARAMS} to tell its task by")
    return _digest(rows.canonical(params, ("input", "instructions", "tools", "prompt")))


def _with_nested_usage(of: rows.Fields, paths: tuple[tuple[str, ...], ...]) -> rows.Fields:
    """Usage fields, and behind each of its objects the numbers in it as `usage/OBJECT/NAME`."""
    everywhere = any(len(path) == 1 for path in paths)
    inner = [(key,) for key, value in zip(*of, strict=True) if everywhere and isinstance(value, rows.OBJECTS)]
    wanted = [*inner, *(path[1:] for path in paths if len(path) > 1)]
    keys, values = rows.with_nested(of, wanted)
    original = iter(of[0])
    expected = next(original, None)
    named: list[str] = []
    for key in keys:
        if key == expected:
            named.append(key)
            expected = next(original, None)
        else:
            named.append(f"{names.USAGE}/{key}")
    return tuple(named), values
