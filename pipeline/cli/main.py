"""The `rollprof` command: its subcommands, and how a refusal, a bug or a signal ends it."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from pipeline import names
from pipeline.cli.called import as_called
from pipeline.cli.console import Console, flush_result, prepare_streams
from pipeline.cli.early import end_early
from pipeline.cli.peer import translated
from pipeline.errors import Exit, RollprofError, SourceError, UsageError
from pipeline.leftovers import what_is_so
from pipeline.sources.rows import encodable

HELP = {"help_option_names": ["-h", "--help"]}
COMMANDS = {
    "profile": "profile",
    "query": "query",
    "inspect": "inspect",
    "show": "show",
    "export": "export",
    "stats": "stats",
    "compare": "compare",
    "select": "select",
    "topup": "topup",
    "suspects": "suspects",
    "env start": "env_start",
    "collect": "eval_run",
    "eval run": "eval_run",
    "eval profile": "profile",
}
"""What is typed → the module, and the function in it."""
GROUPS = {"eval": "The same commands under the names of gym eval.", "env": "Serve an environment: rollprof env start"}
HIDDEN = frozenset({"eval"})
PANIC_OF_SYSTEM = re.compile(r"Os \{ code: (\d+)")
"""What Polars says when it gives up for want of, say, a thread."""
NO_THREAD = "can't start new thread"
"""What Python says when the system gives it none."""
UNMAPPED = "failed to map segment"
"""What the loader of shared libraries says for want of memory."""
UNKNOWN_OPTIONS = {"show": {"ignore_unknown_options": True}}  # -1:0 is a key


def application(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command with these subcommands; each is loaded only here, for loading all of them takes its time."""
    app = typer.Typer(
        help="What did these rollouts teach us, and which tasks are worth more of them?",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings=HELP,
    )
    app.callback(invoke_without_command=True)(root)
    groups: dict[str, typer.Typer] = {}
    for name in commands:
        module = COMMANDS[name]
        *group, word = name.split()
        parent = app
        for first in group:
            if first not in groups:
                groups[first] = typer.Typer(help=GROUPS[first], context_settings=HELP)
                app.add_typer(groups[first], name=first, hidden=first in HIDDEN)
            parent = groups[first]
        command = getattr(import_module(f"pipeline.cli.{module}"), module)
        parent.command(word, context_settings=UNKNOWN_OPTIONS.get(module), short_help=_in_a_few_words(command))(command)
    return app


def _in_a_few_words(command: Callable[..., None]) -> str:
    """The beginning of a command's help, which a list of commands shows without cutting it."""
    return re.split("[:;.]", str(command.__doc__), maxsplit=1)[0]


def root(
    context: typer.Context, *, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Prints the help where no command is named."""
    if version:
        from importlib import metadata

        typer.echo(f"rollprof {metadata.version('rollprof')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(int(Exit.USAGE))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command and exits with one of the codes of `errors.Exit`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    prepare_streams()
    console = Console(as_json="--json" in given)
    try:
        code = _run(given)
        flush_result()
    except RollprofError as error:
        error.hint = as_called(error.hint, COMMANDS)
        console.refuse(error)
        code = int(error.exit_code)
    except UnicodeEncodeError as error:
        if all(encodable(argument) for argument in given):
            raise
        console.refuse(UsageError(f"an argument is not UTF-8: {error.reason}", hint="Write it in UTF-8."))
        code = int(Exit.USAGE)
    except KeyboardInterrupt:
        console.say(f"Interrupted; {what_is_so()}.")
        code = int(Exit.INTERRUPTED)
    except BrokenPipeError:
        code = int(Exit.DONE)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of Polars is no Exception
        refusal = _of_system(error) or _bug(error)
        if refusal.exit_code == Exit.BUG:
            console.warn("\n" + traceback.format_exc())
        console.refuse(refusal)
        code = int(refusal.exit_code)
    end_early()
    sys.exit(code)


def _run(given: list[str]) -> int:
    asked = [name for name in COMMANDS if name.split() == given[: len(name.split())]]
    command = typer.main.get_command(application(asked or COMMANDS))
    try:
        with command.make_context("rollprof", translated(given)) as started:
            command.invoke(started)
    except typer.Exit as done:
        return done.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except TyperException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else " ".join(("rollprof", *asked[:1]))
        unknown = getattr(error, "option_name", None) if hasattr(error, "possibilities") else None
        others = _of_others(unknown) if unknown is not None else ""
        hint = f"{others}See {path} --help."
        raise UsageError(_message(error), hint=hint) from None
    return int(Exit.DONE)


def _message(error: TyperException) -> str:
    """What the parser has to say, as one line."""
    said = error.format_message() if hasattr(error, "format_message") else str(error)
    return " ".join(said.split()).replace(": Value error, ", ": ")


def _of_others(option: str) -> str:
    """Which commands have an option that the one that was called has not."""
    found, app = [], typer.main.get_command(application())
    for name in COMMANDS:
        command: Any = app
        for word in name.split():
            command = command.commands[word]
        if name.split()[0] not in HIDDEN and any(option in one.opts for one in command.params):
            found.append(name)
    return f"{option} is an option of {', '.join(found)}. " if found else ""


def _of_system(error: BaseException) -> RollprofError | None:
    """The refusal for what the system would not do, wherever it was asked; None for anything else."""
    if isinstance(error, OSError) and error.strerror:
        reason, where = error.strerror, _shown(error.filename)
    elif isinstance(error, MemoryError) or UNMAPPED in str(error):
        reason, where = os.strerror(errno.ENOMEM), ""
    elif isinstance(error, RuntimeError) and NO_THREAD in str(error):
        reason, where = os.strerror(errno.EAGAIN), ""
    elif number := PANIC_OF_SYSTEM.search(str(error)):
        reason, where = os.strerror(int(number[1])), ""
    else:
        return None
    hint = "Look at the permissions of the file, and at the limits of this shell (ulimit -a)."
    return SourceError(f"the system says: {reason}", where=where, hint=hint)


def _shown(filename: Any) -> str:
    """What an error of the system says that it is about: a path, the number of an open file, or nothing."""
    if isinstance(filename, (str, bytes, os.PathLike)):
        return names.shown(os.fsdecode(filename))
    return "" if filename is None else f"file {filename}"


def _bug(error: BaseException) -> RollprofError:
    return RollprofError(
        f"unexpected {type(error).__name__}: {error}",
        hint="This is a bug: please report it, with the lines above, as an issue of the repository you have this from.",
    )
