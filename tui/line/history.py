"""The lines that the user typed, the user's names for lines, and the way back to them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from rowtui.core.base.files import read_bounded, replace_file

MOST_LINES = 200
"""The number of stored lines: more than a user goes back through."""

LONGEST_LINE = 500
"""Characters; a longer line is not stored."""

_LARGEST_FILE = 4 * MOST_LINES * LONGEST_LINE


class LineHistory:
    """The lines, oldest first. `path` is the file; None keeps the lines in memory only."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._read = False
        self._lines: list[str] = []

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that were typed, oldest first."""
        if not self._read:
            self._read = True
            self._lines = self._kept() + self._lines
        return tuple(self._lines)

    def add(self, line: str) -> None:
        """Add a typed line, unless it looks like a secret or is too long."""
        from rowtui.core.clusters.command_log import without_secrets

        line = " ".join(line.split())
        if not line or len(line) > LONGEST_LINE or without_secrets(line) != line:
            return
        # Another dashboard may have written the file since the last read; its lines are kept.
        lines = [one for one in (self._kept() or list(self.lines)) if one != line]
        self._write([*lines, line][-MOST_LINES:])

    def replace(self, lines: Sequence[str]) -> None:
        """Store these lines alone, without those that look like a secret or are too long."""
        from rowtui.core.clusters.command_log import without_secrets

        good = (one for one in lines if len(one) <= LONGEST_LINE and without_secrets(one) == one)
        self._write(list(good)[-MOST_LINES:])

    def _write(self, lines: list[str]) -> None:
        self._lines = lines
        self._read = True
        if self._path is not None:
            # Without the file, the lines are still kept in memory.
            with contextlib.suppress(OSError):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                data = "".join(f"{one}\n" for one in self._lines)
                replace_file(self._path, data.encode("utf-8", "replace"))

    def _kept(self) -> list[str]:
        if self._path is None:
            return []
        try:
            text = read_bounded(self._path, _LARGEST_FILE).decode("utf-8", "replace")
        except Exception:
            return []
        lines = (line.strip() for line in text.splitlines())
        return [line for line in lines if line and line.isprintable()][-MOST_LINES:]


MOST_ALIASES = 100


class Aliases:
    """Names of the user for lines: `name line` in each line of a file; None keeps no file."""

    def __init__(self, path: Path | None) -> None:
        self._stored = LineHistory(path)

    def all(self) -> dict[str, str]:
        """Return the lines, by name."""
        pairs = (one.partition(" ") for one in self._stored.lines)
        return {name: text for name, _, text in pairs if name and text}

    def set(self, name: str, text: str) -> str:
        """Store a name for this line, or remove the name if the line is empty; return "" or why
        the name was not stored.
        """
        aliases = self.all() | {name: text}
        if not text:
            del aliases[name]
        if len(aliases) > MOST_ALIASES:
            return f"there are {MOST_ALIASES} names already: remove one with `:unalias`"
        self._stored.replace([f"{name} {text}" for name, text in aliases.items()])
        return "" if self.all() == aliases else "this line is too long, or looks like a secret"


class Recall:
    """Navigation back through a history; the unfinished line is kept."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self._lines = lines
        self._at = len(lines)
        self._typed = ""

    def older(self, now: str) -> str:
        """Return the line before; at the oldest line, return the oldest."""
        if self._at == len(self._lines):
            self._typed = now
        self._at = max(0, self._at - 1) if self._lines else self._at
        return self._lines[self._at] if self._lines else now

    def newer(self, now: str) -> str:
        """Return the next line; after the last line, return the unfinished one."""
        if self._at >= len(self._lines):
            return now
        self._at += 1
        return self._typed if self._at == len(self._lines) else self._lines[self._at]
