"""rowtui: thousands of directories through workflows on HPC clusters.

`Project` opens a project in Python, `AsyncProject` in a coroutine (docs/python.md). The program
`rowtui` is in `rowtui.cli`, the dashboard in `rowtui.tui`. Nothing is loaded before it is used.
"""

from importlib import import_module

from rowtui.core import __version__

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without importing typing

if TYPE_CHECKING:
    from typing import Any

    from rowtui.async_project import AsyncProject
    from rowtui.core.base.document import document
    from rowtui.core.base.errors import RowtuiError
    from rowtui.project import Confirmation, Plan, Project, Status

__all__ = [
    "AsyncProject",
    "Confirmation",
    "Plan",
    "Project",
    "RowtuiError",
    "Status",
    "__version__",
    "document",
]

_HOMES = {
    "AsyncProject": "rowtui.async_project",
    "RowtuiError": "rowtui.core.base.errors",
    "document": "rowtui.core.base.document",
}


def __getattr__(name: str) -> "Any":
    if name.startswith("_") or name not in __all__:
        raise AttributeError(f"module 'rowtui' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "rowtui.project")), name)
