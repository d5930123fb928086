"""The logs of the sample project's jobs: rows of a list in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.views.files import FolderListing
from rowtui.core.project.views.views import ROW, LogHit, LogPage, LogRow, LogState

if TYPE_CHECKING:
    from tests.tui.sample import SampleJob

FIRST_ROWS = 1000
"""Rows that are known before somebody asks for earlier ones."""


class SampleLogs:
    """The part of the sample engine that logs come from."""

    jobs_by_token: dict[str, SampleJob]

    def __init__(self) -> None:
        super().__init__()
        self._known_from: dict[str, int] = {}
        self._generations: dict[str, int] = {}

    def _rows(self, token: str, width: int) -> list[LogRow]:
        rows: list[LogRow] = []
        at = 0
        for text in self.jobs_by_token[token].log:
            rows += [
                LogRow(at + start, text[start : start + width], start > 0)
                for start in range(0, max(1, len(text)), width)
            ]
            at += len(text) + 1
        return rows[self._known_from.get(token, 0) :]

    async def logs_files(self, folder: str) -> FolderListing:
        raise RowtuiError(f"{folder} cannot be listed", "the directories of a sample do not exist")

    async def logs_look(self, token: str, *, earlier: bool = False, width: int = ROW) -> LogState:
        job = self.jobs_by_token[token]
        if not job.started:
            return LogState(job.record.log_path, error="nothing has been written yet")
        before = self._known_from.setdefault(token, max(0, len(job.log) - FIRST_ROWS))
        added = 0
        if earlier and before:
            added = min(before, FIRST_ROWS)
            self._known_from[token] = before - added
            self._generations[token] = self._generations.get(token, 1) + 1
        rows = self._rows(token, width)
        bad = ("error", "Error", "Traceback")
        trouble = [int(any(word in row.text for word in bad)) for row in rows]
        shares = tuple(
            sum(trouble[at * len(rows) // 60 : (at + 1) * len(rows) // 60])
            for at in range(min(60, len(rows)))
        )
        return LogState(
            job.record.log_path, sum(len(text) + 1 for text in job.log), len(rows),
            rows[0].offset if rows else 0, self._generations.get(token, 1), added,
            shares if any(shares) else (),
        )  # fmt: skip

    async def logs_page(self, token: str, start: int, length: int, *, width: int = ROW) -> LogPage:
        rows = self._rows(token, width)[start : start + length]
        return LogPage(self._generations.get(token, 1), start, tuple(rows))

    async def logs_find(
        self, token: str, text: str, start: int, *, backwards: bool = False, width: int = ROW
    ) -> LogHit:
        rows = self._rows(token, width)
        words = ("error", "Error", "Traceback") if text == "!" else (text,)
        hits = [at for at, row in enumerate(rows) if any(word in row.text for word in words)]
        generation = self._generations.get(token, 1)
        if not hits:
            return LogHit(generation, None)
        beyond = [hit for hit in hits if (hit < start if backwards else hit > start)]
        pick = -1 if backwards else 0
        return LogHit(generation, (beyond or hits)[pick], not beyond)
