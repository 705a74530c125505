"""Rows of rollouts → columns: indices, agent, mask, and every metric at the place where it stands."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pipeline import names
from pipeline.sources import fields, rows
from pipeline.sources.census import Census
from pipeline.sources.columns import DOUBLE, Block, columns
from pipeline.sources.context import Context
from pipeline.sources.nested import Nested
from pipeline.sources.plans import NO_RESPONSE, ODD_RESPONSE, TRUNCATED, Plan
from pipeline.sources.reading import (
    NO_INDICES,
    BadLine,
    Builder,
    Chunk,
    Job,
    Metric,
    Shape,
    digest,
    index,
    last_places,
    read,
)

if TYPE_CHECKING:
    from pipeline.options import ReadOptions
    from pipeline.sources.files import Source
    from pipeline.sources.readings import Request

ROOT = "_row."
PROMPT = ("input", "instructions", "prompt", "tools")


def read_rollouts(job: Job) -> Chunk:
    """Reads rollouts: both indices, agent, server, mask, flags, shape and every metric of each line."""
    context = Context(ROOT, job.fields) if job.context else None
    rollouts = Rollouts(nested=job.nested, prompts=job.prompts, metrics=job.metrics, context=context)
    if not job.inspect:
        return read(job, rollouts)
    census = Census(rollouts)
    rollouts.usage_in = census.counting("usage", rollouts.usage_in)
    return read(job, census)


def request_rollouts(sources: Sequence[Source], options: ReadOptions | None = None) -> Request:
    """What it takes to read the dumps among these sources.

    Args:
        sources: Rollouts; exports and profiles are not read here.
        options: How to read them; None for what `ReadOptions()` says, without the import of pydantic.
    """
    from pipeline.sources.readings import Request

    template = Job(())
    if options is not None:
        template = Job((), nested=options.nested_paths, prompts=options.assign_indices, metrics=options.metrics)
        if options.context:
            template = template._replace(context=True, fields=options.asked(ROOT))
    return Request(read_rollouts, tuple(source for source in sources if source.is_dump), template)


class Rollouts(Builder):
    """Finished rollouts.

    Rows that have the same keys and the same kinds of values are taken apart by one plan. Rows that have the same
    metrics in the same order are of one shape, and the numbers of those that are of the same types too are one block.
    """

    columns = (*names.KEY, *names.PLACE, "_labels", "_masked", "_flags", "_shape", "_prompt_digest")
    labels = ("_agent", "_server")

    def __init__(
        self,
        *,
        nested: tuple[tuple[str, ...], ...] = (),
        prompts: bool = False,
        metrics: tuple[str, ...] | None = None,
        context: Context | None = None,
    ) -> None:
        super().__init__(context=context)
        self.prompts = prompts
        self.plans: dict[fields.Kinds, Plan] = {}
        self.usage_plans: dict[fields.Kinds, Plan] = {}
        self.usage_in: Callable[[Any], Any] = rows.Last(names.USAGE)
        self.only = None if metrics is None else frozenset(metrics)
        self.no_usage = Plan(fields.NO_FIELDS, self.only)
        self.shapes: dict[Shape, int] = {}
        self.blocks: dict[tuple[int, str], Block] = {}
        in_usage = [path[1:] for path in nested if path[0] == names.USAGE]
        in_row = [path for path in nested if path[0] != names.USAGE]
        self.nested = Nested(in_row) if in_row else None
        self.nested_usage = Nested(in_usage if all(in_usage) else None, (names.USAGE,)) if in_usage else None
        self.ending = (rows.Last("incomplete_details"), rows.Last("status"), rows.Last("reason"))

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        """Adds the row on a line."""
        row = self.parse(view)
        keys: tuple[Any, ...] = tuple(row)
        values = tuple(row.values())
        plain = keys, values
        if self.nested:
            keys, values = self.nested(plain)
        kinds = keys, tuple(map(type, values))
        plan = self.plans.get(kinds)
        if plan is None:
            plan = self.plans[kinds] = Plan((keys, values), self.only)
        task, rollout, agent, server, response, mask, config, _ = plan.places
        name = None if agent < 0 else rows.agent_name(values[agent])
        served_by = None if server < 0 else rows.label_text(values[server])
        flags, usage_plan, usage = plan.flags, self.no_usage, ()
        if response >= 0 and values[response]:
            flags, usage_plan, usage = self._usage(values[response], flags)
        masked = (mask >= 0 or config >= 0) and rows.is_masked(
            None if mask < 0 else values[mask], None if config < 0 else values[config]
        )
        asked = 0
        if self.prompts and plan.unnumbered:
            asked = self._prompt(values, keys)
            flags |= plan.unnumbered
        if self.context is not None:
            flags |= self._ending(values[response] if response >= 0 else None)
        known = plan.blocks.get(usage_plan)
        if plan.numbered and known is not None:
            task_index, rollout_index = values[task], values[rollout]
        else:  # a line with a bad index leaves no shape behind
            task_index = self._index(plan, values, task, names.TASK)
            rollout_index = self._index(plan, values, rollout, names.ROLLOUT)
            known = known or self._block(plan, usage_plan)
        shape, block = known
        cells = self.pack(
            task_index,
            rollout_index,
            source,
            line,
            offset,
            len(view),
            self.label(name, served_by or None),
            masked,
            flags,
            shape,
            asked,
        )
        numbers = plan.take(values) + usage_plan.take(usage)
        try:
            packed = block.pack(*numbers)
        except struct.error:
            block = self._wide_block(shape, block, numbers)
            packed = block.pack_wide(numbers)
        self.cells += cells
        block.rows.append(self.height)
        block.cells += packed
        if self.context is not None:
            self.context.add(self.height, row, *plain)
        self.height += 1

    def _index(self, plan: Plan, values: tuple[Any, ...], place: int, field: str) -> int:
        """An index that is no plain whole number: one written otherwise, or none where rows are to be numbered."""
        if not plan.unnumbered:
            return index(values, place, field)
        if self.prompts:
            return 0
        raise rows.BadLineError(NO_INDICES)

    def chunk(self, lines: list[int], bad: list[BadLine], read: int) -> Chunk:
        """What was added, as columns."""
        return (
            super()
            .chunk(lines, bad, read)
            ._replace(metrics=columns(self.blocks.values(), self.height), shapes=list(self.shapes))
        )

    def _usage(self, response: object, flags: int) -> tuple[int, Plan, tuple[Any, ...]]:
        """The plan and values of `response.usage`; anything but an object there is no usage."""
        if type(response) not in rows.OBJECTS:
            return flags | ODD_RESPONSE, self.no_usage, ()
        usage = self.usage_in(response)
        if type(usage) not in rows.OBJECTS:
            return flags | (ODD_RESPONSE if usage else 0), self.no_usage, ()
        keys: tuple[fields.Key, ...] = tuple(usage)
        values = tuple(usage.values())
        if self.nested_usage:
            keys, values = self.nested_usage((keys, values))
        kinds = keys, tuple(map(type, values))
        plan = self.usage_plans.get(kinds)
        if plan is None:
            plan = self.usage_plans[kinds] = Plan((keys, values), self.only)
        return flags, plan, values

    def _ending(self, response: object) -> int:
        """The flags that say whether a response was cut off, or that nothing says so."""
        if type(response) not in rows.OBJECTS:
            return NO_RESPONSE
        details_of, status_of, reason_of = self.ending
        details = details_of(response)
        reason = reason_of(details) if type(details) in rows.OBJECTS else None
        return TRUNCATED if reason or status_of(response) == "incomplete" else 0

    def _block(self, plan: Plan, usage_plan: Plan) -> tuple[int, Block]:
        """The shape of rows with these plans, and the block that their numbers are in."""
        metrics = (plan.metrics("row"), usage_plan.metrics("usage"))
        shape = self.shapes.setdefault(metrics, len(self.shapes))
        typecodes = plan.typecodes + usage_plan.typecodes
        block = self._block_of(shape, (*metrics[0], *metrics[1]), typecodes)
        plan.blocks[usage_plan] = (shape, block)
        return shape, block

    def _wide_block(self, shape: int, block: Block, numbers: tuple[Any, ...]) -> Block:
        """The block for rows whose whole numbers do not all fit 64 bits: those that do not are doubles."""
        typecodes = "".join(
            code if code == DOUBLE or number in rows.INDEX_RANGE else DOUBLE
            for code, number in zip(block.typecodes, numbers, strict=True)
        )
        return self._block_of(shape, block.metrics, typecodes)

    def _block_of(self, shape: int, metrics: tuple[Metric, ...], typecodes: str) -> Block:
        """The block of a shape's rows whose numbers are of these types; made only once, for that takes its time."""
        block = self.blocks.get((shape, typecodes))
        if block is None:
            block = self.blocks[shape, typecodes] = Block(metrics, typecodes)
        return block

    def _prompt(self, values: tuple[Any, ...], keys: tuple[fields.Key, ...]) -> int:
        """A digest of what a rollout was asked: the input, instructions and tools of its request."""
        (place,) = last_places(keys, (names.PARAMS,))
        if place < 0 or type(values[place]) not in rows.OBJECTS:
            raise rows.BadLineError(f"has no {names.PARAMS} to tell its task by")
        return digest(fields.canonical(values[place], PROMPT))
