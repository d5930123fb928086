"""The logs that a screen looks at: the book of the one before it, and of a few just left."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from typing import TYPE_CHECKING

from rowtui.core.errors import RowtuiError
from rowtui.core.project.log_book import TROUBLE, LogBook
from rowtui.core.project.log_views import ROW, LogHit, LogPage, LogState
from rowtui.core.project.logs import LocalLog
from rowtui.core.row_filter import refuse_bad_pattern

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

KEPT_BOOKS = 3

MOST_STEPS = 1_000
"""Ways that a pattern may try at one place of a row, which may have 2,000 characters."""


class Logs:
    """The logs of one project's jobs."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._books: OrderedDict[tuple[str, int], LogBook] = OrderedDict()

    async def look(self, token: str, *, earlier: bool = False, width: int = ROW) -> LogState:
        """What is known of a job's log now; with `earlier` some rows before the first as well."""
        try:
            book = await self._book(token, width)
            return await (book.earlier() if earlier else book.look())
        except RowtuiError as error:
            known = self._books.get((token, width))
            state = known.state if known is not None else LogState("")
            return state._replace(error=error.message)

    async def page(self, token: str, start: int, length: int, *, width: int = ROW) -> LogPage:
        """Rows of a log that was looked at. Raises: RowtuiError."""
        return await self._known(token, width).page(start, length)

    async def find(
        self, token: str, text: str, start: int, *, backwards: bool = False, width: int = ROW
    ) -> LogHit:
        """The next row with this text; see `Engine.log_find`. Raises: RowtuiError."""
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
        jobs = self._project.jobs
        records = await asyncio.to_thread(jobs.records)
        record = next((it for it in records if it.token == token), None)
        if record is None:
            raise RowtuiError("this job is not on record")
        if not record.log_path:
            raise RowtuiError("the job wrote to the terminal that it ran in")
        log = await jobs.log(record)
        return LogBook(log, far=not isinstance(log, LocalLog), width=width)


def _pattern(text: str) -> tuple[re.Pattern[bytes], bool]:
    """What is looked for, and whether whole blocks may be searched for it in one go.

    `~` and a regular expression (`.*` once at most), "!" for what looks like an error, or a text;
    one in lower case fits upper case as well. Raises: RowtuiError for a bad expression.
    """
    if text == "!":
        return re.compile(TROUBLE), True
    flags = re.IGNORECASE if text == text.lower() else 0
    if text.startswith("~"):
        refuse_bad_pattern(text[1:], 2, MOST_STEPS)
        return re.compile(text[1:].encode("utf-8", "surrogateescape"), flags), False
    return re.compile(re.escape(text.encode("utf-8", "surrogateescape")), flags), True
