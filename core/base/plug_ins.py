"""Plug-ins: objects that installed packages offer through entry points.

Each kind of plug-in has a `PlugIns` with the name of its group of entry points. Entry points are
read when a plug-in is looked up, and a package is imported only when its plug-in is loaded. A
package that fails in any way gives a `PlugInError` that names the plug-in and its origin, without
the text of the package's own error, which might contain a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import similar, visible

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class PlugInError(RowtuiError):
    """A plug-in cannot be used. `name`: its name; `why`: the reason, without the name."""

    def __init__(self, message: str, name: str, why: str, hint: str) -> None:
        super().__init__(message, hint)
        self.name = name
        self.why = why


class PlugIns(NamedTuple):
    """One kind of plug-in.

    `group`: the group of entry points; `noun`: what a user calls one such plug-in; `accepts`:
    whether an object can be used as one; `error`: the error of `find`; `explained`: errors with
    which a plug-in explains that it cannot work, so that their texts are shown.
    """

    group: str
    noun: str
    accepts: Callable[[Any], bool]
    error: type[RowtuiError] = RowtuiError
    explained: tuple[type[RowtuiError], ...] = ()

    def names(self) -> tuple[str, ...]:
        """Return the names of the installed plug-ins, in alphabetical order."""
        return tuple(sorted(self._points()))

    def load(self, name: str, *, call: bool = True) -> Any:
        """Return the object that the entry point names, or with `call` the result of calling it.

        Raises: PlugInError, KeyError for a name that is not installed.
        """
        point = self._points()[name]
        try:
            found = point.load()
            made = found() if call else found
            usable = self.accepts(made)
        except self.explained as error:
            raise PlugInError(error.message, name, error.message, error.hint) from None
        except (Exception, SystemExit) as error:  # any failure of another package
            why = f"failed with {type(error).__name__}"
            message = f"the {self.noun} '{visible(name)}' {why}"
            raise PlugInError(message, name, f"its plug-in {why}", _origin(point)) from None
        if not usable:
            why = f"{'makes' if call else 'is'} no {self.noun}"
            message = f"'{visible(name)}' {why}"
            raise PlugInError(message, name, f"its plug-in {why}", _origin(point))
        return made

    def find(self, name: str, built_in: Iterable[str], *, call: bool = True) -> Any:
        """Return the installed plug-in with a name that is not built in.

        Raises: `error`, if the plug-in is missing or not usable.
        """
        installed = self.names()
        if name in installed:
            try:
                return self.load(name, call=call)
            except PlugInError as error:
                raise self.error(error.message, error.hint) from None
        names = sorted({*built_in, *installed})
        near = similar(name, names)
        raise self.error(
            f"there is no {self.noun} '{visible(name)}'",
            (f"did you mean '{visible(near[0])}'? " if near else "")
            + f"there are: {', '.join(map(visible, names))}",
        )

    def load_all(self, taken: Container[str]) -> tuple[list[Any], list[PlugInError]]:
        """Return all installed plug-ins that are usable, and why the others are not.

        `taken`: the names of built-in ones, which no plug-in may give itself.
        """
        made, failed = [], []
        for name, point in sorted(self._points().items()):
            try:
                one = self.load(name)
            except PlugInError as error:
                failed.append(error)
                continue
            if one.name in taken:
                why = f"the plug-in calls itself '{visible(one.name)}', which is ours"
                failed.append(PlugInError(f"'{visible(name)}': {why}", name, why, _origin(point)))
            else:
                made.append(one)
        return made, failed

    def origin(self, name: str) -> str:
        """Return where an installed plug-in comes from, as a hint for the user."""
        return _origin(self._points()[name])

    def _points(self) -> dict[str, EntryPoint]:
        """Return the entry points by name; of two with the same name, rowtui's own."""
        # Imported here, because this module takes longer to import than a short command may.
        from importlib.metadata import entry_points

        found: dict[str, EntryPoint] = {}
        points = entry_points(group=self.group)
        for point in sorted(points, key=lambda it: not it.value.startswith("rowtui.")):
            found.setdefault(point.name, point)
        return found


def _origin(point: EntryPoint) -> str:
    return f"it comes from {visible(point.value)}; correct or uninstall it"


def has_texts(made: object, *methods: str) -> bool:
    """Whether an object has a name and a summary, both strings, and these methods."""
    return (
        isinstance(getattr(made, "name", None), str)
        and isinstance(getattr(made, "summary", None), str)
        and all(callable(getattr(made, method, None)) for method in methods)
    )
