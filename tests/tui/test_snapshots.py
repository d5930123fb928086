"""What every screen looks like, as text; and the colours of the main ones.

`pytest tests/tui/test_snapshots.py --snapshot-update` writes them anew: read the difference.
"""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.tui.conftest import Hand, opened, screen_colours

SIZES = [(80, 24), (120, 36), (200, 60)]
SCREENS: dict[str, tuple[tuple[str, ...], str]] = {
    "status": ((), "75 eligible"),
    "groups": (("2", "j", "space", "space"), "2 of 8 groups marked"),
    "submit": (("2", "a", "s"), "Nothing is sent yet"),
    "queue": (("6", "j", "j"), "waits for a slot"),
    "log": (("6", "j", "j", "j", "enter"), "FOLLOW"),
    "help": (("question_mark",), "Here: Status"),
}


async def arrive(hand: Hand, screen: str) -> None:
    keys, sign = SCREENS[screen]
    await hand.sees("75 eligible")
    for key in keys:
        await hand.press(key)
        await hand.rests()
    await hand.sees(sign)
    await hand.rests()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("screen", SCREENS)
async def test_screen_as_text(
    screen: str, size: tuple[int, int], text_snapshot: SnapshotAssertion
) -> None:
    async with opened(size=size) as hand:
        await arrive(hand, screen)
        assert hand.text() == text_snapshot


@pytest.mark.parametrize("theme", ["rowtui-dark", "rowtui-light"])
async def test_status_in_colour(theme: str, text_snapshot: SnapshotAssertion) -> None:
    async with opened(size=(80, 24), theme=theme) as hand:
        await arrive(hand, "status")
        assert screen_colours(hand.app) == text_snapshot
