"""A named point at which a process of a test stops until the test lets it pass."""

from __future__ import annotations

import os
import select
import shlex
from pathlib import Path


class Gate:
    """Two FIFOs: the process writes a line to one and then waits for a line of the other.

    The test holds both open for reading and writing, so neither side waits in `open`.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._arrivals, self._passes = folder / f"{name}.arrivals", folder / f"{name}.passes"
        for path in (self._arrivals, self._passes):
            os.mkfifo(path)
        self._arrived = os.open(self._arrivals, os.O_RDWR)
        self._passed = os.open(self._passes, os.O_RDWR)

    @property
    def shell(self) -> str:
        """The bash command that stops here."""
        arrivals, passes = shlex.quote(str(self._arrivals)), shlex.quote(str(self._passes))
        return f"echo {self.name} >{arrivals}; read -r _ <{passes}"

    def wait(self, within: float = 40) -> None:
        """Return when a process has arrived. Raises: AssertionError after `within` seconds."""
        ready, _, _ = select.select([self._arrived], [], [], within)
        assert ready, f"no process came to the point {self.name!r} within {within:g} s"
        os.read(self._arrived, len(self.name) + 1)

    def open(self) -> None:
        """Let one process pass, now or when it arrives."""
        os.write(self._passed, b"\n")

    def close(self) -> None:
        """Close the test's side; a process that waits here then goes on."""
        os.close(self._arrived)
        os.close(self._passed)
