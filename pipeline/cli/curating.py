"""What was asked → a training set in files, and what it leaves out in words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline import names
from pipeline.analysis import sampling
from pipeline.analysis.bands import Span, pass_rate_span, span_of
from pipeline.analysis.candidates import VERDICT, candidates, field_column, fields_wanted
from pipeline.analysis.selection import WHERE, Selected, Selection, select
from pipeline.analysis.stages import summary
from pipeline.cli.console import print_bytes
from pipeline.cli.curated_files import MODEL_WANTED, Training, write
from pipeline.cli.opening import opened, placed
from pipeline.cli.option_models import model_of
from pipeline.cli.rule_of_run import rule_of_run
from pipeline.cli.rules import thresholds
from pipeline.cli.selecting import selected
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from pipeline.groups import GROUP, TOKENS
from pipeline.output.datasets import manifest_path
from pipeline.output.files import check_folder
from pipeline.output.task_lines import fields_of
from pipeline.report.selection import misfiled_text, selection_text
from pipeline.sources.files import open_source

if TYPE_CHECKING:
    from pipeline.cli.asked import RuleAsked, RunAsked
    from pipeline.cli.console import Console
    from pipeline.cli.curating_asked import ChoiceAsked, DrawAsked, LinesAsked
    from pipeline.run import Run

SUFFIXES = (".jsonl", ".parquet")
SHOWN = 10
OF_SAMPLE = "input."
"""What the path of a field of the sample may begin with, as it does elsewhere."""


def selection_of(choice: ChoiceAsked, draw: DrawAsked, lines: LinesAsked) -> Selection:
    """What was asked as one model.

    Raises:
        UsageError: An option cannot be understood, or the options do not fit together.
    """
    rate = None if choice.pass_rate is None else pass_rate_span(choice.pass_rate)
    asked = {**vars(choice), **vars(draw), "pass_rate": rate, "metrics": tuple(_metrics(choice)), "pairs": lines.pairs}
    given = {name: value for name, value in asked.items() if name not in {"tokens", "metric"}}
    for name in ("balance", "ratio", "domain"):
        given[name] = given[name] and given[name].removeprefix(OF_SAMPLE)
    return model_of(Selection, "select", **given)


def _metrics(choice: ChoiceAsked) -> Iterator[tuple[str, Span]]:
    """The metrics whose means have to lie in a range."""
    if choice.tokens is not None:
        yield TOKENS, span_of(choice.tokens, option="--tokens")
    for text in choice.metric or ():
        name, _, span = text.rpartition("=")
        if not name:
            raise UsageError(f"--metric {text!r} is not NAME=LOW:HIGH", hint="Write it like num_turns=2:10.")
        yield name, span_of(span, option=f"--metric {name}")


def curate(selection: Selection, lines: LinesAsked, asked: RunAsked, rule: RuleAsked, console: Console) -> None:
    """Chooses tasks of a run, writes them, and says what was left out.

    Args:
        selection: What is chosen; its rule of passing is that of `rule`.
        lines: What is written, and where to.
        asked: Which run, and how it is read.
        rule: When a rollout passes.
        console: Where to say what was left out.

    Raises:
        RollprofError: The options do not fit together, the run or the dataset cannot be read or is another, or a file
            cannot be written.
    """
    _check(selection, lines)
    thresholds(rule)  # a mistake is told before the run is read
    dataset = None if lines.dataset is None else open_source(lines.dataset)
    needed = [*fields_wanted(selection.fields), *([MODEL_WANTED] if lines.write_back and not lines.model else [])]
    run = opened(asked, console, needed=needed)
    passing, rules = rule_of_run(run, rule, console)
    selection = selection.model_copy(update={"pass_rule": passing})
    found = select(_pool(run, selection), selection)
    _tell(found, selection, console)
    stages = None
    if selection.stages is not None:
        stages = summary(found.chosen, None if selection.domain is None else field_column(selection.domain))
    told = _told(found, selection, stages)
    tables = selection_text(found.steps, found.bands, stages)
    if lines.dry_run or lines.output is None:
        if not console.as_json:
            print_bytes(f"{tables}\n".encode())
        console.object({**told, "outputs": []})
        return
    training = Training(
        run=run,
        selection=selection,
        found=found,
        output=lines.output,
        dataset=dataset,
        write_back=lines.write_back,
        model=lines.model,
    )
    wrote = write(training, told, console, kept=rules)
    console.result(tables)
    what = "pair" if selection.pairs else "line"
    for one in wrote:
        there = placed(one.path, replaced=one.replaced)
        console.result(f"{one.lines:,} {what}{'' if one.lines == 1 else 's'} in {there}")
    outputs = [names.shown(path) for path in (*(one.path for one in wrote), manifest_path(lines.output))]
    console.object({**told, "outputs": outputs})


def _check(selection: Selection, lines: LinesAsked) -> None:
    """Refuses what cannot be done before anything is read."""
    if selection.pairs and (lines.dataset or lines.write_back):
        hint = "Pairs are rollouts, not rows of a dataset."
        raise UsageError("--pairs goes with neither --dataset nor --write-back", hint=hint)
    if lines.model is not None and not lines.write_back:
        raise UsageError("--model goes with --write-back", hint="It names whose pass rates they are.")
    if lines.model is not None and not lines.model.strip():
        raise UsageError("--model is empty", hint="It names whose pass rates they are; without it response.model does.")
    if lines.dry_run:
        return
    if lines.output is None or lines.output.suffix not in SUFFIXES or lines.output.stem.startswith("."):
        kinds = " or ".join(f"-o FILE{suffix}" for suffix in SUFFIXES)
        message = "the data set needs a name" if lines.output is None else "the kind of a data set is told by its name"
        raise UsageError(message, hint=f"Give {kinds}; --dry-run only prints what would be chosen.")
    check_folder(lines.output)


def _pool(run: Run, selection: Selection) -> pl.DataFrame:
    """The candidates with all that the choice rests on."""
    pool = collect(candidates(run, selection.pass_rule, *(metric for metric, _ in selection.metrics)))
    for field in selection.fields:
        _need_field(run, pool, field)
    if selection.ratio is not None:
        _need_values(pool, *sampling.ratio_of(selection.ratio))
    if selection.verdict is not None and f"{VERDICT}{selection.verdict}" not in pool.columns:
        known = [name.removeprefix(VERDICT) for name in pool.columns if name.startswith(VERDICT)]
        there = f"There are {', '.join(known)}." if known else "The run has no rollout_verdicts.jsonl beside it."
        raise UsageError(f"--verdict {selection.verdict!r}: no rollout has it", hint=there)
    if selection.where is None:
        return pool
    about = pool.drop(names.INPUT_PLACE)
    true = selected(about, selection.where, table="tasks").select(GROUP).with_columns(pl.lit(value=True).alias(WHERE))
    return pool.join(true, on=GROUP, how="left", nulls_equal=True, maintain_order="left")


def _need_field(run: Run, pool: pl.DataFrame, field: str) -> None:
    """Refuses a field that no sample has; its hint names those that are called alike."""
    column = field_column(field)
    if not len(pool) or (column in pool.columns and pool[column].count()):
        return
    there = fields_of(run, pool)
    close = difflib.get_close_matches(field, there, 3, 0.5)
    guess = f"Did you mean {' or '.join(close)}? " if close else ""
    listed = ", ".join(there[:SHOWN]) + (" …" if len(there) > SHOWN else "")
    raise UsageError(f"no sample has a field {field!r} with single values", hint=f"{guess}There are {listed}.")


def _need_values(pool: pl.DataFrame, field: str, shares: Iterable[str]) -> None:
    """Refuses a value that no task has in a field."""
    there = pool[field_column(field)].drop_nulls().unique().sort().to_list() if len(pool) else list(shares)
    for value in shares:
        if value not in there:
            listed = ", ".join(there[:SHOWN]) + (" …" if len(there) > SHOWN else "")
            raise UsageError(f"--ratio: no task has {field} {value!r}", hint=f"There are {listed}.")


def _told(found: Selected, selection: Selection, stages: pl.DataFrame | None) -> dict[str, Any]:
    """The tables of a choice for the manifest and for programs."""
    return {
        "pass_rule": str(selection.pass_rule),
        "chosen": len(found.chosen),
        "steps": found.steps.to_dicts(),
        "bands": found.bands.to_dicts(),
        "naive_filter": found.misfiled,
        "stages": None if stages is None else stages.to_dicts(),
    }


def _tell(found: Selected, selection: Selection, console: Console) -> None:
    """Warns of what the user may not expect of the choice."""
    if not len(found.chosen):
        last = found.steps.filter(pl.col("out") > 0)
        why = f"; the last were left out by: {last['step'][-1]}" if len(last) else ""
        console.warn(f"no task was chosen{why}")
    for value, missing in found.short.items():
        console.warn(f"{selection.shared} {value}: {missing:,} tasks too few for its share")
    for field in selection.fields:
        of_field = found.bands.filter(pl.col("field") == field, pl.col("value").is_null())["candidates"].sum()
        if of_field:
            ends = "are a domain of their own" if field == selection.domain else "are left out"
            console.warn(f"{of_field:,} tasks have no {field}: they {ends}")
    if found.misfiled is not None and selection.confidence is not None:
        console.say(misfiled_text(found.misfiled, selection.confidence))
