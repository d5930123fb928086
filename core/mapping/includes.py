"""Which other files a mapping file names in `global.include`.

Takes the bytes of a file; gives the entries with their places, and what is wrong with that key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rowtui.core.errors import InvalidFileError, Problem


class Include(NamedTuple):
    """One entry of `global.include` and where it is written."""

    name: str
    file: str
    line: int
    column: int


ReadIncludes = Callable[[bytes, str], tuple[tuple[Include, ...], tuple[Problem, ...]]]


def read_includes(data: bytes, file: str) -> tuple[tuple[Include, ...], tuple[Problem, ...]]:
    """What `global.include` of a mapping file names, and what is wrong with that key alone.

    Everything else that is wrong with the file is left to its loader.
    """
    if b"include" not in data:
        return (), ()
    from rowtui.core.mapping.yaml_text import Items, Scalar, Table, read_yaml

    try:
        root = read_yaml(data, file)
    except InvalidFileError:
        return (), ()
    settings = root.entries.get("global") if isinstance(root, Table) else None
    entry = (
        settings[1].entries.get("include") if settings and isinstance(settings[1], Table) else None
    )
    if entry is None or (isinstance(entry[1], Scalar) and entry[1].value is None):
        return (), ()
    found: list[Include] = []
    problems: list[Problem] = []
    for node in entry[1].items if isinstance(entry[1], Items) else [entry[1]]:
        _, line, column = node.place
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value:
            found.append(Include(node.value, file, line, column))
        else:
            message = "`include` names something that is not a file, a folder or an https URL"
            hint = "include: [tools.yml, site/, https://example.org/mapping.yml]"
            problems.append(Problem(file, line, column, message, hint))
    return tuple(found), tuple(problems)
