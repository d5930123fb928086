"""The entry point: parse, run one command, and convert the outcome into messages and an exit code.

Exit codes: 0 done, 1 an error that is explained, 2 usage, 130 interrupted. An unexpected exception
becomes one line and a log file with the details; the user sees no traceback.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any, Final

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without importing typing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rowtui.cli.output.output import Output
    from rowtui.core.base.errors import RowtuiError


# The plainest command lines of `show status` and `show directories`, parsed without argparse.
#
# Making a parser takes longer than such a command does. Words that are not spelled out in full, and
# every possible error, are left to the grammar in `parser.py`; both give the same values. A plain
# `rowtui show status` is answered with its stored text, if nothing has changed since.


# The modules that make the table's text, relative to this folder: a stored text is valid only for
# their current version.
RENDERING = (
    "show/status.py",
    "output/output.py",
    "../core/base/text.py",
)
# Options without effect here: without submitted jobs no cluster is polled.
HARMLESS = frozenset({"--no-progress", "--clear-progress"})
# Variables that change output or logging; the complete program handles them.
SETTINGS = ("ROW_COLOR", "ROWTUI_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR")


def quick_answer(arguments: list[str]) -> int | None:
    """Print the stored answer and return the exit code, or None if the case is not that simple."""
    if [word for word in arguments if word not in HARMLESS] != ["show", "status"]:
        return None
    if len(set(arguments)) < len(arguments) or any(name in os.environ for name in SETTINGS):
        return None
    if "" in (os.environ.get("ROW_CLUSTER"), os.environ.get("ROWTUI_CLUSTER")):
        return None  # this option is refused
    from rowtui.core.project.summary import read_text

    coloured = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    text = read_text(os.getcwd(), text_key(coloured=coloured))
    if text is None:
        return None
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        return None
    sys.stdout.flush()
    return 0


def text_key(*, coloured: bool) -> str:
    """Return the key of a stored text, from its format and the version of the code."""
    from rowtui.core.project.summary import identity

    folder = os.path.dirname(__file__)
    versions = [identity(os.path.join(folder, name)) for name in RENDERING]
    return f"status{' in colour' if coloured else ''} {versions}"


_STATUSES: Final = ("completed", "submitted", "eligible", "waiting")
_COMMON: Final = ("no_progress", "clear_progress")  # absent unless given
# Options without a value; and the defaults of the other options.
_FLAGS: Final = {
    "status": (*_STATUSES, "all", "no_header", "json"),
    "directories": (
        *_STATUSES, "failed", "not_reached", "cancelled", "no_header", "no_separate_groups",
        "short", "json",
    ),
}  # fmt: skip
_OTHERS: Final[dict[str, dict[str, Any]]] = {
    "status": {"action": "*", "watch": None},
    "directories": {"action": None, "n_groups": None},
}


class PlainWords:
    """The values that `argparse` would give for the same words."""

    command: str

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)


def plain_words(words: list[str]) -> PlainWords | None:
    """Return the values of a command line, or None if it is not one of the plainest."""
    common = {f"--{name.replace('_', '-')}": name for name in _COMMON}
    verb = 0  # position of the verb, after common options
    while verb < len(words) and words[verb] in common:
        verb += 1
    what = words[verb + 1] if len(words) > verb + 1 else ""
    if words[verb : verb + 1] != ["show"] or what not in _FLAGS or len({*words[:verb]}) < verb:
        return None
    values: dict[str, Any] = dict.fromkeys(_FLAGS[what], False)
    values |= {"command": f"show.{what}", "directories": [], **_OTHERS[what]}
    values |= {common[word]: True for word in words[:verb]}
    flags = common | {f"--{name.replace('_', '-')}": name for name in _FLAGS[what]}
    pointers: list[str] = []
    given: dict[str, Any] = {}  # options with a value, which are given once
    named_until = 0  # position after the last directory: directories must be adjacent
    rest = iter(range(verb + 2, len(words)))
    for at in rest:
        word = words[at]
        if word in flags:
            if values.get(flags[word]):
                return None
            values[flags[word]] = True
            continue
        if not word.startswith("-"):
            if not word or named_until not in (0, at - 1):
                return None
            values["directories"].append(word)
            named_until = at
            continue
        argument = words[next(rest)] if at + 1 < len(words) else ""
        if not argument or argument.startswith("-"):
            return None
        if word in ("-a", "--action"):
            single: dict[str, Any] = {"action": argument}
        elif what == "directories" and word == "--value":
            pointers.append(argument)
            continue
        elif what == "directories" and word in ("-n", "--n-groups") and _is_number(argument):
            single = {"n_groups": int(argument)}
        else:
            return None
        if given.keys() & single.keys():
            return None
        given |= single
    if what == "directories":
        values["value"] = pointers
    return PlainWords(values | given)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


INTERRUPTED = 130


# If one of these is loaded, threads, processes or files may need a regular exit.
SEEN_TO_AT_EXIT = ("asyncio", "concurrent.futures", "coverage", "multiprocessing")


def start() -> int:
    """Run `main` for this process and end it; the entry point of the program `rowtui`.

    A command that shows data makes little garbage and needs no cleanup at exit; garbage collection
    and cleanup would each cost a tenth of its time.
    """
    if not _only_shows(sys.argv[1:]):
        return main()
    gc.disable()
    code = main()
    if any(name in sys.modules for name in SEEN_TO_AT_EXIT):
        return code
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return code
    os._exit(code)


def _only_shows(words: Sequence[str]) -> bool:
    """Whether this is a `show` that ends by itself, or the scripts of a dry run."""
    verb = next((word for word in words if word not in HARMLESS), "")
    if verb == "submit":
        return "--dry-run" in words and "--json" not in words
    return verb == "show" and not any(word.split("=")[0] == "--watch" for word in words)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `rowtui` with these arguments (default: the process's) and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    code = quick_answer(arguments)
    if code is not None:
        return code
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    completing = "_ARGCOMPLETE" in os.environ
    plain = None if completing else plain_words(arguments)
    if plain is not None:
        return run(plain)
    from rowtui.cli.parser import build_parser

    parser = build_parser(None if completing else arguments)
    if completing:
        from rowtui.cli.complete import complete

        complete(parser)
    try:
        args = parser.parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    return run(args)


def run(args: argparse.Namespace | PlainWords) -> int:
    """Run the parsed command."""
    from importlib import import_module

    from rowtui.cli.environment import refuse_empty_cluster
    from rowtui.cli.output.output import Output, let_any_name_through
    from rowtui.core.base.errors import InvalidFileError, RowtuiError

    out = Output(color="never", progress=False)
    try:
        let_any_name_through()
        out = _output(args)
        refuse_empty_cluster(getattr(args, "clusters", ()))
        module, _, function = args.command.partition(":")
        command = getattr(import_module(f"rowtui.cli.{module}"), function or "run")
        code: int = command(args, out)
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe. Python must not report that at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except InvalidFileError as error:
        out.problems(error.problems)
        return _failed(args, out, error)
    except RowtuiError as error:
        out.error(str(error))
        return _failed(args, out, error)
    except Exception as error:  # the last line of defence
        explained = RowtuiError(_explain_unexpected(error))
        out.error(str(explained))
        return _failed(args, out, explained)
    finally:
        if "rowtui.cli.environment" in sys.modules:
            sys.modules["rowtui.cli.environment"].finish()
    return code


def _failed(args: argparse.Namespace | PlainWords, out: Output, error: RowtuiError) -> int:
    """Print the error as JSON where the result would be JSON; return the exit code."""
    if getattr(args, "json", False) and not out.printed:
        out.json(error)
    return 1


def _output(args: argparse.Namespace | PlainWords) -> Output:
    from rowtui.cli.environment import environment_flag, environment_word
    from rowtui.cli.output.output import WARN, Output

    level = WARN + getattr(args, "verbose", 0) - getattr(args, "quiet", 0)
    return Output(
        level=level,
        color=getattr(args, "color", None) or environment_word("COLOR", "auto") or "auto",
        progress=not (getattr(args, "no_progress", False) or environment_flag("NO_PROGRESS")),
        keep=not (getattr(args, "clear_progress", False) or environment_flag("CLEAR_PROGRESS")),
    )


def _explain_unexpected(error: Exception) -> str:
    """Return one line for the user, and write the details to a log file."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if isinstance(error, OSError):
        return f"{error.strerror or error}"
    import tempfile
    import traceback

    from rowtui.core import __version__

    with tempfile.NamedTemporaryFile(
        "w", prefix="rowtui-error-", suffix=".log", delete=False
    ) as log:
        log.write(f"rowtui {__version__}, Python {sys.version}\n")
        traceback.print_exception(error, file=log)
    return (
        f"rowtui met something unexpected: {type(error).__name__}: {error}\n"
        f"The details are in {log.name}; please report them."
    )


if __name__ == "__main__":
    sys.exit(main())
