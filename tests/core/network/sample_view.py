"""The samples of a stage of the flow one by one, as Fastr's documentation ("Sample flow") has them.

The flow has columns and rows; a test compares ids, values, jobs and states of single samples. What
an output holds is said here, too: `Held` is an output whose samples have values and states.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from rowtui.core.network.samples.link import LinkStage, SubOutput
from rowtui.core.network.samples.node_run import InputGroup, NodeRun
from rowtui.core.network.samples.output import NodeOutput
from rowtui.core.network.samples.stage import RowOrigin, Stage

SampleIndex = tuple[int, ...]  # a position for each dimension
SampleId = tuple[str, ...]  # a label for each dimension
Key = SampleIndex | SampleId


class SampleState(enum.IntEnum):
    """The state of a sample. The state of several samples together is the largest (the worst)."""

    VALID = 0
    MISSING = 1  # its data is known to be absent: not a failure
    FAILED = 2


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample. `data`: its values in order; of a group or a node, those of each input by name.

    `jobs` are the jobs that it comes from, as (node's number, row).
    """

    index: SampleIndex
    id: SampleId
    data: tuple[Any, ...] | Mapping[str, tuple[Any, ...]]
    jobs: frozenset[tuple[int, int]] = frozenset()
    state: SampleState = SampleState.VALID


class Held(NodeOutput):
    """An output whose samples a test says. `states`: by row."""

    def __init__(
        self, *args: Any, states: Mapping[int, SampleState] | None = None, **facts: Any
    ) -> None:
        super().__init__(*args, **facts)
        self.states = states or {}
        self.held: dict[int, Sample] = {}

    def __setitem__(self, key: Key, sample: Sample) -> None:
        """Set the content of a sample. Raises: KeyError."""
        self.held[View(self).row(key)] = sample


class View:
    """The samples of an output or a stage, by index and by id; all else is that of the stage."""

    def __init__(self, stage: NodeOutput | Stage) -> None:
        self.stage = stage
        count = stage.columns.count
        self._rows: dict[Key, int] = {stage.columns.id(row): row for row in range(count)}
        self._rows |= {stage.columns.index(row): row for row in range(count)}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stage, name)

    @property
    def dimensions(self) -> Any:
        return self.stage.columns.dimensions

    @property
    def size(self) -> tuple[int | None, ...]:
        return tuple(it.size for it in self.dimensions)

    @property
    def dimnames(self) -> tuple[str, ...]:
        return self.stage.columns.names

    @property
    def indexes(self) -> list[SampleIndex]:
        return [self.stage.columns.index(row) for row in range(self.stage.columns.count)]

    @property
    def ids(self) -> list[SampleId]:
        return [self.stage.columns.id(row) for row in range(self.stage.columns.count)]

    def row(self, key: Key) -> int:
        return self._rows[tuple(key)]

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __getitem__(self, key: Key) -> Sample:
        return sample_of(self.stage, self.row(key))

    def items(self) -> list[tuple[SampleIndex, Sample]]:
        return [(it.index, it) for it in self.samples()]

    def samples(self) -> Iterator[Sample]:
        return (sample_of(self.stage, row) for row in range(self.stage.columns.count))

    def index_to_source(self, key: Key) -> tuple[tuple[SampleIndex, ...], ...]:
        """The samples of each source in a sample here."""
        assert isinstance(self.stage, Stage)
        row = self.row(key)
        return tuple(
            tuple(source.columns.index(each) for each in members(origin, row))
            for source, origin in zip(self.stage.sources, self.stage.origins, strict=True)
        )

    def index_to_target(self, key: Key, source: int = 0) -> tuple[SampleIndex, ...]:
        """The samples here that a sample of a source goes into."""
        assert isinstance(self.stage, Stage)
        origin, row = self.stage.origins[source], View(self.stage.sources[source]).row(key)
        if origin.rows is None:
            return (self.stage.columns.index(row),)
        found = np.flatnonzero(origin.rows == row)
        if origin.starts is not None:
            found = np.unique(np.searchsorted(origin.starts, found, side="right") - 1)
        return tuple(self.stage.columns.index(int(each)) for each in found)


def members(origin: RowOrigin, row: int) -> list[int]:
    """The source's rows in one row."""
    if origin.rows is None:
        return [row]
    if origin.starts is None:
        return [int(origin.rows[row])]
    return [int(each) for each in origin.rows[origin.starts[row] : origin.starts[row + 1]]]


def sample_of(stage: NodeOutput | Stage, row: int) -> Sample:
    """One sample: made of those of the sources, with all their jobs and the worst state."""
    index, label = stage.columns.index(row), stage.columns.id(row)
    if isinstance(stage, NodeOutput):
        held = stage.held.get(row) if isinstance(stage, Held) else None
        states = stage.states if isinstance(stage, Held) else {}
        jobs = frozenset({(stage.owner, row)})
        return held or Sample(index, label, (), jobs, states.get(row, SampleState.VALID))
    parts = [
        [sample_of(source, each) for each in members(origin, row)]
        for source, origin in zip(stage.sources, stage.origins, strict=True)
    ]
    every = [sample for those in parts for sample in those]
    jobs = frozenset(job for it in every for job in it.jobs)
    state = max((it.state for it in every), default=SampleState.VALID)
    return Sample(index, label, _data(stage, row, every), jobs, state)


def _data(stage: Stage, row: int, every: list[Sample]) -> Any:
    if isinstance(stage, SubOutput):
        return _values(every)[stage.slice]
    if isinstance(stage, LinkStage) and stage.places is not None:
        starts = stage.origins[0].starts
        begin = row if starts is None else int(starts[row])
        places = stage.places[begin : begin + len(every)].tolist()
        return _values(
            tuple(it.data)[place : place + 1] for it, place in zip(every, places, strict=True)
        )
    if isinstance(stage, InputGroup):
        return {part.name: tuple(it.data) for part, it in zip(stage.sources, every, strict=True)}
    if isinstance(stage, NodeRun):
        return {name: values for it in every for name, values in dict(it.data).items()}
    return _values(every)


def _values(every: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(value for it in every for value in getattr(it, "data", it))


def held(output: NodeOutput) -> Held:
    """The same output, of which a test says the samples."""
    return Held(
        output.columns,
        output.owner,
        name=output.name,
        cards=output.cards,
        lists=output.lists,
        opens=output.opens,
    )
