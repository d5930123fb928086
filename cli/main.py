"""The entry point: parse, run one command, and convert the outcome into messages and an exit code.

Exit codes: 0 done, 1 an error that is explained, 2 usage, 130 interrupted. An unexpected exception
becomes one line and a log file with the details; the user sees no traceback.
"""

from __future__ import annotations

import gc
import os
import sys

from rowtui.cli.plain_words import HARMLESS, plain_words, quick_answer

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without importing typing
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rowtui.cli.output.output import Output
    from rowtui.cli.plain_words import PlainWords

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
        return 1
    except RowtuiError as error:
        out.error(str(error))
        return 1
    except Exception as error:  # the last line of defence
        out.error(_explain_unexpected(error))
        return 1
    finally:
        if "rowtui.cli.loop" in sys.modules:
            sys.modules["rowtui.cli.loop"].finish()
    return code


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
