"""`rowtui mapping format`: standard layout for mapping files; their meaning is unchanged."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.base.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output

STDIN = "-"


class Formatted(NamedTuple):
    """One file: before and after, or why it cannot be formatted."""

    name: str
    before: str = ""
    after: str = ""
    error: str = ""

    @property
    def changed(self) -> bool:
        """Whether the layout changed."""
        return self.before != self.after


def run(args: argparse.Namespace, out: Output) -> int:
    """Print, compare or replace; 1 if a file cannot be read or, with --check or --diff, differs."""
    results = []
    for name in args.files:
        result = _format(name)
        if args.write and result.changed and not result.error:
            result = _write(result)
        results.append(result)
        if result.error:
            out.error(result.error)
        elif not args.json:
            _print(args, result, out)
    if args.json:
        data = [{"file": r.name, "changed": r.changed, "error": r.error} for r in results]
        out.print(json.dumps(data, indent=2))
    elif args.check or args.write:
        _summary(results, out)
    wrong = any(result.error for result in results)
    differs = (args.check or args.diff) and any(result.changed for result in results)
    return 1 if wrong or differs else 0


def _format(name: str) -> Formatted:
    from rowtui.core.base.files import read_bounded
    from rowtui.core.mapping.files.trust import LARGEST_SOURCE
    from rowtui.core.mapping.yaml.format import format_mapping

    shown = "standard input" if name == STDIN else visible(name)
    try:
        if name == STDIN:
            data = sys.stdin.buffer.read(LARGEST_SOURCE + 1)
        else:
            data = read_bounded(Path(name), LARGEST_SOURCE)
        before = data.decode("utf-8")
        return Formatted(name, before, format_mapping(before, shown))
    except UnicodeDecodeError as error:
        return Formatted(name, error=f"{shown}: byte {error.start} is not UTF-8")
    except OSError as error:
        return Formatted(name, error=f"{shown} cannot be read: {error.strerror}")
    except InvalidFileError as error:
        return Formatted(name, error=str(error))
    except RowtuiError as error:
        return Formatted(name, error=f"{shown}: {error}")


def _write(result: Formatted) -> Formatted:
    """Replace the file in one step and keep its mode; for a link, replace its target."""
    from rowtui.core.base.files import sync_folder, temporary_sibling, write_synced

    if result.name == STDIN:
        return result._replace(error="standard input cannot be replaced: leave out --write")
    path = Path(os.path.realpath(result.name))
    temporary = temporary_sibling(path)
    try:
        write_synced(temporary, result.after.encode(), 0o600)
        temporary.chmod(path.stat().st_mode & 0o7777)
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        name = visible(result.name)
        return result._replace(error=f"{name} cannot be replaced: {error.strerror}")
    return result


def _print(args: argparse.Namespace, result: Formatted, out: Output) -> None:
    if args.diff:
        out.lines(map(visible, _difference(result)))
    elif not (args.check or args.write):
        out.text(result.after)
    elif result.changed:
        out.print(f"{'Formatted' if args.write else 'Would format'} {visible(result.name)}.")


def _difference(result: Formatted) -> list[str]:
    import difflib

    lines = difflib.unified_diff(
        result.before.split("\n"),
        result.after.split("\n"),
        f"{result.name} (now)",
        f"{result.name} (formatted)",
        lineterm="",
    )
    return list(lines)


def _summary(results: list[Formatted], out: Output) -> None:
    right = sum(not result.changed and not result.error for result in results)
    if right:
        out.print(f"{plural(right, 'file has', 'files have')} the usual form.")
