"""A rollout's row → what happened in it, as text for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from pipeline import names
from pipeline.report.values import as_json, elided, field_text, on_one_line, plain
from pipeline.words import counted

Row = dict[str, Any]
TRAJECTORY = "ng_trajectory"
ANSWERS = ("extracted_answer", "extracted")
INDENT = "  "
OF_REQUEST = ("user", "system", "developer")
TOLD = frozenset(
    {"type", "role", "content", "name", "call_id", "arguments", "output", "summary", "id", "status", "phase"}
)
TOLD_OF_PART = frozenset({"type", "text", "refusal", "image_url", "detail"})
ABOUT_RESPONSE = ("model", "status", "incomplete_details", "error")
EMPTY: tuple[Any, ...] = (None, "", [], {})


class Block(NamedTuple):
    """A heading of one line and what stands below it."""

    heading: str
    body: str


def blocks_of(row: Row, *, full: bool = False) -> list[Block]:
    """What happened in a rollout, in order: request, response or trajectory, verifier's fields, usage.

    Args:
        row: The row as plain values.
        full: Whether long lists of numbers, base64 and long fields are shown whole.
    """
    shown: Row = row if full else elided(row)
    response = shown.get(names.RESPONSE)
    conversation = list(_conversation(shown.get(TRAJECTORY)))
    is_fuller = _steps(item for _, item in conversation) > _steps(_output(response))
    told = {*names.KEY, names.PARAMS, names.RESPONSE, names.AGENT_REF} | ({TRAJECTORY} if is_fuller else set())
    others = {name: value for name, value in shown.items() if name not in told}
    usage = response.get(names.USAGE) if isinstance(response, dict) else None
    return [
        *_request(shown.get(names.PARAMS)),
        *(_trajectory(conversation, response) if is_fuller else _items("response", _output(response))),
        *_about(response, full=full),
        *_fields("verifier", others, full=full),
        *_fields("usage", dict(_flat(usage, "")), full=full),
    ]


def as_text(title: str, blocks: Iterable[Block], *, heading: Callable[[str], str] = str) -> str:
    """Blocks as text, each body indented below its heading.

    Args:
        title: The first line.
        blocks: What follows.
        heading: What makes a heading of a line, such as colour.
    """
    pieces = [heading(on_one_line(title))]
    for block in blocks:
        pieces += ["", heading(f"── {on_one_line(block.heading)}")]
        pieces += [f"{INDENT}{line}" if line else "" for line in plain(block.body).split("\n")]
    return "\n".join(pieces) + "\n"


def answer_of(row: Row) -> str | None:
    """What a rollout answered: the answer that its verifier extracted, else the text of its last message."""
    for name in ANSWERS:
        if row.get(name) not in EMPTY:
            return row[name] if isinstance(row[name], str) else as_json(row[name])
    for item in reversed(_output(row.get(names.RESPONSE))):
        if isinstance(item, dict) and (item.get("type") == "message" or item.get("role") == "assistant"):
            return _content(item.get("content")) or None
    return None


def _request(params: Any) -> Iterator[Block]:
    if not isinstance(params, dict):
        if params is not None:
            yield Block("request", as_json(params))
        return
    if params.get("instructions") not in EMPTY:
        yield Block("request · instructions", _content(params["instructions"]))
    if isinstance(tools := params.get("tools"), list) and tools:
        yield Block("request · tools", ", ".join(map(_tool_name, tools)))
    asked = params.get("input")
    given = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    yield from _items("request", given if isinstance(given, list) else [given] if given is not None else [])


def _tool_name(tool: Any) -> str:
    inside = tool.get("function") if isinstance(tool, dict) else None
    named = inside if isinstance(inside, dict) else tool
    name = (named.get("name") or named.get("type")) if isinstance(named, dict) else None
    return name if isinstance(name, str) else as_json(tool)


def _output(response: Any) -> list[Any]:
    output = response.get("output") if isinstance(response, dict) else response
    return output if isinstance(output, list) else [] if output is None else [output]


def _conversation(trajectory: Any) -> Iterator[tuple[str, Any]]:
    """The items of all invocations of a trajectory, each with what the invocation is called."""
    invocations = trajectory.get("invocations") if isinstance(trajectory, dict) else None
    for invocation in invocations if isinstance(invocations, list) else []:
        items = invocation.get("conversation") if isinstance(invocation, dict) else None
        for item in items if isinstance(items, list) else []:
            yield str(invocation.get("invocation_id") or "invocation"), item


def _steps(items: Iterable[Any]) -> int:
    """How many items are no messages of a request."""
    return sum(not (isinstance(item, dict) and item.get("role") in OF_REQUEST) for item in items)


def _trajectory(conversation: list[tuple[str, Any]], response: Any) -> Iterator[Block]:
    held = len(_output(response))
    note = f"{counted(len(conversation), 'item')}; the response has {held:,} of its own (--field response.output)"
    yield Block("ng_trajectory", note)
    calls: dict[str, str] = {}
    for name, item in conversation:
        yield _item(f"trajectory {name}", item, calls)


def _about(response: Any, *, full: bool) -> Iterator[Block]:
    if isinstance(response, dict):
        yield from _fields("response", {name: response.get(name) for name in ABOUT_RESPONSE}, full=full, all_=False)


def _fields(heading: str, fields: Row, *, full: bool, all_: bool = True) -> Iterator[Block]:
    """The fields, one a line; those without a value too, if all are wanted."""
    lines = [
        f"{on_one_line(name)}: {field_text(value, full=full)}"
        for name, value in fields.items()
        if all_ or value not in EMPTY
    ]
    if lines:
        yield Block(heading, "\n".join(lines))


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The values inside an object by their dotted paths."""
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from _flat(inside, f"{path}.{name}" if path else name)
    elif path:
        yield path, value


def _items(where: str, items: Iterable[Any]) -> Iterator[Block]:
    calls: dict[str, str] = {}
    for item in items:
        yield _item(where, item, calls)


def _item(where: str, item: Any, calls: dict[str, str]) -> Block:
    """One item; `calls` holds the name of each tool call so far."""
    if not isinstance(item, dict):
        return Block(f"{where} · item", _content(item))
    kind = item.get("type")
    if kind == "function_call":
        call = str(item.get("call_id"))
        calls[call] = str(item.get("name"))
        return Block(f"{where} · call {calls[call]} ({call})", _joined(_arguments(item.get("arguments")), item))
    if kind == "function_call_output":
        call = str(item.get("call_id"))
        return Block(
            f"{where} · output of {calls.get(call, 'call')} ({call})", _joined(_content(item.get("output")), item)
        )
    if kind == "reasoning":
        texts = [_content(item.get("summary")), _content(item.get("content"))]
        return Block(f"{where} · reasoning", _joined("\n".join(filter(None, texts)), item))
    if kind == "message" or (kind is None and "content" in item):
        return Block(f"{where} · {item.get('role') or 'message'}", _joined(_content(item.get("content")), item))
    rest = {name: value for name, value in item.items() if name != "type"}
    return Block(f"{where} · {kind or 'item'}", _named_values(rest))


def _joined(text: str, item: Row) -> str:
    """A text and the fields of its item that are told nowhere else."""
    told = TOLD if item.get("status") in (None, "completed") else TOLD - {"status"}
    return "\n".join(filter(None, [text, _more(item, told)]))


def _more(item: Row, told: frozenset[str]) -> str:
    return _named_values({name: value for name, value in item.items() if name not in told and value not in EMPTY})


def _content(content: Any) -> str:
    """The text of a content, which is text or a list of parts."""
    if isinstance(content, list):
        return "\n".join(map(_part, content))
    return content if isinstance(content, str) else "" if content is None else as_json(content)


def _part(part: Any) -> str:
    if not isinstance(part, dict):
        return _content(part)
    texts = [part["text"]] if isinstance(part.get("text"), str) else []
    if isinstance(part.get("refusal"), str):
        texts.append(f"refusal: {part['refusal']}")
    if "image_url" in part:
        texts.append(f"image: {_content(part['image_url'])}")
    return "\n".join(filter(None, [*texts, _more(part, TOLD_OF_PART)])) if texts else as_json(part)


def _arguments(arguments: Any) -> str:
    """The arguments of a call, one a line; as they stand where they are no object."""
    try:
        known = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return str(arguments)
    return _named_values(known) if isinstance(known, dict) else _content(arguments)


def _named_values(values: Row) -> str:
    """Names with their values: a text of several lines below its name, anything else beside it."""
    lines = []
    for name, value in values.items():
        if isinstance(value, str) and "\n" in value:
            lines += [f"{name}:", *(f"{INDENT}{line}" for line in value.split("\n"))]
        else:
            lines.append(f"{name}: {value if isinstance(value, str) else as_json(value)}")
    return "\n".join(lines)
