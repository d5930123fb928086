"""pytest fixtures that start real daemons. Nothing starts before a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rig.login import LoginNode
from tests.rig.processes import RigError
from tests.rig.slurm import SlurmCluster, SlurmRig, start_beta, start_slurm


@pytest.fixture(scope="session")
def slurm_rig() -> Iterator[SlurmRig]:
    """The keeper and the munged of the session, and its first cluster."""
    try:
        rig = start_slurm()
    except RigError as error:
        pytest.fail(f"no Slurm for this test: {error}", pytrace=False)
    yield rig
    rig.close()


@pytest.fixture(scope="session")
def slurm(slurm_rig: SlurmRig) -> SlurmCluster:
    """One real Slurm cluster for the whole session (one for each worker of pytest-xdist).

    Tests share it: look only at your own jobs, or call `clean()` first.
    """
    return slurm_rig.cluster


@pytest.fixture(scope="session")
def two_clusters(slurm_rig: SlurmRig) -> tuple[SlurmCluster, SlurmCluster]:
    """alpha (which is `slurm`) and beta, which know nothing of each other."""
    try:
        return slurm_rig.cluster, start_beta(slurm_rig)
    except RigError as error:
        pytest.fail(f"no second cluster for this test: {error}", pytrace=False)


@pytest.fixture(scope="session")
def login_alpha(slurm_rig: SlurmRig) -> LoginNode:
    """The login node of alpha, as the last test left it: ask for `login` instead."""
    return _login_node(slurm_rig, slurm_rig.cluster)


@pytest.fixture(scope="session")
def login_beta(slurm_rig: SlurmRig, two_clusters: tuple[SlurmCluster, SlurmCluster]) -> LoginNode:
    """The login node of beta, as the last test left it: ask for `two_logins` instead."""
    return _login_node(slurm_rig, two_clusters[1])


@pytest.fixture
def login(login_alpha: LoginNode) -> Iterator[LoginNode]:
    """A healthy OpenSSH login node of `slurm`, shared by the session; hurt it as you like."""
    yield login_alpha
    login_alpha.clean()


@pytest.fixture
def two_logins(login: LoginNode, login_beta: LoginNode) -> Iterator[tuple[LoginNode, LoginNode]]:
    """Healthy login nodes of alpha and beta, with one ssh_config that names both."""
    yield login, login_beta
    login_beta.clean()


def _login_node(rig: SlurmRig, cluster: SlurmCluster) -> LoginNode:
    try:
        return LoginNode(rig.keeper, cluster)
    except RigError as error:
        pytest.fail(f"no login node for this test: {error}", pytrace=False)
