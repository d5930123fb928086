"""The commands of the user on keys: `commands.toml` in the user's own configuration folder.

A command runs a program with values of the row under the cursor. Each word of `run` stays one
argument; where `run` is one text, a shell reads it, with quoted values. Only the user's own file
is read, never a file of a project, so that a project cannot run programs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import visible
from rowtui.tui.commands.command import LISTED, PARTS, TITLES
from rowtui.tui.commands.registry import BY_ID
from rowtui.tui.shell.keymap import normal, why_no_key

FILE = "commands.toml"
MOST_COMMANDS = 50
MOST_OUTPUT = 1_000_000
"""Bytes of output that a page shows."""

PAGE_SECONDS = 60.0
"""Seconds for which a command of a page may run."""

_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """One command of the user. `run`: the words of the program; `shell`: a line for `sh` instead.

    `views` are the views in which the key works. `page`: the output is shown on a page; otherwise
    the program has the terminal.
    """

    key: str
    name: str
    run: tuple[str, ...] = ()
    shell: str = ""
    views: tuple[str, ...] = tuple(TITLES)
    page: bool = False

    def argv(self, fields: Mapping[str, str]) -> list[str]:
        """Return program and arguments for these values. Raises: RowtuiError for a value that is
        missing, or that a program could take for an option.
        """
        if self.shell:
            return ["sh", "-c", _FIELD.sub(lambda it: shlex.quote(_value(it, fields)), self.shell)]
        words = []
        for word in self.run:
            filled = _FIELD.sub(lambda it: _value(it, fields), word)
            if filled.startswith("-") and not word.startswith("-"):
                raise RowtuiError(f"'{visible(filled)}' begins with '-', like an option")
            words.append(filled)
        return words


def _value(found: re.Match[str], fields: Mapping[str, str]) -> str:
    value = fields.get(found[1], "")
    if not value:
        known = ", ".join(sorted(name for name, text in fields.items() if text))
        raise RowtuiError(f"this row has no {{{found[1]}}}", f"it has {known}")
    if not value.isprintable():
        raise RowtuiError(f"{{{found[1]}}} contains control characters: {visible(value)}")
    return value


def load_own_commands(
    config: Path | None, own_keys: Mapping[str, str]
) -> tuple[tuple[OwnCommand, ...], list[str]]:
    """Return the commands of the file, and what is wrong with it. `own_keys`: those of keys.toml,
    by command id.
    """
    path = config / FILE if config else None
    if path is None or not path.is_file():
        return (), []
    try:
        stored = tomli.loads(read_bounded(path, 1 << 20).decode())
    except (OSError, ValueError, RowtuiError, RecursionError) as error:
        return (), [f"{FILE}: {visible(str(error))}"]
    entries = stored.get("command", [])
    wrong = [f"{FILE}: '{visible(name)}' is not known" for name in stored if name != "command"]
    if not isinstance(entries, list) or len(entries) > MOST_COMMANDS:
        return (), [*wrong, f"{FILE}: write at most {MOST_COMMANDS} tables [[command]]"]
    found: list[OwnCommand] = []
    for number, entry in enumerate(entries, 1):
        try:
            one = _command(entry)
            _refuse_used_key(one, found, own_keys)
        except RowtuiError as error:
            wrong.append(f"{FILE}: command {number}: {error.message}")
        else:
            found.append(one)
    return tuple(found), wrong


_KEYS = {"key", "name", "run", "views", "mode"}


def _command(entry: Any) -> OwnCommand:
    if not isinstance(entry, dict) or (unknown := sorted(entry.keys() - _KEYS)):
        names = visible(", ".join(unknown)) if isinstance(entry, dict) else "it"
        raise RowtuiError(f"{names} is not known; write {', '.join(sorted(_KEYS))}")
    key, name, run = entry.get("key"), entry.get("name"), entry.get("run")
    if not isinstance(key, str) or not isinstance(name, str) or not name.strip():
        raise RowtuiError("key and name are texts, and both are needed")
    if why := why_no_key(key):
        raise RowtuiError(why)
    views = entry.get("views", list(TITLES))
    if not isinstance(views, list) or not all(one in TITLES for one in views):
        raise RowtuiError(f"views is a list of {', '.join(TITLES)}")
    mode = entry.get("mode", "terminal")
    if mode not in ("terminal", "page"):
        raise RowtuiError("mode is 'terminal' or 'page'")
    about = (normal(key), name.strip())
    if isinstance(run, str) and run.strip():
        return OwnCommand(*about, shell=run, views=tuple(views), page=mode == "page")
    if isinstance(run, list) and run and all(isinstance(word, str) and word for word in run):
        return OwnCommand(*about, tuple(run), views=tuple(views), page=mode == "page")
    raise RowtuiError("run is a list of words, or one text for a shell")


def _refuse_used_key(
    one: OwnCommand, others: Sequence[OwnCommand], own_keys: Mapping[str, str]
) -> None:
    for other in BY_ID.values():
        scopes = (*one.views, "app", *(PARTS if set(one.views) & LISTED else ()))
        keys = own_keys.get(other.id, other.keys).split(",")
        if other.scope in scopes and one.key in map(normal, keys):
            raise RowtuiError(f"the key {one.key} belongs to {other.id}; choose another key")
    for own in others:
        if own.key == one.key and set(own.views) & set(one.views):
            raise RowtuiError(f"the key {one.key} belongs to '{own.name}' already")


async def output_of(argv: Sequence[str], folder: Path) -> list[str]:
    """Return the lines that a program writes, and how it ended; it has no input.

    Raises: OSError if the program cannot start.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    data, end = b"", ""
    try:
        async with asyncio.timeout(PAGE_SECONDS):
            while len(data) <= MOST_OUTPUT and (part := await process.stdout.read(1 << 16)):
                data += part
            if len(data) > MOST_OUTPUT:
                end = f"The program was ended after {MOST_OUTPUT:,} bytes of output."
            elif code := await process.wait():
                end = f"The program ended with code {code}."
    except TimeoutError:
        end = f"The program was ended after {PAGE_SECONDS:.0f} seconds."
    finally:
        # The group also has what the program has started; it may be gone.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    text = data[:MOST_OUTPUT].decode("utf-8", "replace")
    return [visible(one.expandtabs()) for one in text.splitlines()] + ([end] if end else [])
