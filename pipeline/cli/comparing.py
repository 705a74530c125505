"""Two or more runs → what changed, printed; and a gate on it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import polars as pl

from pipeline import names
from pipeline.analysis.comparison import CompareOptions, Comparison, compare
from pipeline.analysis.judgement import RULE, fall_of
from pipeline.analysis.pairing import field_of, key_column
from pipeline.analysis.same_rollouts import ID_FIELD
from pipeline.cli.asked import FieldsAsked, RuleAsked
from pipeline.cli.comparison_notes import Named, notes
from pipeline.cli.comparison_object import as_object, show_commands
from pipeline.cli.comparison_text import Shown, text_of
from pipeline.cli.console import SCHEMA_VERSION, Console, refusal_facts
from pipeline.cli.opening import opened, paths_of
from pipeline.cli.rule_of_run import rule_of_runs
from pipeline.cli.rules import rule_words, thresholds
from pipeline.cli.tables import form_of, print_content, print_table
from pipeline.errors import GateError, UsageError
from pipeline.rounding import exceeds
from pipeline.words import counted

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.cli.asked import RunAsked, TableAsked
    from pipeline.run import Run

FEWEST_RUNS = 2


class Asked(NamedTuple):
    """What was asked of the runs."""

    key: str
    pair: Literal["task", "rollout"]
    by: tuple[str, ...]
    rule: RuleAsked
    seed: int
    flips: bool


class Gate(NamedTuple):
    """When the command exits 5.

    Attributes:
        largest_fall: The score may not fall by more.
        by_estimate: Whether the estimate of the fall counts, not its lower bound.
        strict: Whether too little data counts.
    """

    largest_fall: float | None
    by_estimate: bool
    strict: bool


def answer(
    question: Asked, asked: RunAsked, fields: FieldsAsked, table: TableAsked, console: Console, *, gate: Gate
) -> None:
    """Compares each run with the first, and prints what changed.

    Raises:
        GateError: A run is worse than the gate allows, or there is too little data and that counts.
        RollprofError: The question cannot be understood, or a run cannot be read.
    """
    words, inputs = _checked(question, asked, gate)
    thresholds(question.rule)  # a mistake is told before a run is read
    field = ID_FIELD if question.pair == "rollout" else field_of(question.key)
    needed = [field] if field else []
    runs = [
        _opened(word, replace(asked, run=[word], inputs=files), fields, needed, question.key, console)
        for word, files in zip(words, inputs, strict=True)
    ]
    rule, rules = rule_of_runs(words, runs, question.rule, console)
    options = CompareOptions(rule=rule, key=question.key, pair=question.pair, by=question.by, seed=question.seed)
    found: list[tuple[Named, Comparison]] = []
    for place, run in enumerate(runs[1:], 1):
        named = Named(words[0], words[place])
        compared = compare(runs[0], run, options)
        flips = show_commands(compared.flips, named, (inputs[0], inputs[place]), rule=rule_words(question.rule))
        found.append((named, compared._replace(flips=flips)))
        for note in notes(named, compared.facts, (runs[0], run), options):
            console.warn(note)
    missed = _missed_gate(found, gate, console)
    _print(found, options, question, table, console, runs, rules, missed)
    if missed is not None:
        raise missed


def _checked(question: Asked, asked: RunAsked, gate: Gate) -> tuple[list[str], list[list[str]]]:
    """The runs, and the inputs files of each."""
    words = list(asked.run or ())
    if asked.rollouts:
        raise UsageError("--rollouts is for one run", hint='Name each run by one word: BASE "shards/*.jsonl"')
    if len(words) < FEWEST_RUNS:
        raise UsageError("two runs are compared", hint="rollprof compare BASE CAND; several files in a quoted glob.")
    given = list(asked.inputs or ())
    if len(given) not in {0, 1, len(words)}:
        raise UsageError(f"{len(given)} --inputs for {len(words)} runs", hint="Give one for all, or one for each.")
    if gate.largest_fall is not None and math.isnan(gate.largest_fall):
        raise UsageError("--fail-if-worse is no number", hint="Write it like 0.01.")
    if gate.by_estimate and gate.largest_fall is None:
        raise UsageError("--by-estimate goes with --fail-if-worse", hint="Say by how much the score may fall.")
    if question.pair == "rollout" and question.key != "content":
        raise UsageError("--key is for tasks", hint="Rollouts are paired by both indices: leave --key out.")
    return words, [given if len(given) < FEWEST_RUNS else [given[place]] for place in range(len(words))]


def _opened(word: str, asked: RunAsked, fields: FieldsAsked, needed: list[str], key: str, console: Console) -> Run:
    run = opened(asked, console, fields, needed=needed)
    if field_of(key) and key_column(run, key) is None:
        hint = "It is a field of the input row, dotted; row.NAME is one of the rollout."
        raise UsageError(f"--key {key}: no row of {names.shown(word)} has it", hint=hint)
    return run


def _print(
    found: list[tuple[Named, Comparison]],
    options: CompareOptions,
    question: Asked,
    table: TableAsked,
    console: Console,
    runs: list[Run],
    kept: list[Path],
    missed: GateError | None,
) -> None:
    """Prints everything for people or as one object, or one table."""
    form = form_of(table)
    files = [run.files for run in runs]
    if form == "json":
        about = {"schema_version": SCHEMA_VERSION, "base": names.shown(found[0][0].base), "verdict_rule": RULE}
        how = {"pass_rule": str(options.rule), "key": options.key, "pair": options.pair, "seed": options.seed}
        compared = [as_object(named, one, flips=question.flips, limit=table.limit) for named, one in found]
        gate = {} if missed is None else refusal_facts(missed)
        text = json.dumps(
            {**about, **how, **gate, "comparisons": compared}, ensure_ascii=False, allow_nan=False, default=str
        )
        print_content(text.encode() + b"\n", table, files, kept)
    elif form in {"table", "md"}:
        shown = Shown(form=form, flips=question.flips, limit=table.limit)
        texts = [text_of(named, one, options, shown) for named, one in found]
        print_content("\n\n".join([*texts, f"Verdicts: {RULE}"]).encode() + b"\n", table, files, kept)
    else:
        rows = [(named, one.flips if question.flips else one.changes) for named, one in found]
        whole = pl.concat(
            [one.select(pl.lit(names.shown(named.candidate)).alias("run"), pl.all()) for named, one in rows],
            how="diagonal_relaxed",
        )
        others = [path for of_run in files[1:] for path in paths_of(of_run)]
        print_table(whole, table, console, files[0], [*others, *kept])


def _missed_gate(found: list[tuple[Named, Comparison]], gate: Gate, console: Console) -> GateError | None:
    """What ends the command with exit code 5, if a gate was not met; its result is printed before."""
    missed = []
    for named, one in found:
        name = names.shown(named.candidate)
        if one.verdict == "too little data":
            if gate.strict:
                missed.append(f"{name}: too little data ({counted(one.change.tasks, 'task')}), and --strict")
            elif gate.largest_fall is not None:
                console.warn(f"{name}: too little data, so --fail-if-worse says nothing (--strict refuses that)")
            continue
        fall = fall_of(one.change, by_estimate=gate.by_estimate)
        if gate.largest_fall is not None and fall is not None and exceeds(fall, gate.largest_fall):
            what = "the estimate" if gate.by_estimate else "the lower bound of the 95 % interval"
            missed.append(f"{name}: the score fell by {fall:.6g} ({what}), more than {gate.largest_fall:g}")
    if not missed:
        return None
    error = GateError("; ".join(missed), hint="--fail-if-worse and --strict say what is too much.")
    error.answered = True
    return error
