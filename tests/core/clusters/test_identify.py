from __future__ import annotations

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.config.builtin import CLUSTERS
from rowtui.core.clusters.identify import identify_cluster, runs_here
from rowtui.core.clusters.model import Cluster, Identified, Identify, Partition, Remote


def no_slurm() -> Cluster | None:
    return None


def never_asked() -> Cluster | None:
    raise AssertionError("sinfo was asked without need")


def mine(name: str, identify: Identify) -> Cluster:
    return Cluster(name, identify, "slurm", source="/home/me/.config/row/clusters.toml")


def identified(
    *users: Cluster, environ: dict[str, str] | None = None, name: str | None = None
) -> Identified:
    return identify_cluster((*users, *CLUSTERS), environ or {}, name, never_asked)


@pytest.mark.parametrize(
    ("variable", "value", "name"),
    [
        ("LMOD_SYSTEM_NAME", "andes", "andes"),
        ("RCAC_CLUSTER", "anvil", "anvil"),
        ("LMOD_SYSTEM_NAME", "Delta", "delta"),
        ("LMOD_SYSTEM_NAME", "frontier", "frontier"),
        ("CLUSTER_NAME", "greatlakes", "greatlakes"),
    ],
)
def test_each_built_in_cluster_is_recognised_by_its_variable(
    variable: str, value: str, name: str
) -> None:
    found = identified(environ={variable: value})
    assert found.cluster.name == name
    assert found.because == f"{variable} is '{value}'"


def test_the_users_clusters_are_asked_before_the_built_in_ones() -> None:
    users = (
        mine("a", Identify(("X", "1"))),
        mine("b", Identify()),
        mine("c", Identify(always=True)),
    )
    found = identified(*users, environ={"X": "2", "RCAC_CLUSTER": "anvil"})
    assert found.cluster.name == "c"
    assert found.because == "`always = true` in /home/me/.config/row/clusters.toml"
    assert found.considered == ("a: X is '2', not '1'", "b: only taken by name")


def test_the_first_of_several_that_match_is_taken() -> None:
    users = (mine("a", Identify(("X", "1"))), mine("b", Identify(("X", "1"))))
    assert identified(*users, environ={"X": "1"}).cluster.name == "a"


def test_nothing_recognised_and_no_slurm_means_local_and_never_none() -> None:
    found = identify_cluster(CLUSTERS, {"LMOD_SYSTEM_NAME": "x\x1b"}, None, no_slurm)
    assert found.cluster.name == "local"
    assert len(found.considered) == len(CLUSTERS) + 1
    assert found.considered[0] == "andes: LMOD_SYSTEM_NAME is 'x\\x1b', not 'andes'"
    assert found.considered[1] == "anvil: RCAC_CLUSTER is not set"
    assert found.considered[5] == ("none: only taken by name: it would run the jobs here and now")


def test_an_unknown_login_node_with_slurm_is_described_from_sinfo() -> None:
    slurm = Cluster("slurm", Identify(), "slurm", source="sinfo")
    found = identify_cluster(CLUSTERS, {}, None, lambda: slurm)
    assert found.cluster is slurm
    assert found.because == "described from sinfo"


def test_none_is_taken_by_name_or_where_the_user_describes_it_as_always() -> None:
    assert identified(name="none").cluster.scheduler == "bash"
    found = identified(mine("none", Identify(always=True)))
    assert found.cluster.source.startswith("/home")


def test_a_name_goes_before_everything_and_the_first_of_that_name_is_taken() -> None:
    users = (mine("anvil", Identify()),)
    found = identified(*users, environ={"LMOD_SYSTEM_NAME": "andes"}, name="anvil")
    assert found.cluster is users[0]
    assert found.because == "it was named"
    assert identified(name="local").cluster.name == "local"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("delt", "did you mean 'delta'?"), ("zzz", "the known clusters are 'andes', ")],
)
def test_an_unknown_name_lists_the_near_ones(name: str, hint: str) -> None:
    with pytest.raises(RowtuiError, match=f"cluster '{name}' not found") as caught:
        identified(name=name)
    assert hint in caught.value.hint


REMOTE = Remote("login.example.org")


@pytest.mark.parametrize(
    ("identify", "remote", "environ", "here"),
    [
        (Identify(), None, {}, True),
        (Identify(("X", "1")), None, {}, True),
        (Identify(), REMOTE, {}, False),
        (Identify(always=True), REMOTE, {}, False),
        (Identify(("X", "1")), REMOTE, {}, False),
        (Identify(("X", "1")), REMOTE, {"X": "2"}, False),
        (Identify(("X", "1")), REMOTE, {"X": "1"}, True),
    ],
)
def test_nothing_goes_over_ssh_on_the_login_node_itself(
    identify: Identify, remote: Remote | None, environ: dict[str, str], here: bool
) -> None:
    assert runs_here(mine("a", identify)._replace(remote=remote), environ) is here


def test_on_its_login_node_a_cluster_without_partitions_is_described_by_it() -> None:
    mine_here = mine("a", Identify(("X", "1")))._replace(remote=REMOTE)
    said = mine("sinfo", Identify())._replace(partitions=(Partition("cpu"),), maximum_array_size=7)
    expected = mine_here._replace(partitions=said.partitions, maximum_array_size=7)
    for name in (None, "a"):
        found = identify_cluster([mine_here], {"X": "1"}, name, lambda: said)
        assert found.cluster == expected
        assert identify_cluster([mine_here], {"X": "1"}, name, no_slurm).cluster == mine_here
    assert identify_cluster([mine_here], {}, "a", never_asked).cluster == mine_here
    configured = mine_here._replace(partitions=(Partition("p"),))
    assert identify_cluster([configured], {"X": "1"}, None, never_asked).cluster == configured


def test_a_cluster_described_without_partitions_is_asked_for_them_where_it_is() -> None:
    mine = Cluster("mine", Identify(always=True), "slurm", asked_partitions=True)
    here = Cluster("here", Identify(always=True), "slurm", (Partition("p"),), source="sinfo")

    found = identify_cluster((mine, *CLUSTERS), {}, None, lambda: here)
    without = identify_cluster((mine, *CLUSTERS), {}, None, no_slurm)

    assert (found.cluster.name, found.cluster.partitions) == ("mine", (Partition("p"),))
    assert without.cluster == mine
