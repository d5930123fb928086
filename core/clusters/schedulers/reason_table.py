"""Explanations of the reasons that schedulers give for their jobs: the tables of each scheduler."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from rowtui.core.base.text import visible

SHOWN = 300  # characters shown of a text from outside


class ReasonExplanation(NamedTuple):
    """`sentence`: the state of the job; `hint`: what the user can do, or "".

    `needs_person`: the job waits, and will wait until the user or an administrator acts.
    """

    sentence: str
    hint: str = ""
    needs_person: bool = False


def waits(sentence: str) -> ReasonExplanation:
    """Return the explanation of a reason that passes by itself."""
    return ReasonExplanation(sentence, "Nothing needs to be done.")


class Reasons(NamedTuple):
    """The reasons of a scheduler: whole texts, and patterns for all other reasons.

    `explains_suspension`: the table also has the reasons of suspended jobs.
    """

    words: Mapping[str, ReasonExplanation]
    patterns: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], ReasonExplanation]], ...] = ()
    explains_suspension: bool = False

    def find(self, reason: str) -> ReasonExplanation | None:
        """Return the meaning of this reason; None if the table does not contain it."""
        # Some commands print the spaces of a reason as underscores.
        known = self.words.get(reason) or self.words.get(reason.replace("_", " "))
        if known is not None:
            return known
        for pattern, explained in self.patterns:
            if match := pattern.fullmatch(reason):
                return explained(match)
        return None


def foreign(text: str) -> str:
    """Return a text from outside, safe to show and of limited length."""
    shown = visible(text.strip()[: SHOWN + 1])
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"


HELD = ReasonExplanation(
    "It was held, and starts only when it is released.",
    "Release it to let it start, or cancel it.",
    needs_person=True,
)
"""The explanation of a job that a user holds."""


def find_reason(reason: str, tables: Iterable[Reasons]) -> ReasonExplanation | None:
    text = reason.strip()
    if not text:
        return None
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    for table in tables:
        if (found := table.find(text)) is not None:
            return found
    return None
