"""The `[[source]]` tables of network.toml, and the values that they may have.

Takes tables, gives `Source`s; problems are recorded in the file object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.network.definition.allowed import NAME_HINT, dimension_fault, kind_said, name_fault
from rowtui.core.network.definition.load_tables import checked_name, is_text, place_of
from rowtui.core.network.definition.load_values import read_values
from rowtui.core.network.definition.spec import Existing, Files, Source, Table, Values
from rowtui.core.workflow.toml_file import TomlTable, did_you_mean

_KINDS: Final = ("values", "csv", "json", "files", "workspace")
_EXTRAS: Final = {
    "zip": ("values",),
    "dimensions": ("csv", "json", "workspace"),
    "dimension": ("files",),
}
_KIND_HINT: Final = "give it one of `values`, `csv`, `json`, `files` and `workspace`"


class ReadSource(NamedTuple):
    """A source; `sound`: whether it has no errors, so that its dimensions are as intended."""

    source: Source
    sound: bool


def read_source(table: TomlTable) -> ReadSource:
    """Read one source; its name is "" if it has none."""
    noted = len(table.file.problems)
    table.only(("name", *_KINDS, *_EXTRAS))
    name = checked_name(table, "a source")
    kinds = [kind for kind in _KINDS if kind in table]
    data: Values | Table | Files | Existing | None = None
    if len(kinds) == 1:
        data = _READERS[kinds[0]](table, name)
        _needless(table, kinds[0])
    elif kinds:
        message = f"source '{visible(name)}' has {' and '.join(f'`{it}`' for it in kinds)}"
        hint = "take one out, or make two sources; a node joins them"
        table.problem(kinds[1], f"{message}, but one source has one kind of data", hint)
    else:
        table.problem((), f"source '{visible(name)}' has no data", _KIND_HINT)
    wrong = any(it.severity == "error" for it in table.file.problems[noted:])
    source = Source(name, data or Values({}), place_of(table, "name"))
    return ReadSource(source, data is not None and not wrong)


def _needless(table: TomlTable, kind: str) -> None:
    for key, kinds in _EXTRAS.items():
        if key in table and kind not in kinds:
            expected = " or ".join(f"`{it}`" for it in kinds)
            hint = did_you_mean(key, [it for it, them in _EXTRAS.items() if kind in them])
            table.problem(key, f"`{key}` goes with {expected}, not with `{kind}`", hint)


def _read_csv(table: TomlTable, _: str) -> Table | None:
    path = _path(table, "csv")
    return None if path is None else Table(path, "csv", _dimensions(table))


def _read_json(table: TomlTable, _: str) -> Table | None:
    path = _path(table, "json")
    return None if path is None else Table(path, "json", _dimensions(table))


def _path(table: TomlTable, key: str) -> str | None:
    path = table.string(key)
    if path is None:
        return None
    if not path or "\0" in path or not is_text(path):
        hint = "give the path of a file, relative to the project"
        table.problem(key, f"`{key}` is not the name of a file", hint)
        return None
    return path


def _dimensions(table: TomlTable) -> tuple[str, ...]:
    names = table.strings("dimensions") or ()
    for index, name in enumerate(names):
        fault = dimension_fault(name) or ("is there twice" if name in names[:index] else "")
        if fault:
            table.problem(("dimensions", index), f"the dimension '{visible(name)}' {fault}")
    return names


def _read_files(table: TomlTable, name: str) -> Files | None:
    pattern = table.string("files")
    if pattern is None:
        return None
    parts = pattern.split("/")
    fault = ""
    if not pattern or "\0" in pattern or not is_text(pattern):
        fault = "is not a pattern of files"
    elif pattern.startswith("/"):
        fault = "is absolute, and patterns are relative to the project"
    elif any("**" in part and part != "**" for part in parts):
        fault = "has `**` beside something else between two slashes"
    if fault:
        hint = 'write files = "data/*.nii", or "data/**/*.nii" for all folders below'
        table.problem("files", f"the pattern '{visible(pattern)}' {fault}", hint)
        return None
    dimension = table.string("dimension")
    if dimension is not None:
        fault = dimension_fault(dimension) or name_fault(dimension)
        if fault:
            message = f"the dimension '{visible(dimension)}' {fault}"
            table.problem("dimension", message, NAME_HINT if name_fault(dimension) else "")
    return Files(pattern, name if dimension is None else dimension)


def _read_workspace(table: TomlTable, _: str) -> Existing | None:
    written = table.values["workspace"]
    include: tuple[str, ...] = ()
    if isinstance(written, dict):
        patterns = table.table("workspace")
        assert patterns is not None
        patterns.only(("include",))
        include = patterns.strings("include") or ()
        for index, pattern in enumerate(include):
            if not pattern or "\0" in pattern or not is_text(pattern):
                patterns.problem(("include", index), "a pattern of names must not be empty")
    elif written is not True:
        said = "false" if written is False else kind_said(written)
        table.problem(
            "workspace",
            f"`workspace` must be true or a table, not {said}",
            'write workspace = true, or { include = ["a*"] } for some of the directories',
        )
        return None
    return Existing(_dimensions(table), include)


_READERS: Final[dict[str, Callable[[TomlTable, str], Values | Table | Files | Existing | None]]] = {
    "values": read_values,
    "csv": _read_csv,
    "json": _read_json,
    "files": _read_files,
    "workspace": _read_workspace,
}
