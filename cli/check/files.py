"""The kinds of files that users write, where they are, and `rowtui schema`, which prints schemas.

A kind names the declaration of its keys, which is imported only if its schema is wanted.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.cli.output.output import Output, TextColumn, table_lines
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import own_config_folder, row_config_folder
from rowtui.core.base.text import visible
from rowtui.core.workflow.find import PROJECT_FILES
from rowtui.core.workflow.toml_file import did_you_mean
from rowtui.core.workflow.toml_keys import file_schema

ROW_FOLDER = "row"  # of Row's own clusters.toml, below ~/.config
THEMES = "themes"
MAPPING = "mapping"


class FileKind(NamedTuple):
    """One kind of file. `place`: the usual one; `declared`: module and name of its keys, or of the
    function that returns its keys or its schema.
    """

    place: str
    declared: str


_ROW, _OWN = "~/.config/row", "~/.config/rowtui"
_CLUSTERS = "core.clusters.config"
KINDS: Mapping[str, FileKind] = {
    "workflow": FileKind("workflow.toml", "core.workflow.parse:WORKFLOW_KEYS"),
    "network": FileKind("network.toml", "core.network.definition.network_keys:NETWORK_KEYS"),
    "mapping": FileKind("mapping.yml", "core.mapping.files.schema:mapping_schema"),
    "rowtui": FileKind("rowtui.toml", "core.project.retry_policy:POLICY_KEYS"),
    "mirror": FileKind("mirror.toml", "core.mirror.selection:MIRROR_KEYS"),
    "clusters": FileKind(f"{_OWN}/clusters.toml", f"{_CLUSTERS}.cluster_keys:CLUSTER_KEYS"),
    "row-clusters": FileKind(f"{_ROW}/clusters.toml", f"{_CLUSTERS}.cluster_keys:ROW_CLUSTER_KEYS"),
    "launchers": FileKind(f"{_ROW}/launchers.toml", f"{_CLUSTERS}.load_launchers:LAUNCHER_KEYS"),
    "messages": FileKind(f"{_OWN}/messages.toml", "core.messages.settings:MESSAGE_KEYS"),
    "keys": FileKind(f"{_OWN}/keys.toml", "tui.shell.keymap:keymap_keys"),
    "commands": FileKind(f"{_OWN}/commands.toml", "tui.shell.own_commands:OWN_COMMAND_KEYS"),
    "theme": FileKind(f"{_OWN}/themes/*.toml", "tui.shell.themes:THEME_KEYS"),
}


def kind_of(path: Path) -> str | None:
    """Return the kind of a file by its name and the name of its folder; None if it has none."""
    folder = path.parent.name
    if folder == THEMES and path.suffix == ".toml":
        return "theme"
    if path.name in PROJECT_FILES or (folder == MAPPING and path.suffix in (".yml", ".yaml")):
        return "mapping"
    if path.name == "clusters.toml" and folder == ROW_FOLDER:
        return "row-clusters"
    found = (name for name, kind in KINDS.items() if os.path.basename(kind.place) == path.name)
    return next(found, None)


def named_files(paths: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield the kinds and paths of these files, and of the project's files in these folders."""
    for path in map(Path, dict.fromkeys(paths)):
        if path.is_dir():
            yield from _existing(path, (*_names_in(""), *PROJECT_FILES))
        else:
            yield kind_of(path.absolute()) or "", path


def own_files(root: Path | None) -> Iterator[tuple[str, Path]]:
    """Yield those of the project at `root` and of the user, without mapping files."""
    row, own = row_config_folder(os.environ), own_config_folder(os.environ)
    for folder, place in ((root, ""), (row, _ROW), (own, _OWN)):
        yield from _existing(folder, _names_in(place)) if folder is not None else ()
    for path in sorted((own / THEMES).glob("[!.]*.toml")) if own is not None else ():
        yield "theme", path


def _names_in(folder: str) -> list[str]:
    """Return the names of the files whose usual place is this folder, without mapping files."""
    places = [kind.place for name, kind in KINDS.items() if name != MAPPING]
    return [os.path.basename(it) for it in places if os.path.dirname(it) == folder]


def _existing(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, Path]]:
    for path in (folder / name for name in names):
        if os.path.lexists(path):
            yield kind_of(path) or "", path


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of one kind of file."""
    kind = KINDS[name]
    module, _, attribute = kind.declared.partition(":")
    declared = getattr(import_module(f"rowtui.{module}"), attribute)
    if callable(declared):
        declared = declared()
    if isinstance(declared, dict):
        return declared
    return file_schema(kind.place, declared)


def print_schema(args: argparse.Namespace, out: Output) -> int:
    """Print one schema, or the names of all."""
    name = getattr(args, "schema", MAPPING)  # `rowtui mapping schema` has no name
    if name is not None:
        if name not in KINDS:
            hint = did_you_mean(name, KINDS) or "'rowtui schema' lists the names"
            raise RowtuiError(f"there is no schema '{visible(name)}'", hint)
        out.print(json.dumps(schema_of(name), indent=2))
        return 0
    rows = [(name, kind.place) for name, kind in KINDS.items()]
    out.lines(table_lines((TextColumn("Name"), TextColumn("File")), rows, out))
    return 0
