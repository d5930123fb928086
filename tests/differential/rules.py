"""How a known difference is written down: as a rule on one difference, or as a wording.

A rule looks at a difference and what came before it, and says whether it explains it. A wording
brings two texts to one form; those without which two texts would not be the same explain why they
differ. The rules themselves: known.py and wordings.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.differential.model import Change

if TYPE_CHECKING:
    from tests.differential.compare import Context, Difference


@dataclass(frozen=True)
class Rule:
    """One known difference."""

    id: str
    reason: str
    applies: Callable[[Difference, Context], bool]
    ends: bool = False


RULES: list[Rule] = []


def rule(name: str, reason: str, *, ends: bool = False) -> Callable[..., Any]:
    """Enter a function as a rule."""

    def enter(applies: Callable[[Difference, Context], bool]) -> Callable[..., bool]:
        RULES.append(Rule(name, reason, applies, ends))
        return applies

    return enter


# What rules look at


def row_said(context: Context, pattern: str) -> bool:
    """Whether Row said this on standard error."""
    return context.row is not None and re.search(pattern, context.row.stderr) is not None


def rowtui_said(context: Context, pattern: str) -> bool:
    """Whether rowtui said this on standard error."""
    return context.rowtui is not None and re.search(pattern, context.rowtui.stderr) is not None


def is_command(context: Context, *words: str) -> bool:
    """Whether the command begins with these words."""
    command = context.command
    return command is not None and command.argv[: len(words)] == words


def has_option(context: Context, option: str) -> bool:
    """Whether the command has this word."""
    return context.command is not None and option in context.command.argv


def failed_in_row(context: Context) -> bool:
    """Whether Row ended with an error, or a panic."""
    return context.row is not None and context.row.code in (1, 101)


def squeezed(text: str) -> list[str]:
    """The lines with single blanks."""
    return [" ".join(line.split()) for line in text.splitlines()]


def changes(context: Context, *kinds: str) -> list[Change]:
    """The changes of these kinds so far."""
    return [step for step in context.past if isinstance(step, Change) and step.kind in kinds]


# Texts that say the same in other words: a difference of two texts is explained by the rules
# without which they would not be the same.


@dataclass(frozen=True)
class Wording:
    """How to bring both texts to one form; `both` sees Row's text, rowtui's, and the context."""

    rule: Rule
    both: Callable[[str, str, Context], tuple[str, str]]
    kinds: tuple[str, ...] = ("stdout",)


WORDINGS: list[Wording] = []
Change_ = Callable[[str, "Context"], str]


def _same(text: str, context: Context) -> str:
    return text


TEXTS = ("stdout", "record values", "effects", "script header", "script directories")


def wording(
    name: str,
    reason: str,
    row: Change_ = _same,
    rowtui: Change_ = _same,
    kinds: tuple[str, ...] = ("stdout",),
) -> None:
    """Enter a wording as a rule."""
    enter_wording(name, reason, lambda mine, its, c: (row(mine, c), rowtui(its, c)), kinds)


def enter_wording(
    name: str,
    reason: str,
    both: Callable[[str, str, Context], tuple[str, str]],
    kinds: tuple[str, ...],
) -> None:
    """Enter a wording that must see both texts."""
    known = Rule(name, reason, lambda difference, context: False)
    WORDINGS.append(Wording(known, both, kinds))
    RULES.append(known)


def explain_text(difference: Difference, context: Context) -> tuple[Rule, ...]:
    """The wordings that make two texts the same; none if they are not the same after all."""
    if difference.kind not in TEXTS:
        return ()

    def equal(without: Wording | None) -> bool:
        row, rowtui = difference.row, difference.rowtui
        for each in WORDINGS:
            if each is not without and difference.kind in each.kinds:
                row, rowtui = each.both(row, rowtui, context)
        return row.split() == rowtui.split()

    if not equal(None):
        return ()
    needed = tuple(each.rule for each in WORDINGS if not equal(each))
    return needed or (ALIGNMENT,)


ALIGNMENT = Rule(
    "display-width",
    "Columns are aligned by how wide characters are on a terminal; Row counts code points when it "
    "pads, so that wide and combining characters shift its columns.",
    lambda difference, context: False,
)
RULES.append(ALIGNMENT)


def explain(difference: Difference, context: Context) -> tuple[Rule, ...]:
    """The rules that explain a difference: none if it is not known."""
    found = explain_text(difference, context)
    if found:
        return found
    return next(((rule,) for rule in RULES if rule.applies(difference, context)), ())
