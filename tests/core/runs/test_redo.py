"""Results made from other members than now are told, and made again on a person's word."""

from __future__ import annotations

from pathlib import Path

from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.scan import look_again
from rowtui.core.runs.directories.trash import restore
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.model import RunStatus
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.redo import said

from tests.core.runs.driving import ends_recorded

WORKFLOW = """
[workspace]
value_file = "value.json"

[[action]]
name = "work"
command = "echo x >> workspace/{directory}/work"
products = ["work"]

[[action]]
name = "gather"
command = "echo x >> workspace/{directory}/sum"
products = ["sum"]

[[action]]
name = "end"
command = "echo x >> workspace/{directory}/end"
products = ["end"]
"""

NETWORK = """
[[source]]
name = "state"
[source.values]
group = ["a", "b"]
replica = {replicas}

[[node]]
name = "work"
from = "state"

[[node]]
name = "gather"
from = "work"
collapse = ["replica"]

[[node]]
name = "end"
from = "gather"
collapse = ["group"]
"""


def project_at(root: Path) -> OpenProject:
    (root / "workflow.toml").write_text(WORKFLOW)
    (root / "network.toml").write_text(NETWORK.replace("{replicas}", "[1, 2]"))
    return OpenProject.open(root, cluster="local")


async def driven(networks: Networks, *, anew: bool = False) -> list[str]:
    run = networks.begin(RunLimits(), anew=anew)
    told = [told.sentence async for told in networks.drive(run)]
    await ends_recorded(networks.project)
    return told


async def test_a_reduce_whose_members_changed_is_stale_and_made_again_with_what_follows(
    tmp_path: Path,
) -> None:
    networks = Networks(project_at(tmp_path))
    await driven(networks)
    assert networks.stale() == []
    run = networks.view().run
    assert run is not None
    assert run.used is not None
    assert (
        0 <= run.used.cpu_hours < run.spent.cpu_hours / 10
    )  # jobs of an instant that asked for an hour

    # when a replica is added, and another taken out of the source
    text = NETWORK.replace("{replicas}", "[2, 3]")
    (tmp_path / "network.toml").write_text(text)
    sentences = await driven(networks, anew=True)

    # then the new samples ran, and the two results that were made from others are told
    stale = networks.stale()
    assert said(stale) in sentences
    assert [(it.node, it.directory, it.added, it.gone) for it in stale] == [
        ("gather", "gather,group=a", 1, 1),
        ("gather", "gather,group=b", 1, 1),
    ]
    workspace = tmp_path / "workspace"
    assert (workspace / "gather,group=a" / "sum").read_text() == "x\n"

    # when somebody has them made again
    redone = networks.redo([it.job for it in stale])
    assert len(redone.jobs) == 3  # the end was made from both
    assert not redone.refused
    assert networks.view().run is not None
    assert networks.run() is not None
    assert networks.run().status is RunStatus.PAUSED  # type: ignore[union-attr]
    await driven(networks)

    # then they ran again, in the same run, and nothing else did
    assert len(networks.runs()) == 2
    assert networks.stale() == []
    assert all(path.read_text() == "x\n" for path in workspace.glob("state*/work"))
    assert {path.read_text() for path in workspace.glob("gather*/sum")} == {"x\n"}


async def test_what_was_made_before_can_be_brought_back(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    networks = Networks(project)
    await driven(networks)
    running = networks.running()
    assert running is not None
    job = running.growth.job("gather", 0)

    redone = networks.redo([job])

    product = tmp_path / "workspace" / "gather,group=a" / "sum"
    assert not product.exists()
    moved = restore(project, redone.trash)
    assert "gather,group=a/sum" in moved.moved
    assert product.read_text() == "x\n"
    assert restore_again(project, redone.trash)


TOLERANT = NETWORK.replace('collapse = ["replica"]', 'collapse = ["replica"]\nrequire = 1')
FAILING = WORKFLOW.replace(
    'command = "echo x >>', 'command = "test ! -e broken-{/replica} && echo x >>', 1
)


def tolerant_at(root: Path) -> OpenProject:
    """One replica of two is enough, and a file `broken-1` has replica 1 fail."""
    (root / "workflow.toml").write_text(FAILING)
    (root / "network.toml").write_text(TOLERANT.replace("{replicas}", "[1, 2]"))
    return OpenProject.open(root, cluster="local")


def changes(networks: Networks) -> list[tuple[str, int, int]]:
    return [(it.directory, it.added, it.gone) for it in networks.stale()]


async def test_a_result_that_went_without_a_member_is_stale_once_that_is_there_and_the_reverse(
    tmp_path: Path,
) -> None:
    networks = Networks(tolerant_at(tmp_path))
    (tmp_path / "broken-1").touch()
    await driven(networks)
    assert changes(networks) == []  # what was left out is still not there
    running = networks.running()
    assert running is not None
    failed = [running.growth.job("work", row) for row in (0, 2)]

    # when the failed members are mended
    (tmp_path / "broken-1").unlink()
    networks.retry(failed)
    sentences = await driven(networks)

    # then both results that went without them are told and made again, with what follows
    assert changes(networks) == [("gather,group=a", 1, 0), ("gather,group=b", 1, 0)]
    assert any("were made from other members" in it for it in sentences)
    networks.redo([it.job for it in networks.stale()])
    await driven(networks)
    assert changes(networks) == []
    assert (tmp_path / "workspace/gather,group=a/sum").read_text() == "x\n"

    # and when a member that was used is lost again, its result is stale for that
    names = [f"state,group={name},replica=1" for name in ("a", "b")]
    for name in names:
        (tmp_path / "workspace" / name / "work").unlink()
    (tmp_path / "broken-1").touch()
    look_again(networks.project, [name.encode() for name in names])
    await driven(networks, anew=True)
    assert changes(networks) == [("gather,group=a", 0, 1), ("gather,group=b", 0, 1)]


async def test_a_result_is_stale_if_its_links_lead_elsewhere_now(tmp_path: Path) -> None:
    """Also where nothing is collapsed: `zip` pairs other samples, `output` names another file."""
    (tmp_path / "workflow.toml").write_text(WORKFLOW)
    text = """
[[source]]
name = "one"
values = { a = [1, 2] }
[[source]]
name = "two"
values = { b = [10, 20] }
[[node]]
name = "work"
from = "one"
[[node]]
name = "gather"
from = ["work", "two"]
combine = "zip"
[[node]]
name = "end"
directories = "own"
from = "work"
output = "work"
"""
    (tmp_path / "network.toml").write_text(text)
    networks = Networks(OpenProject.open(tmp_path, cluster="local"))
    await driven(networks)
    assert changes(networks) == []

    other = text.replace("[10, 20]", "[20, 10]").replace('output = "work"\n', "")
    (tmp_path / "network.toml").write_text(other)
    await driven(networks, anew=True)

    assert changes(networks) == [
        ("gather,a=1", 1, 1), ("gather,a=2", 1, 1), ("end,a=1", 1, 1), ("end,a=2", 1, 1),
    ]  # fmt: skip


def restore_again(project: OpenProject, trash: str) -> bool:
    """Whether there is nothing of that name any more."""
    from rowtui.core.base.errors import RowtuiError

    try:
        restore(project, trash)
    except RowtuiError:
        return True
    return False
