"""`rowtui mapping test`: run test cases in YAML through the mapper, to check mapping files."""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rowtui.cli.environment import cluster_name
from rowtui.cli.mapping.files import named_files, usual_files
from rowtui.cli.output.output import Output
from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import visible
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.identify import identify_cluster
from rowtui.core.mapping.engine.destinations import destinations_of
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.case_reader import read_cases
from rowtui.core.mapping.files.cases import CaseResult, run_cases
from rowtui.core.mapping.files.load import load_mapping
from rowtui.core.mapping.files.source_places import FoundSources
from rowtui.core.mapping.files.trust import LARGEST_SOURCE
from rowtui.core.mapping.model.decision_json import decision_data, placement_data, problem_data
from rowtui.core.mapping.model.entities import Destination
from rowtui.core.mapping.model.reasons import outcome_sentence, reasons


def run(args: argparse.Namespace, out: Output) -> int:
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
        out.json(_data(results, problems))
    else:
        out.problems(problems)
        for result in results:
            out.lines(_lines(result, out))
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


def _lines(result: CaseResult, out: Output) -> Iterator[str]:
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


def _data(results: Sequence[CaseResult], problems: Sequence[Problem]) -> dict[str, Any]:
    passed = sum(result.passed for result in results)
    return {
        "passed": passed,
        "failed": len(results) - passed,
        "problems": list(map(problem_data, problems)),
        "cases": [
            {
                "name": result.case.name,
                "file": result.case.place.file,
                "line": result.case.place.line,
                "passed": result.passed,
                "differences": list(result.differences),
                "outcome": placement_data(result.placement),
                "decision": None if result.decision is None else decision_data(result.decision),
            }
            for result in results
        ],
    }
