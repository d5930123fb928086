"""`rowtui --plain`: the dashboard as lines, for screen readers, dumb terminals and pipes.

The dashboard runs on a screen that is drawn nowhere. Each command is carried out there, and then
the outline of the screen is printed. Nothing is printed while the user types.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import re
import sys
import termios
import threading
from collections.abc import Hashable, Iterator
from functools import cache
from time import monotonic
from typing import Any

from rowtui.core.base.text import visible
from rowtui.tui.line.parse import offers
from rowtui.tui.outline.lines import changed, sections_of, sentence
from rowtui.tui.outline.outline import Field, Outline, Table, outline_of, send_outlines, spoken
from rowtui.tui.shell.recalling_app import RecallingApp
from rowtui.tui.shell.terminal_app import MOST_NOTICES, TerminalApp
from rowtui.tui.views.dialogs import AT_ONCE
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from textual.pilot import Pilot, WaitForScreenTimeout
from textual.widgets import Button, Input, OptionList

SIZE = (170, 40)
"""Columns and lines of the screen that is drawn nowhere: a page of a list has some twenty rows."""

STILL_SECONDS, MOST_SECONDS = 0.25, 5.0
"""Seconds without a change after which a screen is printed, and the longest wait for them."""

LOOK_SECONDS = 0.05
"""Seconds between two looks at the screen, and at the typed lines."""

FOLLOWING = ("feed", "logins", "views")
"""Groups of workers that run as long as the dashboard."""

COMMANDS = """\
status, groups ACTION, explain, pack, submit, queue, log JOB, network, past, clusters, projects, and
every other command of the dashboard's line after the colon.
A number opens that row. row NUMBER chooses it, so that the next command is about it.
A single letter or sign is that key of the dashboard, as its texts name them.
next and previous: the pages of a list, or of a text. pane: the next list, or text.
/: asks for a text, and shows the rows that match; an empty answer shows all rows.
back: one step back, or closes a page. r: read again. press KEY: a key of the dashboard.
help: this text and all commands. quit: leave; jobs go on.
In a question, what you type is the answer. Commands begin with a colon there: :back, :3.
In a form, :press up and :press down go to the other fields."""

KEYS = {"back": "escape", "pane": "tab"}
"""Words of this front end, and the keys of the dashboard that they press."""


@cache
def typed_lines() -> queue.SimpleQueue[str | None]:
    """Return the queue of the lines of standard input, and None at their end.

    A thread reads without a buffer: the lock of Python's own reader could block the end of rowtui.
    """
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        with contextlib.suppress(OSError), open(0, "rb", buffering=0, closefd=False) as file:
            for data in file:
                lines.put("".join(filter(str.isprintable, data.decode("utf-8", "replace"))))
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


@contextlib.contextmanager
def _without_echo(secret: bool) -> Iterator[None]:
    """Keep a secret off the terminal while it is typed."""
    if not secret or not os.isatty(0):
        yield
        return
    modes = termios.tcgetattr(0)
    hidden = [*modes[:3], modes[3] & ~termios.ECHO, *modes[4:]]
    termios.tcsetattr(0, termios.TCSADRAIN, hidden)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, modes)


class PlainFrontEnd:
    """Drives one app: a typed line becomes keys and commands, a screen becomes lines."""

    def __init__(self, app: TerminalApp) -> None:
        self._app = app
        self._out = sys.stdout  # Textual takes the standard output for itself.
        self._rows: dict[int, tuple[str, Hashable]] = {}  # Printed number -> list, key of the row.
        self._sections: list[list[str]] = []  # As they were printed.
        self._title = ""
        self._told: list[str] = []

    async def drive(self, pilot: Pilot[Any]) -> None:
        """Print the screen, and carry out the typed lines until the app ends."""
        self._pilot = pilot
        self._print("rowtui as lines. help lists the commands.")
        await self._settled()
        while self._is_open:
            self._show()
            while self._is_open:
                text = await self._line()
                if text is None:
                    if self._is_open:
                        await self._leave()
                    return
                if await self._carry_out(text.strip()):
                    break
            await self._settled()

    @property
    def _is_open(self) -> bool:
        return self._app.is_running and not self._app._exit

    @property
    def _field(self) -> Input | None:
        """The field that takes the next line, if a field is open."""
        screen = self._app.screen
        if isinstance(screen.focused, Input):
            return screen.focused
        return next(iter(self._fields), None) if screen.is_modal else None

    @property
    def _fields(self) -> list[Input]:
        return [one for one in self._app.screen.focus_chain if isinstance(one, Input)]

    # Printing

    def _print(self, *lines: str, end: str = "\n") -> None:
        with contextlib.suppress(BrokenPipeError):
            print(*lines, sep="\n", end=end, file=self._out, flush=True)

    def _show(self) -> None:
        """Print the screen; if it was printed before, what has changed in it."""
        outline = outline_of(self._app.screen)
        self._number(outline)
        sections = sections_of(outline)
        if outline.title != self._title:
            self._title, (first, *others) = outline.title, sections
            about = [sentence(outline.subject)] if outline.subject else []
            news = [[first[0], *about, *first[1:]], *others]
        else:
            news = changed(sections, self._sections) or [["Nothing has changed here."]]
        for section in news:
            self._print("", *section)
        self._sections = sections
        if outline.keys:
            self._print("Keys: " + ", ".join(f"{key} {label}" for key, label in outline.keys) + ".")
        toasts = [spoken(text) for text in self._app.notices]
        new = [it for it in outline.messages if it in toasts or it not in self._told]
        self._told = [*self._told, *new][-MOST_NOTICES:]
        self._app.notices.clear()
        for text in new:
            self._print(f"Message: {text}")

    def _number(self, outline: Outline) -> None:
        """Store which rows the printed numbers name, also after the rows have moved."""
        self._rows, before = {}, 1
        for table in (part for part in outline.parts if isinstance(part, Table)):
            widget = self._app.screen.query_one(f"#{table.widget}")
            for index in range(table.first, table.first + len(table.rows)):
                key = widget.source.key(index) if isinstance(widget, VirtualTable) else index
                self._rows[before + index] = (table.widget, key)
            before += table.row_count

    async def _settled(self) -> None:
        """Wait until the screen has what the last command asked for."""
        end, last, since = monotonic() + MOST_SECONDS, None, monotonic()
        while self._is_open and monotonic() < end:
            await asyncio.sleep(LOOK_SECONDS)
            now = outline_of(self._app.screen).parts
            busy = any(one.is_running and one.group not in FOLLOWING for one in self._app.workers)
            session = self._app.session if isinstance(self._app, RecallingApp) else None
            if session is not None and session.snapshot is None and session.broken is None:
                busy = True
            # A question that has been printed takes Enter.
            still = 1.25 * AT_ONCE if self._app.screen.is_modal else STILL_SECONDS
            if now != last or busy:
                last, since = now, monotonic()
            elif monotonic() - since >= still:
                return

    # Lines

    async def _line(self) -> str | None:
        """Return the next typed line; None at the end."""
        field = self._field
        parts = outline_of(self._app.screen).parts if field is not None else ()
        labels = [one.label for one in parts if isinstance(one, Field) and one.focused]
        ask = "Command" if field is None else (labels or ["Answer"])[0]
        self._print(f"{ask.rstrip(':')}: ", end="")
        lines = typed_lines()
        with _without_echo(field is not None and field.password):
            while self._is_open:
                with contextlib.suppress(queue.Empty):
                    text = lines.get_nowait()
                    if not os.isatty(0):
                        self._print("" if text is None or (field and field.password) else text)
                    return text
                await asyncio.sleep(LOOK_SECONDS)
        return None

    async def _carry_out(self, text: str) -> bool:
        """Carry out a line; return whether the screen is to be printed."""
        field = self._field
        if field is not None and not text.startswith(":"):
            await self._answer(field, text)
            return True
        word, _, rest = text.removeprefix(":").strip().partition(" ")
        if not word:
            return False
        if found := re.fullmatch(r"(row )?([0-9]{1,9})", f"{word} {rest}".strip()):
            return await self._go_to(int(found[2]), opens=not found[1])
        if word == "press":
            return await self._press(*rest.split())
        if word == "help":
            self._print(*self._help())
            return False
        if word == "r":
            self._title = ""
            if isinstance(self._app, RecallingApp) and not self._app.screen.is_modal:
                await self._app.action_command("app.refresh")
            return True
        if word in ("next", "previous"):
            return await self._turn(1 if word == "next" else -1)
        if word in KEYS or (len(word) == 1 and not rest):
            return await self._press(KEYS.get(word, word))
        return await self._command(" ".join([word, rest]).strip())

    async def _command(self, text: str) -> bool:
        """Carry out a command of the dashboard, or press a button of an open page."""
        screen = self._app.screen
        for button in screen.query(Button):
            if str(button.label).casefold() == text.casefold():
                button.press()
                return True
        if screen.is_modal or not isinstance(self._app, RecallingApp):
            why = f"{text} does nothing on this page: back closes it"
        else:
            why = self._app.line.run(text)
        if why:
            self._print(sentence(visible(why).replace("`", "")))
        return not why

    async def _press(self, *keys: str) -> bool:
        with contextlib.suppress(WaitForScreenTimeout):
            await self._pilot.press(*(key for key in keys if not key.startswith("wait:")))
        return True

    async def _answer(self, field: Input, text: str) -> None:
        """Type the answer; Enter follows in the last field of a form."""
        field.focus()
        fields = self._fields
        if text or len(fields) == 1:
            field.value = text
        await self._press()
        if field is fields[-1]:
            await self._press("enter")
        else:
            fields[fields.index(field) + 1].focus()

    async def _go_to(self, number: int, *, opens: bool) -> bool:
        """Choose the row with this printed number; `opens`: go to what is below the row."""
        if number not in self._rows:
            self._print(f"There is no row {number} here.")
            return False
        name, key = self._rows[number]
        widget = self._app.screen.query_one(f"#{name}")
        widget.focus()
        if isinstance(widget, VirtualTable):
            widget.move_to_key(key)
            if widget.cursor_key != key:
                self._print(f"Row {number} is gone.")
                return True
        elif isinstance(widget, OptionList) and isinstance(key, int):
            widget.highlighted = key
        await self._press()
        return await self._press("enter") if opens else True

    async def _turn(self, step: int) -> bool:
        """Turn the page of the list, or of the text, that has the focus."""
        table = self._app.screen.focused
        if not isinstance(table, VirtualTable):
            return await self._press("pagedown" if step > 0 else "pageup")
        first, stop = table.visible_range
        to = stop if step > 0 else 2 * first - stop
        table.move_by(to - table.cursor)
        table.scroll_to(y=to, animate=False, force=True)
        return True

    def _help(self) -> Iterator[str]:
        yield COMMANDS
        if isinstance(self._app, RecallingApp):
            known = offers(self._app.view_name, self._app.session)
            yield from (f"{it.usage}: {it.about}" for it in known if it.many and not it.reason)

    async def _leave(self) -> None:
        """Leave at the end of the lines; a submission that is running ends first."""
        if isinstance(self._app, RecallingApp):
            while (sending := self._app.session.sending) is not None and sending.running:
                await self._settled()
        self._app.exit(0)


async def run_outlined(app: TerminalApp) -> None:
    """Run an app as lines, or with its outlines for a page, until the user leaves."""
    if app.how.plain:
        await app.run_async(headless=True, size=SIZE, auto_pilot=PlainFrontEnd(app).drive)
    else:
        await app.run_async(auto_pilot=send_outlines)
