r"""Build a line for one command that every login shell runs, and parse its output without noise.

The input is words, a folder and changes of the environment; the result is ASCII text without any
character that bash, dash, csh or fish treat differently inside single quotes (`'`, `!`, newline,
`\\`), so that /bin/sh gets the text unchanged. Words with other than plain characters are written
in octal. The line prints a marker on both streams just before the command starts: output before the
marker is the noise of a start-up file, and without a marker the command certainly did nothing.
Source: sshd runs `$SHELL -c LINE`; POSIX printf accepts `\ooo`; bash reads ~/.bashrc for it.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.clusters.commands import CLIENT_OPTIONS, KEPT_OPTIONS

_BARE = re.compile(rb"[A-Za-z0-9_+,./:@-]+")
_DOUBLE_QUOTED = re.compile(rb"[A-Za-z0-9_+,./:@=%^~()\[\]{}*?&|;<># -]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Linux accepts 131,072 bytes as one argument; sshd closes the connection at 256 kB.
_LONGEST = 120_000


class RemoteLine(NamedTuple):
    """The text to be sent, and the markers for parsing its output.

    `end` is "" unless the line reports the exit status at the end of stderr. `script`: the part of
    the text that /bin/sh runs.
    """

    text: str
    start: bytes
    end: bytes = b""
    script: str = ""


def remote_line(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str | None] | None = None,
    report_status: bool = False,
) -> RemoteLine:
    """Return the line for one command. It first removes Slurm's options from the environment.

    With `report_status` the shell waits until the command has ended and prints its status, for
    clients whose own exit status is ambiguous. Raises: ValueError for an invalid command: no word,
    NUL, an invalid name of a variable, or more than one argument can hold.
    """
    if not argv or not argv[0]:
        raise ValueError("the command is empty")
    words = _Words()
    steps = [_CLEAN]
    for name, value in (env or {}).items():
        if not _VARIABLE.fullmatch(name):
            raise ValueError(f"{visible(name)} is not the name of a variable")
        steps.append(
            f"unset {name}" if value is None else f"{name}={words.add(value)}; export {name}"
        )
    command = " ".join(words.add(word) for word in argv)
    program = words.add(argv[0])
    if cwd is not None:
        place = os.fspath(cwd)
        # A relative name would be searched in CDPATH, and `-` means the previous folder.
        steps.append(f"cd {words.add(place if place.startswith('/') else './' + place)} || exit 1")
    steps.append(
        f"command -v {program} >/dev/null || "
        f'{{ printf "%s: not found\\012" {program} >&2; exit 127; }}'
    )
    start, end = secrets.token_hex(16), secrets.token_hex(16)
    # In two halves: a start-up file with `set -x` prints the line itself.
    mark = f'printf "%s%s\\012" {start[:16]} {start[16:]}'
    steps.append(f"{mark}; {mark} >&2")
    if report_status:
        steps.append(f"(exec {command}); s=$?")
        steps.append(f'printf "%s%s %d\\012" {end[:16]} {end[16:]} $s >&2; exit $s')
    else:
        steps.append(f"exec {command}")
    script = "; ".join([*words.assignments, *steps])
    text = f"exec /bin/sh -c '{script}'"
    if len(text) > _LONGEST:
        raise ValueError(f"the command line has {len(text):,} characters, {_LONGEST:,} are allowed")
    return RemoteLine(text, f"{start}\n".encode(), end.encode() if report_status else b"", script)


# A shell that runs the lines of its input, with every character of them as it is. `read` takes no
# byte beyond its line, so that the data after a line is left to the command.
FED_SHELL = """exec /bin/sh -c 'unset TMOUT; while IFS= read -r line; do eval "$line"; done'"""


def fed_line(line: RemoteLine, size: int) -> tuple[str, bytes]:
    """Return the line that runs a command in a `FED_SHELL`, and the marker of its end.

    `size`: bytes of the command's input, which follow the line. Behind the marker both streams have
    the exit status.
    """
    end = secrets.token_hex(16)
    mark = f'printf "%s%s %d\\012" {end[:16]} {end[16:]} $s'
    run = f"({line.script}); s=$?"
    if size:
        # The command may leave some of its input unread.
        text = f"head -c {size} | {{ {run}; cat >/dev/null; {mark}; {mark} >&2; }}"
    else:
        text = f"{{ {run}; {mark}; {mark} >&2; }} </dev/null"
    return f"{text}\n", end.encode()


class _Words:
    """Words of a script; words that need octal are stored in variables.

    A command substitution loses newlines at its end, so an `x` is appended and removed again.
    """

    def __init__(self) -> None:
        self.assignments: list[str] = []
        self._named: dict[bytes, str] = {}

    def add(self, text: str) -> str:
        try:
            data = os.fsencode(text)
        except UnicodeEncodeError as error:
            raise ValueError(f"{visible(text)} holds half a character (a surrogate)") from error
        if b"\0" in data:
            raise ValueError(f"{visible(text)} holds a NUL character")
        if _BARE.fullmatch(data):
            return data.decode()
        if not data or _DOUBLE_QUOTED.fullmatch(data):
            return f'"{data.decode()}"'
        if data not in self._named:
            name = self._named[data] = f"rowtui_{len(self._named)}"
            octal = "".join(f"\\{byte:03o}" for byte in data)
            self.assignments += [f'{name}=$(printf "{octal}x")', f"{name}=${{{name}%x}}"]
        return f'"${self._named[data]}"'


def _clean() -> str:
    """Return a script that removes the variables that change Slurm's commands.

    `client_environment` does the same on this machine. The script checks the words of `export -p`
    one by one: a word inside a value may look like a variable, and then at worst a variable of
    these families is removed that had to be removed anyway. `command` keeps the shell alive if the
    rest of the word is no valid name.
    """
    kept = "|".join(f"{name}=*" for name in sorted(KEPT_OPTIONS))
    families = "|".join(f"{family}*=*" for family in CLIENT_OPTIONS)
    return (
        f"set -f; for w in $(export -p); do case $w in {kept}) ;; "
        f'{families}) command unset "${{w%%=*}}" 2>/dev/null;; esac; done; set +f; unset w'
    )


_CLEAN = _clean()


class StreamReader:
    """One stream of a line's output: the data after the marker, at most `limit` bytes."""

    __slots__ = ("_before", "_marker", "data", "limit", "spilled", "started")

    def __init__(self, marker: bytes, limit: int) -> None:
        self._marker = marker
        self._before = bytearray()
        self.data = bytearray()
        self.limit = limit
        self.started = False
        self.spilled = False

    def add(self, chunk: bytes) -> None:
        """Add received data."""
        if not self.started:
            self._before += chunk
            found = self._before.find(self._marker)
            if found < 0:
                # Of endless noise, keep only the end, which may contain the beginning of the marker
                # and is the most useful part for the user.
                del self._before[:-_NOISE_KEPT]
                return
            self.started = True
            chunk = bytes(self._before[found + len(self._marker) :])
            self._before.clear()
        room = self.limit - len(self.data)
        self.data += chunk[:room]
        self.spilled = self.spilled or len(chunk) > room

    @property
    def noise(self) -> str:
        """The last line that came instead of the marker, safe to show."""
        lines = self._before.decode(errors="replace").strip().splitlines()
        return visible(lines[-1].strip()) if lines else ""


_NOISE_KEPT = 1 << 12


class FedReader(StreamReader):
    """One stream of a `fed_line`; `status` is the exit status once the end was read."""

    __slots__ = ("_end", "_held", "status")

    def __init__(self, start: bytes, end: bytes, limit: int) -> None:
        super().__init__(start, limit)
        self._end = end
        self._held = b""
        self.status: int | None = None

    def add(self, chunk: bytes) -> None:
        """Add received data."""
        said, found, after = (self._held + chunk).partition(self._end)
        if not found:
            cut = max(0, len(said) - len(self._end) + 1)  # the rest may begin the marker
            self._held = said[cut:]
            super().add(said[:cut])
        elif b"\n" in after:
            super().add(said)
            self.status = int(after.partition(b"\n")[0])
        else:
            self._held = said + found + after

    def finish(self) -> None:
        """Take the last data of a stream whose end was not read."""
        if self.status is None:
            super().add(self._held)
