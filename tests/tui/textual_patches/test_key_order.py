"""Keys that come in one burst, as over a slow line, mean what they mean one by one."""

from __future__ import annotations

from textual import events

from tests.tui.hand import Hand, key_event, opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_again import with_failures


def burst(hand: Hand[SampleEngine], *keys: str) -> None:
    """All at once: nobody waits for what one of them does."""
    assert hand.app._driver is not None
    for key in keys:
        event = events.Paste(key) if len(key) > 1 and " " in key else key_event(key)
        event.set_sender(hand.app)
        hand.app._driver.send_message(event)


async def test_a_burst_is_for_the_row_the_pane_and_the_field_that_it_leads_to() -> None:
    async with opened(with_failures(), size=(80, 24)) as hand:
        await hand.sees("equilibrate", "analyze")
        # the row: two below, whose jobs these are
        burst(hand, "j", "s")
        await hand.sees("Jobs to submit", "sample")
        # the question, its answer and the way back: the view gets nothing of it
        burst(hand, "s", "6", "7", "escape", "escape", "1")
        await hand.sees("[1 Status]")
        assert hand.engine.submitted_plans == []
        # the pane, and its first row
        burst(hand, "tab", "G", "g", "R")
        await hand.sees("Retry 1 failed job?", "8 directories")
        # the field, also for what is pasted
        burst(hand, "down", "2", "x", "down", "3 x", "tab", "h", "i")
        await hand.sees("Memory     2x", "Time       2x", "CPUs       3 x", "Partition  hi")


async def test_a_page_that_is_closed_takes_no_key_with_it() -> None:
    async with opened() as hand:
        await hand.sees("equilibrate")
        for _ in range(5):
            burst(hand, "question_mark", "escape", "2", "at", "escape", ":", *"queue", "enter")
            await hand.sees("[6 Queue]")
            burst(hand, "1")
            await hand.sees("[1 Status]")
