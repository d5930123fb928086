"""A network of a project, read and matched with its sources: what there is before anything runs.

Reads network.toml, the sources' files and workflow.toml, and gives the flow of samples or all that
is wrong. A run keeps a frozen copy of the first two, so that it is made again from that copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.errors import Problem, RowtuiError
from rowtui.core.network.check import check_against_workflow
from rowtui.core.network.flow import Flow, Lists
from rowtui.core.network.load import NETWORK_FILE, load_network
from rowtui.core.network.model import DimensionError
from rowtui.core.network.names import case_collisions
from rowtui.core.network.shape import shape
from rowtui.core.network.spec import JSON, Network, SourceRows
from rowtui.core.runs.source_files import read_source
from rowtui.core.text import visible

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

_SHOWN = 5


class Study(NamedTuple):
    """A network that can run. `problems` are warnings; `notices` what sources set aside."""

    network: Network
    rows: Mapping[str, SourceRows]
    flow: Flow
    problems: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()


def read_study(project: Project) -> Study:
    """The network of a project as it is on disk now.

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
    """A network with these rows of its sources, and these lists that its jobs have made.

    Raises: NetworkError with every problem; RowtuiError.
    """
    file = visible(str(project.root / NETWORK_FILE))
    found = shape(network, {name: its.dimensions for name, its in rows.items()}, file)
    problems = check_against_workflow(network, project.workflow, file)
    if any(it.severity == "error" for it in problems):
        from rowtui.core.network.load import NetworkError

        raise NetworkError(problems)
    try:
        flow = Flow(network, found, rows, lists=lists)
    except DimensionError as error:
        raise RowtuiError(f"{file}: {error.message}", error.hint) from None
    refuse_collisions(flow)
    return Study(network, rows, flow, problems)


def refuse_collisions(flow: Flow) -> None:
    """Raise where two directories would be one on a file system that ignores case.

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


def wanted_directories(
    flow: Flow, had: Flow | None = None
) -> Iterator[tuple[str, dict[str, JSON]]]:
    """The directories that samples run in, with their values; those only that `had` has not."""
    for home in flow.homes:
        if not flow.is_made(home):
            continue
        names = flow.directories(home)
        known: frozenset[str] = frozenset()
        if had is not None:
            if had.columns(home) is flow.columns(home):
                continue
            known = frozenset(had.directories(home))
        for row, name in enumerate(names):
            if name not in known:
                yield name, flow.value(home, row)
