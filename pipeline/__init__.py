"""Profiles of reinforcement-learning rollouts: LazyFrames in, LazyFrames out.

The names below are loaded when they are first used, so that a worker process that imports `pipeline.sources` loads
neither Polars nor NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.alignment import Aligned, align
    from pipeline.completion import Completion, accounting
    from pipeline.errors import RollprofError
    from pipeline.frames.failures import scan_failures
    from pipeline.frames.inputs import inputs_of_rollouts, scan_inputs
    from pipeline.frames.lazy import collect as collect_frame
    from pipeline.frames.rollouts import scan_rollouts
    from pipeline.frames.verdicts import scan_verdicts
    from pipeline.options import ProfileOptions, ReadOptions
    from pipeline.output.profile_files import Written, write_profile
    from pipeline.profile.agents import profile_agents
    from pipeline.profile.repeats import profile_repeats
    from pipeline.profile.tasks import profile_tasks
    from pipeline.run import Run, open_run
    from pipeline.sources.runs import RunFiles, find_run

__all__ = [
    "Aligned",
    "Completion",
    "ProfileOptions",
    "ReadOptions",
    "RollprofError",
    "Run",
    "RunFiles",
    "Written",
    "accounting",
    "align",
    "collect_frame",
    "find_run",
    "inputs_of_rollouts",
    "open_run",
    "profile_agents",
    "profile_repeats",
    "profile_tasks",
    "scan_failures",
    "scan_inputs",
    "scan_rollouts",
    "scan_verdicts",
    "write_profile",
]

HOMES = {
    "Aligned": "pipeline.alignment",
    "Completion": "pipeline.completion",
    "ProfileOptions": "pipeline.options",
    "ReadOptions": "pipeline.options",
    "RollprofError": "pipeline.errors",
    "Run": "pipeline.run",
    "RunFiles": "pipeline.sources.runs",
    "Written": "pipeline.output.profile_files",
    "accounting": "pipeline.completion",
    "align": "pipeline.alignment",
    "collect_frame": "pipeline.frames.lazy",
    "find_run": "pipeline.sources.runs",
    "inputs_of_rollouts": "pipeline.frames.inputs",
    "open_run": "pipeline.run",
    "profile_agents": "pipeline.profile.agents",
    "profile_repeats": "pipeline.profile.repeats",
    "profile_tasks": "pipeline.profile.tasks",
    "scan_failures": "pipeline.frames.failures",
    "scan_inputs": "pipeline.frames.inputs",
    "scan_rollouts": "pipeline.frames.rollouts",
    "scan_verdicts": "pipeline.frames.verdicts",
    "write_profile": "pipeline.output.profile_files",
}
NAMED_THERE = {"collect_frame": "collect"}
"""`pipeline.collect` is the package that collects rollouts."""


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(import_module(HOMES[name]), NAMED_THERE.get(name, name))
    raise AttributeError(f"module 'pipeline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
