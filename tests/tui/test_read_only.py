"""`--read-only`: whatever is pressed, typed or answered, the engine is asked to change nothing."""

from __future__ import annotations

from rowtui.tui.commands.command import NO_KEY, TITLES
from rowtui.tui.commands.jobs import CANCEL
from rowtui.tui.commands.registry import COMMANDS
from textual.screen import ModalScreen

from tests.tui.hand import opened
from tests.tui.sample_clusters import with_clusters
from tests.tui.sample_network import with_network

CHANGING = (
    "plans_submit",
    "jobs_cancel",
    "jobs_hold",
    "jobs_release",
    "plans_make",
    "plans_again",
    "plans_pack",
    "queue_act",
    "mapping_trust",
    "plans_export",
    "mapping_edit_workflow",
    "network_start",
    "network_stop",
    "network_plan",
    "network_retry",
    "network_cancel",
)
"""What an engine does on behalf of a person, and what leads to it."""


async def test_nothing_that_asks_reaches_the_engine_by_any_way() -> None:
    engine = with_network(with_clusters())
    reached: list[str] = []
    for name in CHANGING:
        method = getattr(engine, name, None)
        if method is None:
            continue

        def noted(*_: object, name: str = name, **__: object) -> object:
            reached.append(name)
            raise AssertionError(f"{name} was asked for")

        if name not in ("plans_make", "plans_pack"):
            setattr(engine, name, noted)

    async with opened(engine, read_only=True) as hand:
        await hand.sees("READ ONLY")
        asking = [command for command in COMMANDS if command.asks]
        assert len(asking) >= 15
        for view, key in (("groups", "s"), ("queue", "c"), ("network", "S")):
            await hand.app.action_command(f"go.{view}")
            await hand.press(key, key)
            await hand.sees("the project was opened read-only")
            said = [one.message for one in hand.app._notifications]
            assert len(said) == len(set(said))  # not again below itself
            assert not isinstance(hand.app.screen, ModalScreen)
        for view in TITLES:
            await hand.app.action_command(f"go.{view}")
            await hand.rests()
            for command in asking:
                if command.scope not in (view, "app"):
                    continue
                # by its key or click, and by its name
                await hand.app.action_command(command.id)
                hand.app.clear_notifications()
                assert not isinstance(hand.app.screen, ModalScreen), command.id
                assert "read-only" in command.enabled(hand.app.session), command.id
                typed = command.id if command.keys != NO_KEY else command.twin
                if command.keys == NO_KEY and command.scope != "app":
                    typed = command.label.rstrip("…")
                assert hand.app.line.run(typed).endswith("opened read-only"), command.id
        assert hand.app.line.run("submit") == ""
        await hand.rests()
        assert not isinstance(hand.app.screen, ModalScreen)

        # what stands behind the page that asks refuses as well
        hand.app.verbs.act(CANCEL, [], 3)
        hand.app.verbs.send()
        await hand.rests()
        assert reached == []
        assert engine.submitted_plans == []


async def test_a_command_that_shows_writes_nothing_when_it_is_asked_to() -> None:
    async with opened(read_only=True) as hand:
        await hand.sees("READ ONLY")
        for words in ("--recommend --write --yes", "--wri -y"):
            hand.app.clear_notifications()
            await hand.press("colon", *f"usage {words}", "enter")
            await hand.until(
                lambda: any("read-only" in it.message for it in hand.app._notifications)
            )
            assert not [it for it in hand.app.session.activity if "usage" in it.text]
