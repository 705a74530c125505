"""Field names, reserved prefixes and file names of a run: text and pure functions only."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

TASK = "_ng_task_index"
ROLLOUT = "_ng_rollout_index"
KEY = (TASK, ROLLOUT)
AGENT_REF = "agent_ref"
ENVIRONMENT_SERVER = "_ng_environment_server"
RESPONSE = "response"
USAGE = "usage"
PARAMS = "responses_create_params"
METADATA = "metadata"
EXTRA_BODY = "extra_body"
"""Where rows keep, as JSON text in `metadata`, what the Responses format has no field for, such as a seed."""
SEED = "seed"
SKILLS_REF = "skills_ref"
MASK = "mask_sample"
INSTANCE_CONFIG = "instance_config"
REWARD = "reward"
ROLLOUT_ID = "rollout_id"
FAILURE_CLASS = "_ng_failure_class"
UNNAMED_FAILURE = "unnamed"
"""What a failure without a class is called."""
FAILURE_TYPE = "_ng_failure_type"
FAILURE_MESSAGE = "_ng_failure_message"
FAILURE_STATUS = "_ng_failure_http_status"
FAILURE_BODY = "_ng_failure_response_body"
FAILURE_TERMINAL = "_ng_failure_terminal"
NO_PERSIST = "_ng_no_persist"
ATTEMPT = "_ng_attempt_index"

MAX_ATTEMPTS = 3
"""How often a rollout is tried before it is given up, unless somebody says otherwise."""

INTERNAL = "_"
PLACE = ("_source", "_line", "_offset", "_length")
INPUT_PLACE = tuple(f"_input{part}" for part in PLACE)
FINDINGS = ("_verdict", "_findings")
ROLLOUT_COLUMNS = frozenset(
    (
        *KEY,
        *PLACE,
        *INPUT_PLACE,
        *FINDINGS,
        "_prompt_digest",
        "_line_digest",
        "_agent",
        "_server",
        "_own_agent",
        "_shown_agent",
        "_own_server",
        "_masked",
        "_measured",
        "_truncated",
        "_file",
        "_flags",
        "_unfinite",
    )
) | frozenset(("_shape", "_problem", "_torn", "_finished", "_agent_order", "_row_agent", "_group"))
NOT_METRICS = frozenset({RESPONSE, MASK})
STATISTICS = ("mean", "max", "min", "median", "std")
ACROSS_REPEATS = ("mean", "median", "std", "min", "max", "se", "ci_low_95", "ci_high_95")
AT_REPEAT = ("mean", "median", "std", "sem", "min", "max", "p25", "p75", "ci_low_95", "ci_high_95")
COVERAGE = tuple(
    f"coverage/{what}" for what in ("measured_rollouts", "masked_rollouts", "measured_tasks", "fully_masked_tasks")
)

DATA_SUFFIXES = (".jsonl.gz", ".jsonl.zst", ".jsonl", ".json", ".parquet")
ROLLOUT_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
INPUTS = "_materialized_inputs"
FAILURES = "_failures"
REDONE = "_redone"
"""Rollouts that were set aside because their keys are collected again."""
BEGUN_WITH = "_begun_with"
"""What a collection was begun with, as JSON."""
TASKS_FILE = "_reward_profiling.jsonl"
AGENTS_FILE = "_agent_metrics.json"
REPEATS_FILE = "_repeat_level_metrics.json"
VERDICTS = "rollout_verdicts"
BESIDE_A_RUN = (
    INPUTS,
    FAILURES,
    REDONE,
    BEGUN_WITH,
    "_reward_profiling",
    "_agent_metrics",
    "_repeat_level_metrics",
    "_aggregate_metrics",
    "_verdicts",
)


def without_suffix(name: str) -> str:
    """The name of a data file without its suffix; any other dot belongs to the name."""
    for suffix in DATA_SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return name[: -len(suffix)]
    return name


def stem_of(path: Path) -> Path:
    """The path S that the other files of a run are named after."""
    return path.with_name(without_suffix(path.name)) if path.name else path


def internal(name: str) -> str:
    """The name of a column that is no metric."""
    return name if name.startswith(INTERNAL) else INTERNAL + name


def shown(path: Path | str) -> str:
    """A path as text that can be written anywhere; bytes that are no UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def argument(path: Path) -> str:
    """A path as an argument; one that looks like an option is made to look like a path."""
    text = os.fspath(path)
    return f"./{text}" if text.startswith("-") else text


def quoted(path: Path) -> str:
    """A path as a shell reads it."""
    return shlex.quote(argument(path))


def listed(paths: Sequence[Path], *, most: int) -> str:
    """The names of the first few files, with their folders where a name alone is that of several."""
    of_name = Counter(path.name for path in paths)
    told = [shown(path if of_name[path.name] > 1 else path.name) for path in paths[:most]]
    return ", ".join([*told, "…"] if len(paths) > most else told)


def is_beside_a_run(name: str) -> bool:
    """Whether a file name is that of an artifact beside rollouts, and so never rollouts itself."""
    stem = without_suffix(name)
    return stem == VERDICTS or stem.endswith(BESIDE_A_RUN)


def sibling(stem: Path, ending: str) -> Path:
    """The file of a run with stem S that ends in `ending`."""
    return stem.with_name(stem.name + ending)


def profile_paths(stem: Path) -> tuple[Path, Path, Path]:
    """The files of a profile that is named after a path: tasks, agents and repeats."""
    return sibling(stem, TASKS_FILE), sibling(stem, AGENTS_FILE), sibling(stem, REPEATS_FILE)
