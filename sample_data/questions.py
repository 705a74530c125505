"""A marimo notebook that asks the sample run a few questions: `marimo edit sample_data/questions.py`."""

import marimo

app = marimo.App()


@app.cell
def _():
    from pathlib import Path

    import marimo as mo
    import polars as pl

    import pipeline
    from queries import QUERIES

    return Path, QUERIES, mo, pipeline, pl


@app.cell
def _(Path, mo, pipeline):
    run = pipeline.open_run(Path(__file__).parent / "complete")
    mo.md(f"# {run.files.rollouts[0].shown}\n\nFrames are lazy; the dump is read once, when the first one is needed.")
    return (run,)


@app.cell
def _(QUERIES, mo):
    question = mo.ui.dropdown(options=sorted(QUERIES), value="hardest", label="Question")
    question
    return (question,)


@app.cell
def _(QUERIES, question, run):
    answer = QUERIES[question.value](run).collect()
    answer
    return (answer,)


@app.cell
def _(mo):
    mo.md("## How much longer are answers that fail, by domain?")
    return


@app.cell
def _(pl, run):
    lengths = (
        run.rollouts.filter("_measured")
        .group_by("_input.domain", passed=pl.col("reward") >= 1)
        .agg(rollouts=pl.len(), output_tokens=pl.col("output_tokens").mean())
        .sort("_input.domain", "passed")
        .collect()
    )
    lengths
    return (lengths,)


if __name__ == "__main__":
    app.run()
