"""A network of a project with its sources, and network.json: their snapshot, taken for a run.

Takes a `Network` and `SourceRows`, gives bytes that are identical for the same network, and back.
Products of dimensions stay factorised: their rows are not written to the file.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from rowtui.core.base.codec import record
from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.network.definition.check import check_against_workflow
from rowtui.core.network.definition.load import NETWORK_FILE, NetworkError, load_network
from rowtui.core.network.definition.spec import (
    JSON,
    Existing,
    FileSource,
    Network,
    SourceRows,
    TableSource,
    Values,
)
from rowtui.core.network.samples.model import DimensionError
from rowtui.core.network.samples.names import case_collisions
from rowtui.core.network.samples.sample_flow import Flow, Lists
from rowtui.core.network.samples.shape import shape
from rowtui.core.runs.directories.source_files import read_source
from rowtui.core.runs.model import json_line

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject


VERSION = 3
# Version 1 had no `pilot` and `ahead` of schedules, 2 no `default` of sources, `scratch` of nodes.
_READ = (1, 2, VERSION)

_DATA: dict[str, type[Values | TableSource | FileSource | Existing]] = {
    "values": Values,
    "table": TableSource,
    "files": FileSource,
    "existing": Existing,
}
_DATA_NAMES: dict[type, str] = {kind: name for name, kind in _DATA.items()}


def frozen_bytes(network: Network, rows: Iterable[SourceRows]) -> bytes:
    """Return the bytes of the file. Raises: RowtuiError for a value that JSON cannot represent."""
    head = json_line(_fields(network))
    parts = [b'{"version":%d,"network":' % VERSION, head, b',"rows":[']
    for at, each in enumerate(rows):
        parts += [b",\n" if at else b"\n", *_rows_parts(each)]
    return b"".join([*parts, b"]}\n"])


def read_frozen(data: bytes) -> tuple[Network, tuple[SourceRows, ...]]:
    """Parse the bytes of the file.

    Raises: RowtuiError for another version and for invalid content.
    """
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        raise RowtuiError("its network.json is not JSON") from None
    version = fields.get("version") if isinstance(fields, dict) else None
    if version not in _READ:
        raise RowtuiError(
            f"its network.json has version {json.dumps(version)}, rowtui supports {VERSION}",
            "use the version of rowtui that began the run",
        )
    try:
        rows = tuple(record(SourceRows, each) for each in fields["rows"])
        return _network(fields["network"]), rows
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise RowtuiError(f"its network.json is invalid: {error!r}") from None


def _fields(value: Any) -> Any:
    """Return dataclasses as objects, recursively, and named tuples as arrays."""
    if dataclasses.is_dataclass(value):
        found = {it.name: _fields(getattr(value, it.name)) for it in dataclasses.fields(value)}
        if isinstance(value, Values | TableSource | FileSource | Existing):
            return {"made_of": _DATA_NAMES[type(value)], **found}
        return found
    if isinstance(value, tuple):
        return [_fields(each) for each in value]
    return value


def _rows_parts(rows: SourceRows) -> Iterable[bytes]:
    small = {
        "source": rows.source,
        "dimensions": rows.dimensions,
        "digest": rows.digest,
        "missing": sorted(rows.missing),
        "names": list(rows.names),
        "values": rows.values,
    }
    yield json_line(small)[:-1]
    yield b',"more":'
    yield json_line(list(rows.more))
    yield b',"codes":'
    if rows.codes is None:
        yield b"null}"
        return
    yield b"["
    for at, codes in enumerate(rows.codes):
        yield b"," if at else b""
        yield _codes(codes)
    yield b"]}"


def _codes(codes: Any) -> bytes:
    """Return positions as a JSON array, independent of the type that stores them."""
    return orjson.dumps(codes.tolist() if hasattr(codes, "tolist") else list(codes))


def _network(fields: dict[str, Any]) -> Network:
    for source in fields["sources"]:
        kind = _DATA[source["data"].pop("made_of")]
        source["data"] = record(kind, source["data"])
    return record(Network, fields)


# A network of a project, read and matched with its sources, before anything runs.
#
# Reads network.toml, the sources' files and workflow.toml, and gives the flow of samples or all
# problems. A run keeps a snapshot of the network and its rows, and builds the flow from the
# snapshot.


_SHOWN = 5


class Study(NamedTuple):
    """A valid network. `problems` are warnings; `notices` report entries that sources left out."""

    network: Network
    rows: Mapping[str, SourceRows]
    flow: Flow
    problems: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()


def read_study(project: OpenProject) -> Study:
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
    project: OpenProject,
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
