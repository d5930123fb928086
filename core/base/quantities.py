"""Amounts that a user types, for the command line and for forms: one grammar for each kind.

A number may have commas or underscores between thousands. Each function returns the amount, or
raises a RowtuiError that says how to write one. Times are in `core/workflow/duration.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible

_NUMBER = r"[0-9]{1,3}(?:[,_][0-9]{3})+(?:\.[0-9]*)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
_AMOUNT = pattern(rf"(?:{_NUMBER})(?:e[+-]?[0-9]{{1,3}})?", re.IGNORECASE)
_MONEY = pattern(rf"({_NUMBER}) ?([^\s0-9.,_+-]\S{{0,15}})?")
MOST_COUNT = 1_000_000_000


def read_fields(
    readers: Mapping[str, Callable[[str], object]], texts: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of the fields of a form, and a sentence about each unreadable text.

    `readers` raise RowtuiError. A field without a text has neither.
    """
    found: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for name, read in readers.items():
        text = texts.get(name, "").strip()
        if not text:
            continue
        try:
            found[name] = read(text)
        except RowtuiError as error:
            wrong[name] = error.message + (f"; {error.hint}" if error.hint else "")
    return found, wrong


def parse_count(text: str, least: int = 1, most: int = MOST_COUNT) -> int:
    """Parse a whole number such as `1,000`."""
    digits = re.sub(r"[,_]", "", text.strip())
    if not (_AMOUNT.fullmatch(text.strip()) and digits.isdecimal() and len(digits) < 13):
        raise RowtuiError(f"'{visible(text.strip())}' is not a whole number", "write it as 12")
    return int(_within(int(digits), text, least, most))


def parse_amount(text: str, least: float = 0.0, most: float = math.inf) -> float:
    """Parse a number such as `12`, `0.5` or `1,000`."""
    if not _AMOUNT.fullmatch(text.strip()):
        raise RowtuiError(f"'{visible(text.strip())}' is not a number", "write it as 12 or 0.5")
    value = float(re.sub(r"[,_]", "", text.strip()))
    return _within(value, text, least, most)


def parse_money(text: str) -> tuple[float, str]:
    """Parse `20`, `20EUR` or `20 EUR`; the currency is "" if none is given."""
    match = _MONEY.fullmatch(text.strip())
    if match is None:
        raise RowtuiError(f"'{visible(text.strip())}' is no amount of money", "write it as 20 EUR")
    return parse_amount(match[1]), match[2] or ""


def parse_factor(text: str, least: float, most: float) -> float:
    """Parse a factor such as `1.5`, `1.5x` or `x1.5`."""
    return parse_amount(text.strip().strip("x×* "), least, most)


def _within(value: float, text: str, least: float, most: float) -> float:
    if least <= value <= most and value < math.inf:
        return value
    end = "on" if most in (math.inf, MOST_COUNT) else f"to {most:,.10g}"
    raise RowtuiError(f"'{visible(text.strip())}' is not a number from {least:,.10g} {end}")
