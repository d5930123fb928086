"""The class of each view, loaded when the view is first shown: the person waits for one of them."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rowtui.tui.screens.view import View

VIEW_CLASSES = {
    "status": "StatusView",
    "groups": "GroupsView",
    "explain": "ExplainView",
    "pack": "PackView",
    "submit": "SubmitView",
    "queue": "QueueView",
    "log": "LogView",
    "network": "NetworkScreen",
    "clusters": "ClustersScreen",
}
"""By the name of the view, which is that of its module as well."""


def view_class(name: str) -> type[View]:
    """The class of the view with this name."""
    module = import_module(f"rowtui.tui.screens.{name}")
    return cast("type[View]", getattr(module, VIEW_CLASSES[name]))


def looks_of(name: str) -> Path:
    """The file that says how the view with this name looks; its class is loaded as well."""
    # Textual follows links: another path would be another source of looks, read when it opens.
    return Path(inspect.getfile(view_class(name))).with_suffix(".tcss").resolve()


def open_view(name: str) -> View:
    """A new screen of the view with this name."""
    return view_class(name)()
