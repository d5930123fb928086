"""Text that was typed by mistake: in no view does it send, cancel, hold, write or delete."""

from __future__ import annotations

import pytest
from rowtui.tui.commands.command import TITLES

from tests.tui.hand import opened
from tests.tui.sample_clusters import with_clusters
from tests.tui.sample_network import with_network

ACTS = (
    "plans_submit",
    "plans_export",
    "jobs_cancel",
    "jobs_hold",
    "jobs_release",
    "queue_act",
    "mapping_trust",
    "network_start",
    "network_stop",
    "network_retry",
    "network_cancel",
    "network_redo",
)
"""What an engine changes on behalf of a person."""

WORDS = (
    "submit",
    "cancel all",
    "cyes",
    "Hyes",
    "s8",
    "aSyes",
    "Ryes",
    "Syes",
    "WE",
    "please",
    "rm",
)
"""Words, and what a question would take if the letter before opened it."""


@pytest.mark.parametrize("view", TITLES)
@pytest.mark.parametrize("with_enter", [True, False])
async def test_words_typed_into_a_view_change_nothing(view: str, with_enter: bool) -> None:
    engine = with_network(with_clusters())
    reached: list[str] = []
    for name in ACTS:

        def noted(*_: object, name: str = name, **__: object) -> object:
            reached.append(name)
            raise AssertionError(f"{name} was asked for")

        setattr(engine, name, noted)
    async with opened(engine, size=(80, 24)) as hand:
        await hand.sees("78 eligible")
        for word in WORDS:
            while len(hand.app.screen_stack) > 1:
                await hand.press("escape")
            hand.app.go(view)
            await hand.rests()
            await hand.types(word + "\n" * with_enter)
            await hand.rests()
            assert reached == [], word
            assert hand.app.return_code is None, word


async def test_a_question_takes_enter_only_once_it_can_have_been_read() -> None:
    engine = with_clusters()
    async with opened(engine, size=(80, 24)) as hand:
        await hand.sees("78 eligible")
        await hand.press("6")
        await hand.sees("5 jobs")
        await hand.types("cyes\n")
        await hand.sees("Cancel 1 job?", "yes")
        assert "cancel" not in engine.calls
        await hand.press("escape", "c", "enter")
        await hand.rests()
        await hand.sees("Cancel 1 job?")  # an Enter without an answer does nothing
        await hand.press(*"yes", "enter")
        await hand.sees("⊘ cancelled")
