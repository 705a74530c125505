"""A slow, plain reading of the profile format: the oracle the fast implementation is held against.

Every rule stands in one function and nothing is optimised. Figures are exact (`statistics` sums fractions and
rounds once), so they agree with floating-point ones within a tolerance, not bit by bit.
"""

import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from scipy.special import stdtrit

Json = Any
Row = dict[str, Json]
Number = int | float
Figures = dict[str, float]

TASK, ROLLOUT = "_ng_task_index", "_ng_rollout_index"
USAGE = ("response", "usage")
NOT_METRICS = frozenset({"response", "mask_sample"})
STATISTICS = ("mean", "max", "min", "median", "std")
REPEAT_STATISTICS = ("mean", "median", "std", "sem", "min", "max", "p25", "p75", "ci_low_95", "ci_high_95")
ACROSS_REPEATS = {
    "mean": "mean",
    "median": "median",
    "std": "std",
    "min": "min",
    "max": "max",
    "se": "sem",
    "ci_low_95": "ci_low_95",
    "ci_high_95": "ci_high_95",
}

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
JSON_SPACE = b" \t\r"
DEEPEST = 5000
LONGEST_INTEGER = 400  # digits; a double ends at 309


class Key(NamedTuple):
    """The identity of a rollout."""

    task: int
    rollout: int


@dataclass(frozen=True)
class SlowProfile:
    """The three files as JSON values, or a refusal: `exit_code` 3 or 4 and the kinds of its faults."""

    tasks: list[Row]
    agents: list[Row]
    repeats: list[Row]
    exit_code: int = 0
    faults: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Line:
    """One row of one file; `file` is the position of the file among those given."""

    file: int
    text: bytes
    row: Row
    key: Key


class Field(NamedTuple):
    """Where a number of a rollout stands: `row` or `usage`, and its path; a longer path is a nested one."""

    place: str
    path: tuple[str, ...]


@dataclass(frozen=True)
class Rollout:
    """A measured rollout: its numbers by column name, in the order of its row."""

    key: Key
    group: str | None
    values: dict[str, Number]


class BadLineError(Exception):
    """A line that cannot be used; the argument is the kind."""


def slow_profile(
    inputs: Sequence[bytes],
    rollouts: Sequence[bytes],
    *,
    partial: bool = False,
    masked: str = "exclude",
    on_duplicate: str = "error",
    on_extra: str = "error",
    nested: Sequence[str] = (),
    counts: bool = False,
) -> SlowProfile:
    """Profile the contents of files.

    Args:
        inputs: Contents of the materialized inputs, a file each, not compressed.
        rollouts: Contents of the rollouts, a file each, not compressed.
        partial: Whether inputs without a rollout are allowed.
        masked: `exclude` or `include` the rollouts whose reward is no measurement.
        on_duplicate: `error`, `first` or `last`, for a key that is twice in the rollouts.
        on_extra: `error` or `drop`, for rollouts without an input row.
        nested: Objects whose numbers are metrics too, as dotted paths; `usage` is `response.usage`.
        counts: Whether rows say how many rollouts each metric has.

    Returns:
        The rows and entries of the three files, keys in order, or the refusal.
    """
    with deep_recursion():
        planned, line_faults = read_lines(inputs)
        finished, rollout_faults = read_lines(rollouts)
        if faults := line_faults | rollout_faults | unusable_names(finished, nested):
            return refusal(3, faults)
        if faults := key_faults(planned, finished, partial=partial, on_duplicate=on_duplicate, on_extra=on_extra):
            return refusal(4, faults)
        plan = {line.key: line for line in reversed(planned)}
        done = pick(finished, plan, on_duplicate)
        return profile(plan, done, every_row=masked == "include", nested=nested, counts=counts)


def refusal(exit_code: int, faults: set[str]) -> SlowProfile:
    """A run that writes nothing."""
    return SlowProfile([], [], [], exit_code, frozenset(faults))


# Reading


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let `json` go as deep as rows may be nested."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def read_json(text: str, *, constant: Callable[[str], Json] = float) -> Json:
    """Parse JSON; of a key that is twice in an object the last one counts, at the place of the first.

    Args:
        text: One JSON value.
        constant: What NaN, Infinity and -Infinity become.
    """
    with deep_recursion():
        return json.loads(text, object_pairs_hook=dict, parse_int=read_integer, parse_constant=constant)


def read_integer(text: str) -> Number:
    """An integer, exact; one far beyond a double is an infinity."""
    return int(text) if len(text) <= LONGEST_INTEGER else float(text)


def not_json(token: str) -> Json:
    """Refuse a constant that is not JSON: for `read_json` of what was written."""
    raise ValueError(f"{token} is not JSON")


def read_lines(contents: Sequence[bytes]) -> tuple[list[Line], set[str]]:
    """Read the rows of all files, and say which kinds of faults their lines have."""
    lines: list[Line] = []
    faults: set[str] = set()
    for file, content in enumerate(contents):
        for text in content.removeprefix(BYTE_ORDER_MARK).split(b"\n"):
            if stripped := text.strip(JSON_SPACE):
                try:
                    lines.append(read_line(file, stripped))
                except BadLineError as fault:
                    faults.add(str(fault))
    return lines, faults


def read_line(file: int, text: bytes) -> Line:
    """Read one row.

    Raises:
        BadLineError: The line is not JSON, not an object, or without two whole indices.
    """
    try:
        row = read_json(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadLineError("malformed") from error
    if not isinstance(row, dict):
        raise BadLineError("not an object")
    return Line(file, text, row, Key(read_index(row, TASK), read_index(row, ROLLOUT)))


def read_index(row: Row, name: str) -> int:
    """A whole number of 64 bits with a sign, however it is written.

    Raises:
        BadLineError: It is missing or anything else.
    """
    value = row.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise BadLineError("bad index")
    return value


def unusable_names(finished: Iterable[Line], nested: Sequence[str]) -> set[str]:
    """A lone surrogate in the name of a metric cannot be written."""
    names = ("".join(field.path) for line in finished for field in fields_of(line.row, nested))
    return {"unusable name" for name in names if any("\ud800" <= letter <= "\udfff" for letter in name)}


# Keys


def key_faults(
    planned: Sequence[Line], finished: Sequence[Line], *, partial: bool, on_duplicate: str, on_extra: str
) -> set[str]:
    """All kinds of broken contract between the two sides."""
    plan = {line.key for line in planned}
    done = {line.key for line in finished}
    faults: set[str] = set()
    if any(not one_row(lines) for lines in by_key(planned).values()):
        faults.add("duplicate inputs")
    if on_duplicate == "error" and len(done) < len(finished):
        faults.add("duplicate rollouts")
    if on_extra == "error" and done - plan:
        faults.add("extra rollouts")
    if not partial and plan - done:
        faults.add("missing rollouts")
    return faults


def by_key(lines: Iterable[Line]) -> dict[Key, list[Line]]:
    """Lines by the rollout they are about."""
    groups: dict[Key, list[Line]] = defaultdict(list)
    for line in lines:
        groups[line.key].append(line)
    return groups


def one_row(lines: Sequence[Line]) -> bool:
    """Whether input lines of one key are one row: the same bytes, each in a file of its own."""
    return len({line.text for line in lines}) == 1 and len({line.file for line in lines}) == len(lines)


def pick(finished: Sequence[Line], plan: Mapping[Key, Line], on_duplicate: str) -> dict[Key, Line]:
    """The one line of each planned key, by the order of files and lines; sorted by key."""
    position = 0 if on_duplicate == "first" else -1
    return {key: lines[position] for key, lines in sorted(by_key(finished).items()) if key in plan}


# Agents


@dataclass(frozen=True)
class Served:
    """Who ran a rollout; both None where nothing says so."""

    server: str | None
    agent: str | None

    @property
    def group(self) -> str | None:
        """What figures are grouped by."""
        return self.agent if self.server is None else self.server


def as_name(value: Json) -> str | None:
    """Text as it is, a number as its text, nothing else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return value if isinstance(value, str) else json.dumps(value)


def agent_of(row: Row) -> str | None:
    """The name in `agent_ref`, which is an object or the name itself."""
    reference = row.get("agent_ref")
    return as_name(reference.get("name") if isinstance(reference, dict) else reference)


def who_ran(plan: Mapping[Key, Line], done: Mapping[Key, Line]) -> dict[Key, Served]:
    """The server and agent of each input row, else its rollout's agent, else the run's only one."""
    served = {}
    for key, line in plan.items():
        mine = Served(as_name(line.row.get("_ng_environment_server")) or None, agent_of(line.row))
        if mine.group is None and key in done:
            mine = replace(mine, agent=agent_of(done[key].row))
        served[key] = mine
    known = {mine.group: mine for mine in served.values() if mine.group is not None}
    if len(known) == 1:
        (only,) = known.values()
        served = {key: only if mine.group is None else mine for key, mine in served.items()}
    return served


def labels_of(served: Iterable[Served]) -> dict[str | None, str | None]:
    """The name each group is shown by: its one agent, if that agent is of no other group; else the group."""
    agents: dict[str | None, set[str | None]] = defaultdict(set)
    groups: dict[str | None, set[str | None]] = defaultdict(set)
    for mine in served:
        agents[mine.group].add(mine.agent)
        groups[mine.agent].add(mine.group)
    labels = {}
    for group, names in agents.items():
        name, *others = names
        labels[group] = name if not others and name is not None and groups[name] == {group} else group
    for _ in range(2):  # a label that two groups would share tells neither: each is called by its server
        shown = list(labels.values())
        labels = {group: label if shown.count(label) == 1 else group for group, label in labels.items()}
    return labels


# Numbers of a rollout


def number(value: Json) -> Number | None:
    """A number or boolean that a double can hold; None for all else."""
    if not isinstance(value, int | float):
        return None
    with suppress(OverflowError):
        if math.isfinite(float(value)):
            return int(value) if isinstance(value, bool) else value
    return None


def is_masked(row: Row) -> bool:
    """Whether the row says that its reward is no measurement; JSON is truthy just as Python is."""
    config = row.get("instance_config")
    return bool(row.get("mask_sample")) or (isinstance(config, dict) and bool(config.get("mask_sample")))


def fields_of(row: Row, nested: Sequence[str] = ()) -> dict[Field, Number]:
    """The numbers of a row: its top-level fields in their order, then its usage fields in theirs."""
    top = [tuple(path.split(".")) for path in nested if path != "usage"]
    fields: dict[Field, Number] = {}
    for name, value in row.items():
        fields |= plain_field("row", name, value)
        for path in top:
            if path[0] == name:
                fields |= fields_under("row", path, follow(value, path[1:]), skip_own=path == USAGE)
    for name, value in usage_of(row).items():
        fields |= plain_field("usage", name, value)
        if "usage" in nested:
            fields |= fields_under("usage", ("usage",), {name: value}, skip_own=True)
    return fields


def usage_of(row: Row) -> Row:
    """`response.usage`; anything but an object means no usage."""
    usage = follow(row, USAGE)
    return usage if isinstance(usage, dict) else {}


def plain_field(place: str, name: str, value: Json) -> dict[Field, Number]:
    """The number that stands directly in the row or in its usage, if it is a metric."""
    found = number(value)
    if found is None or name.startswith("_") or name in NOT_METRICS:
        return {}
    return {Field(place, (name,)): found}


def follow(value: Json, path: Sequence[str]) -> Json:
    """What stands at a path, or None."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def fields_under(place: str, path: tuple[str, ...], value: Json, *, skip_own: bool = False) -> dict[Field, Number]:
    """The numbers at any depth under an object; `skip_own` leaves out those directly in it."""
    fields: dict[Field, Number] = {}
    for name, inner in value.items() if isinstance(value, dict) else ():
        if path[0].startswith("_") or name.startswith("_"):
            continue
        found = None if skip_own else number(inner)
        if found is not None:
            fields[Field(place, (*path, name))] = found
        fields |= fields_under(place, (*path, name), inner)
    return fields


# Names of metrics


def without_twins(fields: dict[Field, Number], usage_names: set[str]) -> dict[Field, Number]:
    """Leave out a top-level number that only repeats this rollout's usage number of the same name."""
    return {
        field: value
        for field, value in fields.items()
        if not (
            field.place == "row"
            and len(field.path) == 1
            and field.path[0] in usage_names - {"reward"}
            and fields.get(Field("usage", field.path)) == value
        )
    }


def usage_names_of(rows: Iterable[Mapping[Field, Number]]) -> set[str]:
    """The names that mean usage: those with a number in the usage of any measured rollout."""
    return {field.path[0] for row in rows for field in row if field.place == "usage" and len(field.path) == 1}


def column_names(rows: Sequence[Mapping[Field, Number]], usage_names: set[str]) -> dict[Field, str]:
    """The name of the column of each field, in the order of first numbers.

    Usage owns its bare name. A made name that is taken already is prefixed again.
    """
    fields = list(dict.fromkeys(field for row in rows for field in row))
    taken = {field.path[0] for field in fields if len(field.path) == 1}
    names = {}
    for field in sorted(fields, key=lambda field: (len(field.path) > 1, field.place == "row", field.path)):
        prefix, name = made_name(field, usage_names)
        names[field] = name if prefix is None else untaken(prefix, name, taken)
    return {field: names[field] for field in fields}


def made_name(field: Field, usage_names: set[str]) -> tuple[str | None, str]:
    """The prefix a field's name needs, or None, and the name."""
    first, *rest = field.path
    if rest:
        return first, "/".join(rest)
    if field == Field("usage", ("reward",)):
        return "usage", first
    if first == "rollout_id" or (field.place == "row" and first in usage_names - {"reward"}):
        return "row", first
    return None, first


def untaken(prefix: str, name: str, taken: set[str]) -> str:
    """Prefix a name until no other column has it."""
    name = f"{prefix}/{name}"
    while name in taken:
        name = f"{prefix}/{name}"
    taken.add(name)
    return name


# Figures


def figures_of(values: Sequence[Number], *, alone: bool = False) -> Figures:
    """All figures of a column; those without a finite value are left out.

    Args:
        values: The numbers, at least one.
        alone: Whether one value has a spread of 0 rather than none.
    """
    exact = sorted(map(float, values))
    n = len(exact)
    figures = {
        "mean": statistics.mean(exact),
        "max": exact[-1],
        "min": exact[0],
        "median": statistics.median(exact),
        "p25": percentile(exact, 0.25),
        "p75": percentile(exact, 0.75),
    }
    if n > 1:
        with suppress(OverflowError):
            figures["std"] = statistics.stdev(exact)
            figures["sem"] = figures["std"] / math.sqrt(n)
            reach = float(stdtrit(n - 1, 0.975)) * figures["sem"]
            figures |= {"ci_low_95": figures["mean"] - reach, "ci_high_95": figures["mean"] + reach}
    elif alone:
        figures |= {"std": 0.0, "sem": 0.0}
    return {name: value for name, value in figures.items() if math.isfinite(value)}


def percentile(ordered: Sequence[float], share: float) -> float:
    """By linear interpolation between the two nearest values."""
    below, part = divmod((len(ordered) - 1) * share, 1)
    low, high = ordered[int(below)], ordered[min(int(below) + 1, len(ordered) - 1)]
    return low + (high - low) * part


def columns_of(rollouts: Sequence[Rollout], names: Iterable[str]) -> dict[str, list[Number]]:
    """The numbers of a group by column; columns without any are left out."""
    columns = {name: [mine.values[name] for mine in rollouts if name in mine.values] for name in names}
    return {name: values for name, values in columns.items() if values}


def five_statistics(rollouts: Sequence[Rollout], names: Iterable[str], *, counts: bool) -> Row:
    """`stat/metric`, all means first; then the counts, where asked for."""
    columns = columns_of(rollouts, names)
    figures = {name: figures_of(values, alone=len(rollouts) == 1) for name, values in columns.items()}
    row: Row = {
        f"{stat}/{name}": figures[name][stat] for stat in STATISTICS for name in columns if stat in figures[name]
    }
    if counts:
        row |= {f"count/{name}": len(values) for name, values in columns.items()}
    return row


# The three files


@dataclass(frozen=True)
class Run:
    """All that the three files are made of; `rollouts` are the measured ones, sorted by key."""

    plan: Mapping[Key, Line]
    groups: Mapping[Key, str | None]
    labels: Mapping[str | None, str | None]
    rollouts: Sequence[Rollout]
    masked: frozenset[Key]
    names: Sequence[str]
    usage: frozenset[str]
    counts: bool

    def of(self, group: str | None) -> list[Rollout]:
        """The measured rollouts of an agent."""
        return [mine for mine in self.rollouts if mine.group == group]

    def rank(self, group: str | None) -> tuple[bool, str, str]:
        """Agents go by name, the nameless one last."""
        return group is None, self.labels[group] or "", group or ""

    def reference(self, group: str | None) -> Row:
        """An `agent_ref`."""
        return {"name": self.labels[group]}


def profile(
    plan: Mapping[Key, Line],
    done: Mapping[Key, Line],
    *,
    every_row: bool,
    nested: Sequence[str],
    counts: bool,
) -> SlowProfile:
    """Make the three files of aligned rows."""
    served = who_ran(plan, done)
    masked = frozenset(key for key, line in done.items() if not every_row and is_masked(line.row))
    numbers = {key: fields_of(line.row, nested) for key, line in done.items() if key not in masked}
    usage_names = usage_names_of(numbers.values())
    numbers = {key: without_twins(fields, usage_names) for key, fields in numbers.items()}
    names = column_names(list(numbers.values()), usage_names)
    run = Run(
        plan=plan,
        groups={key: mine.group for key, mine in served.items()},
        labels=labels_of(served.values()),
        rollouts=[
            Rollout(key, served[key].group, {names[field]: value for field, value in fields.items()})
            for key, fields in numbers.items()
        ],
        masked=masked,
        names=list(names.values()),
        usage=frozenset(name for field, name in names.items() if field.place == "usage"),
        counts=counts,
    )
    repeats = repeat_entries(run)
    return SlowProfile(task_rows(run), agent_entries(run, repeats), repeats)


def task_rows(run: Run) -> list[Row]:
    """One row a task, or a task and agent where any task of the run was planned for several agents."""
    agents: dict[int, set[str | None]] = defaultdict(set)
    for key, group in run.groups.items():
        agents[key.task].add(group)
    fan_out = any(len(groups) > 1 for groups in agents.values())
    pairs = sorted(
        {(mine.key.task, mine.group) for mine in run.rollouts},
        key=lambda pair: (pair[0], run.rank(pair[1])),
    )
    return [task_row(run, *pair, fan_out=fan_out) for pair in pairs]


def task_row(run: Run, task: int, group: str | None, *, fan_out: bool) -> Row:
    """The row of a task with at least one measured rollout."""
    rollouts = [mine for mine in run.of(group) if mine.key.task == task]
    planned = {key for key, planned_for in run.groups.items() if key.task == task and planned_for == group}
    expected = len(planned - run.masked)
    return {
        TASK: task,
        **five_statistics(rollouts, run.names, counts=run.counts),
        **({"agent_ref": run.reference(group)} if fan_out else {}),
        "sample": sample_of(run.plan[rollouts[0].key]),
        "num_rollouts": len(rollouts),
        "expected_num_rollouts": expected,
        "missing_num_rollouts": expected - len(rollouts),
        "reward_profile_completion_pct": 100 * len(rollouts) / expected,
        "rollout_infos": [rollout_info(run, mine) for mine in rollouts],
    }


def sample_of(line: Line) -> Row:
    """An input row without its indices; what is not JSON in it becomes null."""
    row = read_json(line.text.decode("utf-8"), constant=lambda _: None)
    return {name: value for name, value in row.items() if name not in (TASK, ROLLOUT)}


def rollout_info(run: Run, mine: Rollout) -> Row:
    """The numbers of one rollout: reward, usage, the others, each in the order the rollout's own row has."""
    usage = [name for name in mine.values if name in run.usage]
    others = [name for name in mine.values if name not in run.usage]
    return {
        "rollout_id": f"{mine.key.task}:{mine.key.rollout}",
        TASK: mine.key.task,
        ROLLOUT: mine.key.rollout,
        **{name: mine.values[name] for name in ("reward", *usage, *others) if name in mine.values},
    }


def indices_of(rollouts: Iterable[Rollout]) -> list[int]:
    """The rollout indices at which anything was measured."""
    return sorted({mine.key.rollout for mine in rollouts})


def repeat_entries(run: Run) -> list[Row]:
    """One entry an agent and rollout index, for agents measured at more than one."""
    groups = sorted({mine.group for mine in run.rollouts}, key=run.rank)
    return [
        repeat_entry(run, group, index)
        for group in groups
        for index in indices_of(run.of(group))
        if len(indices_of(run.of(group))) > 1
    ]


def repeat_entry(run: Run, group: str | None, index: int) -> Row:
    """Figures over the tasks of an agent at one rollout index, metric by metric in alphabetical order."""
    rollouts = [mine for mine in run.of(group) if mine.key.rollout == index]
    tasks = {mine.key.task for mine in run.of(group)}
    entry = {
        "agent_ref": run.reference(group),
        ROLLOUT: index,
        "sample_count": len(rollouts),
        "missing_count": len(tasks) - len(rollouts),
    }
    for name, values in columns_of(rollouts, sorted(run.names)).items():
        figures = figures_of(values, alone=True)
        entry |= {f"{stat}/{name}": figures[stat] for stat in REPEAT_STATISTICS if stat in figures}
    return entry


def agent_entries(run: Run, repeats: Sequence[Row]) -> list[Row]:
    """One entry an agent with a finished rollout; those without a measured one last."""
    measured = {mine.group for mine in run.rollouts}
    masked = {run.groups[key] for key in run.masked}
    order = [*sorted(measured, key=run.rank), *sorted(masked - measured, key=run.rank)]
    return [agent_entry(run, group, repeats) for group in order]


def agent_entry(run: Run, group: str | None, repeats: Sequence[Row]) -> Row:
    """Statistics over all rollouts of an agent, their spread across repeats, and what was masked."""
    return {
        **five_statistics(run.of(group), run.names, counts=run.counts),
        "agent_ref": run.reference(group),
        **across_repeats(run, group, repeats),
        **coverage(run, group),
    }


def across_repeats(run: Run, group: str | None, repeats: Sequence[Row]) -> Row:
    """The spread of the means of an agent's repeats, metrics in the order they have in the repeat file."""
    indices = indices_of(run.of(group))
    if len(indices) <= 1:
        return {}
    entry: Row = {}
    for name in metrics_of(repeats):
        by_index = [values_at(run, group, index, name) for index in indices]
        means = [figures_of(values)["mean"] for values in by_index if values]
        figures = figures_of(means, alone=True) if means else {}
        entry |= {
            f"{stat}_across_repeats/mean/{name}": figures[ACROSS_REPEATS[stat]]
            for stat in ACROSS_REPEATS
            if ACROSS_REPEATS[stat] in figures
        }
    return entry


def metrics_of(repeats: Sequence[Row]) -> list[str]:
    """The metrics of the repeat file, in the order of their first entries."""
    means = (key for entry in repeats for key in entry if key.startswith("mean/"))
    return list(dict.fromkeys(key.removeprefix("mean/") for key in means))


def values_at(run: Run, group: str | None, index: int, name: str) -> list[Number]:
    """The numbers that an agent's tasks have for a metric at one rollout index."""
    rollouts = (mine for mine in run.of(group) if mine.key.rollout == index)
    return [mine.values[name] for mine in rollouts if name in mine.values]


def coverage(run: Run, group: str | None) -> Row:
    """How much of an agent's run is masked; nothing where nothing is."""
    masked = [key for key in run.masked if run.groups[key] == group]
    measured = run.of(group)
    if not masked:
        return {}
    measured_tasks = {mine.key.task for mine in measured}
    return {
        "coverage/measured_rollouts": len(measured),
        "coverage/masked_rollouts": len(masked),
        "coverage/measured_tasks": len(measured_tasks),
        "coverage/fully_masked_tasks": len({key.task for key in masked} - measured_tasks),
    }


# Comparing


def difference(want: Json, got: Json, *, order: bool = True) -> str | None:
    """Find the first difference of two JSON values.

    Numbers agree within a relative 1e-8 or an absolute 1e-12, true is 1, a null key counts as absent.

    Args:
        want: What is right.
        got: What is compared with it.
        order: Whether the order of keys matters.

    Returns:
        Where they differ and how, or None.
    """
    todo = [("", want, got)]
    while todo:
        where, mine, theirs = todo.pop()
        if isinstance(mine, dict) and isinstance(theirs, dict):
            mine, theirs = present(mine), present(theirs)
            if fault := keys_differ(mine, theirs, order=order):
                return f"{where or '/'}: {fault}"
            todo += reversed([(f"{where}/{key}", value, theirs[key]) for key, value in mine.items()])
        elif isinstance(mine, list) and isinstance(theirs, list):
            if len(mine) != len(theirs):
                return f"{where or '/'}: {len(theirs)} items, expected {len(mine)}"
            pairs = enumerate(zip(mine, theirs, strict=True))
            todo += reversed([(f"{where}[{i}]", *pair) for i, pair in pairs])
        elif not same(mine, theirs):
            return f"{where or '/'}: {theirs!r:.80}, expected {mine!r:.80}"
    return None


def present(value: Row) -> Row:
    """An object without its nulls."""
    return {key: inner for key, inner in value.items() if inner is not None}


def keys_differ(want: Row, got: Row, *, order: bool) -> str | None:
    """How the keys of two objects differ."""
    if want.keys() != got.keys():
        return f"missing {sorted(want.keys() - got.keys())[:4]}, extra {sorted(got.keys() - want.keys())[:4]}"
    if order and list(want) != list(got):
        at = next(i for i, pair in enumerate(zip(want, got, strict=True)) if pair[0] != pair[1])
        return f"key {at} is {list(got)[at]!r}, expected {list(want)[at]!r}"
    return None


def same(want: Json, got: Json) -> bool:
    """Whether two values that are not both objects or both lists agree."""
    if isinstance(want, int | float) and isinstance(got, int | float):
        return want == got or math.isclose(want, got, rel_tol=1e-8, abs_tol=1e-12)
    return type(want) is type(got) and bool(want == got)
