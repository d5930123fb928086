"""Find the other files that a mapping file names in `global.include`.

The input is the bytes of a file; the output is the entries with their places, and the problems of
this key. Entries are paths or URLs.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urljoin

from rowtui.core.base.errors import InvalidFileError, Problem
from rowtui.core.mapping.yaml.nodes import Items, Scalar, YamlTable
from rowtui.core.mapping.yaml.text import read_yaml


class Include(NamedTuple):
    """One entry of `global.include` and its place."""

    name: str
    file: str
    line: int
    column: int


def read_includes(data: bytes, file: str) -> tuple[tuple[Include, ...], tuple[Problem, ...]]:
    """Return the files that `global.include` names, and only the problems of this key.

    Other problems of the file are reported when it is loaded.
    """
    if b"include" not in data:
        return (), ()
    try:
        root = read_yaml(data, file)
    except InvalidFileError:
        return (), ()
    settings = root.entries.get("global") if isinstance(root, YamlTable) else None
    entry = (
        settings[1].entries.get("include")
        if settings and isinstance(settings[1], YamlTable)
        else None
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


def _is_url(name: str) -> bool:
    """Whether a name is a URL, including URLs of kinds that are not fetched."""
    return "://" in name or name.lower().startswith(("https:", "http:", "file:", "ftp:"))


def _joined(url: str, name: str) -> str:
    """Return the URL of a name in a file from a URL: never a file of this machine."""
    try:
        return urljoin(url, name)
    except ValueError:
        return name


def _unreadable(data: bytes) -> str:
    """Return why new content is no YAML map; "" if it is one."""
    try:
        root = read_yaml(data, "it")
    except InvalidFileError as error:
        return str(error.problems[0])
    return "" if isinstance(root, YamlTable) else "it is not a YAML map"
