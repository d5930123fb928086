"""What is done before the pictures of the views Explain, Pack and Network are taken."""

from __future__ import annotations

import asyncio

from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.project.views.views import Edit, EditRequest
from rowtui.core.project.workflow_edit import difference
from rowtui.core.runs.model import RunStatus

from tests.tui.hand import Hand
from tests.tui.sample import SampleEngine
from tests.tui.sample_network import CHAIN, with_network


async def wondering(hand: Hand[SampleEngine]) -> None:
    await hand.press("3")
    await hand.rests()
    await hand.press("e")
    await hand.rests()
    await hand.press("8", "tab", "6", "4", "tab", "tab", "tab", *"-highmem")


WORKFLOW = b"""\
[[action]]
name = "equilibrate"
command = "python equilibrate.py {directory}"
products = ["equilibrated.gsd"]
previous_actions = ["initialize"]
[action.group]
maximum_size = 12
[action.resources]
processes.per_submission = 16  # a node's half
walltime.per_submission = "04:00:00"

[[action]]
name = "sample"
"""


class WritingEngine(SampleEngine):
    """Has a workflow.toml, and shows what would change there."""

    async def mapping_edit_workflow(self, asked: EditRequest) -> Edit:
        after = WORKFLOW.replace(b"= 16 ", b"= 8 ").replace(b"04:00", b"02:00")
        diff = difference(WORKFLOW, after)
        return Edit(
            diff, (NOTE, "Its memory is 48 GB then, 96 GB in the what-if."), ("cores",), "t"
        )


NOTE = (
    "All 8 eligible groups of equilibrate ask for it then. Jobs that are submitted stay as they "
    "are."
)


async def writing(hand: Hand[SampleEngine]) -> None:
    await hand.press("3")
    await hand.rests()
    await hand.press("e", "8", "tab", "tab", "tab", "2", "h", "escape")
    await hand.rests()
    await hand.press("W")


async def packing(hand: Hand[SampleEngine]) -> None:
    never = asyncio.Event()

    async def gate(choice: PackChoice) -> None:
        if choice.packer == "seed":
            await never.wait()

    hand.engine.pack_gate = gate
    for key in ("4", "[", "e", *"seed", "enter"):
        await hand.press(key)
        await hand.rests()


def network_running() -> SampleEngine:
    """A simple one, on its way."""
    return with_network(
        status=RunStatus.RUNNING, here=True, holder="here", failures=(), links=CHAIN[1],
        nodes=CHAIN[0],
    )  # fmt: skip
