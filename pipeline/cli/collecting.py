"""A dataset → its rollouts, step by step: plan, agents, collection."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pipeline import names
from pipeline.cli.called import command
from pipeline.collect.installed import need_extra
from pipeline.errors import SourceError, UsageError
from pipeline.leftovers import say_at_the_end

if TYPE_CHECKING:
    from pipeline.cli.collecting_asked import AskAsked, PlanAsked, ServeAsked
    from pipeline.cli.console import Console
    from pipeline.collect.collecting import Tally
    from pipeline.collect.datasets import Row
    from pipeline.collect.ledger import Ledger
    from pipeline.collect.options import AskOptions, PlanOptions
    from pipeline.collect.outages import Watch
    from pipeline.collect.past import Past
    from pipeline.collect.plans import Slot

DEFAULT_HEAD = "http://127.0.0.1:11000"
RESUME_HINT = "Go on with it by --resume, choose another --output, or remove its files."


class Paths(NamedTuple):
    """The files of a collection."""

    rollouts: Path
    inputs: Path
    failures: Path

    def there(self) -> list[Path]:
        """Those that exist."""
        return [path for path in self if os.path.lexists(path)]


class State(NamedTuple):
    """What is planned, what became of it before, and what is still to come."""

    slots: list[Slot]
    past: Past
    pending: list[Slot]


class Agents(NamedTuple):
    """Where agents are, who says so, and what is known of their end."""

    urls: Mapping[str, str]
    watch: Watch


def collect_run(plan: PlanAsked, ask: AskAsked, serve: ServeAsked, console: Console) -> None:
    """Plans or resumes, asks for every rollout that is still to come, and tells.

    Raises:
        RollprofError: Something does not fit, cannot be read or written, or no rollout finished at all.
    """
    need_extra("rollprof collect")
    from pipeline.cli.collected import Outcome, tell
    from pipeline.collect.ledger import open_ledger
    from pipeline.output.files import make_folder

    paths, options, how = _paths(ask), _plan_options(plan), _ask_options(ask, serve)
    _check_serve(serve)
    _check_there(paths, plan, ask, console)
    rows = _rows(paths, plan, options)
    again = _again(ask)
    make_folder(paths.rollouts.parent)
    with open_ledger(paths.rollouts, paths.failures, new=not paths.rollouts.exists()) as ledger:
        for note in ledger.cut:
            console.say(note)
        state = None if rows else _state(paths, how)
        wanted = {slot.agent for slot in state.pending} if state else {row.agent for row in rows}
        with _agents(serve, wanted, again, how, console) as agents:
            if state is None:
                _write(paths, rows, options)
                state = _state(paths, how)
            ledger.begun = True
            say_at_the_end(f"what finished is in {names.shown(paths.rollouts)}; go on with: {again}")
            began = time.monotonic()
            tally = _collected(state, paths, agents, ledger, how, console)
    outcome = Outcome(paths, state.slots, state.past, tally, time.monotonic() - began, how.max_attempts)
    tell(outcome, console, again)


def _rows(paths: Paths, plan: PlanAsked, options: PlanOptions) -> list[Row]:
    """The rows that are to be planned; none where they are already, and fit the dataset if one was named."""
    from pipeline.collect.datasets import read_dataset
    from pipeline.collect.fitting import check_same
    from pipeline.collect.materialize import planned

    planned_before = paths.inputs.exists()
    if plan.input is None:
        if planned_before:
            return []
        raise UsageError("there is nothing to collect", hint="Name a dataset: --input DATA.jsonl")
    rows = read_dataset(plan.input, options)
    if planned_before:
        check_same(paths.inputs, planned(rows, options))
        return []
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


def _paths(ask: AskAsked) -> Paths:
    path = ask.output
    if path is None:
        raise UsageError("where do the rollouts go?", hint="Name a file: --output R.jsonl")
    if path.suffix != ".jsonl" or not names.without_suffix(path.name) or names.is_beside_a_run(path.name):
        raise UsageError(f"--output {names.shown(path)} is no name for rollouts", hint="Write it like runs/R.jsonl.")
    stem = names.stem_of(path)
    inputs, failures = (names.sibling(stem, f"{ending}.jsonl") for ending in (names.INPUTS, names.FAILURES))
    return Paths(path, inputs, failures)


def _plan_options(plan: PlanAsked) -> PlanOptions:
    from pipeline.collect.options import PlanOptions, parse_repeats

    return PlanOptions(
        agent=plan.agent or None,
        repeats=parse_repeats(plan.num_repeats or ()),
        add_seed=plan.num_repeats_add_seed,
        limit=plan.limit,
        overrides=dict(plan.overrides),
    )


def _ask_options(ask: AskAsked, serve: ServeAsked) -> AskOptions:
    from pipeline.collect.options import AskOptions

    secret = os.environ.get(serve.model_api_key_env or "", "").strip()
    return AskOptions(
        concurrency=ask.concurrency,
        timeout=ask.timeout,
        max_attempts=ask.max_attempts,
        backoff=ask.backoff,
        patience=ask.patience,
        max_answer_mb=ask.max_answer_mb,
        seed=serve.seed,
        secrets=(secret,) if secret else (),
    )


def _check_serve(serve: ServeAsked) -> None:
    """Options of one way to agents do not go with another."""
    named = [
        option for option, given in (("--head-server", serve.head_server), ("--agent-url", serve.agent_url)) if given
    ]
    running = serve.no_serve or bool(named)
    if len(named) > 1:
        raise UsageError("--head-server and --agent-url exclude each other", hint="Leave one of them out.")
    if running and serve.for_child:
        raise UsageError(
            f"{serve.for_child[0]} is for an environment that is started here",
            hint=f"Leave it out, or leave {', '.join(named) or '--no-serve'} out.",
        )


def _check_there(paths: Paths, plan: PlanAsked, ask: AskAsked, console: Console) -> None:
    """Refuses files that are there without --resume, and --resume where they do not belong together."""
    there = paths.there()
    if not ask.resume and there:
        raise SourceError("is there already", where=names.shown(there[0]), hint=RESUME_HINT)
    if ask.resume and not there:
        console.say("nothing to resume; everything is collected")
    if not paths.inputs.exists() and any(path.exists() and path.stat().st_size for path in there):
        raise SourceError(
            "has lines already, but what was planned is not there",
            where=names.shown(there[0]),
            hint=f"Bring back {names.shown(paths.inputs)}, or choose another --output.",
        )
    if paths.inputs.exists() and plan.input is None and plan.says_something:
        raise UsageError(
            "options of the plan go with --input",
            hint="Without it, --resume goes by the materialized inputs; leave these options out.",
        )


@contextlib.contextmanager
def _agents(serve: ServeAsked, wanted: set[str], again: str, how: AskOptions, console: Console) -> Iterator[Agents]:
    """Where the agents are; an environment of our own is started and stopped."""
    from pipeline.collect.agents import agents_of, check_reachable, checked_url, needed
    from pipeline.collect.outages import Watch

    if not wanted:
        yield Agents({}, Watch(how.patience, str, again))
        return
    if serve.agent_url is not None:
        url = checked_url(serve.agent_url, "--agent-url")
        urls = dict.fromkeys(sorted(wanted), url)
    elif serve.no_serve or serve.head_server is not None:
        head = checked_url(serve.head_server or DEFAULT_HEAD, "--head-server")
        urls = needed(asyncio.run(agents_of(head)), wanted, where=head)
    else:
        from pipeline.collect.started import started

        with started([*serve.for_child, "--seed", str(serve.seed)]) as child:
            urls = needed(child.agents, wanted, where="the environment started here")
            console.say(f"asking {child.model} by {', '.join(urls)}")
            yield Agents(urls, Watch(how.patience, child.ended, again))
            for line in child.last_lines():
                console.say(line)
        return
    asyncio.run(check_reachable(urls))
    yield Agents(urls, Watch(how.patience, str, again))


def _collected(state: State, paths: Paths, agents: Agents, ledger: Ledger, how: AskOptions, console: Console) -> Tally:
    from pipeline.cli.progress import rollout_bar
    from pipeline.collect.collecting import Tally, Work, collect

    if not state.pending:
        return Tally()
    with paths.inputs.open("rb") as plan, rollout_bar(len(state.pending), wanted=not console.quiet) as advance:
        work = Work(state.pending, plan.fileno(), state.past.attempts, agents.urls, ledger)
        return asyncio.run(collect(work, how, agents.watch, advance))


def _again(ask: AskAsked) -> str:
    """What to type to go on."""
    words = [names.shown(word) for word in sys.argv[1:]]
    return shlex.join([command(), *words, *([] if ask.resume else ["--resume"])])
