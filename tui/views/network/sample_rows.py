"""The samples of a node as rows of a list, and the meaning of their marks.

A sample is identified by the number of its job; a sample of a source, by its directory. Its mark
stores the last known state of the job, because the possible operations depend on this state.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from rowtui.core.engine.api.engine import Engine, JobState
from rowtui.core.engine.api.engine import ListAsked as Asked
from rowtui.core.runs.views import SampleView
from rowtui.tui.shell.work import start
from rowtui.tui.views.groups.rows import Wiring
from rowtui.tui.views.network.state import StateFilter
from rowtui.tui.views.network.texts import sample_cells
from rowtui.tui.widgets.table.asked_rows import Answer, AskedRows
from rowtui.tui.widgets.table.list_table import MOST_MARKED, ListTable
from rowtui.tui.widgets.table.rows import Marks


class Of(NamedTuple):
    """The node and the states of the samples. `frozen`: of the run, not of the current
    network.toml.
    """

    node: str
    filter: StateFilter
    frozen: bool


def rows_of_samples(engine: Engine, of: Of, wiring: Wiring) -> AskedRows[SampleView]:
    """Return the samples, page by page."""

    async def ask(asked: Asked, first: int, length: int, find: str) -> Answer[SampleView]:
        page = await engine.network_samples(
            of.node, of.filter.states, first, length, frozen=of.frozen, asked=asked, find=find
        )
        return Answer(page.total, page.samples, page.of, page.found)

    return AskedRows(
        ask,
        sample_key,
        sample_cells,
        _values,
        weight_of=_weight,
        spawn=wiring.spawn,
        arrived=wiring.arrived,
        failed=wiring.failed,
    )


def sample_key(sample: SampleView) -> str:
    """Return the key of a row."""
    return str(sample.job) if sample.job >= 0 else sample.directory


def _values(sample: SampleView) -> dict[str, Any]:
    row = {"state": sample.state, "why": sample.reason, "directory": sample.directory}
    return row | {f"={name}": value for name, value in sample.values.items()}


def _weight(sample: SampleView) -> tuple[float, ...]:
    return (float(JobState[sample.state.upper()]),) if sample.state else ()


def changed_samples(
    old: dict[str, SampleView], new: dict[str, SampleView]
) -> list[tuple[str, str]]:
    """Return the cells (row, column) whose content has changed."""
    found = []
    for key, sample in new.items():
        was = old.get(key)
        if was is not None and was.state != sample.state:
            found.append((key, "state"))
        if was is not None and was.reason != sample.reason:
            found.append((key, "why"))
    return found


def marked_jobs(marks: Marks, seen: dict[str, SampleView]) -> dict[int, str]:
    """Return the marked jobs, each with its current or last known state."""
    found = {}
    for key in marks.keys:
        word = ""
        if str(key) in seen:
            word = seen[str(key)].state
        elif weight := marks.weights.get(key):
            word = JobState(int(weight[0])).name.lower()
        if str(key).isdecimal():
            found[int(str(key))] = word
    return found


class SampleTable(ListTable):
    """A list of samples: marks are of single jobs, never of all present and future samples."""

    def action_mark_matching(self) -> None:
        """Mark every sample that the list has now."""
        if why := self._why_no_marks():
            self.notify(f"mark: {why}", severity="warning", markup=False)
        elif self.source.row_count > MOST_MARKED:
            text = f"More than {MOST_MARKED:,} samples: choose some with t or /."
            self.notify(text, severity="warning", markup=False)
        else:
            work = partial(self._mark_rows, 0, self.source.row_count)
            start(self, work, "marks", exclusive=True)
