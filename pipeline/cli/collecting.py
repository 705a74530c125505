"""A dataset → its rollouts, step by step: plan, agents, collection."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

from pipeline import names
from pipeline.cli.called import going_on
from pipeline.cli.collection_agents import Agents, check_serve, found_agents, own_servers, settings_of
from pipeline.cli.collection_files import Paths, check_there, paths_of
from pipeline.collect.installed import need_extra
from pipeline.errors import UsageError
from pipeline.leftovers import say_at_the_end

if TYPE_CHECKING:
    from pipeline.cli.collecting_asked import AskAsked, PlanAsked, ServeAsked
    from pipeline.cli.console import Console
    from pipeline.collect.collecting import Tally
    from pipeline.collect.datasets import Row
    from pipeline.collect.ledger import Ledger
    from pipeline.collect.options import AskOptions, PlanOptions
    from pipeline.collect.past import Past
    from pipeline.collect.plans import Slot
    from pipeline.collect.serving.config import ServersConfig


class State(NamedTuple):
    """What is planned, what became of it before, and what is still to come."""

    slots: list[Slot]
    past: Past
    pending: list[Slot]


def collect_run(plan: PlanAsked, ask: AskAsked, serve: ServeAsked, console: Console) -> None:
    """Plans or resumes, asks for every rollout that is still to come, and tells.

    Raises:
        RollprofError: Something does not fit, cannot be read or written, or no rollout finished at all.
    """
    need_extra("rollprof collect")
    from pipeline.cli.collected import tell
    from pipeline.cli.outcome import Outcome
    from pipeline.collect.begun_with import check_begun_with, keep
    from pipeline.collect.client import SPARE_FILES, allow_open_files
    from pipeline.collect.ledger import open_ledger
    from pipeline.output.files import make_folder

    paths, how = paths_of(ask), _ask_options(ask, serve)
    check_serve(serve)
    own = own_servers(serve)
    options = _plan_options(plan, own)
    allow_open_files(how.concurrency + SPARE_FILES)
    check_there(paths, plan, ask, console)
    rows = _rows(paths, plan, options, console)
    again = going_on()
    make_folder(paths.rollouts.parent)
    with open_ledger(paths.rollouts, paths.failures, new=not paths.rollouts.exists()) as ledger:
        for note in ledger.cut:
            console.say(note)
        state = None if rows else _state(paths, how)
        if state and state.pending and state.past.finished:
            check_begun_with(paths.begun_with, settings_of(own), rollouts=paths.rollouts)
        wanted = {slot.agent for slot in state.pending} if state else {row.agent for row in rows}
        with found_agents(serve, wanted, again, how, console) as agents:
            if state is None or (state.pending and not state.past.finished):
                keep(paths.begun_with, settings_of(own))
                ledger.beside.append(paths.begun_with)
            if state is None:
                _write(paths, rows, options)
                state = _state(paths, how)
            ledger.begun = True
            say_at_the_end(f"what finished is in {names.shown(paths.rollouts)}; go on with: {again}")
            began = time.monotonic()
            tally = _collected(state, paths, agents, ledger, how, console)
            seconds = time.monotonic() - began
    tell(Outcome(paths, state.slots, state.past, tally, seconds, how.max_attempts), console)


def _rows(paths: Paths, plan: PlanAsked, options: PlanOptions, console: Console) -> list[Row]:
    """The rows that are to be planned; none where they are already, and fit the dataset if one was named."""
    from pipeline.collect.datasets import read_dataset
    from pipeline.collect.fitting import check_same
    from pipeline.collect.materialize import check_room, planned

    planned_before = paths.inputs.exists()
    if plan.input is None:
        if planned_before:
            return []
        raise UsageError("there is nothing to collect", hint="Name a dataset: --input DATA.jsonl")
    rows = read_dataset(plan.input, options)
    if not plan.agent and not all(row.names_agent for row in rows):
        console.say(f"rows that name no agent are for {options.agent}, the only one served")
    if planned_before:
        check_same(paths.inputs, planned(rows, options))
        return []
    check_room(paths.inputs, rows)
    return rows


def _write(paths: Paths, rows: list[Row], options: PlanOptions) -> None:
    from pipeline.collect.materialize import planned, write_plan

    write_plan(paths.inputs, planned(rows, options))


def _state(paths: Paths, how: AskOptions) -> State:
    """What is planned, what became of it before, and what is still to come."""
    from pipeline.collect.past import check_past, read_past
    from pipeline.collect.plans import read_plan

    slots, past = read_plan(paths.inputs), read_past(paths.rollouts, paths.failures)
    check_past(past, slots, paths.rollouts)
    return State(slots, past, [slot for slot in slots if not past.is_over(slot.key, how.max_attempts)])


def _plan_options(plan: PlanAsked, own: ServersConfig | None) -> PlanOptions:
    """What was asked of the plan; where exactly one agent is served here, rows that name none are for it."""
    from pipeline.collect.options import PlanOptions, parse_repeats

    served = tuple(own.agents) if own else ()
    return PlanOptions(
        agent=plan.agent or (served[0] if len(served) == 1 else None),
        repeats=parse_repeats(plan.num_repeats or ()),
        add_seed=plan.num_repeats_add_seed,
        limit=plan.limit,
        overrides=dict(plan.overrides),
    )


def _ask_options(ask: AskAsked, serve: ServeAsked) -> AskOptions:
    from pipeline.collect.options import AskOptions

    return AskOptions(
        concurrency=ask.concurrency,
        timeout=ask.timeout,
        max_attempts=ask.max_attempts,
        backoff=ask.backoff,
        patience=ask.patience,
        max_answer_mb=ask.max_answer_mb,
        seed=serve.seed or 0,
    )


def _collected(state: State, paths: Paths, agents: Agents, ledger: Ledger, how: AskOptions, console: Console) -> Tally:
    from pipeline.cli.progress import rollout_bar
    from pipeline.collect.collecting import Tally, Work, collect

    if not state.pending:
        console.say("nothing was asked: every rollout is finished, final or out of attempts")
        return Tally()
    with paths.inputs.open("rb") as plan, rollout_bar(len(state.pending), wanted=not console.quiet) as advance:
        work = Work(state.pending, plan.fileno(), state.past.attempts, agents.urls, ledger, agents.key)
        return asyncio.run(collect(work, how, agents.watch, advance))
