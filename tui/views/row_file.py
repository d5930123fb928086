"""A list as a file: JSON for names that end in `.json`, otherwise CSV. Replaced at once.

The rows are written to a temporary file in the same folder, which then replaces the file. In CSV, a
text that a spreadsheet would take for a formula gets an apostrophe before it. Names that are not
UTF-8 are written with their bytes made visible. The code runs in threads, and rows arrive in
slices.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from rowtui.core.base.files import temporary_sibling
from rowtui.core.base.filter import text_of

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""The characters with which a formula of a spreadsheet begins."""


class RowFile:
    """One file that is being written; `done` moves it to its place, `give_up` removes it."""

    def __init__(self, path: Path, columns: Sequence[tuple[str, str]]) -> None:
        """Open the temporary file. `columns`: (id, title). Raises: OSError if the file cannot be
        created.
        """
        self.path = path
        self.rows = 0
        self._columns = columns
        self._json = path.suffix.lower() == ".json"
        self._temporary = temporary_sibling(path)
        self._file: IO[str] = open(  # noqa: SIM115
            self._temporary, "x", encoding="utf-8", errors="backslashreplace", newline=""
        )
        self._csv = csv.writer(self._file)
        if self._json:
            self._file.write("[")
        else:
            self._csv.writerow([in_csv(title) for _, title in columns])

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write some rows, values by column id. Raises: OSError if a write fails."""
        for row in rows:
            if self._json:
                kept = {name: row.get(name, "") for name, _ in self._columns}
                self._file.write(",\n " if self.rows else "\n ")
                json.dump(kept, self._file)
            else:
                self._csv.writerow([in_csv(row.get(name, "")) for name, _ in self._columns])
            self.rows += 1

    def done(self) -> None:
        """Complete the file and move it to its place. Raises: OSError if a write or the
        move fails.
        """
        if self._json:
            self._file.write("\n]\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._temporary, self.path)

    def give_up(self) -> None:
        """Remove the temporary file."""
        self._file.close()
        self._temporary.unlink(missing_ok=True)


def in_csv(value: Any) -> Any:
    """Return a value for a cell: numbers unchanged, and no text that is taken for a formula."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    text = text_of(value)
    return "'" + text if text.startswith(FORMULAS) else text
