"""Build a network in Python instead of network.toml.

    Build("study").source("state", temperature=[1.0, 2.0], replica=range(5))
    .node("simulate", "state").node("average", "simulate", collapse=["replica"]).network()

The result is parsed like the content of a file, so the same rules apply and the same problems are
reported, without lines and columns. `to_toml` writes the network as network.toml.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Final, Literal

from rowtui.core.base.errors import Problem
from rowtui.core.base.text import visible
from rowtui.core.network.definition.load import LoadedNetwork, from_tables
from rowtui.core.network.definition.spec import JSON, Network
from rowtui.core.network.definition.write import to_toml
from rowtui.core.workflow.positions import KeyPath
from rowtui.core.workflow.toml_file import TomlFile

__all__ = ["Build", "InputLike", "link", "linspace", "logspace", "to_toml"]

InputLike = str | Mapping[str, JSON] | Sequence[str | Mapping[str, JSON]]
Table = dict[str, JSON]

_DEEPEST: Final = 40  # levels that are converted to plain values; deeper values are refused later


def link(
    source: str,
    *,
    output: str | None = None,
    select: int | str | None = None,
    collapse: Iterable[str] = (),
    expand: str | None = None,
    require: float | Literal["all"] | None = None,
    group: str | None = None,
) -> Table:
    """Return a link into an input, for `inputs` of `Build.node`: its keys as in network.toml."""
    return _given(
        {
            "from": source,
            "output": output,
            "select": select,
            "collapse": _some(collapse),
            "expand": expand,
            "require": require,
            "group": group,
        }
    )


def linspace(start: float, stop: float, number: int) -> Table:
    """Return `number` values at equal distances, from `start` to `stop`."""
    return {"linspace": [start, stop, number]}


def logspace(start: float, stop: float, number: int) -> Table:
    """Return `number` values with equal ratios, from `start` to `stop`."""
    return {"logspace": [start, stop, number]}


class Build:
    """Builds a network. Each method adds one thing and returns the builder.

    Nothing is checked before `network()`.
    """

    def __init__(self, name: str = "network") -> None:
        self._name = name
        self._sources: list[Table] = []
        self._nodes: list[Table] = []
        self._sinks: list[Table] = []
        self._schedule: Table = {}

    def source(
        self,
        name: str,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        zipped: Iterable[Sequence[str]] = (),
        **dimensions: Any,
    ) -> Build:
        """Add a source of values: for each dimension a list, a `range`, `linspace` or `logspace`.

        `values` are dimensions whose names are not Python names. Dimensions in one set of `zipped`
        vary together; all others are crossed.
        """
        made = {key: _dimension(it) for key, it in {**(values or {}), **dimensions}.items()}
        sets = [list(names) if not isinstance(names, str) else names for names in zipped]
        self._sources.append(_given({"name": name, "zip": sets or None, "values": made}))
        return self

    def csv(self, name: str, path: str | os.PathLike[str], dimensions: Iterable[str] = ()) -> Build:
        """Add a source whose rows are in a CSV file, relative to the project."""
        return self._file(name, "csv", path, dimensions)

    def json(
        self, name: str, path: str | os.PathLike[str], dimensions: Iterable[str] = ()
    ) -> Build:
        """Add a source whose rows are in a JSON file, relative to the project."""
        return self._file(name, "json", path, dimensions)

    def _file(
        self, name: str, kind: str, path: str | os.PathLike[str], dimensions: Iterable[str]
    ) -> Build:
        fields = {"name": name, kind: os.fspath(path), "dimensions": _some(dimensions)}
        self._sources.append(_given(fields))
        return self

    def files(self, name: str, pattern: str, dimension: str | None = None) -> Build:
        """Add a source with a sample for each file that matches a pattern."""
        self._sources.append(_given({"name": name, "files": pattern, "dimension": dimension}))
        return self

    def workspace(
        self, name: str, include: Iterable[str] = (), dimensions: Iterable[str] = ()
    ) -> Build:
        """Add a source of directories that are in the workspace already."""
        patterns = _some(include)
        made = True if patterns is None else {"include": patterns}
        fields = {"name": name, "workspace": made, "dimensions": _some(dimensions)}
        self._sources.append(_given(fields))
        return self

    def node(
        self,
        name: str,
        from_: str | Sequence[str] | None = None,
        *,
        inputs: Mapping[str, InputLike] | None = None,
        action: str | None = None,
        output: str | None = None,
        select: int | str | None = None,
        collapse: Iterable[str] = (),
        expand: str | None = None,
        require: float | Literal["all"] | None = None,
        combine: str | None = None,
        constants: Mapping[str, JSON] | None = None,
        directories: Literal["auto", "own"] | None = None,
    ) -> Build:
        """Add a node.

        Give either `from_`, which is one name (then the keys of its link may be given) or several
        names, or `inputs` by name: each is a name, a `link`, or several of these.
        """
        fields = {
            "name": name,
            "action": action,
            "from": from_,
            "output": output,
            "select": select,
            "collapse": _some(collapse),
            "expand": expand,
            "require": require,
            "inputs": inputs,
            "combine": combine,
            "constants": constants or None,
            "directories": directories,
        }
        self._nodes.append(_given(fields))
        return self

    def sink(self, name: str, from_: str, output: str, publish: str) -> Build:
        """Add a sink: a product of a node, and the template of the path that it is copied to."""
        fields = {"name": name, "from": from_, "output": output, "publish": publish}
        self._sinks.append(_given(fields))
        return self

    def schedule(
        self,
        priority: str | None = None,
        execution: str | None = None,
        *,
        gather: int | None = None,
        gather_walltime: str | None = None,
        pilot: Mapping[str, Any] | None = None,
        ahead: bool | None = None,
    ) -> Build:
        """Set the order of jobs, how they run, and how much goes into one scheduler job.

        `pilot`: what a pilot holds, with the keys of `[schedule.pilot]`. `ahead`: see `Schedule`.
        """
        together = _given({"size": gather, "walltime": gather_walltime}) or None
        fields: dict[str, Any] = {
            "priority": priority,
            "execution": execution,
            "gather": together,
            "pilot": None if pilot is None else dict(pilot),
            "ahead": ahead,
        }
        self._schedule.update(_given(fields))
        return self

    def network(self) -> Network:
        """Return the network. Raises: NetworkError with every problem."""
        return self.loaded().network

    def loaded(self) -> LoadedNetwork:
        """Return the network and the warnings about it. Raises: NetworkError with every problem."""
        tables: Table = {"name": self._name}
        things = {"source": self._sources, "node": self._nodes, "sink": self._sinks}
        tables.update({key: it for key, it in things.items() if it})
        if self._schedule:
            tables["schedule"] = self._schedule
        return from_tables(_Made(tables, f"network '{visible(str(self._name))}'"), "network")


class _Made(TomlFile):
    """Tables that were built in Python: nothing in them has a line."""

    def __init__(self, data: Table, file: str) -> None:
        self.file = file
        self.problems = []
        self.text = ""
        self.data = _plain(data, 0)
        self._offsets = {}

    def problem(
        self,
        path: KeyPath,
        message: str,
        hint: str = "",
        severity: str = "error",
        action: int | None = None,
    ) -> None:
        """Report a problem with the name of its table, because no line number is known."""
        file = self.file
        if len(path) > 1 and isinstance(path[1], int):
            thing = self.data[str(path[0])][path[1]]
            name = thing.get("name") if isinstance(thing, dict) else None
            if isinstance(name, str):
                file = f"{file}, {path[0]} '{visible(name)}'"
        self.problems.append(Problem(file, 0, 0, message, hint, severity, action))


def _given(fields: Mapping[str, Any]) -> Table:
    return {key: value for key, value in fields.items() if value is not None}


def _some(names: Iterable[str]) -> JSON:
    """Return a list, or None for an empty one; a single text stays, so that parsing reports it."""
    return names if isinstance(names, str) else list(names) or None


def _dimension(values: Any) -> JSON:
    if isinstance(values, range):
        return {"range": [values.start, values.stop, values.step]}
    return values


def _plain(value: Any, depth: int) -> JSON:
    """Convert tuples, paths, and numbers and arrays of numpy to the values that TOML would give."""
    if isinstance(value, (str, bool)) or value is None or depth > _DEEPEST:
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each, depth + 1) for key, each in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), depth + 1)
    if isinstance(value, Iterable):
        return [_plain(each, depth + 1) for each in value]
    return value
