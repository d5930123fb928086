"""The classes of the views.

A class is loaded when its view is first shown, so that the start loads one view.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import cast

from rowtui.tui.views.view import ScreenView

VIEW_CLASSES = {
    "status": "StatusView",
    "groups": "GroupsView",
    "explain": "ExplainView",
    "pack": "PackView",
    "submit": "SubmitView",
    "queue": "QueueView",
    "log": "LogView",
    "network": "NetworkScreen",
    "past": "PastScreen",
    "clusters": "ClustersScreen",
}
"""By the name of the view, which is also the name of its folder."""


def view_class(name: str) -> type[ScreenView]:
    """Return the class of the view with this name."""
    module = import_module(f"rowtui.tui.views.{name}.view")
    return cast("type[ScreenView]", getattr(module, VIEW_CLASSES[name]))


def looks_of(name: str) -> Path:
    """Return the style file of the view with this name; its class is loaded as well."""
    # Textual resolves links: with another path, the file would be read again when the view opens.
    return Path(inspect.getfile(view_class(name))).with_suffix(".tcss").resolve()


def open_view(name: str) -> ScreenView:
    """Return a new screen of the view with this name."""
    return view_class(name)()
