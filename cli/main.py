"""The entry point: parse, run one command, and convert the outcome into messages and an exit code.

Exit codes: 0 done, 1 an error that is explained, 2 usage, 130 interrupted. An unexpected exception
becomes one line and a log file with the details; the user sees no traceback.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

from rowtui.core.base.lazy import define_records_quickly

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without importing typing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rowtui.cli.output.output import Output
    from rowtui.core.base.errors import RowtuiError


# The modules that make the table's text, relative to this folder: a stored text is valid only for
# their current version.
RENDERING = (
    "show/status.py",
    "output/output.py",
    "../core/base/text.py",
)
# Options that leave the text as it is: without submitted jobs no cluster is polled.
HARMLESS = frozenset({"no_progress", "clear_progress", "color"})


def is_plain_status(args: argparse.Namespace) -> bool:
    """Whether this is `rowtui show status` without an option that changes the table."""
    given = {name: value for name, value in vars(args).items() if value and name not in HARMLESS}
    return given == {"command": "show.status", "action": "*"}


def stored_status(out: Output) -> str | None:
    """Return the stored status table, or None if something has changed since."""
    from rowtui.core.project.summary import read_text

    return read_text(os.getcwd(), text_key(coloured=out.color))


def text_key(*, coloured: bool) -> str:
    """Return the key of a stored text, from its format and the version of the code."""
    from rowtui.core.project.summary import identity

    folder = os.path.dirname(__file__)
    archive = getattr(globals()["__loader__"], "archive", "")  # The zip that rowtui runs from.
    files = [archive] if archive else [os.path.join(folder, name) for name in RENDERING]
    versions = [identity(name) for name in files]
    return f"status{' in colour' if coloured else ''} {versions}"


INTERRUPTED = 130


# If one of these is loaded, threads, processes or files may need a regular exit.
SEEN_TO_AT_EXIT = ("asyncio", "concurrent.futures", "coverage", "multiprocessing")


def start() -> int:
    """Run this process's command and end the process; the entry point of the program `rowtui`.

    A command that shows data makes little garbage and needs no cleanup at exit; garbage collection
    and cleanup would each cost a tenth of its time.
    """
    gc.disable()
    define_records_quickly()
    args = parse(sys.argv[1:])
    if isinstance(args, int):
        return args
    shows = _only_shows(args)
    if not shows:
        gc.enable()
    code = run(args)
    if not shows or any(name in sys.modules for name in SEEN_TO_AT_EXIT):
        return code
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return code
    os._exit(code)


def _only_shows(args: argparse.Namespace) -> bool:
    """Whether this is a `show` that ends by itself, or the scripts of a dry run."""
    if args.command == "submit.submit":
        return bool(args.dry_run and not args.json)
    return args.command.startswith("show.") and getattr(args, "watch", None) is None


def main(argv: Sequence[str] | None = None) -> int:
    """Run `rowtui` with these arguments (default: the process's) and return its exit code."""
    args = parse(list(sys.argv[1:] if argv is None else argv))
    return args if isinstance(args, int) else run(args)


def parse(arguments: list[str]) -> argparse.Namespace | int:
    """Return the parsed arguments; or the exit code, where help or an error was printed."""
    from rowtui.cli.parser import build_parser

    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    completing = "_ARGCOMPLETE" in os.environ
    parser = build_parser(None if completing else arguments)
    if completing:
        from rowtui.cli.complete import complete

        complete(parser)
    try:
        return parser.parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2


def run(args: argparse.Namespace) -> int:
    """Run the parsed command."""
    from rowtui.cli.environment import environment_flag, environment_word, refuse_empty_cluster
    from rowtui.cli.output.output import WARN, Output, let_any_name_through
    from rowtui.core.base.errors import InvalidFileError, RowtuiError

    out = Output(color="never", progress=False)
    try:
        let_any_name_through()
        out = Output(
            level=WARN + getattr(args, "verbose", 0) - getattr(args, "quiet", 0),
            color=getattr(args, "color", None) or environment_word("COLOR", "auto") or "auto",
            progress=not (getattr(args, "no_progress", False) or environment_flag("NO_PROGRESS")),
            keep=not (getattr(args, "clear_progress", False) or environment_flag("CLEAR_PROGRESS")),
        )
        refuse_empty_cluster(getattr(args, "clusters", ()))
        text = stored_status(out) if is_plain_status(args) else None
        if text is not None:
            out.write(text)
            sys.stdout.flush()
            return 0
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


def _failed(args: argparse.Namespace, out: Output, error: RowtuiError) -> int:
    """Print the error as JSON where the result would be JSON; return the exit code."""
    if getattr(args, "json", False) and not out.printed:
        out.json(error)
    return 1


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
