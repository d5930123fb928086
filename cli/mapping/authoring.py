"""Commands for authors of mapping files: `rowtui mapping format`, `lint` and `test`.

`format` gives files the standard layout without a change of their meaning, and `lint` checks them
without running them and reports as a compiler does.
"""

from __future__ import annotations

import argparse
import difflib
import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.cli.environment import cluster_name
from rowtui.cli.mapping.files import named_files, usual_files
from rowtui.cli.output.output import Output, display_width
from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.files import read_bounded, sync_folder, temporary_sibling, write_synced
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.identify import identify_cluster
from rowtui.core.clusters.model import Cluster
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.case_reader import read_cases
from rowtui.core.mapping.files.cases import CaseResult, run_cases
from rowtui.core.mapping.files.load import load_mapping
from rowtui.core.mapping.files.places import FoundSources
from rowtui.core.mapping.files.trust import LARGEST_SOURCE
from rowtui.core.mapping.lint.lint import CODES, LintFinding
from rowtui.core.mapping.lint.lint import lint as lint_configuration
from rowtui.core.mapping.model.cluster_destinations import destinations_of
from rowtui.core.mapping.model.entities import Destination
from rowtui.core.mapping.model.origin import FilePosition
from rowtui.core.mapping.model.sentences import outcome_sentence, reasons
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
        out.json({"files": data})
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


SEVERITIES = ("error", "warning", "note")
_STYLES = {"error": "red bold", "warning": "yellow bold", "note": "blue bold"}
WIDEST = 200  # characters of a source line


def lint(args: argparse.Namespace, out: Output) -> int:
    """Print findings; 1 if one is an error, with --strict also if one is a warning."""
    if args.codes:
        if args.json:
            out.json({"codes": dict(CODES)})
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
        data = {"files": files, "findings": findings, **_counts(counts)}
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
    parts = [plural(number, name) for name, number in counts.items() if number]
    where = f" in {plural(files, 'file')}" if files else ""
    return f"{', '.join(parts) or 'No findings'}{where}."


# `rowtui mapping test`: run test cases in YAML through the mapper, to check mapping files.


def test_cases(args: argparse.Namespace, out: Output) -> int:
    """Print a line for each case; 1 if one failed or a file cannot be used."""
    if args.trust_these and not args.file:
        out.error("--trust-these goes with --file\nonly files that are named can be trusted so")
        return 2
    found = _mapping_files(args)
    mapper = _mapper(args, found)
    problems = [*mapper.configuration.problems]
    wrong = any(problem.severity == "error" for problem in found.problems)
    results: list[CaseResult] = []
    for name in args.cases:
        cases, of_file = _read(name)
        problems += of_file
        wrong = wrong or bool(of_file)
        results += run_cases(mapper, cases)
    if args.json:
        out.json(_data_test(results, problems))
    else:
        out.problems(problems)
        for result in results:
            out.lines(_lines_test(result, out))
        passed = sum(result.passed for result in results)
        out.print(f"{passed} passed, {len(results) - passed} failed.")
    return 1 if wrong or not all(result.passed for result in results) else 0


def _mapping_files(args: argparse.Namespace) -> FoundSources:
    """Return the files to test.

    Files of --file are trusted with --trust-these, on disk with includes.
    """
    if not args.file:
        return usual_files()
    found = named_files(args.file, for_untrusted=args.trust_these)
    if not args.trust_these:
        return found
    sources = tuple(
        source._replace(trusted=True, trusted_because="--trust-these")
        if source.place.startswith("/") or source.place in args.file
        else source
        for source in found.sources
    )
    return found._replace(sources=sources)


def _mapper(args: argparse.Namespace, found: FoundSources) -> Mapper:
    """Return the mapper, identical in every run. Without destinations the cluster's are used."""
    configuration = load_mapping(found.sources, found.problems)
    added: Sequence[Destination] = ()
    if not args.file and not configuration.of_kind("destinations"):
        added = _of_cluster(args)
    return Mapper(configuration, added=added, chance=random.Random(0))


def _of_cluster(args: argparse.Namespace) -> Sequence[Destination]:
    clusters = load_clusters(os.environ).clusters
    here = identify_cluster(clusters, os.environ, cluster_name(args))
    return destinations_of(here.cluster)


def _read(name: str) -> tuple[Sequence[Any], tuple[Problem, ...]]:
    shown = visible(name)
    try:
        return read_cases(read_bounded(Path(name), LARGEST_SOURCE), shown)
    except OSError as error:
        return (), (Problem(shown, 0, 0, f"cannot be read: {error.strerror}"),)
    except RowtuiError as error:
        return (), (Problem(shown, 0, 0, error.message, error.hint),)


def _lines_test(result: CaseResult, out: Output) -> Iterator[str]:
    name = visible(result.case.name)
    if result.passed:
        yield f"{out.style('ok  ', 'green')} {name}: {outcome_sentence(result.placement)}"
        return
    yield f"{out.style('FAIL', 'red bold')} {name} ({result.case.place})"
    for difference in result.differences:
        yield f"       {difference}"
    if not result.placement.chosen:  # otherwise the differences or the reasons name the place
        yield f"       {outcome_sentence(result.placement)}"
    for reason in reasons(result.decision) if result.decision is not None else ():
        yield f"       {reason}"


def _data_test(results: Sequence[CaseResult], problems: Sequence[Problem]) -> dict[str, Any]:
    from rowtui.core.mapping.model.decision_json import shown_decision, shown_placement

    passed = sum(result.passed for result in results)
    return {
        "passed": passed,
        "failed": len(results) - passed,
        "problems": problems,
        "cases": [
            {
                "name": result.case.name,
                "file": result.case.place.file,
                "line": result.case.place.line,
                "passed": result.passed,
                "differences": result.differences,
                "outcome": shown_placement(result.placement),
                "decision": None if result.decision is None else shown_decision(result.decision),
            }
            for result in results
        ],
    }
