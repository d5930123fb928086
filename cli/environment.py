"""Settings from the environment: `ROWTUI_<NAME>`, else Row's `ROW_<NAME>`."""

from __future__ import annotations

import os

from rowtui.core.errors import RowtuiError

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"", "0", "false", "no", "off"})


def _environment(name: str) -> str | None:
    """`ROWTUI_<name>`, else Row's `ROW_<name>`."""
    return os.environ.get(f"ROWTUI_{name}", os.environ.get(f"ROW_{name}"))


def environment_flag(name: str) -> bool:
    """A yes/no variable. Raises: RowtuiError for any other word."""
    word = (_environment(name) or "").lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise RowtuiError(f"ROW_{name} is '{word}'", "use true or false")


def environment_number(name: str, default: int) -> int:
    """A number from the environment. Raises: RowtuiError if it is none."""
    text = _environment(name)
    if not text:
        return default
    if not text.isdecimal():
        raise RowtuiError(f"ROW_{name} is '{text}', not a number")
    return int(text)


def environment_word(name: str, default: str | None) -> str | None:
    """A word from the environment."""
    return _environment(name) or default
