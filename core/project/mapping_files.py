"""Whether a project has any mapping file, and the paths that show changes of mapping files.

As long as there are no mapping files, the modules that parse them are not imported.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.files import own_config_folder

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

_NAMES = ("mapping.yml", "mapping.yaml")


def has_mapping_files(root: Path, environment: Mapping[str, str]) -> bool:
    """Whether `find_sources` would find any mapping file, even an unreadable one."""
    if any(os.path.lexists(root / name) for name in _NAMES):
        return True
    own = own_config_folder(environment)
    return own is not None and os.path.lexists(own / "mapping")


def mapping_paths(project: Project) -> tuple[Path, ...]:
    """Return the paths to watch for mapping files that are made, edited, deleted or trusted.

    Files that are included by mapping files are among these once the mapping files were read.
    """
    root, environment = project.root, project.environment
    paths = [root / name for name in _NAMES]
    own = own_config_folder(environment)
    if own is not None:
        paths.append(own / "mapping")
    if has_mapping_files(root, environment):
        from rowtui.core.mapping.files.source_places import user_places

        paths.append(user_places(environment).trust)
        if own is not None:
            with contextlib.suppress(OSError):
                paths += sorted(path for path in (own / "mapping").iterdir() if path.is_file())
        paths += map(Path, known_mapping_places(project))
    return tuple(dict.fromkeys(paths))


def known_mapping_places(project: Project) -> tuple[str, ...]:
    """Return the mapping files on disk, as far as they were read already, without reading."""
    mapping = vars(project).get("mapping")
    return () if mapping is None else mapping.known_places()
