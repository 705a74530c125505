"""What a choice among tasks has left, in words."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from pipeline.output.tables import plain_table
from pipeline.sources.asking import RunLevel
from pipeline.words import counted

SHOWN = 8


def selection_text(steps: pl.DataFrame, bands: pl.DataFrame, stages: pl.DataFrame | None) -> str:
    """The tables of a choice: what each rule left out, what there is in each band, and what each stage holds.

    Args:
        steps: As `left_out` gives it.
        bands: As `by_band` gives it.
        stages: As `summary` gives it, if there are stages.
    """
    return "\n\n".join(_shown(frame) for frame in (steps, bands, stages) if frame is not None)


def misfiled_text(figures: dict[str, float], confidence: float) -> str:
    """How a filter that takes observed pass rates for the true ones would have filed the tasks, in a sentence."""
    return (
        f"A filter on the observed pass rate alone keeps {figures['naive']:,}: of these {figures['unsure']:,} are in "
        f"the range with less than {confidence:.0%} probability, and it overlooks {figures['overlooked']:,}; "
        f"{figures['expected']:,.1f} tasks are expected on the wrong side of it."
    )


def run_level_notes(level: RunLevel) -> Iterator[str]:
    """What may have come into samples from the options of the run, a warning each."""
    of = f"of {counted(level.rows, 'row')}"
    if overrides := level.overrides():
        listed = ", ".join(f"{name} {value}" for name, value in list(overrides.items())[:SHOWN])
        more = f" and {len(overrides) - SHOWN} more" if len(overrides) > SHOWN else ""
        yield (
            f"every row has {listed}{more}: what options of that run put there stays in the data set "
            "(--dataset ORIGINAL.jsonl gives the lines before them)"
        )
    if level.seeds:
        yield (
            f"{level.seeds:,} {of} pin a seed (seed, metadata.extra_body): repeats would all be alike, "
            "unless collection gives each its own (--num-repeats-add-seed)"
        )
    if level.skills:
        yield f"{level.skills:,} {of} have the skills_ref of that run"
    if level.alike:
        yield f"{level.alike:,} {of} have the text of another: collection makes one task of rows that are alike"
    if level.again:
        what = "line stands" if level.again == 1 else "lines stand"
        yield f"{level.again:,} {what} in the dataset again, and each is written once: alike rows are one task"
    if level.nulls:
        yield f"{level.nulls:,} NaN or Infinity in the rows are null now, for JSON has neither"


def _shown(frame: pl.DataFrame) -> str:
    kept = [name for name in frame.columns if name not in {"field", "domain", "value"} or _says(frame, name)]
    return plain_table(kept, frame.select(kept).iter_rows())


def _says(frame: pl.DataFrame, name: str) -> bool:
    """Whether a column tells rows apart: without a field, it is empty."""
    if name == "value":
        return "field" in frame.columns and _says(frame, "field")
    return bool((frame[name].is_not_null() & (frame[name] != "")).any())
