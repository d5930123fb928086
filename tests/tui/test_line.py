"""The command line, the command log and a person's keys, with the keys that people press."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rowtui.tui.line.field import LineScreen
from rowtui.tui.shell.recall import Memory
from rowtui.tui.views.activity_page import ActivityScreen

from tests.tui.hand import Hand, opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_clusters import with_clusters


async def typed(hand: Hand[Any], text: str) -> None:
    await hand.press(*text)


async def test_commands_are_typed_completed_refused_and_remembered(tmp_path: Path) -> None:
    async with opened(with_clusters(), state=tmp_path) as hand:
        await hand.sees("78 eligible")

        # a list of what there is; Tab completes to what is common, then goes through the rest
        await hand.press("colon")
        await hand.sees("action ACTION", "choose an action")
        await typed(hand, "clu")
        await hand.press("tab")
        line = hand.app.screen.query_one("#line-text")
        assert line.value == "cluster"  # type: ignore[attr-defined]
        await hand.press("tab", "tab")
        assert line.value == "cluster "  # type: ignore[attr-defined]
        await typed(hand, "d")
        await hand.press("right", "enter")
        await hand.sees("[C Clusters]", "clusters ▸ delta", "rowtui connect delta")

        # an action is chosen, and its groups are shown
        await typed(hand, ":groups sample")
        await hand.press("enter")
        await hand.sees("Groups of sample")
        await typed(hand, ":action analyze")
        await hand.press("enter")
        await hand.sees("Groups of analyze")

        # what is wrong is said where it was typed, and can be changed there
        await typed(hand, ":grups")
        await hand.press("enter")
        await hand.sees("there is no command 'grups'; did you mean 'groups'?")
        assert isinstance(hand.app.screen, LineScreen)
        await hand.press("escape")
        await hand.sees_no("did you mean")
        await typed(hand, ":queue.cancel")
        await hand.sees("not now: it works in Queue")
        await hand.press("enter")
        await hand.sees("queue.cancel: it works in Queue")
        await hand.press("escape")

        # a theme, a job's log, a label of this view
        await typed(hand, ":theme high-contrast")
        await hand.press("enter")
        await hand.until(lambda: hand.app.theme == "high-contrast")
        label = next(iter(hand.engine.jobs_by_token.values())).record.label
        await typed(hand, f":log {label}")
        await hand.press("enter")
        await hand.sees("[7 Log]")
        await typed(hand, ":groups.filter")
        await hand.press("enter")
        await hand.sees("groups.filter: it works in Groups")
        await hand.press("escape")

        await typed(hand, ":queue anvil")
        await hand.press("enter")
        await hand.sees("[6 Queue]", "· anvil ━")
        await typed(hand, f":log {label}")
        await hand.press("enter")
        await hand.sees("[7 Log]")

        # what was typed comes back with ↑, also after the next start
        await hand.press("colon", "up", "up")
        line = hand.app.screen.query_one("#line-text")
        assert line.value == "queue anvil"  # type: ignore[attr-defined]
        await hand.press("down", "down")
        assert line.value == ""  # type: ignore[attr-defined]
        await hand.press("escape")
        assert "submit" not in hand.engine.calls
        assert (tmp_path / "commands").read_text().splitlines()[-1] == f"log {label}"

        # a verb asks as it does by its key, and the way out is the same
        await typed(hand, ":status")
        await hand.press("enter")
        await hand.sees("[1 Status]")
        await typed(hand, ":submit")
        await hand.press("enter")
        await hand.sees("Jobs to submit", "Nothing is sent yet")
        await typed(hand, ":q")
        await hand.press("enter")
        await hand.until(lambda: hand.app.return_code == 0)


async def test_every_command_that_ran_can_be_read_and_copied() -> None:
    engine = with_clusters()
    engine.run("anvil", "squeue --me -o '%i|%T'", seconds=0.4)
    engine.run("delta", "ssh someone@delta.example", 255, "Permission denied (publickey).")
    async with opened(engine) as hand:
        await hand.sees("78 eligible")
        await hand.press("at")
        await hand.sees("Activity and commands", "opened; jobs", "$ squeue --me", "(0.4 s, exit 0)")
        await hand.sees("(0.2 s, exit 255)", "Permission denied (publickey).")

        # new ones come by themselves, and only they are asked for
        engine.run("anvil", "scancel 9182736", None, "the caller was cancelled")
        assert isinstance(hand.app.screen, ActivityScreen)
        hand.app.screen._look()
        await hand.sees("$ scancel 9182736  (0.2 s, ?)")

        # what happened alone, then the commands alone
        await hand.press("tab")
        await hand.sees_no("squeue")
        await hand.sees("opened; jobs")
        await hand.press("tab")
        await hand.sees("Commands ━", "5 lines", "$ squeue")
        copied: list[str] = []
        hand.app.copy_to_clipboard = copied.append  # type: ignore[method-assign]
        await hand.press("y")
        assert "$ squeue --me -o '%i|%T'  (0.4 s, exit 0)" in copied[0]
        assert "Permission denied" in copied[0]
        await hand.press("escape")

        # by name, when the engine does not answer any more
        async def lost(_: int) -> object:
            raise OSError("the engine is gone")

        hand.engine.clusters_commands_ran = lost
        await typed(hand, ":commands")
        await hand.press("enter")
        await hand.sees("the engine is gone")


async def test_a_persons_keys_are_used_shown_and_explained(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_text(
        '"groups.mark-all" = "ctrl+f"\n"app.theme" = "r"\n"no.such" = "x"\n"help.close" = "f12"\n'
    )
    async with opened(SampleEngine(), config=tmp_path) as hand:
        # what could not be had is said once, and stays in the activity
        await hand.sees("keys.toml: there is no command 'no.such'")
        await hand.sees("keys.toml: r is wanted twice")
        hand.app.clear_notifications()
        theme = hand.app.theme
        await hand.press("r")
        await hand.until(lambda: hand.app.theme != theme)
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("a")
        await hand.rests()
        assert "8 of 8 groups marked" not in hand.text()
        await hand.press("ctrl+f")
        await hand.sees("8 of 8 groups marked")

        # the pages on top have ids as well
        await hand.press("question_mark")
        await hand.sees("Keys of 2 Groups", "ctrl+f")
        await hand.press("f12")
        await hand.sees_no("Keys of 2 Groups")
        await typed(hand, ":keys")
        await hand.press("enter")
        await hand.sees("Your keys", str(tmp_path / "keys.toml")[:40], "instead of r")


async def test_a_filter_has_a_name_and_comes_back(tmp_path: Path) -> None:
    memory = Memory(tmp_path, "/project")
    async with opened(with_clusters(), state=tmp_path) as hand:
        hand.app.memory = memory
        await hand.sees("78 eligible")
        await hand.press("2")
        await hand.sees("8 groups")
        await typed(hand, ":save warm")
        await hand.press("enter")
        await hand.sees("this list has no filter")
        await hand.press("slash", *"T1.2", "enter")
        await hand.sees("4 of 8")
        await typed(hand, ":save warm")
        await hand.press("enter")
        await hand.sees("Filter warm is T1.2")
        await hand.press("escape")
        await hand.sees("8 groups ·")
        hand.app.exit()

    # in another dashboard of the project: a list of the names, and one of them
    recall = Memory(tmp_path, "/project").load()
    async with opened(with_clusters(), state=tmp_path, recall=recall) as hand:
        await hand.sees("8 groups ·")
        await hand.press("ctrl+f")
        await hand.sees(" :filter", "warm")
        await hand.press("tab", "enter")
        await hand.sees("4 of 8", "/ T1.2")
        await typed(hand, ":unsave warm")
        await hand.press("enter")
        await hand.sees("Filter warm is removed.")
        await typed(hand, ":filter warm")
        await hand.press("enter")
        await hand.sees("there is no filter 'warm'")


async def test_a_line_has_another_name_that_is_stored(tmp_path: Path) -> None:
    async with opened(with_clusters(), state=tmp_path) as hand:
        await hand.sees("78 eligible")
        for line, answer in (
            ("alias queue groups sample", "queue is a command"),
            ("alias gs frobnicate", "frobnicate begins with no command"),
            ("alias gs", "write a name and a line"),
            ("alias gs groups", "`:gs` is now `:groups`."),
        ):
            await typed(hand, f":{line}")
            await hand.press("enter")
            await hand.sees(answer)
    async with opened(with_clusters(), state=tmp_path) as hand:
        await hand.sees("78 eligible")
        await typed(hand, ":gs")
        await hand.sees("gs", "groups")
        await typed(hand, " sample")
        await hand.press("enter")
        await hand.sees("Groups of sample")
        await typed(hand, ":unalias gs")
        await hand.press("enter")
        await hand.sees("`:gs` is removed.")
        await typed(hand, ":gs")
        await hand.press("enter")
        await hand.sees("there is no command 'gs'")
