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
    from pipeline.collect.plans import Past, Slot

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
    from pipeline.collect.plans import check_past, read_past, read_plan

    paths, options, how = _paths(ask), _plan_options(plan), _ask_options(ask, serve)
    _check_serve(serve)
    again = _again(ask)
    resumed = _is_resumed(paths, plan, ask, console)
    prepared = _Plan(paths, plan, options)
    if not resumed or not paths.inputs.exists():
        prepared.read()
    elif plan.input is not None:
        prepared.check()
    with open_ledger(paths.rollouts, paths.failures, new=not paths.rollouts.exists()) as ledger:
        for note in ledger.cut:
            console.say(note)
        with _agents(serve, prepared.agents_wanted(), again, how, console) as agents:
            prepared.write()
            ledger.begun = True
            slots, past = read_plan(paths.inputs), read_past(paths.rollouts, paths.failures)
            check_past(past, slots, paths.rollouts)
            pending = [slot for slot in slots if not past.is_over(slot.key, how.max_attempts)]
            say_at_the_end(f"what finished is in {names.shown(paths.rollouts)}; go on with: {again}")
            began = time.monotonic()
            tally = _collected(pending, past, paths, agents, ledger, how, console)
    outcome = Outcome(paths, slots, past, tally, time.monotonic() - began, how.max_attempts)
    tell(outcome, console, again)


class _Plan:
    """The plan of a collection: read from a dataset, or there already."""

    def __init__(self, paths: Paths, asked: PlanAsked, options: PlanOptions) -> None:
        self.paths = paths
        self.asked = asked
        self.options = options
        self.rows: list[Row] = []
        self.is_new = False

    def read(self) -> None:
        """Reads the dataset, which is to be written as materialized inputs."""
        from pipeline.collect.datasets import read_dataset

        if self.asked.input is None:
            raise UsageError("there is nothing to collect", hint="Name a dataset: --input DATA.jsonl")
        self.rows = read_dataset(self.asked.input, self.options)
        self.is_new = True

    def check(self) -> None:
        """Compares the dataset with the materialized inputs that are there."""
        from pipeline.collect.datasets import read_dataset
        from pipeline.collect.materialize import planned
        from pipeline.collect.plans import check_same

        assert self.asked.input is not None  # noqa: S101 - asked before
        check_same(self.paths.inputs, planned(read_dataset(self.asked.input, self.options), self.options))

    def agents_wanted(self) -> set[str]:
        """The agents that rows are for."""
        from pipeline.collect.plans import read_plan

        if self.is_new:
            return {row.agent for row in self.rows}
        return {slot.agent for slot in read_plan(self.paths.inputs)}

    def write(self) -> None:
        """Writes the materialized inputs, where they are new."""
        from pipeline.collect.materialize import planned, write_plan

        if self.is_new:
            write_plan(self.paths.inputs, planned(self.rows, self.options))


def _paths(ask: AskAsked) -> Paths:
    path = ask.output
    if path is None:
        raise UsageError("where do the rollouts go?", hint="Name a file: --output R.jsonl")
    if path.suffix != ".jsonl" or not names.without_suffix(path.name) or names.is_beside_a_run(path.name):
        raise UsageError(f"--output {names.shown(path)} is no name for rollouts", hint="Write it like runs/R.jsonl.")
    from pipeline.output.files import make_folder

    stem = names.stem_of(path)
    inputs, failures = (names.sibling(stem, f"{ending}.jsonl") for ending in (names.INPUTS, names.FAILURES))
    make_folder(path.parent)
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


def _is_resumed(paths: Paths, plan: PlanAsked, ask: AskAsked, console: Console) -> bool:
    """Whether there is something to go on with."""
    there = paths.there()
    if not ask.resume and there:
        raise SourceError("is there already", where=names.shown(there[0]), hint=RESUME_HINT)
    if ask.resume and not there:
        console.say("nothing to resume; everything is collected")
    if there and not paths.inputs.exists() and paths.rollouts.exists() and paths.rollouts.stat().st_size:
        raise SourceError(
            "has rollouts, but what was planned is not there",
            where=names.shown(paths.rollouts),
            hint=f"Bring back {names.shown(paths.inputs)}, or choose another --output.",
        )
    if paths.inputs.exists() and plan.input is None and plan.says_something:
        raise UsageError(
            "options of the plan go with --input",
            hint="Without it, --resume goes by the materialized inputs; leave these options out.",
        )
    return bool(there)


@contextlib.contextmanager
def _agents(serve: ServeAsked, wanted: set[str], again: str, how: AskOptions, console: Console) -> Iterator[Agents]:
    """Where the agents are; an environment of our own is started and stopped."""
    from pipeline.collect.agents import agents_of, check_reachable, checked_url, needed
    from pipeline.collect.outages import Watch

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
        return
    asyncio.run(check_reachable(urls))
    yield Agents(urls, Watch(how.patience, str, again))


def _collected(
    pending: list[Slot],
    past: Past,
    paths: Paths,
    agents: Agents,
    ledger: Ledger,
    how: AskOptions,
    console: Console,
) -> Tally:
    from pipeline.cli.progress import rollout_bar
    from pipeline.collect.collecting import Tally, Work, collect

    if not pending:
        return Tally()
    with paths.inputs.open("rb") as plan, rollout_bar(len(pending), wanted=not console.quiet) as advance:
        work = Work(pending, plan.fileno(), past.attempts, agents.urls, ledger)
        return asyncio.run(collect(work, how, agents.watch, advance))


def _again(ask: AskAsked) -> str:
    """What to type to go on."""
    words = [names.shown(word) for word in sys.argv[1:]]
    return shlex.join([command(), *words, *([] if ask.resume else ["--resume"])])
