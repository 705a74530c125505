"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.bench.tree import MEMORY_KIND


def facts() -> str:
    """One line: processor, cores, memory, versions."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    load = os.getloadavg()[0]
    return ", ".join(
        (
            _processor(),
            f"{_cores()} cores",
            f"{memory:.0f} GB memory",
            f"load {load:.1f}",
            f"{platform.system()} {platform.release()}",
            f"Python {platform.python_version()}",
            *(f"{name} {_version(name)}" for name in ("polars", "orjson")),
            f"peak memory as {MEMORY_KIND}",
        )
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
