"""A project without mapping files is mapped to the partitions of its cluster, as Row would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.partition import choose_partition, job_totals
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.model.cluster_destinations import destinations_of
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.request import Amounts, ClusterFacts, MappingRequest
from rowtui.core.mapping.model.sentences import check_in_words
from rowtui.core.workflow.model import Processes, Resources, Walltime

small = st.none() | st.integers(1, 6)
partitions = st.builds(
    Partition,
    name=st.sampled_from("abcd"),
    maximum_cpus_per_job=small,
    require_cpus_multiple_of=small,
    memory_per_cpu_mb=st.none() | st.integers(1, 4000),
    minimum_gpus_per_job=small,
    maximum_gpus_per_job=small,
    require_gpus_multiple_of=small,
    memory_per_gpu_mb=st.none() | st.integers(1, 4000),
    prevent_auto_select=st.booleans(),
    maximum_walltime_seconds=st.none() | st.integers(1, 7200),
)
clusters = st.lists(partitions, max_size=4, unique_by=lambda p: p.name).map(
    lambda found: Cluster("c", Identify(), "slurm", tuple(found))
)
resources = st.builds(
    Resources,
    processes=st.builds(Processes, st.integers(1, 4), st.booleans()),
    threads_per_process=small,
    gpus_per_process=small,
    walltime=st.builds(Walltime, st.integers(1, 3600), st.booleans()),
    memory_per_cpu_mb=st.none() | st.integers(1, 4000),
    memory_per_gpu_mb=st.none() | st.integers(1, 4000),
)


def mapper_for(cluster: Cluster) -> Mapper:
    return Mapper(Configuration(), clusters={"c": cluster}, added=destinations_of(cluster))


def request_for(asked: Resources, directories: int, named: str | None = None) -> MappingRequest:
    totals = job_totals(asked, directories)
    amounts = Amounts(gpus=totals.gpus or None, cores=totals.cpus)
    return MappingRequest("t", assumed=amounts, cluster="c", totals=totals, partition=named)


@given(clusters, resources, st.integers(1, 5), st.none() | st.sampled_from("abcd"))
def test_the_choice_is_rows_own(
    cluster: Cluster, asked: Resources, directories: int, named: str | None
) -> None:
    choice = choose_partition(cluster, asked, directories, named)
    mapper = mapper_for(cluster)
    request = request_for(asked, directories, named)

    placement = mapper.place(request, ClusterFacts(reachable=frozenset({"c"})))
    decision = decide(mapper, request)

    assert placement.chosen == (choice.partition is not None)
    if choice.partition is not None:
        assert placement.destination == f"c/{choice.partition.name}"
        assert placement.params == {"partition": choice.partition.name}
    if cluster.partitions:
        refused = {refusal.partition for refusal in decision.refusals}
        assert {r.partition for r in choice.refusals} & {
            p.name for p in cluster.partitions
        } <= refused


@given(clusters.filter(lambda c: c.partitions), resources, st.integers(1, 5))
def test_every_change_that_is_offered_admits_the_job(
    cluster: Cluster, asked: Resources, directories: int
) -> None:
    mapper = mapper_for(cluster)
    request = request_for(asked, directories)
    for refusal in decide(mapper, request).refusals:
        for change in refusal.changes:
            again = decide(mapper, request._replace(what_if=change.what_if), changes=False)
            assert refusal.destination_id in {each.destination_id for each in again.candidates}


def test_a_time_limit_of_days_is_stated_in_words() -> None:
    days = Partition(name="a", maximum_walltime_seconds=2 * 86_400)
    asked = Resources(walltime=Walltime(3 * 86_400, per_directory=False))
    mapper = mapper_for(Cluster("c", Identify(), "slurm", (days,)))
    (refusal,) = decide(mapper, request_for(asked, 1)).refusals
    assert check_in_words(refusal.failed[0]) == "asks 3 d, accepts at most 2 d"


def test_a_cluster_without_partitions_is_one_destination() -> None:
    local = Cluster("local", Identify(), "local")
    mapper = Mapper(Configuration(), clusters={"local": local}, added=destinations_of(local))
    placement = mapper.place(MappingRequest("t", cluster="local"))
    assert (placement.destination, placement.runner) == ("local", "local")
