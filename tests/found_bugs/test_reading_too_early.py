"""Nothing is read when figures are asked for, only when they are collected; errors of reading come out then."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from pipeline.align import align
from pipeline.completion import accounting
from pipeline.errors import SourceError
from pipeline.frames.failures import scan_failures
from pipeline.frames.inputs import scan_inputs
from pipeline.frames.lazy import collect, lazy_frame
from pipeline.frames.rollouts import scan_rollouts
from pipeline.profile.agents import profile_agents
from pipeline.profile.repeats import profile_repeats
from pipeline.profile.tasks import profile_tasks
from tests.runs import finished, jsonl

Figures = Callable[[pl.LazyFrame], pl.LazyFrame]
FIGURES: dict[str, Figures] = {
    "tasks": profile_tasks,
    "repeats": profile_repeats,
    "agents": lambda frame: profile_agents(
        frame, pl.LazyFrame({"_agent_order": []}, schema={"_agent_order": pl.UInt32})
    ),
    "accounting": lambda frame: accounting(frame, scan_failures([])),
}


@pytest.mark.parametrize("figures", FIGURES.values(), ids=FIGURES)
def test_a_run_that_is_gone_is_told_when_figures_are_collected(figures: Figures, tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(jsonl([finished(task, m=task) for task in range(3)]))
    frame = align(scan_inputs(path), scan_rollouts(path)).frame
    path.unlink()
    wanted = figures(frame)
    with pytest.raises(SourceError) as refusal:
        collect(wanted)
    assert refusal.value.where == str(path)


@pytest.mark.parametrize("figures", FIGURES.values(), ids=FIGURES)
def test_an_interrupt_while_reading_comes_out_as_it_was(figures: Figures, tmp_path: Path) -> None:
    def interrupted() -> pl.DataFrame:
        raise KeyboardInterrupt

    path = tmp_path / "plan.jsonl"
    path.write_bytes(jsonl([finished()]))
    frame = align(scan_inputs(path), lazy_frame(interrupted)).frame
    with pytest.raises(KeyboardInterrupt):
        collect(figures(frame))
