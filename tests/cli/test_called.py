"""Commands that are told can be typed as they stand, however the command was called."""

import sys
from pathlib import Path

import pytest

from pipeline.cli.called import as_called, command_line

COMMANDS = ("compare", "eval run")


@pytest.mark.parametrize(
    ("program", "typed"), [("/a b/rollprof", "'/a b/rollprof'"), ("/bin/rollprof", "/bin/rollprof")]
)
def test_commands_in_a_text(program: str, typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [program])
    text = "A server of rollprof or another? rollprof compare A B, or rollprof eval run."
    assert as_called(text, COMMANDS) == f"A server of rollprof or another? {typed} compare A B, or {typed} eval run."


@pytest.mark.parametrize("program", ["/a b/rollprof", "/bin/rollprof", ".venv/bin/rollprof", "/here/rollprof.py"])
def test_commands_that_can_be_typed_already_stay(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [program])
    text = f"With what is there: {command_line('compare', 'A')}"
    assert as_called(text, COMMANDS) == text


def test_a_path_that_looks_like_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/bin/rollprof"])
    assert command_line("show", Path("-x.jsonl"), "-q") == "/bin/rollprof show ./-x.jsonl -q"
