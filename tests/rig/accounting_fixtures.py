"""The pytest fixture of clusters that keep accounts. Nothing starts before a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rig.accounting import AccountingRig, start_accounts
from tests.rig.processes import RigError


@pytest.fixture(scope="session")
def slurm_accounts() -> Iterator[AccountingRig]:
    """Two clusters with one accounting database, for the whole session.

    Tests share it: look only at your own jobs, or call `clean()` first.
    """
    try:
        rig = start_accounts()
    except RigError as error:
        pytest.fail(f"no Slurm with accounts for this test: {error}", pytrace=False)
    yield rig
    rig.close()
