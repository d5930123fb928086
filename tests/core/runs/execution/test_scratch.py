"""Products that stay on the machine of a list, where only jobs of the list need them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.retry_policy import load_policy
from rowtui.core.runs.model import Retried
from rowtui.core.runs.redo import redo
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.store import Run

from tests.core.runs.chained import SLURM
from tests.core.runs.driving import Drive, action, drive, ends_recorded, make, ran
from tests.eventually import eventually
from tests.rig.slurm import SlurmCluster

NETWORK = """\
[[source]]
name = "state"
values = { t = [1, 2] }

[[node]]
name = "simulate"
from = "state"
scratch = true

[[node]]
name = "polish"
from = "simulate"
output = "energy"
scratch = true

[[node]]
name = "average"
from = "polish"
output = "polished"
collapse = ["t"]

[[sink]]
name = "average"
from = "average"
output = "mean"
publish = "results/mean"

[schedule]
execution = "sequential"
gather = { size = 50 }
"""
SINK = """
[[sink]]
name = "energy"
from = "simulate"
output = "energy"
publish = "results/{t}"
"""
PLACE = "${ROWTUI_SCRATCH:-..}/$1"  # the folder that stands for the workspace
# Ends the list as the loss of its node does: no process of it goes on, and its files are gone.
LOST = r"""
    rm -rf "$rowtui_dir"
    pid=$PPID those=''
    while [ "$(cat /proc/$pid/comm)" = bash ]; do
        those="$those $pid"
        pid=$(sed 's/.*) . \([0-9]*\).*/\1/' /proc/$pid/stat)
    done
    kill -KILL $those
"""
ALL = ["state,t=1: simulate", "state,t=2: simulate", "state,t=1: polish", "state,t=2: polish"]


@pytest.fixture
def alpha(here: Path, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for projects whose jobs go to a real Slurm."""
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    folder = here / "home/.config/rowtui"
    folder.mkdir(parents=True)
    (folder / "clusters.toml").write_text(SLURM)
    return here


def study(root: Path, network: str = NETWORK, *, average: str = "", polish: str = "") -> Path:
    """A project with this network. The scripts begin with these lines while `unlucky` exists."""
    (root / "home").mkdir(parents=True, exist_ok=True)

    def unlucky(text: str) -> str:
        return f"if [ -e ../../unlucky ]; then {text}\nfi\n" if text else ""

    return make(
        root,
        network,
        action("simulate", f'echo $1 > "{PLACE}/energy"', ["energy"], node="state"),
        action(
            "polish",
            f'{unlucky(polish)}cat energy > "{PLACE}/polished"',
            ["polished"],
            node="state",
            previous=["simulate"],
        ),
        action("average", f"{unlucky(average)}cat ../state*/polished > mean", ["mean"]),
    )


def again(root: Path, run: Run, *jobs: tuple[str, str]) -> Drive:
    """Mend what failed, retry these jobs, and drive the run to its end."""
    (root / "unlucky").unlink()
    running = OpenRun(OpenProject.open(root, cluster="local"), run)
    running.look()
    found = [running.growth.job_in(*each) for each in jobs]
    running.retry([job for job in found if job is not None])
    driven = drive(root)
    assert driven.told[-1].success, [it.sentence for it in driven.told]
    assert (root / "results/mean").read_text() == "state,t=1\nstate,t=2\n"
    return driven


def links(root: Path) -> set[str]:
    """The products that stayed on the machine: links that lead nowhere."""
    found = [it for it in (root / "workspace").glob("state*/*") if it.is_symlink()]
    eventually(lambda: not any(it.exists() for it in found))
    return {f"{it.parent.name}: {it.name}" for it in found}


EVERY_LINK = {f"state,t={t}: {name}" for t in (1, 2) for name in ("energy", "polished")}


def test_what_only_the_list_needs_never_reaches_the_workspace(here: Path) -> None:
    root = study(here / "p")
    driven = drive(root)
    assert driven.told[-1].success, driven.problems()
    assert set(ran(root).values()) == {1}
    assert (root / "results/mean").read_text() == "state,t=1\nstate,t=2\n"
    assert links(root) == EVERY_LINK
    # It counts as made: nothing runs again, in this run or the next.
    assert drive(root, run=driven.run).told[-1].success
    project = OpenProject.open(root, cluster="local")
    project.synchronise()
    assert {name: bits.bit_count() for name, bits in project.state.completed.items()} == {
        "simulate": 2,
        "polish": 2,
        "average": 1,
    }


def test_the_steps_of_a_real_slurm_share_the_folder(alpha: Path) -> None:
    root = study(alpha / "p")
    driven = drive(root, cluster="alpha")
    assert driven.told[-1].success, driven.problems()
    assert set(ran(root).values()) == {1}
    assert links(root) == EVERY_LINK


def test_a_result_that_is_made_again_has_its_inputs_made_again(here: Path) -> None:
    root = study(here / "p")
    driven = drive(root)
    asyncio.run(ends_recorded(driven.project))
    running = OpenRun(OpenProject.open(root, cluster="local"), driven.run)
    running.look()
    redo(running, running.growth.jobs("average").tolist())
    assert drive(root).told[-1].success
    assert set(ran(root).values()) == {2}


def test_what_others_need_is_copied_before_its_job_counts_as_completed(here: Path) -> None:
    root = study(here / "p", NETWORK + SINK)
    assert drive(root).told[-1].success
    assert (root / "results/1").read_text() == "state,t=1\n"
    assert links(root) == {it for it in EVERY_LINK if "polished" in it}
    # In a list without room for the average, which another list needs:
    root = study(here / "q", NETWORK.replace("size = 50", "size = 2"))
    assert drive(root).told[-1].success
    assert links(root) == {it for it in EVERY_LINK if "energy" in it}
    names = {it.name for it in (root / "workspace/state,t=1").iterdir()}
    assert names == {"value.json", "runs", "energy", "polished"}


def test_a_job_alone_makes_its_products_in_the_workspace(here: Path) -> None:
    root = study(here / "p", NETWORK.replace('"sequential"', '"jobs"'))
    assert drive(root).told[-1].success
    assert links(root) == set()


@pytest.mark.parametrize("how", ["exit 3", LOST], ids=["fails", "lost"])
def test_the_chain_runs_again_from_where_its_products_are_lost(here: Path, how: str) -> None:
    root = study(here / "p", average=how)
    (root / "unlucky").touch()
    driven = drive(root)
    assert not driven.told[-1].success
    assert links(root) == EVERY_LINK
    again(root, driven.run, ("average", "average"))
    assert ran(root) == {**dict.fromkeys(ALL, 2), "average: average": 2}
    assert links(root) == EVERY_LINK


def test_a_retry_by_a_rule_is_of_the_chain(here: Path) -> None:
    root = study(here / "p", average="rm ../../unlucky; exit 3")
    (root / "unlucky").touch()
    (root / "rowtui.toml").write_text('[[retry]]\non = "exit 3"\nattempts = 2\n')
    driven = Drive(OpenProject.open(root, cluster="local"))
    driven.autopilot.retries.policy = load_policy(root)
    asyncio.run(driven.to_the_end())
    assert driven.told[-1].success, [it.sentence for it in driven.told]
    assert ran(root) == {**dict.fromkeys(ALL, 2), "average: average": 2}
    (retried,) = (it for it in driven.run.events() if isinstance(it, Retried))
    assert "exit code 3" in retried.why


def test_a_list_that_collects_runs_all_again_whose_products_stayed_elsewhere(here: Path) -> None:
    root = study(here / "p", polish='[ "$1" != "state,t=2" ] || exit 3')
    (root / "unlucky").touch()
    driven = drive(root)
    assert not driven.told[-1].success
    again(root, driven.run, ("polish", "state,t=2"))
    # The average needs both samples, and the result of the first stayed with the first list.
    assert ran(root) == {**dict.fromkeys(ALL, 2), "average: average": 1}
