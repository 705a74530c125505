"""What was left out or taken otherwise than a user may think: frames → warnings with counts and places."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from pipeline import names
from pipeline.frames.metrics import shape_of
from pipeline.options import ProfileOptions
from pipeline.output.tables import cell
from pipeline.report import faults
from pipeline.report.faults import SHOWN, places
from pipeline.sources.plans import ODD_RESPONSE, OTHER_AGENT, TEXT_REWARD
from pipeline.words import counted


@dataclass(frozen=True)
class Notice:
    """One warning.

    Attributes:
        code: A stable word for programs.
        count: How many things it is about.
        message: What was done, in words.
        places: Up to ten `file:line`.
    """

    code: str
    count: int
    message: str
    places: list[str]

    def __str__(self) -> str:
        return f"{self.message} (first: {self.places[0]})" if self.places else self.message


def notices(
    frame: pl.DataFrame, problems: pl.DataFrame, failures: pl.DataFrame, options: ProfileOptions
) -> list[Notice]:
    """Every warning about a run.

    Args:
        frame: As `align` gives it, collected.
        problems: As `align` gives them, collected.
        failures: As `scan_failures` gives them, collected.
        options: What was asked.
    """
    measured = frame.filter("_measured")
    found = [
        *_of_problems(problems, options),
        _of_failures(failures),
        _of_rows(
            measured,
            pl.col("_unfinite") > 0,
            "not_finite",
            (
                "{} number is NaN, Infinity or beyond a double; it is left out of every figure",
                "{} numbers are NaN, Infinity or beyond a double; they are left out of every figure",
            ),
            count=int(measured["_unfinite"].sum() or 0),
        ),
        _of_rows(
            measured,
            pl.col("_flags") & TEXT_REWARD > 0,
            "text_reward",
            (
                "{} reward is text or other than a number; it is left out of every figure",
                "{} rewards are text or other than a number; they are left out of every figure",
            ),
        ),
        _of_rows(
            measured,
            pl.col("_flags") & ODD_RESPONSE > 0,
            "odd_response",
            (
                "{} response or usage is not an object; that rollout has no usage",
                "{} responses or usages are not objects; those rollouts have no usage",
            ),
        ),
        _of_rows(
            frame.filter("_finished"),
            pl.col("_agent").is_null(),
            "no_agent",
            (
                '{} rollout names no agent; its agent_ref is {{"name": null}}',
                '{} rollouts name no agent; their agent_ref is {{"name": null}}',
            ),
        ),
        _of_rows(
            frame.filter("_finished"),
            pl.col("_flags") & OTHER_AGENT > 0,
            "other_agent",
            (
                "{} rollout names another agent than its input row, whose agent counts: are they of one run?",
                "{} rollouts name other agents than their input rows, whose agents count: are they of one run?",
            ),
        ),
        _nothing_measured(frame),
        _nothing_scored(measured),
        *(_nothing_nested(frame, path) for path in options.nested),
        uneven_repeats(measured),
    ]
    return [notice for notice in found if notice is not None]


def null_notice(count: int) -> Notice | None:
    """The warning about NaN and Infinity in samples that became null."""
    if not count:
        return None
    return Notice("sample_nulls", count, f"{count:,} NaN or Infinity in samples became null", [])


def _of_problems(problems: pl.DataFrame, options: ProfileOptions) -> list[Notice | None]:
    done = {
        "malformed": "skipped",
        "torn": "held back, it may still be being written",
        "duplicate_rollouts": f"the {options.on_duplicate} of each key is kept",
        "extra_rollouts": "left out",
    }
    found: list[Notice | None] = []
    for kind, what in done.items():
        rows = problems.filter(pl.col("_kind") == kind)
        if len(rows):
            found.append(Notice(kind, len(rows), f"{faults.counted(kind, len(rows))}; {what}", places(rows)))
    return found


def _of_failures(failures: pl.DataFrame) -> Notice | None:
    bad = failures.filter(pl.col("_problem").is_not_null())
    if bad.is_empty():
        return None
    lines = counted(len(bad), "line of the failures sidecar", "lines of the failures sidecar")
    message = f"{lines} cannot be used; {'it is' if len(bad) == 1 else 'they are'} not counted"
    return Notice("failures_malformed", len(bad), message, places(bad))


def verdict_notices(lines: pl.DataFrame) -> list[Notice]:
    """Warnings about verdicts: lines that cannot be used, and rollouts that are judged twice.

    Args:
        lines: As `read_verdict_lines` gives them, collected.
    """
    bad = lines.filter(pl.col("_problem").is_not_null())
    twice = lines.filter(pl.col("_problem").is_null() & pl.struct(names.KEY).is_duplicated())
    found = [
        ("verdicts_malformed", bad, ("line of the verdicts", "lines of the verdicts"), "cannot be used"),
        (
            "verdicts_twice",
            twice,
            ("verdict is", "verdicts are"),
            "about a rollout that another is about too; the last one counts",
        ),
    ]
    return [
        Notice(code, len(rows), f"{counted(len(rows), *things)} {what}", places(rows))
        for code, rows, things, what in found
        if len(rows)
    ]


def _of_rows(
    frame: pl.DataFrame, which: pl.Expr, code: str, messages: tuple[str, str], count: int | None = None
) -> Notice | None:
    """A warning about some rows, in words for one thing and for several."""
    rows = frame.filter(which.fill_null(value=False)).sort("_source", "_line") if not frame.is_empty() else frame
    if rows.is_empty():
        return None
    number = len(rows) if count is None else count
    return Notice(code, number, messages[number != 1].format(f"{number:,}"), places(rows))


def _nothing_measured(frame: pl.DataFrame) -> Notice | None:
    if frame["_measured"].any():
        return None
    what = "no rollout finished" if not frame["_finished"].any() else "every finished rollout is masked"
    return Notice("nothing_measured", len(frame), f"{what}: there is no figure", [])


def _nothing_scored(measured: pl.DataFrame) -> Notice | None:
    if measured.is_empty() or (names.REWARD in measured.columns and measured[names.REWARD].count()):
        return None
    return Notice("nothing_scored", len(measured), "no rollout has a reward that is a number", [])


def _nothing_nested(frame: pl.DataFrame, path: str) -> Notice | None:
    """An object that was asked for and has no numbers in any rollout."""
    inside = path.removeprefix("response.") if path.startswith("response.usage") else path
    inside = inside.replace(".", "/") + "/"
    shapes = map(shape_of, frame["_shape"].unique())
    names_met = (name for top, usage in shapes for place, name in (*top, *usage) if place.endswith("nested"))
    if any(name.startswith(inside) for name in names_met):
        return None
    return Notice("nothing_nested", 0, f"no rollout has an object {path} with numbers in it", [])


def uneven_repeats(measured: pl.DataFrame) -> Notice | None:
    """Agents whose tasks have different numbers of measured rollouts at their repeats.

    Args:
        measured: Rows of the aligned frame that count: `_agent_order`, `_agent`, `_ng_rollout_index`.
    """
    counts = measured.group_by("_agent_order", names.ROLLOUT).len()
    uneven = counts.group_by("_agent_order").agg(pl.col("len").n_unique()).filter(pl.col("len") > 1)
    if uneven.is_empty():
        return None
    agents = measured.filter(pl.col("_agent_order").is_in(uneven["_agent_order"].to_list()))["_agent"]
    named = ", ".join(cell(agent) for agent in sorted(agents.drop_nulls().unique())[:SHOWN])
    message = f"repeats rest on different numbers of tasks ({named}): their spread is partly a difference of tasks"
    return Notice("uneven_repeats", len(uneven), message, [])
