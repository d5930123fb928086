"""Values for the cells of CSV files, which a spreadsheet program does not take for formulas."""

from __future__ import annotations

from typing import Any

from rowtui.core.base.filter import text_of

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""The characters with which a formula of a spreadsheet begins."""


def in_csv(value: Any) -> Any:
    """Return a value for a cell: numbers unchanged, None as "", and no text that is a formula.

    A text that begins like a formula gets an apostrophe, which spreadsheets do not show. Source:
    OWASP, "CSV Injection".
    """
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    text = text_of(value)
    return "'" + text if text.startswith(FORMULAS) else text
