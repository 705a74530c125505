"""Tasks that ask the same under several indices."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.analysis.suspects.listing import EVIDENCE_SHOWN, as_suspects
from pipeline.run import Run


def twins(run: Run) -> pl.LazyFrame:
    """Tasks whose prompt is that of another task: counted twice, or with two keys.

    Two tasks have the same prompt if their `responses_create_params` are the same but for how they are sampled, and are
    the same task if the whole input rows are (`Run.contents` says what is compared). A dump without inputs shows the
    prompt alone. A task without a prompt has none in common with others.

    Columns: those of `as_suspects`, a row for each of the tasks: `reason` `same_task` where another task is the same
    one, else `same_prompt`; `count` tasks of `of` in the run have the prompt; the evidence is the indices of the first
    few of them. No agent, for this is about the inputs.
    """
    prompts = run.contents(of="prompt").rename({"_content": "_prompt"})
    rows = run.contents() if run.has_input_rows else prompts.select(names.TASK, _content=pl.lit(None, pl.String))
    tasks = prompts.join(rows.select(names.TASK, "_content"), on=names.TASK, how="left", maintain_order="left")
    tasks = tasks.with_columns(_same=pl.len().over("_content"), of=pl.len())
    alike = (
        tasks.filter(pl.col("_prompt").is_not_null())
        .group_by("_prompt")
        .agg(count=pl.len(), evidence=pl.col(names.TASK).sort().head(EVIDENCE_SHOWN).cast(pl.String))
    )
    found = tasks.join(alike.filter(pl.col("count") > 1), on="_prompt", maintain_order="left")
    is_task = pl.col("_content").is_not_null() & (pl.col("_same") > 1)
    return as_suspects(found, pl.when(is_task).then(pl.lit("same_task")).otherwise(pl.lit("same_prompt")))
