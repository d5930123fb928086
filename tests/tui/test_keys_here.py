"""The line at the bottom has the keys that act now, and a key without a command is answered."""

from __future__ import annotations

import pytest
from rowtui.tui.shell.keymap import PAUSE, Stray, unbound_words
from textual import events

from tests.tui.hand import Hand, opened, screen_text
from tests.tui.sample import SampleEngine
from tests.tui.sample_again import with_failures
from tests.tui.sample_network import with_network
from tests.tui.textual_patches.test_key_order import burst


def keys_line(hand: Hand[SampleEngine]) -> str:
    return screen_text(hand.app).splitlines()[-1].strip()


@pytest.mark.parametrize(
    ("way", "shown", "leave"),
    [
        (("2", "slash"), "Enter keep the filter  Esc show all rows", "escape"),
        (("3", "e"), "Enter done  Tab next field  Esc close", "escape"),
        (("4", "e"), "Enter done  Tab next field  Esc close", "escape"),
        (("2", "s", "s"), "Enter answer yes  Esc close", "escape"),
        (("7", "slash"), "Enter find  Esc close", "escape"),
        (("6", "c"), "Enter answer yes  Esc close", "escape"),
        (("colon",), "Enter do it  Tab complete  ↑ typed before  Esc leave", "escape"),
        (("2", "vertical_line"), "space show", "escape"),
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
        assert "? help" not in keys_line(hand)
        await hand.press(leave)
        await hand.sees_no(shown)


async def test_a_limit_of_the_autopilot_shows_its_keys() -> None:
    async with opened(with_network(status=None, failures=()), size=(80, 24)) as hand:
        await hand.sees("equilibrate")
        await hand.press("8", "S")
        await hand.sees("Enter answer yes  ↑ ↓ fields  Esc start nothing")
        await hand.press("up")
        await hand.sees("Enter next field  ↑ ↓ fields  Esc start nothing")


async def test_a_key_without_a_command_says_what_it_could_have_meant() -> None:
    async with opened(with_failures(), size=(80, 24)) as hand:
        await hand.sees("equilibrate")
        await hand.press("m")
        await hand.sees("m does nothing here: whose is in 6 Queue")
        await hand.press("down")
        await hand.sees_no("does nothing here")
        await hand.press("f5")
        await hand.sees("f5 does nothing here; ? lists the keys")
        await hand.press("at", "f5")
        await hand.sees("f5 does nothing here:  Tab what  Esc close")


async def test_a_key_that_moved_says_where_to_and_one_with_another_verb_says_so_once() -> None:
    async with opened(with_failures(), size=(80, 24)) as hand:
        await hand.sees("equilibrate")
        await hand.press("2", "x")
        await hand.sees("x is now w: why", "[2 Groups]")
        await hand.press("down", "O")
        await hand.sees("O is now o: sort")
        await hand.press("down", "f")
        await hand.sees("f is state here; what it did is now |: columns")
        await hand.press("f")
        await hand.sees_no("what it did")
        # a key of the user's own is not one that moved
        hand.app.session.keys = {"groups.submit": "x"}
        await hand.press("x")
        await hand.sees_no("x is now")


def test_the_other_case_of_a_key_is_named_where_it_has_a_command() -> None:
    assert unbound_words("z", "past", {}) == (
        "z does nothing here: refused is in 3 Explain; fold is in 5 Submit and 6 Queue; "
        "wrap is in 7 Log"
    )
    assert unbound_words("Q", "log", {}) == "Q does nothing here: q is quit"
    assert unbound_words("v", "status", {}).endswith("it is range in lists of other views")


async def test_text_that_is_typed_where_no_field_is_open_does_nothing() -> None:
    async with opened(with_failures(), size=(80, 24)) as hand:
        await hand.sees("equilibrate")
        # `s` would plan, `p` pause, `q` leave
        burst(hand, *"zspq2")
        await hand.sees("'zspq2' was typed where no field is open: it did nothing", "[1 Status]")
        assert hand.app.session.sending is None
        assert not hand.app.session.paused
        # a key that is no character acts at once, and ends the text
        burst(hand, "down", "2")
        await hand.sees("[2 Groups]")


async def test_the_late_end_of_a_pasted_text_does_nothing() -> None:
    async with opened(with_failures(), size=(80, 24)) as hand:
        await hand.sees("equilibrate")
        burst(hand, "please qui", *"tq")
        await hand.sees("'please quitq' was typed where no field is open: it did nothing")
        assert not hand.app._exit


def test_a_text_ends_where_the_typing_pauses() -> None:
    def key(character: str, at: float) -> events.Key:
        event = events.Key(character, character)
        event.time = at
        return event

    stray = Stray()
    assert not stray.goes_on(key("a", 1.0))
    stray.begin(key("/", 2.0))
    assert stray.goes_on(key("a", 2.0 + PAUSE / 2))
    assert stray.goes_on(key("b", 2.0 + PAUSE))
    assert not stray.goes_on(key("c", 2.0 + 3 * PAUSE))
    assert not stray.goes_on(key("d", 2.0 + 3 * PAUSE))


async def test_a_filter_that_is_opened_again_is_replaced_by_what_is_typed_or_edited() -> None:
    async with opened(with_failures(), size=(80, 24)) as hand:
        await hand.sees("equilibrate")
        await hand.press("2", "slash", *"T1.2", "enter")
        await hand.sees("4 of 8 · 40 directories")
        await hand.press("slash", *"T1.1", "enter")
        await hand.sees("3 of 8 · 28 directories")
        await hand.press("slash", "end", "-", "r", "enter")
        await hand.until(lambda: hand.app.view.lists[0].asked.filter == "T1.1-r")
