"""The lists that the jobs of a run made: the known lists, and the samples that new lists add.

Takes the successful jobs, reads their lists and grows the graph. An invalid list affects only its
own sample.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.definition.spec import Network
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.samples.sample_flow import ListKey
from rowtui.core.runs.directories.lists import ListError, read_list
from rowtui.core.runs.model import Entry, Event, Grew
from rowtui.core.runs.study import refuse_collisions


class Came(NamedTuple):
    """The new lists as events to be recorded, and the reasons why other jobs' lists are invalid."""

    grew: list[Grew]
    broken: dict[int, str]


class TakenLists:
    """The lists of one run. `known`: by the directory that holds each list."""

    def __init__(self, network: Network) -> None:
        self.known: dict[ListKey, dict[str, Sequence[Entry]]] = {}
        self._makers = _lists_of(network)

    def remember(self, event: Grew) -> None:
        """Add a list from the journal."""
        key = (event.node, event.output, event.dimension)
        self.known.setdefault(key, {})[event.sample] = event.entries

    def has(self, event: Event) -> bool:
        """Whether the lists of an event are known already."""
        if not isinstance(event, Grew):
            return True
        known = self.known.get((event.node, event.output, event.dimension), {})
        return known.get(event.sample) == event.entries

    def lacks(self, growth: Growth, job: int) -> bool:
        """Whether a job makes a list that is not known yet, so its collecting jobs are
        not either.
        """
        node = growth.where(job).node
        directory = growth.directory(job) if node in self._makers else ""
        return any(
            directory not in self.known.get((node, *each), {})
            for each in self._makers.get(node, ())
        )

    def take(self, growth: Growth, workspace: Path, jobs: Iterable[int]) -> Came:
        """Read the lists of complete jobs, and grow the graph."""
        came = Came([], {})
        read: list[tuple[int, Grew]] = []
        for job in jobs if self._makers else ():
            node = growth.where(job).node
            for output, dimension in self._makers.get(node, ()):
                directory = growth.directory(job)
                if directory in self.known.get((node, output, dimension), {}):
                    continue
                taken = growth.flow.columns(node).names
                try:
                    found = read_list(workspace, directory, output, dimension, taken)
                except ListError as error:
                    came.broken[job] = error.message
                    continue
                now = time.time()
                event = Grew(now, node, directory, output, dimension, found.digest, found.entries)
                read.append((job, event))
        self._grow(growth, read, came)
        return came

    def _grow(self, growth: Growth, read: Sequence[tuple[int, Grew]], came: Came) -> None:
        """Grow the graph by these lists; mark only the lists as invalid that the graph
        cannot take.
        """
        if not read:
            return
        known = {key: dict(each) for key, each in self.known.items()}
        for _, event in read:
            key = (event.node, event.output, event.dimension)
            known.setdefault(key, {})[event.sample] = event.entries
        try:
            growth.grow(known, refuse_collisions)
        except RowtuiError as error:
            if len(read) == 1:
                came.broken[read[0][0]] = error.message
            else:
                half = len(read) // 2
                self._grow(growth, read[:half], came)
                self._grow(growth, read[half:], came)
            return
        self.known = known
        came.grew.extend(event for _, event in read)


def _lists_of(network: Network) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the lists that each node's jobs make: output and dimension, as links expand them."""
    found: dict[str, list[tuple[str, str]]] = {}
    for node in network.nodes:
        for it in node.inputs:
            for link in it.links:
                if link.expand and (link.output, link.expand) not in found.get(link.source, ()):
                    found.setdefault(link.source, []).append((link.output, link.expand))
    return found
