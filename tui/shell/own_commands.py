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

from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.workflow.toml_file import TomlTable, open_toml
from rowtui.core.workflow.toml_keys import Key, TableKeys
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
_NOT_BLANK = {"pattern": r"\S"}
OWN_COMMAND_KEYS = TableKeys(
    {
        "command": Key(
            "tables",
            "A program of your own on a key.",
            keys=TableKeys(
                {
                    "key": Key("string", "The key, such as f5 or ctrl+g.", ""),
                    "name": Key("string", "What it does.", "", words=_NOT_BLANK),
                    "run": Key(
                        "texts",
                        "The program and its arguments, or a line for a shell, with {FIELD} for "
                        "values of the row under the cursor.",
                        "",
                        words={"items": _NOT_BLANK, "minItems": 1},
                    ),
                    "views": Key(
                        "strings",
                        "The views in which the key works; all if not set.",
                        words={"items": {"enum": [*TITLES]}},
                    ),
                    "mode": Key(
                        "string",
                        "Whether the program has the terminal, or its output is shown on a page.",
                        choices=("terminal", "page"),
                    ),
                },
                subject="the command",
            ),
            words={"maxItems": MOST_COMMANDS},
        )
    }
)


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
) -> tuple[tuple[OwnCommand, ...], tuple[Problem, ...]]:
    """Return the commands of the file, and what is wrong with it. `own_keys`: those of keys.toml,
    by command id.
    """
    try:
        file = open_toml(config / FILE, OWN_COMMAND_KEYS) if config else None
    except InvalidFileError as error:
        return (), error.problems
    if file is None:
        return (), ()
    found: list[OwnCommand] = []
    tables = file.top.tables("command") or []
    if len(tables) > MOST_COMMANDS:
        file.problem(("command",), f"there are more than {MOST_COMMANDS} commands")
    for table in tables[:MOST_COMMANDS]:
        one = _command(table)
        if one is None:
            continue
        try:
            _refuse_used_key(one, found, own_keys)
        except RowtuiError as error:
            table.problem("key", error.message)
        else:
            found.append(one)
    return tuple(found), file.in_order


def _command(table: TomlTable) -> OwnCommand | None:
    """Return the command of one table; None if it has a mistake."""
    before = len(table.file.problems)
    key, name, run = table.string("key"), table.string("name"), table.strings("run")
    if key is not None and (why := why_no_key(key)):
        table.problem("key", why)
    if name is not None and not name.strip():
        table.problem("name", "`name` is empty")
    if run is not None and not (run and all(word.strip() for word in run)):
        table.problem("run", "`run` has no program, or an empty word")
    views = table.strings("views")
    for index, view in enumerate(views or ()):
        if view not in TITLES:
            table.problem(("views", index), f"views is a list of {', '.join(TITLES)}")
    if len(table.file.problems) > before or key is None or name is None or run is None:
        return None
    shell = isinstance(table.values["run"], str)
    return OwnCommand(
        normal(key),
        name.strip(),
        () if shell else run,
        run[0] if shell else "",
        tuple(TITLES) if views is None else views,
        page=table.string("mode") == "page",
    )


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
