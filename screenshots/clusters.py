"""Pictures of the clusters themselves, of the command line, and of what was run."""

from __future__ import annotations

from tests.tui.hand import Hand
from tests.tui.sample import SampleEngine
from tests.tui.sample_clusters import with_clusters


def with_commands() -> SampleEngine:
    """Three clusters, and some commands that were run there."""
    engine = with_clusters()
    engine.run("anvil", "squeue --me --array -h -o '%i|%T|%r'", seconds=0.4)
    engine.run("delta", "ssh someone@delta.example", 255, "Permission denied (publickey).", 1.2)
    engine.run("anvil", "sbatch --parsable --chdir=/scratch/someone/lj-fluid", seconds=0.3)
    engine.run("anvil", "scancel 9182736_1", seconds=0.1)
    return engine


def far_one() -> SampleEngine:
    """One of the clusters answers slowly."""
    engine = with_clusters()
    engine.details.latency["anvil"] = 6.1
    engine.remote["anvil"] = engine.remote["anvil"]._replace(slow=True)
    return engine


async def on_anvil(hand: Hand[SampleEngine]) -> None:
    """The details of the cluster that is connected, with its nodes."""
    await hand.press("C")
    await hand.sees("3 clusters")
    await hand.press("j", "r")
    await hand.sees("Nodes now")
    await hand.rests()


async def typing(hand: Hand[SampleEngine]) -> None:
    """A command that is typed by half."""
    await hand.press("2")
    await hand.sees("8 groups")
    await hand.press(":", "c", "l")
    await hand.rests()
