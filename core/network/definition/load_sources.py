"""The `values` of a source in network.toml: lists, and equally spaced numbers.

Takes the source's table, gives `Values` as written; problems are recorded in the file object. The
numbers of values and samples are computed without making them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any, Final, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.network.definition.load_tables import (
    NAME_HINT,
    checked_name,
    dimension_fault,
    is_text,
    kind_said,
    name_fault,
    place_of,
    read_default,
    scalar_fault,
)
from rowtui.core.network.definition.network_keys import (
    CHOSEN_KEYS,
    EXTRAS,
    SOURCE_KINDS,
    SPACED_KEYS,
)
from rowtui.core.network.definition.spec import Existing, FileSource, Source, TableSource, Values
from rowtui.core.network.samples.domain import value_key
from rowtui.core.network.samples.model import MOST_SAMPLES
from rowtui.core.network.samples.sources import MOST_VALUES, NotSpacedError, range_length
from rowtui.core.workflow.positions import KeyPath
from rowtui.core.workflow.toml_file import TomlTable, did_you_mean

_MOST_TOLD: Final = 20  # reported problems of one list of values

_VALUES_HINT: Final = "write a list, or { range = 5 }, { linspace = [start, stop, number] }"


def read_values(table: TomlTable, name: str) -> Values | None:
    """Read the `values` of a source, with its `zip`; None if they are not a table."""
    values = table.table("values")
    if values is None:
        return None
    sizes = {}
    together = _named_in_zip(table)
    for dimension in values:
        fault = dimension_fault(dimension) or name_fault(dimension)
        if dimension == "zip" and _is_nested(values.values[dimension]):
            hint = "write `zip` beside `values`, above [source.values]"
            values.problem(dimension, "`zip` is no dimension here", hint)
        elif fault:
            message = f"the dimension '{visible(dimension)}' {fault}"
            values.problem(dimension, message, NAME_HINT if name_fault(dimension) else "")
        else:
            sizes[dimension] = _size(values, dimension, alone=dimension not in together)
    zipped = _zipped(table, sizes)
    _how_many(table, name, sizes, zipped)
    return Values(dict(values.values), zipped)


def _is_nested(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, list) for each in value)


def _named_in_zip(table: TomlTable) -> set[str]:
    sets = table.values.get("zip")
    inner = [each for each in sets if isinstance(each, list)] if isinstance(sets, list) else []
    return {name for names in inner for name in names if isinstance(name, str)}


def _size(values: TomlTable, dimension: str, *, alone: bool) -> int | None:
    """Return the number of a dimension's values; None if it is invalid. `alone`: not zipped."""
    written = values.values[dimension]
    if isinstance(written, list):
        _check_list(values, dimension, written, alone=alone)
        number: int | None = len(written)
    elif isinstance(written, dict):
        number = _spaced(TomlTable(values.file, (*values.path, dimension), written, SPACED_KEYS))
    else:
        hint = _VALUES_HINT
        if isinstance(written, (str, int, float)):
            hint = f"for a single value write {visible(dimension)} = [...]"
        message = f"`{visible(dimension)}` must be a list of values or a table"
        values.problem(dimension, f"{message}, not {kind_said(written)}", hint)
        return None
    if number == 0:
        message = f"`{visible(dimension)}` has no values, so there is nothing to do"
        values.problem(dimension, message, "", "warning")
    return number


def _check_list(values: TomlTable, dimension: str, written: list[Any], *, alone: bool) -> None:
    seen: dict[Hashable, int] = {}
    told = 0
    for index, value in enumerate(written):
        message = scalar_fault(value)
        hint = ""
        if not message:
            first = seen.setdefault(value_key(value), index) if alone else index
            if first == index:
                continue
            message = f"is there already, as number {first + 1}"
            hint = "each value stands for one sample; for repeats add a dimension"
        shown = f"value {index + 1} of `{visible(dimension)}`"
        values.problem((dimension, index), f"{shown} {message}", hint)
        told += 1
        if told == _MOST_TOLD:
            values.problem((dimension, index), "the rest of the list was not looked at")
            return


def _spaced(table: TomlTable) -> int | None:
    """Return how many values `range`, `linspace` or `logspace` makes."""
    noted = len(table.file.problems)
    table.check()
    keys = [key for key in SPACED_KEYS.named if key in table]
    if len(keys) != 1 or len(table.file.problems) > noted:
        if len(table.file.problems) == noted:
            message = f"wanted exactly one of `range`, `linspace` and `logspace`, found {len(keys)}"
            table.problem((), message, _VALUES_HINT)
        return None
    (key,) = keys
    bounds = table.values[key]
    if key == "range" and isinstance(bounds, (int, float)) and not isinstance(bounds, bool):
        bounds = [bounds]
    if not isinstance(bounds, list):
        table.problem(key, f"`{key}` must be {_FORMS[key]}, not {kind_said(bounds)}")
        return None
    allowed = (1, 2, 3) if key == "range" and bounds != table.values[key] else _LENGTHS[key]
    if len(bounds) not in allowed:
        table.problem(key, f"`{key}` must be {_FORMS[key]}, not {len(bounds)} numbers")
        return None
    whole = True
    for index, bound in enumerate(bounds):
        fault = scalar_fault(bound)
        if not fault and isinstance(bound, str | bool):
            fault = f"must be a number, not {kind_said(bound)}"
        if fault:
            whole = False
            where: KeyPath = (key, index) if isinstance(table.values[key], list) else (key,)
            table.problem(where, f"number {index + 1} of `{key}` {fault}")
    if not whole:
        return None
    number = _range_size(table, bounds) if key == "range" else _number(table, key, bounds)
    if number is not None and number > MOST_VALUES:
        message = f"`{key}` makes {number:,} values, more than the {MOST_VALUES:,} that are allowed"
        table.problem(key, message)
        return None
    return number


_LENGTHS: Final = {"range": (2, 3), "linspace": (3,), "logspace": (3,)}
_FORMS: Final = {
    "range": "a number, [start, stop] or [start, stop, step]",
    "linspace": "[start, stop, number]",
    "logspace": "[start, stop, number]",
}


def _range_size(table: TomlTable, bounds: list[Any]) -> int | None:
    try:
        number = range_length(bounds if len(bounds) > 1 else bounds[0])
    except NotSpacedError as error:
        table.problem("range", str(error))
        return None
    if number > 1 and any(isinstance(it, float) for it in bounds):
        start, step = bounds[0], bounds[2] if len(bounds) == 3 else 1
        if _too_close(start, start + step * (number - 1), number):
            table.problem("range", "the step is too small: values would be the same")
            return None
    return number


def _number(table: TomlTable, key: str, bounds: list[Any]) -> int | None:
    start, stop, number = bounds
    if not isinstance(number, int) or number < 1:
        message = f"the third number of `{key}` is how many values there are: at least 1"
        table.problem((key, 2), f"{message}, and an integer")
        return None
    if key == "logspace" and not (start > 0 and stop > 0):
        message = "the ends of `logspace` must be greater than 0"
        table.problem(key, message, "they are the first and the last value, not exponents")
        return None
    if number > 1 and _too_close(start, stop, number):
        shown = f"{number:,} different values from {start} to {stop}"
        table.problem(key, f"`{key}` cannot have {shown}")
        return None
    return number


def _too_close(start: float, stop: float, number: int) -> bool:
    """Whether neighbours among `number` values would be the same double."""
    largest = max(abs(start), abs(stop))
    return abs(stop - start) / (number - 1) < 2 * math.ulp(float(largest))


def _zipped(table: TomlTable, sizes: dict[str, int | None]) -> tuple[tuple[str, ...], ...]:
    sets = table.array("zip") or []
    if sets and all(isinstance(each, str) for each in sets):
        table.problem("zip", "`zip` must be a list of lists", 'write zip = [["a", "b"]]')
        return ()
    good = []
    owner: set[str] = set()
    for index, names in enumerate(sets):
        where: KeyPath = ("zip", index)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            table.problem(where, "each set of `zip` must be a list of dimensions")
            continue
        if len(names) < 2:
            table.problem(where, "each set of `zip` must have at least 2 dimensions")
        for at, name in enumerate(names):
            if name not in table.values["values"]:
                message = f"`zip` has '{visible(name)}', which is no dimension of this source"
                table.problem((*where, at), message, did_you_mean(name, sizes))
            elif name in owner:
                message = f"`zip` has the dimension '{visible(name)}' twice"
                table.problem((*where, at), message)
            owner.add(name)
        known = {name: size for name in names if (size := sizes.get(name)) is not None}
        if len(set(known.values())) > 1:
            shown = ", ".join(f"{visible(name)} {size:,}" for name, size in known.items())
            message = f"dimensions that are zipped must have as many values as each other: {shown}"
            table.problem(where, message)
        elif len(known) == len(names):
            _check_rows(table, where, [table.values["values"][name] for name in names])
        good.append(tuple(names))
    return tuple(good)


def _check_rows(table: TomlTable, where: KeyPath, columns: list[Any]) -> None:
    """Report repeated rows of zipped dimensions; single values may repeat."""
    if not all(isinstance(column, list) for column in columns):
        return  # equally spaced numbers never repeat
    seen: dict[Hashable, int] = {}
    for index, row in enumerate(zip(*columns, strict=True)):
        if any(scalar_fault(value) for value in row):
            return
        first = seen.setdefault(tuple(map(value_key, row)), index)
        if first != index:
            shown = f"values {first + 1} and {index + 1}"
            message = f"zipped dimensions have the same values twice ({shown})"
            hint = "each sample is there once; leave one of them out"
            table.problem(where, message, hint)
            return


def _how_many(
    table: TomlTable, name: str, sizes: dict[str, int | None], zipped: tuple[tuple[str, ...], ...]
) -> None:
    behind = {dimension for names in zipped for dimension in names[1:]}
    number = math.prod(size or 1 for dim, size in sizes.items() if dim not in behind)
    if number > MOST_SAMPLES:
        message = f"source '{visible(name)}' makes {number:,} samples"
        table.problem("values", f"{message}, more than the {MOST_SAMPLES:,} that are allowed")


# The `[[source]]` tables of network.toml, and the values that they may have.
#
# Takes tables, gives `Source`s; problems are recorded in the file object.


_KIND_HINT: Final = "give it one of `values`, `csv`, `json`, `files` and `workspace`"


class ReadSource(NamedTuple):
    """A source; `sound`: whether it has no errors, so that its dimensions are as intended."""

    source: Source
    sound: bool


NO_DATA: Final = Values({})  # of a source whose data a link into its network gives


def read_source(table: TomlTable, *, is_part: bool = False) -> ReadSource:
    """Read one source; its name is "" if it has none. `is_part`: it may have `NO_DATA`."""
    noted = len(table.file.problems)
    name = checked_name(table, "a source")
    kinds = [kind for kind in SOURCE_KINDS if kind in table]
    data: Values | TableSource | FileSource | Existing | None = None
    default = read_default(table)
    if len(kinds) == 1:
        data = _READERS[kinds[0]](table, name)
        _needless(table, kinds[0])
    elif kinds:
        message = f"source '{visible(name)}' has {' and '.join(f'`{it}`' for it in kinds)}"
        hint = "take one out, or make two sources; a node joins them"
        table.problem(kinds[1], f"{message}, but one source has one kind of data", hint)
    elif default is not None:
        data = Values({name: [value] for name, value in default.items()})
    elif not is_part:
        table.problem((), f"source '{visible(name)}' has no data", _KIND_HINT)
    wrong = any(it.severity == "error" for it in table.file.problems[noted:])
    source = Source(name, data or NO_DATA, place_of(table, "name"), default)
    return ReadSource(source, not wrong)


def _needless(table: TomlTable, kind: str) -> None:
    for key, kinds in EXTRAS.items():
        if key in table and kind not in kinds:
            expected = " or ".join(f"`{it}`" for it in kinds)
            hint = did_you_mean(key, [it for it, them in EXTRAS.items() if kind in them])
            table.problem(key, f"`{key}` goes with {expected}, not with `{kind}`", hint)


def _read_csv(table: TomlTable, _: str) -> TableSource | None:
    path = _path(table, "csv")
    return None if path is None else TableSource(path, "csv", _dimensions(table))


def _read_json(table: TomlTable, _: str) -> TableSource | None:
    path = _path(table, "json")
    return None if path is None else TableSource(path, "json", _dimensions(table))


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


def _read_files(table: TomlTable, name: str) -> FileSource | None:
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
    return FileSource(pattern, name if dimension is None else dimension)


def _read_workspace(table: TomlTable, _: str) -> Existing | None:
    written = table.values["workspace"]
    include: tuple[str, ...] = ()
    if isinstance(written, dict):
        patterns = TomlTable(table.file, (*table.path, "workspace"), written, CHOSEN_KEYS)
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


_READERS: Final[
    dict[str, Callable[[TomlTable, str], Values | TableSource | FileSource | Existing | None]]
] = {
    "values": read_values,
    "csv": _read_csv,
    "json": _read_json,
    "files": _read_files,
    "workspace": _read_workspace,
}
