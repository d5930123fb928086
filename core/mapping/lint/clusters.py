"""Find destinations that do not match their cluster: unknown runners and partitions, and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Cluster, Partition
from rowtui.core.mapping.engine.destinations import amount_text, offers_of, partition_name
from rowtui.core.mapping.engine.lookup import EntityLookup
from rowtui.core.mapping.lint.findings import LintFinding, shortened, title
from rowtui.core.mapping.lint.reach import without_broken
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.entities import Destination
from rowtui.core.workflow.toml_file import did_you_mean

_LIMITS = (("cores", "maximum_cpus_per_job"), ("gpus", "maximum_gpus_per_job"))


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
    if name and cluster.has_partitions and cluster.partitions:
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
