"""A network of a project, read and matched with its sources, before anything runs.

Reads network.toml, the sources' files and workflow.toml, and gives the flow of samples or all
problems. A run keeps a snapshot of the network and its rows, and builds the flow from the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.network.definition.check import check_against_workflow
from rowtui.core.network.definition.load import NETWORK_FILE, NetworkError, load_network
from rowtui.core.network.definition.spec import JSON, Network, SourceRows
from rowtui.core.network.samples.model import DimensionError
from rowtui.core.network.samples.names import case_collisions
from rowtui.core.network.samples.sample_flow import Flow, Lists
from rowtui.core.network.samples.shape import shape
from rowtui.core.runs.directories.source_files import read_source

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

_SHOWN = 5


class Study(NamedTuple):
    """A valid network. `problems` are warnings; `notices` report entries that sources left out."""

    network: Network
    rows: Mapping[str, SourceRows]
    flow: Flow
    problems: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()


def read_study(project: Project) -> Study:
    """Read the network of a project as it is on disk now.

    Raises: NetworkError with every problem; SourceError; RowtuiError.
    """
    loaded = load_network(project.root)
    notices: list[str] = []
    rows: dict[str, SourceRows] = {}
    for source in loaded.network.sources:
        read = read_source(project, source)
        rows[source.name] = read.rows
        notices += read.notices
    study = make_study(project, loaded.network, rows)
    problems = (*loaded.problems, *study.problems)
    return study._replace(problems=problems, notices=tuple(notices))


def make_study(
    project: Project,
    network: Network,
    rows: Mapping[str, SourceRows],
    lists: Lists | None = None,
) -> Study:
    """Build a study from a network, the rows of its sources, and the lists that its jobs have made.

    Raises: NetworkError with every problem; RowtuiError.
    """
    file = visible(str(project.root / NETWORK_FILE))
    found = shape(network, {name: its.dimensions for name, its in rows.items()}, file)
    problems = check_against_workflow(network, project.workflow, file)
    if any(it.severity == "error" for it in problems):
        raise NetworkError(problems)
    try:
        flow = Flow(network, found, rows, lists=lists)
    except DimensionError as error:
        raise RowtuiError(f"{file}: {error.message}", error.hint) from None
    refuse_collisions(flow)
    return Study(network, rows, flow, problems)


def refuse_collisions(flow: Flow) -> None:
    """Refuse two directories that would be the same on a case-insensitive file system.

    Raises: RowtuiError naming both.
    """
    every = [name for home in flow.homes if flow.is_made(home) for name in flow.directories(home)]
    if not (same := case_collisions(every)):
        return
    shown = "; ".join(f"{visible(one)} and {visible(two)}" for one, two in same[:_SHOWN])
    more = f" (and {len(same) - _SHOWN:,} more)" if len(same) > _SHOWN else ""
    raise RowtuiError(
        f"some directories' names would differ only in upper and lower case: {shown}{more}",
        "they would be one directory on some file systems; call one of the values something else",
    )


def wanted_directories(flow: Flow) -> Iterator[tuple[str, dict[str, JSON]]]:
    """Yield the directories of all known samples, with their values."""
    for home in flow.homes:
        if flow.is_made(home):
            for row, name in enumerate(flow.directories(home)):
                yield name, flow.value(home, row)


def source_directories(flow: Flow) -> Iterator[tuple[str, dict[str, JSON]]]:
    """Yield the directories of sources, which wait for no job."""
    for home in flow.homes:
        if home in flow.sources and flow.is_made(home):
            for row, name in enumerate(flow.directories(home)):
                yield name, flow.value(home, row)
