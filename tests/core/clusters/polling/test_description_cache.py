"""What clusters said of themselves, kept in files."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.model import Cluster, Identify, Partition, Remote
from rowtui.core.clusters.polling.description_cache import (
    KEPT_SECONDS,
    described_cluster,
    remember_description,
)
from rowtui.core.clusters.schedulers.kind import needs_description

ALPHA = Cluster("alpha", Identify(), "slurm", remote=Remote("login"), poll_seconds=5)
SAID = Cluster(
    "alpha-1",
    Identify(always=True),
    "slurm",
    (
        Partition("cpu", cpus_per_node=16, maximum_gpus_per_job=0, maximum_walltime_seconds=60),
        Partition("closed", prevent_auto_select=True),
    ),
    source="sinfo",
    maximum_array_size=1001,
)


def test_what_a_cluster_said_is_known_for_a_day(tmp_path: Path) -> None:
    filled = remember_description(ALPHA, SAID, tmp_path, now=1000)

    assert filled == ALPHA._replace(partitions=SAID.partitions, maximum_array_size=1001)
    assert described_cluster(ALPHA, tmp_path, now=1000 + KEPT_SECONDS) == filled
    assert described_cluster(ALPHA, tmp_path, now=1001 + KEPT_SECONDS) is None
    assert described_cluster(ALPHA, tmp_path, now=1e9, at_most=1e10) == filled
    assert described_cluster(ALPHA, tmp_path, now=999) is None  # the clock was set back


def test_partitions_that_are_configured_stay(tmp_path: Path) -> None:
    mine = ALPHA._replace(partitions=(Partition("mine"),))
    remember_description(mine, SAID, tmp_path)
    known = described_cluster(mine, tmp_path)
    assert known == mine._replace(maximum_array_size=1001)


def test_only_slurm_clusters_without_partitions_are_asked() -> None:
    assert needs_description(ALPHA)
    assert not needs_description(ALPHA._replace(partitions=(Partition("p"),)))
    assert not needs_description(ALPHA._replace(remote=None))
    assert not needs_description(ALPHA._replace(scheduler="grid_engine"))


def test_another_host_or_user_is_another_cluster(tmp_path: Path) -> None:
    remember_description(ALPHA, SAID, tmp_path)
    for remote in (Remote("other"), Remote("login", "me"), Remote("login", port=7)):
        assert described_cluster(ALPHA._replace(remote=remote), tmp_path) is None
    assert described_cluster(ALPHA._replace(remote=Remote("login", mirror="/m")), tmp_path)


@pytest.mark.parametrize("name", ["../../x", "a/b", "\x1b[2J", "é" * 300, "", "."])
def test_no_name_of_a_cluster_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    cluster = ALPHA._replace(name=name)
    remember_description(cluster, SAID, tmp_path / "cache")
    assert described_cluster(cluster, tmp_path / "cache") is not None
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    (file,) = (tmp_path / "cache").iterdir()
    assert file.name.isascii()
    assert file.name.isprintable()


def test_the_file_is_the_users_alone_and_lies_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    remember_description(ALPHA, SAID)
    (file,) = (tmp_path / "rowtui" / "clusters").iterdir()
    assert file.name.startswith("alpha-")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert described_cluster(ALPHA) is not None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert remember_description(ALPHA, SAID, tmp_path / "file").partitions == SAID.partitions
    assert described_cluster(ALPHA, tmp_path / "file") is None


def changed(tmp_path: Path, **changes: Any) -> Cluster | None:
    remember_description(ALPHA, SAID, tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return described_cluster(ALPHA, tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"at": "now"},
        {"at": None},
        {"partitions": 1},
        {"partitions": [1]},
        {"partitions": [{}]},
        {"partitions": [{"name": 1}]},
        {"partitions": [{"name": "p", "zz": 1}]},
        {"partitions": [{"name": "p", "cpus_per_node": -1}]},
        {"partitions": [{"name": "p", "cpus_per_node": True}]},
        {"partitions": [{"name": "p", "prevent_auto_select": 1}]},
        {"maximum_array_size": "x"},
        {"maximum_array_size": -1},
    ],
)
def test_a_file_that_says_something_else_is_no_file(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    assert changed(tmp_path) is not None
    assert changed(tmp_path, **changes) is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_a_damaged_file_is_no_file(tmp_path: Path, data: bytes) -> None:
    remember_description(ALPHA, SAID, tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(data)
    assert described_cluster(ALPHA, tmp_path) is None


COUNT = st.none() | st.integers(0, 9)
TEXT = st.none() | st.text(max_size=5)
OF_A_KIND = {"name": st.text(max_size=5), "prevent_auto_select": st.booleans()}
OF_A_KIND |= dict.fromkeys(
    ("memory_per_cpu", "memory_per_gpu", "account_suffix", "parallel_environment"), TEXT
)
partitions = st.builds(Partition, **{it: OF_A_KIND.get(it, COUNT) for it in Partition._fields})


@given(st.lists(partitions, min_size=1, max_size=3), st.none() | st.integers(0, 9))
def test_every_description_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, said: list[Partition], largest: int | None
) -> None:
    folder = tmp_path_factory.getbasetemp() / "descriptions"
    described = SAID._replace(partitions=tuple(said), maximum_array_size=largest)
    filled = remember_description(ALPHA, described, folder)
    assert (filled.partitions, filled.maximum_array_size) == (tuple(said), largest)
    assert described_cluster(ALPHA, folder) == filled
