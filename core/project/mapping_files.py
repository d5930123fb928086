"""Whether a project has any mapping file, without loading what reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rowtui.core.clusters.load import own_config_folder


def has_mapping_files(root: Path, environment: Mapping[str, str]) -> bool:
    """Whether `find_sources` would find anything at all, be it unreadable."""
    if any(os.path.lexists(root / name) for name in ("mapping.yml", "mapping.yaml")):
        return True
    own = own_config_folder(environment)
    return own is not None and os.path.lexists(own / "mapping")
