"""Find where in the user's files each cluster is described, for users who want to edit it.

The input is the environment, which determines the files; the result is the name, file and line of
every entry, including entries that only add something. Files that cannot be read are left out:
`load_clusters` reports their errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import own_config_folder, read_bounded, row_config_folder
from rowtui.core.base.text import visible
from rowtui.core.clusters.config.load import LARGEST_FILE
from rowtui.core.workflow.toml_file import TomlFile


class Place(NamedTuple):
    """One `[[cluster]]` entry. `file`: safe to show."""

    name: str
    file: str
    line: int

    def __str__(self) -> str:
        """Return file and line, such as `/home/me/.config/rowtui/clusters.toml:12`."""
        return f"{self.file}:{self.line}" if self.line else self.file


def cluster_places(environ: Mapping[str, str]) -> tuple[Place, ...]:
    """Return every entry of Row's file, then of rowtui's file, in their order."""
    found = []
    for folder in (row_config_folder(environ), own_config_folder(environ)):
        if folder is None:
            continue
        path = folder / "clusters.toml"
        try:
            file = TomlFile(read_bounded(path, LARGEST_FILE), visible(str(path)))
        except (OSError, RowtuiError):
            continue
        for table in file.top.tables("cluster") or ():
            name = table.values.get("name")
            if isinstance(name, str):
                found.append(Place(name, file.file, file.locate(table.path)[0]))
    return tuple(found)
