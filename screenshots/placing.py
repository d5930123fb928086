"""What is done before the pictures of the views Explain, Pack and Network are taken."""

from __future__ import annotations

import asyncio

from rowtui.core.engine import PackChoice
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


async def packing(hand: Hand[SampleEngine]) -> None:
    never = asyncio.Event()

    async def gate(choice: PackChoice) -> None:
        if choice.packer == "seed":
            await never.wait()

    hand.engine.pack_gate = gate
    for key in ("4", "a", "]", "]"):
        await hand.press(key)
        await hand.rests()


def network_running() -> SampleEngine:
    """A simple one, on its way."""
    return with_network(
        status=RunStatus.RUNNING, here=True, holder="here", failures=(), links=CHAIN[1],
        nodes=CHAIN[0],
    )  # fmt: skip
