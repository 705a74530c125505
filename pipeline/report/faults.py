"""What breaks the contract: the problems frame → one refusal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from pipeline import names
from pipeline.errors import Exit, FaultsError
from pipeline.options import ProfileOptions
from pipeline.report.remedies import There, keys_of, remedies, unusable_roles

SHOWN = 10
LINE_KINDS = ("malformed", "torn")
KEY_KINDS = ("duplicate_inputs", "duplicate_rollouts", "extra_rollouts", "missing_rollouts")
MEANING = {
    "malformed": "lines cannot be used",
    "torn": "lines are cut off",
    "duplicate_inputs": "input rows share their key with another",
    "duplicate_rollouts": "rollouts share their key with another",
    "extra_rollouts": "rollouts have no input row",
    "missing_rollouts": "materialized rows have no rollout",
}
SINGULAR = {
    "malformed": "line cannot be used",
    "torn": "line is cut off",
    "duplicate_inputs": "input row shares its key with another",
    "duplicate_rollouts": "rollout shares its key with another",
    "extra_rollouts": "rollout has no input row",
    "missing_rollouts": "materialized row has no rollout",
}


def fatal_kinds(options: ProfileOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The kinds of fault that refuse a run under these options: those of lines, and those of keys."""
    lines = () if options.on_bad_line == "skip" else ("malformed",) if options.partial else LINE_KINDS
    allowed = {
        "duplicate_rollouts": options.on_duplicate != "error",
        "extra_rollouts": options.on_extra == "drop",
        "missing_rollouts": options.partial,
    }
    return lines, tuple(kind for kind in KEY_KINDS if not allowed.get(kind))


def refusal(problems: pl.DataFrame, options: ProfileOptions, there: There | None = None) -> FaultsError | None:
    """The refusal that the problems call for: faults of lines first, else faults of keys, all kinds at once.

    Lines that may be left out are refused all the same where that leaves no rollouts, or no inputs.

    Args:
        problems: As `align` gives them.
        options: Which of them are allowed.
        there: How much could be used; None where nobody knows.
    """
    of_lines, of_keys = fatal_kinds(options)
    unusable = unusable_roles(problems, there)
    for kinds, exit_code in ((LINE_KINDS if unusable else of_lines, Exit.UNREADABLE), (of_keys, Exit.CONTRACT)):
        found = {kind: problems.filter(pl.col("_kind") == kind) for kind in kinds}
        found = {kind: rows for kind, rows in found.items() if len(rows)}
        if found:
            hints = remedies(found, unusable=unusable, keys=keys_of(problems, there))
            return _refusal(found, exit_code, hints)
    return None


def counted(kind: str, count: int) -> str:
    """How many faults of a kind, in words."""
    return f"{count:,} {(SINGULAR if count == 1 else MEANING)[kind]}"


def places(rows: pl.DataFrame) -> list[str]:
    """Up to ten `file:line` of problem rows."""
    return [f"{source}:{line}" for source, line in rows.select("_source", "_line").head(SHOWN).iter_rows()]


def _refusal(found: dict[str, pl.DataFrame], exit_code: Exit, hints: Iterable[str]) -> FaultsError:
    keys = {kind: _keys(rows) for kind, rows in found.items()}
    return FaultsError(
        "\n".join(_described(kind, rows) for kind, rows in found.items()),
        exit_code=exit_code,
        counts={kind: len(rows) for kind, rows in found.items()},
        keys={kind: listed for kind, listed in keys.items() if listed},
        places={kind: places(rows) for kind, rows in found.items()},
        hint="\n".join(hints),
    )


def _described(kind: str, rows: pl.DataFrame) -> str:
    shown = rows.head(SHOWN)
    details = [_detail(row) for row in shown.iter_rows(named=True)]
    more = [f"… and {len(rows) - SHOWN:,} more"] if len(rows) > SHOWN else []
    return f"{counted(kind, len(rows))}:\n" + "\n".join(f"  {line}" for line in details + more)


def _detail(row: dict[str, object]) -> str:
    key = f" (task {row[names.TASK]}, rollout {row[names.ROLLOUT]})" if row[names.TASK] is not None else ""
    reason = f" {row['_problem']}" if row["_problem"] else ""
    return f"{row['_source']}:{row['_line']}{key}{reason}"


def _keys(rows: pl.DataFrame) -> list[tuple[int, int]]:
    shown: Sequence[tuple[int, int]] = (
        rows.select(names.KEY).drop_nulls().unique(maintain_order=True).head(SHOWN).rows()
    )
    return list(shown)
