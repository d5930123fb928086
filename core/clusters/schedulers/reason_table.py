"""The form in which the reasons of a scheduler are explained: whole words, and patterns.

A scheduler brings a `Reasons` of its own, and `reasons.TABLES` lists them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from rowtui.core.text import visible

SHOWN = 300  # characters of a foreign text in a sentence


class Explanation(NamedTuple):
    """`sentence`: what is going on; `hint`: what to do, or "".

    `needs_person`: it waits, and will wait for ever unless somebody does something.
    """

    sentence: str
    hint: str = ""
    needs_person: bool = False


class Reasons(NamedTuple):
    """The reasons of a scheduler: whole ones, and patterns for all of the others."""

    words: Mapping[str, Explanation]
    patterns: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Explanation]], ...] = ()

    def find(self, reason: str) -> Explanation | None:
        """What this reason means, None if it is not one of these."""
        # Some commands print the blanks of a reason as underscores.
        known = self.words.get(reason) or self.words.get(reason.replace("_", " "))
        if known is not None:
            return known
        for pattern, explained in self.patterns:
            if match := pattern.fullmatch(reason):
                return explained(match)
        return None


def foreign(text: str) -> str:
    """A text from outside, safe to show and of bounded length."""
    shown = visible(text.strip()[: SHOWN + 1])
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"


def in_words(reason: str) -> str:
    """`BurstBufferStageIn` as `burst buffer stage in`; a reason that has blanks as it is."""
    text = foreign(reason)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", text):
        return text
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[A-Z]", text)
    return " ".join(word if len(word) > 1 and word.isupper() else word.lower() for word in words)


HELD = Explanation(
    "It was held, and starts only when it is released.",
    "Release it to let it start, or cancel it.",
    needs_person=True,
)
"""What is said of a job that a person holds, in whatever words."""
