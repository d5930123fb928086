"""The view Clusters: what is shown, asked and done there, and that nothing waits for a cluster."""

from __future__ import annotations

import asyncio

from rowtui.core.base.errors import Problem
from rowtui.core.project.context.clusters import ClusterDetail

from tests.tui.hand import opened
from tests.tui.sample_clusters import with_clusters


async def test_clusters_from_the_list_to_a_login() -> None:
    engine = with_clusters()
    engine.details.more = (
        ClusterDetail(
            "gamma", "slurm", "", places=("/home/someone/.config/row/clusters.toml:40",),
            away="SITE is not 'gamma' here, and no [cluster.ssh] defines its login",
        ),
    )  # fmt: skip
    engine.details.problems = (
        Problem("/home/someone/.config/rowtui/clusters.toml", 7, 1, "unknown key `shh`"),
    )
    engine.details.gate = asyncio.Event()
    async with opened(engine) as hand:
        # it does not wait for anything
        await hand.press("C")
        await hand.sees("[C Clusters]", "Asking…")
        engine.details.gate.set()
        await hand.sees("4 clusters · ▲ 1 problem in clusters.toml", "● here")

        # what is known of a cluster: where it is from, its looks, its parts, what is idle
        await hand.press("j")
        await hand.sees("someone@anvil.example by asyncssh", "clusters.toml:73")
        await hand.sees("polled every 1 min, its answer took 0.4 s")
        await hand.sees("Partitions", "20 of 1,000", "812 / 344", "CPUs in 128s")
        await hand.sees("Node types", "1.28 USD", "unknown key `shh`")
        assert "clusters ▸ anvil" in hand.text()

        # the nodes are asked for when somebody wants to know
        await hand.press("r")
        await hand.sees("Nodes now", "as reported now", "1,000, 2 down")
        assert engine.calls.count("nodes anvil") == 1

        # one that is slow, and one that does not answer, say so here and at the top
        engine.details.latency["anvil"] = 6.1
        engine.remote["anvil"] = engine.remote["anvil"]._replace(slow=True)
        await hand.press("r")
        await hand.sees("instead of 1 min: its answers take 6.1 s", "anvil ◐ slow")
        engine.details.failures["anvil"] = 3
        engine.remote["anvil"] = engine.remote["anvil"]._replace(error="slurmctld is down")
        await hand.press("r")
        await hand.sees("3 failures", ", after 3 failures", "anvil ▲ no answer")

        # one that cannot be reached says why; one that waits for a login gets it
        await hand.press("G")
        await hand.sees("no [cluster.ssh] defines its login", "· elsewhere")
        await hand.press("r")
        await hand.sees("nodes: gamma cannot be reached from here")
        await hand.press("k")
        await hand.sees("rowtui connect delta", "not configured: r asks")
        await hand.press("L")
        await hand.sees("Is this delta?")
        await hand.press("escape")
        await hand.press("escape")
        await hand.sees("connect delta")

        # at every size there is something to see, and the way back leads to the status
        for size in ((80, 24), (200, 50), (40, 12), (20, 5)):
            await hand.pilot.resize_terminal(*size)
            await hand.rests()
            assert "delta" in hand.text() or size[1] < 10
        await hand.pilot.resize_terminal(120, 36)

        # when the engine does not answer, what was known stays
        engine.details.error = OSError("the engine is gone")
        await hand.press("r")
        await hand.until(lambda: hand.app.session.clusters.error is not None)
        await hand.sees("anvil", "4 clusters")
        await hand.press("escape")
        await hand.sees("[1 Status]")
