"""What to know of how two runs were put together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline import names
from pipeline.analysis.pairing import CONTENT
from pipeline.cli.opening import of_unknown
from pipeline.words import counted

if TYPE_CHECKING:
    from pipeline.analysis.comparison import CompareOptions, Facts
    from pipeline.analysis.same_rollouts import Matched
    from pipeline.run import Run

FIRST = 10


class Named(NamedTuple):
    """What the user calls the two runs."""

    base: str
    candidate: str


def notes(named: Named, facts: Facts, runs: tuple[Run, Run], options: CompareOptions) -> Iterator[str]:
    """What to know, a line each."""
    for place, word in enumerate(named):
        yield from _of_run(names.shown(word), runs[place], facts, place, options)
    yield from _of_contents(facts, options)
    if facts.beyond:
        what = counted(facts.beyond, "pair of tasks", "pairs of tasks")
        yield f"with a mean or a change beyond a double, and left out: {what}"
    if facts.other_agents:
        yield f"agents have other names in {names.shown(named.candidate)} ({counted(facts.other_agents, 'pair')})"
    if facts.matched is not None:
        yield from _of_rollouts(facts.matched)
    if facts.by_agent and facts.of_others:
        yield (
            f"of other agents in the two runs: {counted(facts.of_others, 'task')} that both have; tasks are paired by "
            "agent where any was tried by several, so agents need the same names"
        )
    elif not facts.shared:
        more = "; --key uuid (or another field of the input rows) or --key index may pair them"
        told = more if options.key == CONTENT and facts.matched is None else ""
        yield f"the two runs have no task in common: see whether they are of one data set{told}"


def first_of(indices: pl.Series) -> str:
    """The first few of some indices, in words."""
    more = ", …" if len(indices) > FIRST else ""
    return f" (first: {', '.join(map(str, indices.head(FIRST)))}{more})"


def _of_run(name: str, run: Run, facts: Facts, place: int, options: CompareOptions) -> Iterator[str]:
    pooled, without = facts.pooled[place], facts.without_key[place]
    if len(pooled):
        of = "content" if options.key == CONTENT else "key"
        yield (
            f"{name}: {counted(int(pooled['tasks'].sum()), 'task')} have only {counted(len(pooled), f'different {of}')}"
            f"{first_of(pooled['first'])}; those with the same {of} are one task here (--key index keeps them apart)"
        )
    if without:
        lack = "any content to be known by" if options.key == CONTENT else f"a {options.key}"
        yield f"{name}: without {lack}, and left out: {counted(without, 'task')}"
    if (note := of_unknown(name, run)) is not None:
        yield note
    if facts.of == "prompt" and not run.has_input_rows:
        yield f"{name} has no input rows: tasks are known by their responses_create_params alone"


def _of_contents(facts: Facts, options: CompareOptions) -> Iterator[str]:
    if facts.matched is None and options.key == CONTENT:
        if len(facts.renumbered):
            told = counted(len(facts.renumbered), "index", "indices") + " with other content in the two runs"
            first = first_of(facts.renumbered[names.TASK])
            yield f"tasks are numbered differently: {told}{first}; they are paired by content"
    elif len(facts.conflicts):
        more = "" if facts.matched is not None else "; --key content pairs what is the same"
        told = counted(len(facts.conflicts), "task") + first_of(facts.conflicts["_task"])
        yield f"paired, but of other content: {told}{more}"
    if facts.unread:
        yield f"contents were not compared, for they cannot be read ({facts.unread})"


def _of_rollouts(matched: Matched) -> Iterator[str]:
    if len(matched.other):
        keys = ", ".join(f"{task}:{rollout}" for task, rollout in matched.other.head(FIRST).iter_rows())
        more = ", …" if len(matched.other) > FIRST else ""
        yield f"of another response.id, and left out: {counted(len(matched.other), 'rollout')} (first: {keys}{more})"
    if matched.unchecked:
        yield f"without a response.id to check, and paired by indices alone: {counted(matched.unchecked, 'rollout')}"
