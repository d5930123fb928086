"""The logs of jobs for a screen, rows, searches and last lines; and the files of directories.

`token` is that of a job, whose log may be on another machine; or it names a file: `/` and the path
of the file in the workspace.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.filter import refuse_bad_pattern
from rowtui.core.project.views.files import (
    FileContent,
    FolderListing,
    list_files,
    path_below,
    read_file,
)
from rowtui.core.project.views.log_book import TROUBLE, LogBook
from rowtui.core.project.views.logs import LocalLog
from rowtui.core.project.views.views import ROW, LogHit, LogPage, LogState

if TYPE_CHECKING:
    from pathlib import Path

    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.views.views import LogTail

KEPT_BOOKS = 3

MOST_STEPS = 1_000
"""The number of ways to match a pattern at one place of a row, which may have 2,000 characters."""


class LogsWork:
    """The logs of one project's jobs: the open one, and a few recent ones."""

    def __init__(self, project: OpenProject) -> None:
        self._project = project
        self._books: OrderedDict[tuple[str, int], LogBook] = OrderedDict()

    async def look(self, token: str, *, earlier: bool = False, width: int = ROW) -> LogState:
        """Return what is known of a log now; its `error` gives the reason if it is unreadable.

        Reading begins at the end; with `earlier`, rows before the first known one are read too.
        `width`: bytes after which a line continues in the next row.
        """
        try:
            book = await self._book(token, width)
            return await (book.earlier() if earlier else book.look())
        except RowtuiError as error:
            known = self._books.get((token, width))
            state = known.state if known is not None else LogState("")
            return state._replace(error=error.message)

    async def page(self, token: str, start: int, length: int, *, width: int = ROW) -> LogPage:
        """Return rows of a log, at the width of an earlier `look`. Raises: RowtuiError."""
        return await self._known(token, width).page(start, length)

    async def find(
        self, token: str, text: str, start: int, *, backwards: bool = False, width: int = ROW
    ) -> LogHit:
        """Return the next row after (before) `start` with this text, among the known rows.

        The text may be `~` and a regular expression, or "!" for likely errors. Raises: RowtuiError.
        """
        pattern, quick = _pattern(text)
        book = self._known(token, width)
        return await book.find(pattern, start, backwards=backwards, quick=quick)

    def _known(self, token: str, width: int) -> LogBook:
        book = self._books.get((token, width))
        if book is None:
            raise RowtuiError("that log was not looked at yet")
        return book

    async def _book(self, token: str, width: int) -> LogBook:
        key = (token, width)
        book = self._books.get(key)
        if book is None:
            book = self._books[key] = await self._open(token, width)
            while len(self._books) > KEPT_BOOKS:
                self._books.popitem(last=False)
        self._books.move_to_end(key)
        return book

    async def _open(self, token: str, width: int) -> LogBook:
        if token.startswith("/"):
            return LogBook(LocalLog(self._path(token[1:])), width=width)
        jobs = self._project.jobs
        records = await asyncio.to_thread(jobs.records)
        record = next((it for it in records if it.token == token), None)
        if record is None:
            raise RowtuiError("this job is not on record")
        if not record.log_path:
            raise RowtuiError("the job wrote to the terminal that it ran in")
        log = await jobs.log(record)
        return LogBook(log, far=not isinstance(log, LocalLog), width=width)

    async def tail(self, token: str, lines: int) -> LogTail:
        """Return the last lines of a job's log."""
        return await self._project.jobs.log_tail(token, lines)

    async def files(self, folder: str) -> FolderListing:
        """Return the entries of a folder in the workspace; bounded. Raises: RowtuiError."""
        actions = self._project.workflow.actions
        top = "/" not in folder.strip("/")
        products = dict.fromkeys(it for one in actions for it in one.products if top)
        return await asyncio.to_thread(list_files, self._path(folder), products)

    async def file(self, path: str, *, as_text: bool = False) -> FileContent:
        """Return a file of the workspace by its kind, or as a text; bounded. Raises: RowtuiError.

        The content of a text is read with `look` and `page`.
        """
        return await asyncio.to_thread(read_file, self._path(path), as_text=as_text)

    def _path(self, name: str) -> Path:
        return path_below(self._project.workflow.workspace, name)


def _pattern(text: str) -> tuple[re.Pattern[bytes], bool]:
    """Return the pattern of a search text, and whether it can search whole blocks at once.

    The text is `~` and a regular expression (`.*` at most once), "!" for likely errors, or a plain
    text; a text in lower case also matches upper case. Raises: RowtuiError for an invalid
    expression.
    """
    if text == "!":
        return re.compile(TROUBLE), True
    flags = re.IGNORECASE if text == text.lower() else 0
    if text.startswith("~"):
        refuse_bad_pattern(text[1:], 2, MOST_STEPS)
        return re.compile(text[1:].encode("utf-8", "surrogateescape"), flags), False
    return re.compile(re.escape(text.encode("utf-8", "surrogateescape")), flags), True
