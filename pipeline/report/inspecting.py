"""An inspection → text for people, and one object for programs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from pipeline.output.tables import plain_table
from pipeline.report import faults
from pipeline.report.faults import SHOWN
from pipeline.report.inspection import Inspection
from pipeline.report.inspection_fields import NUMBERS, Field
from pipeline.report.inspection_files import BadLines, File
from pipeline.report.inspection_keys import KeyFaults
from pipeline.words import counted

TITLES = {"rollouts": "Fields of rollouts", "usage": "Fields of response.usage", "inputs": "Fields of inputs"}
MASKED = "masked"
FLAGS = {
    MASKED: "masked",
    "text_reward": "reward is no number",
    "odd_response": "response or usage is no object",
    "not_finite": "NaN, Infinity or beyond a double",
    "no_agent": "no agent, no server",
}


def inspection_text(found: Inspection) -> str:
    """An inspection as tables, never cut."""
    parts = [
        _files(found.files),
        _bad_lines(found.bad_lines),
        *(_fields(title, [field for field in found.fields if field.role == role]) for role, title in TITLES.items()),
        *_exports(found),
        _repeats(found),
        _agents(found),
        _flagged(found),
        _keys(found),
        _failures(found),
        _verdicts(found),
        _profile(found),
    ]
    return "\n\n".join(part for part in parts if part)


def inspection_object(found: Inspection) -> dict[str, Any]:
    """All that is known, as JSON has it."""
    facts = asdict(found)
    facts["repeats"] = {
        role: [{"repeats": repeats, "tasks": tasks} for repeats, tasks in counts.items()]
        for role, counts in found.repeats.items()
    }
    for sidecar in ("failures", "verdicts"):  # their files and lines are told with all others
        if facts[sidecar] is not None:
            facts[sidecar] = {key: facts[sidecar][key] for key in facts[sidecar] if key not in {"files", "bad_lines"}}
    return facts


def _table(title: str, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    content = list(rows)
    return f"{title}\n{plain_table(headers, content)}" if content else ""


def _files(files: Sequence[File]) -> str:
    headers = ("", "file", "bytes", "lines", "usable", "blank", "malformed", "torn")
    told = [file for file in files if file.usable is not None]
    rows = [(f.role, f.file, f.bytes, f.lines, f.usable, f.blank, f.malformed, f.torn) for f in told]
    text = _table("Files", headers, rows) or "Files"
    missing = [role for role in ("inputs", "failures", "verdicts") if all(file.role != role for file in files)]
    more = [f"{file.role}, {file.compression}: {file.content_bytes:,} bytes in {file.file}" for file in _packed(files)]
    more += [f"{file.role}: {file.file} {file.unreadable}{_before_that(file)}" for file in files if file.unreadable]
    more += [f"no {', no '.join(missing)} beside them"] if missing else []
    return "\n".join([text, *more])


def _before_that(file: File) -> str:
    return "" if file.lines is None else f" (told is what could be unpacked before that: {counted(file.lines, 'line')})"


def _packed(files: Sequence[File]) -> list[File]:
    return [file for file in files if file.compression and file.content_bytes is not None]


def _bad_lines(bad: Sequence[BadLines]) -> str:
    rows = [(one.role, one.lines, one.first, one.reason) for one in bad]
    text = _table("Lines that cannot be used", ("", "lines", "first", "why"), rows[:SHOWN])
    return text + (f"\n… and {counted(len(rows) - SHOWN, 'more reason')}" if len(rows) > SHOWN else "")


def _fields(title: str, fields: Sequence[Field]) -> str:
    rows: list[Sequence[object]] = []
    for field in fields:
        numeric = next((one.type for one in field.types if one.type in NUMBERS), None)
        for one in field.types:
            ranges = (field.min, field.max) if one.type == numeric else (None, None)
            rows.append((field.field, _percent(field.coverage), one.type, one.rows, *ranges, one.first))
    text = _table(title, ("field", "coverage", "type", "rows", "min", "max", "first"), rows)
    notes = [f"{one.field}: {one.not_finite:,} NaN, Infinity or beyond a double" for one in fields if one.not_finite]
    notes += [f"{one.field}: false and true are 0 and 1 in its range" for one in fields if _has_flags_in_range(one)]
    notes += [
        f"{one.field}: more than once in {counted(one.repeated, 'object')}, the last one counts"
        for one in fields
        if one.repeated
    ]
    return "\n".join([text, *notes]) if text else ""


def _has_flags_in_range(field: Field) -> bool:
    return field.min is not None and any(one.type == "boolean" for one in field.types)


def _percent(share: float) -> str:
    """Rounded down, so that only what is whole is 100 %."""
    return f"{math.floor(share * 10_000) / 100:6.2f} %"


def _exports(found: Inspection) -> list[str]:
    return [
        _table(
            f"{export.file}: {counted(export.rows, 'row')}, {counted(len(export.columns), 'column')}",
            ("column", "type", "values"),
            [(column.column, column.type, column.values) for column in export.columns],
        )
        for export in found.exports
    ]


def _repeats(found: Inspection) -> str:
    finished, planned = found.repeats["finished"], found.repeats["planned"]
    none = 0 if found.inputs_known else None
    rows = [(number, planned.get(number, none), finished.get(number, 0)) for number in sorted({*finished, *planned})]
    return _table("Repeats", ("rollouts of a task", "tasks in inputs", "tasks in rollouts"), rows)


def _agents(found: Inspection) -> str:
    rows = [
        (one.agent, one.server, one.tasks, one.planned if found.inputs_known else None, one.finished, one.masked)
        for one in found.agents
    ]
    return _table("Agents", ("agent", "server", "tasks", "in inputs", "rollouts", "masked"), rows)


def _flagged(found: Inspection) -> str:
    rows = [(FLAGS[one.flag], one.rollouts, one.first) for one in found.flagged if one.rollouts or one.flag == MASKED]
    return _table("Rollouts to know of", ("", "rollouts", "first"), rows)


def _keys(found: Inspection) -> str:
    known = "" if found.inputs_known else "\nwithout inputs nothing is known to be missing or extra"
    return "Keys\n" + ("\n".join(map(_fault, found.keys)) or "no fault") + known


def _fault(fault: KeyFaults) -> str:
    lines = [faults.counted(fault.kind, fault.rows)]
    if fault.compared is not None:
        rest = fault.keys - fault.compared
        not_compared = f", {rest:,} not compared" if rest else ""
        lines[0] += (
            f" ({counted(fault.keys, 'key')}: "
            f"{fault.identical:,} identical, {fault.conflicting:,} conflicting{not_compared})"
        )
    for key in fault.first:
        content = f" {key.content}" if key.content else ""
        lines.append(f"  task {key.task}, rollout {key.rollout}{content}: {', '.join(key.lines)}")
    if fault.keys > len(fault.first):
        lines.append(f"  … and {counted(fault.keys - len(fault.first), 'more key')}")
    return "\n".join(lines)


def _failures(found: Inspection) -> str:
    failures = found.failures
    if failures is None:
        return ""
    title = (
        f"Failures: {counted(failures.attempts, 'attempt')} of {counted(failures.keys, 'rollout')}, "
        f"{failures.finished_keys:,} finished"
    )
    classes = dict.fromkeys((*failures.classes, *failures.missing))
    rows = [(name, failures.classes.get(name, 0), failures.missing.get(name, 0)) for name in classes]
    return _table(title, ("class", "attempts", "last of missing"), rows) or title


def _verdicts(found: Inspection) -> str:
    verdicts = found.verdicts
    if verdicts is None:
        return ""
    rows = [*verdicts.verdicts.items(), *((f"finding: {name}", count) for name, count in verdicts.findings.items())]
    title = f"Verdicts on {counted(verdicts.keys, 'rollout')}"
    return _table(title, ("verdict", "rollouts"), rows) or title


def _profile(found: Inspection) -> str:
    rows = [
        (one.file, one.bytes, "older than the rollouts" if one.older else "newer than the rollouts")
        for one in found.profile
    ]
    return _table("Profile", ("file", "bytes", "age"), rows) or "Profile\nnone beside the rollouts"
