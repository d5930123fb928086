"""pytest fixtures that start real daemons. Nothing starts before a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rig.processes import RigError
from tests.rig.slurm import SlurmCluster, start_slurm


@pytest.fixture(scope="session")
def slurm() -> Iterator[SlurmCluster]:
    """One real Slurm cluster for the whole session (one for each worker of pytest-xdist).

    Tests share it: look only at your own jobs, or call `clean()` first.
    """
    try:
        rig = start_slurm()
    except RigError as error:
        pytest.fail(f"no Slurm for this test: {error}", pytrace=False)
    yield rig.cluster
    rig.close()
