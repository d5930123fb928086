"""Check mapping files without running their code.

The input is a merged configuration (and the clusters, if they are known); the output is findings:
errors (some job will fail), warnings (probably a mistake), notes (useful information). A comment
`# noqa` or `# noqa: T102,M203` as the first line inside an entity silences the findings about this
entity. Source: docs/mapping.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping

from rowtui.core.base.errors import Problem
from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Cluster, Partition
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.mapping.engine.destinations import amount_text, offers_of, partition_name
from rowtui.core.mapping.engine.lookup import EntityLookup
from rowtui.core.mapping.lint.code import code_findings
from rowtui.core.mapping.lint.dialect import dialect_findings
from rowtui.core.mapping.lint.entities import entity_findings
from rowtui.core.mapping.lint.findings import CODES, LintFinding, Severity, shortened, title
from rowtui.core.mapping.lint.merged import NO_DEFAULT
from rowtui.core.mapping.lint.patterns import pattern_findings
from rowtui.core.mapping.lint.reach import reach_findings, without_broken
from rowtui.core.mapping.lint.rules import rule_findings
from rowtui.core.mapping.lint.tags import sides_of, tag_findings
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.entities import Destination
from rowtui.core.mapping.model.fields import UNKNOWN_KEY
from rowtui.core.mapping.model.origin import FilePosition
from rowtui.core.workflow.toml_file import did_you_mean

__all__ = ["CODES", "READING", "LintFinding", "lint"]

READING = "M001"
"""The code of problems found when the files were read. These cannot be silenced."""

_LIMITS = (("cores", "maximum_cpus_per_job"), ("gpus", "maximum_gpus_per_job"))


def lint(
    configuration: Configuration,
    *,
    clusters: Mapping[str, Cluster] | None = None,
    ignore: frozenset[str] = frozenset(),
) -> tuple[LintFinding, ...]:
    """Return all findings by file (in the order of the files) and line, each once.

    `clusters`: the clusters that destinations may name, None if they are unknown; `ignore`: codes
    to leave out.
    """
    found = list(map(_of_problem, configuration.problems))
    # If a file cannot be read at all, other findings would only report its contents as missing.
    if all(("", "") not in file.broken for file in configuration.files):
        found += _silenced(configuration, _checked(configuration, clusters))
    order = {file.name: at for at, file in enumerate(configuration.files)}
    unique = {finding for finding in found if finding.code not in ignore}
    last = len(order)
    return tuple(
        sorted(unique, key=lambda each: (order.get(each.place.file, last), each.place, each))
    )


def _checked(
    configuration: Configuration, clusters: Mapping[str, Cluster] | None
) -> Iterator[LintFinding]:
    yield from dialect_findings(configuration)
    yield from entity_findings(configuration, clusters_known=clusters is not None)
    yield from pattern_findings(configuration)
    yield from rule_findings(configuration)
    yield from code_findings(configuration)
    sides = sides_of(configuration)
    yield from tag_findings(configuration, sides)
    yield from reach_findings(configuration, sides)
    if clusters is not None:
        yield from cluster_findings(configuration, clusters)


def _of_problem(problem: Problem) -> LintFinding:
    place = FilePosition(problem.file, problem.line, problem.column)
    severity: Severity = "error" if problem.severity == "error" else "warning"
    for code in (UNKNOWN_KEY, NO_DEFAULT):
        if problem.message.endswith(f" ({code})"):
            message = problem.message.removesuffix(f" ({code})")
            return LintFinding(code, place, message, problem.hint, severity)
    return LintFinding(READING, place, problem.message, problem.hint, severity)


def _silenced(configuration: Configuration, found: Iterable[LintFinding]) -> Iterator[LintFinding]:
    """Yield the findings that no comment in their entity silences."""
    silent = {file.name: file.silenced for file in configuration.files if file.silenced}
    starts = {
        file.name: sorted(
            entity.place.line for kind in file.entities.values() for entity in kind.values()
        )
        for file in configuration.files
        if file.silenced
    }
    for finding in found:
        file, line = finding.place.file, finding.place.line
        lines = starts.get(file, [])
        at = bisect_right(lines, line) - 1
        codes = silent[file].get(lines[at]) if at >= 0 else None
        if codes is None or (codes and finding.code not in codes):
            yield finding


def cluster_findings(
    configuration: Configuration, clusters: Mapping[str, Cluster]
) -> Iterator[LintFinding]:
    """Yield M407 to M409."""
    for destination in EntityLookup(without_broken(configuration), to_run=False).destinations():
        if not destination.abstract:
            yield from _on_cluster(destination, clusters)


def _on_cluster(destination: Destination, clusters: Mapping[str, Cluster]) -> Iterator[LintFinding]:
    runner = destination.runner
    if not runner:
        return
    cluster = clusters.get(runner)
    if cluster is None:
        known = ", ".join(map(visible, sorted(clusters))) or "there are none"
        yield LintFinding(
            "M407",
            destination.whence("runner").place,
            f"the runner {shortened(runner)} of {title(destination)} is no known cluster",
            did_you_mean(runner, clusters) or f"known clusters: {known}",
        )
        return
    offer = offers_of([destination], dict(clusters))[0]
    if offer.partition is not None:
        yield from _over_limit(destination, offer.partition)
        return
    name = partition_name(destination)
    if name and kind_of(cluster).has_partitions and cluster.partitions:
        names = [partition.name for partition in cluster.partitions]
        yield LintFinding(
            "M408",
            destination.whence("params.partition").place,
            f"{title(destination)} is partition {shortened(name)} of cluster {shortened(runner)}, "
            "which has no such partition",
            did_you_mean(name, names) or f"it has {', '.join(map(visible, names))}",
        )


def _over_limit(destination: Destination, partition: Partition) -> Iterator[LintFinding]:
    for what, limit in _LIMITS:
        accepted = getattr(destination, f"max_accepted_{what}")
        most = getattr(partition, limit)
        if accepted is not None and most is not None and accepted > most:
            yield LintFinding(
                "M409",
                destination.whence(f"max_accepted_{what}").place,
                f"{title(destination)} accepts {what} {amount_text(accepted)}, but partition "
                f"{shortened(partition.name)} takes {most} at most",
                "Larger jobs are refused by the partition; write its limit here",
                "note",
            )
