"""The pytest fixtures that start a real Grid Engine. Nothing starts before a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rig.grid_engine import GridEngineCluster
from tests.rig.processes import RigError


@pytest.fixture(scope="session")
def grid_engine_of_session() -> Iterator[GridEngineCluster]:
    """The cluster as the last test left it: ask for `grid_engine` instead."""
    try:
        cluster = GridEngineCluster()
    except RigError as error:
        pytest.fail(f"no Grid Engine for this test: {error}", pytrace=False)
    yield cluster
    cluster.close()


@pytest.fixture
def grid_engine(grid_engine_of_session: GridEngineCluster) -> Iterator[GridEngineCluster]:
    """One real Grid Engine, shared by the session; its queue is empty when a test begins."""
    yield grid_engine_of_session
    grid_engine_of_session.clean()
