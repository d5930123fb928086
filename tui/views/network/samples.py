"""The samples of a node as a list: the rows from the engine, and their cells.

A sample is identified by the number of its job; a sample of a source, by its directory. Its mark
stores the last known state of the job, because the possible operations depend on this state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.values import compact
from rowtui.core.engine.api.engine import Engine
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.views.views import ListRequest
from rowtui.core.runs.views import SampleView
from rowtui.tui.views.groups.groups import Wiring
from rowtui.tui.views.network.state import StateFilter
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import GRAPH_MARKS
from rowtui.tui.widgets.table.engine_rows import EngineRows, RowPage
from rowtui.tui.widgets.table.rows import Marks

if TYPE_CHECKING:
    from rowtui.core.runs.views import NodeView, SampleView
    from rowtui.tui.widgets.cells import Cell


STATE_MARKS = {name.lower(): GRAPH_MARKS[it] for name, it in GraphJobState.__members__.items()}


def sample_columns(node: NodeView | None, samples: Sequence[SampleView]) -> tuple[TableColumn, ...]:
    """Return the columns: state, dimensions, directory, and reason."""
    dimensions = [one.name for one in node.dimensions] if node else []
    columns = []
    if not samples or any(one.state for one in samples):
        columns.append(TableColumn("state", "State", 3, 11))
    for number, name in enumerate(dimensions):
        widest = max((len(value_text(one.values.get(name))) for one in samples), default=4)
        columns.append(
            TableColumn(f"={name}", name, 4, min(16, max(len(name), widest)), priority=4 + number)
        )
    longest = max((len(one.directory) for one in samples), default=12)
    if any(one.reason for one in samples):
        columns.append(TableColumn("why", "Why", 16, 34, grow=2, priority=1))
    columns.append(
        TableColumn(
            "directory",
            "Directory",
            12,
            min(44, max(12, longest)),
            priority=2 if not dimensions else 20,
            grow=1,
        )
    )
    return tuple(columns)


def sample_cells(sample: SampleView) -> dict[str, Cell]:
    """Return one row of the samples."""
    mark = STATE_MARKS.get(sample.state)
    cells: dict[str, Cell] = {
        "state": mark.spans if mark else (),
        "directory": line(sample.directory),
        "why": line((sample.reason, "failed" if sample.state == "failed" else "dim")),
    }
    for name, value in sample.values.items():
        cells[f"={name}"] = line(value_text(value))
    return cells


def state_mark(state: str) -> str:
    """Return `✗ failed`, for a page of text."""
    mark = STATE_MARKS.get(state)
    return f"{mark.glyph} {mark.word}" if mark else state


def value_text(value: object) -> str:
    """Return a value of a dimension, short."""
    return value if isinstance(value, str) else compact(value)


class Of(NamedTuple):
    """The node and the states of the samples. `frozen`: of the run, not of network.toml."""

    node: str
    filter: StateFilter
    frozen: bool


def rows_of_samples(engine: Engine, of: Of, wiring: Wiring) -> EngineRows[SampleView]:
    """Return the samples, page by page."""

    async def ask(asked: ListRequest, first: int, length: int, find: str) -> RowPage[SampleView]:
        page = await engine.network.samples(
            of.node, of.filter.states, first, length, frozen=of.frozen, asked=asked, find=find
        )
        return RowPage(page.total, page.samples, page.of, page.found)

    return EngineRows(
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
    return (float(GraphJobState[sample.state.upper()]),) if sample.state else ()


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
            word = GraphJobState(int(weight[0])).name.lower()
        if str(key).isdecimal():
            found[int(str(key))] = word
    return found
