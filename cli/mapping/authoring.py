"""Commands for authors of mapping files: `rowtui mapping format`, `lint` and `schema`.

`format` gives files the standard layout without a change of their meaning, `lint` checks them
without running them and reports as a compiler does, and `schema` prints their JSON schema for
editors.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rowtui.cli.environment import cluster_name
from rowtui.cli.mapping.files import named_files, usual_files
from rowtui.cli.output.output import Output
from rowtui.cli.output.table import display_width
from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.base.files import read_bounded, sync_folder, temporary_sibling, write_synced
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.identify import identify_cluster
from rowtui.core.clusters.model import Cluster
from rowtui.core.mapping.files.load import load_mapping
from rowtui.core.mapping.files.schema import mapping_schema
from rowtui.core.mapping.files.trust import LARGEST_SOURCE
from rowtui.core.mapping.lint.lint import CODES, LintFinding
from rowtui.core.mapping.lint.lint import lint as lint_configuration
from rowtui.core.mapping.model.origin import FilePosition
from rowtui.core.mapping.yaml.format import format_mapping

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
        out.json(data)
    elif args.check or args.write:
        _summary(results, out)
    wrong = any(result.error for result in results)
    differs = (args.check or args.diff) and any(result.changed for result in results)
    return 1 if wrong or differs else 0


def _format(name: str) -> Formatted:
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


def schema(_args: argparse.Namespace, out: Output) -> int:
    """Print the schema."""
    out.json(mapping_schema())
    return 0


SEVERITIES = ("error", "warning", "note")
_STYLES = {"error": "red bold", "warning": "yellow bold", "note": "blue bold"}
WIDEST = 200  # characters of a source line


def lint(args: argparse.Namespace, out: Output) -> int:
    """Print findings; 1 if one is an error, with --strict also if one is a warning."""
    if args.codes:
        if args.json:
            out.json(dict(CODES))
        else:
            out.lines(f"{code}  {meaning}" for code, meaning in CODES.items())
        return 0
    found = named_files(args.files) if args.files else usual_files()
    configuration = load_mapping(found.sources, found.problems)
    clusters = None if args.files else _clusters(args)
    ignored = frozenset().union(*args.ignore)
    findings = lint_configuration(configuration, clusters=clusters, ignore=ignored)
    counts = {name: sum(each.severity == name for each in findings) for name in SEVERITIES}
    if args.json:
        files = [source.name for source in found.sources]
        data = {"files": files, "findings": list(map(_data, findings)), **_counts(counts)}
        out.json(data)
    else:
        for source in found.sources:
            if source.notice:
                out.warn(source.notice)
        texts = {source.name: source.data for source in found.sources}
        for finding in findings:
            out.lines(_lines(finding, texts, out))
        out.print(_lint_summary(counts, len(found.sources)))
    bad = counts["error"] or (args.strict and counts["warning"])
    return 1 if bad else 0


def _clusters(args: argparse.Namespace) -> Mapping[str, Cluster] | None:
    """Return all described clusters; None if the files cannot be read."""
    try:
        clusters = load_clusters(os.environ).clusters
        here = identify_cluster(clusters, os.environ, cluster_name(args))
    except RowtuiError:
        return None
    return {each.name: each for each in (*clusters, here.cluster)}


def _data(finding: LintFinding) -> dict[str, object]:
    return {
        "file": finding.place.file,
        "line": finding.place.line,
        "column": finding.place.column,
        "severity": finding.severity,
        "code": finding.code,
        "message": finding.message,
        "hint": finding.hint,
    }


def _counts(counts: Mapping[str, int]) -> dict[str, int]:
    return {f"{name}s": number for name, number in counts.items()}


def _lines(finding: LintFinding, texts: Mapping[str, bytes], out: Output) -> Iterator[str]:
    place = str(finding.place) + (f":{finding.place.column}" if finding.place.column else "")
    kind = out.style(f"{finding.severity} {finding.code}", _STYLES[finding.severity])
    yield f"{out.style(visible(place), 'bold')}: {kind}: {visible(finding.message)}"
    yield from source_lines(finding.place, texts)
    for line in finding.hint.split("\n") if finding.hint else ():
        yield f"    {out.style(visible(line), 'cyan')}"


def source_lines(place: FilePosition, texts: Mapping[str, bytes]) -> Sequence[str]:
    """Return the line of a place, with a caret below its column; no lines if it does not exist."""
    text = texts.get(place.file, b"").decode("utf-8", "surrogateescape")
    lines = text.removeprefix("\ufeff").split("\n") if place.line else []
    if not 0 < place.line <= len(lines):
        return ()
    line = lines[place.line - 1].rstrip("\r")
    if not line.strip():
        return ()
    start = max(0, place.column - WIDEST // 2) if place.column > WIDEST else 0
    number = f"{place.line:>6} | "
    shown = visible(line[start : start + WIDEST])
    if not place.column or place.column > len(line) + 1:
        return (number + shown,)
    before = visible(line[start : place.column - 1])
    return number + shown, " " * 6 + " | " + " " * display_width(before) + "^"


def _lint_summary(counts: Mapping[str, int], files: int) -> str:
    if not files and not any(counts.values()):
        return "There are no mapping files."
    said = [plural(number, name) for name, number in counts.items() if number]
    where = f" in {plural(files, 'file')}" if files else ""
    return f"{', '.join(said) or 'Nothing to say'}{where}."
