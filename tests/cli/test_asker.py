"""The person at the terminal: what is asked there, one login after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.cli.conftest import Shell
from tests.cli.terminal import Terminal

PROGRAM = """\
import asyncio, json, sys
from rowtui.cli.asker import TerminalAsker
from rowtui.core.clusters.transports.login import Prompt, UnknownHostKey

async def main():
    alpha, beta = TerminalAsker("alpha"), TerminalAsker("be\\x1bta")
    key = UnknownHostKey("h\\x1b[2J", "ssh-rsa", "SHA256:x", "")
    answers = await asyncio.gather(%s)
    print("=" + json.dumps([answers, alpha.complaint]))

asyncio.run(main())
"""


@pytest.fixture
def asking(empty_folder: Shell) -> Iterator[Callable[[str], Terminal]]:
    """A program on a terminal that asks these questions at once, and prints the answers."""
    started: list[Terminal] = []

    def begin(questions: str) -> Terminal:
        started.append(Terminal(empty_folder, program=("-c", PROGRAM % questions)))
        return started[-1]

    yield begin
    for terminal in started:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()


def outcome(terminal: Terminal) -> list[object]:
    assert terminal.end() == 0
    answers: list[object] = json.loads(terminal.seen.rpartition(b"=")[2])
    return answers


def test_two_logins_ask_one_after_the_other(asking: Callable[[str], Terminal]) -> None:
    terminal = asking(
        'alpha.ask([Prompt("Password:"), Prompt("Code:", True)]), beta.ask([Prompt("Wel\\nWord:")])'
    )

    terminal.answer(b"[alpha] Password: ", b"one\n")
    terminal.answer(b"Code: ", b"two\n")
    terminal.answer(b"[be\\x1bta] Wel\r\nWord: ", b"three\n")

    assert outcome(terminal) == [[["one", "two"], ["three"]], ""]
    assert b"one" not in terminal.seen.rpartition(b"=")[0]
    assert b"Code: two\r\n" in terminal.seen


def test_return_alone_is_an_answer_and_ctrl_d_is_none(asking: Callable[[str], Terminal]) -> None:
    terminal = asking('alpha.ask([Prompt("a")]), alpha.ask([Prompt("b"), Prompt("c")])')

    terminal.answer(b"a ", b"\n")
    terminal.answer(b"b ", b"\n")
    terminal.answer(b"c ", b"\x04")

    assert outcome(terminal) == [[[""], None], ""]


def test_who_is_asked_the_same_again_is_told_that_this_may_be_a_mistake(
    asking: Callable[[str], Terminal],
) -> None:
    rounds = [f'alpha.ask([Prompt("{what}:")])' for what in ("Password", "Code") * 2]
    terminal = asking(", ".join(rounds))

    for prompt in (b"[alpha] Password: ", b"[alpha] Code: ") * 2:
        terminal.answer(prompt.removeprefix(b"[alpha] "), b"x\n")

    assert outcome(terminal) == [[["x"]] * 4, ""]
    assert terminal.seen.count(b"not accepted") == 1
    again = b"[alpha] Again: an answer was not accepted, or a jump host asks the same.\r\n"
    assert again + b"Password: \r\n[alpha] Code: " in terminal.seen


def test_what_is_no_text_gives_up_and_says_why(asking: Callable[[str], Terminal]) -> None:
    terminal = asking('alpha.ask([Prompt("a")])')

    terminal.answer(b"a ", b"s3cret\xff\n")

    ((answers,), complaint) = outcome(terminal)
    assert answers is None
    assert "not UTF-8" in str(complaint)
    assert b"s3cret" not in terminal.seen


@pytest.mark.parametrize(("typed", "believed"), [("yes", True), ("Yes ", True), ("y", False)])
def test_a_host_key_is_shown_and_wants_a_yes(
    asking: Callable[[str], Terminal], typed: str, believed: bool
) -> None:
    terminal = asking("alpha.host_key(key)")

    terminal.answer(b"from now on: ", f"{typed}\n".encode())

    assert outcome(terminal) == [[believed], ""]
    assert b"[alpha] h\\x1b[2J is unknown" in terminal.seen
    assert b"ssh-rsa SHA256:x\r\n" in terminal.seen
