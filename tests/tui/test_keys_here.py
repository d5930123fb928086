"""The line at the bottom has the keys that act now."""

from __future__ import annotations

import pytest

from tests.tui.hand import Hand, opened, screen_text
from tests.tui.sample import SampleEngine
from tests.tui.sample_again import with_failures
from tests.tui.sample_network import with_network


def keys_line(hand: Hand[SampleEngine]) -> str:
    return screen_text(hand.app).splitlines()[-1].strip()


@pytest.mark.parametrize(
    ("way", "shown", "leave"),
    [
        (("2", "slash"), "Enter keep the filter  Esc show all rows", "escape"),
        (("3", "e"), "Enter done  Tab next field  Esc close", "escape"),
        (("4", "e"), "Enter done  Tab next field  Esc close", "escape"),
        (("2", "s", "s"), "Enter answer  Esc send nothing", "escape"),
        (("7", "slash"), "Enter find  Esc close", "escape"),
        (("6", "c"), "Enter answer yes  Esc do nothing", "escape"),
        (("colon",), "Enter do it  Tab complete  ↑ typed before  Esc leave", "escape"),
        (("2", "f"), "space show", "escape"),
        (("2", "E"), "Enter write  Esc write nothing", "escape"),
        (("question_mark", "slash"), "Enter scroll what fits  Esc close", "escape"),
        (("at",), "Tab what  Esc close  y copy", "escape"),
    ],
)
async def test_while_something_is_typed_the_keys_at_the_bottom_are_those_of_its_field(
    way: tuple[str, ...], shown: str, leave: str
) -> None:
    async with opened(with_failures(), size=(80, 24)) as hand:
        await hand.sees("equilibrate")
        for key in way:
            await hand.press(key)
            await hand.rests()
        await hand.sees(shown)
        assert shown in keys_line(hand)
        assert "quit" not in keys_line(hand)
        await hand.press(leave)
        await hand.sees_no(shown)


async def test_a_limit_of_the_autopilot_shows_its_keys() -> None:
    async with opened(with_network(status=None, failures=()), size=(80, 24)) as hand:
        await hand.sees("equilibrate")
        await hand.press("8", "s")
        await hand.sees("Enter answer yes  ↑ ↓ fields  Esc start nothing")
        await hand.press("up")
        await hand.sees("Enter next field  ↑ ↓ fields  Esc start nothing")
