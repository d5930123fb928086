"""Login prompts to the user at the terminal.

The input is the questions of one cluster's login. They are asked on the terminal that the process
belongs to, independent of its standard streams. Typed answers are echoed only if the question
allows it. Without a terminal, every question is answered with no. Answers are returned to the login
and never stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from rowtui.cli.clusters.secrets import answer_on_terminal
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.login import Prompt, UnknownHostKey

# There is one terminal, so logins of several clusters wait for one another.
_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


class TerminalAsker:
    """Asks on the terminal. `cluster`: printed before the questions, if given.

    `complaint`: why the last question could not be asked or answered, "" if it could.
    """

    def __init__(self, cluster: str = "") -> None:
        self.complaint = ""
        self._cluster = visible(cluster)
        self._asked: list[Sequence[Prompt]] = []

    async def ask(self, prompts: Sequence[Prompt]) -> Sequence[str] | None:
        """See `Asker`. Ctrl-D gives up; Return alone is an answer, which some servers expect."""
        answers: list[str] = []
        self.complaint = ""
        again = self._is_asked_again(prompts)
        try:
            async with _turn():
                for number, prompt in enumerate(prompts):
                    text = prompt.text if number else self._named(again + prompt.text)
                    answer = await answer_on_terminal(f"{text.rstrip()} ", prompt.echo)
                    if answer is None:
                        return None
                    answers.append(answer.reveal())
        except RowtuiError as error:  # no terminal, or the typed bytes are not text
            self.complaint = error.message
            return None
        return answers

    async def host_key(self, question: UnknownHostKey) -> bool:
        """See `Asker`. Only the word yes accepts."""
        text = self._named(
            f"{visible(question.host)} is unknown. Its host key is:\n"
            f"  {visible(question.kind)} {visible(question.fingerprint)}\n"
            "Compare it with what the site publishes. Type yes to believe it from now on: "
        )
        self.complaint = ""
        try:
            async with _turn():
                answer = await answer_on_terminal(text, echo=True)
        except RowtuiError as error:
            self.complaint = error.message
            return False
        return answer is not None and answer.reveal().strip().lower() == "yes"

    def _is_asked_again(self, prompts: Sequence[Prompt]) -> str:
        """Return the text above questions that were asked before.

        No server reports that an answer was wrong, and a jump host may ask in the same words.
        """
        if list(prompts) not in map(list, self._asked):
            self._asked.append(prompts)
            return ""
        self._asked = [prompts]
        return "Again: an answer was not accepted, or a jump host asks the same.\n"

    def _named(self, text: str) -> str:
        return f"[{self._cluster}] {text}" if self._cluster else text


def _turn() -> asyncio.Lock:
    return _TURNS.setdefault(asyncio.get_running_loop(), asyncio.Lock())
