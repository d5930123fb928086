"""stub"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rowtui.core.network.growth import Growth
    from rowtui.core.project.project import Project


def ranks_of(project: Project, growth: Growth, priority: str) -> np.ndarray:
    return np.arange(len(growth.graph), dtype=np.int32)
