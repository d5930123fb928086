"""JSON data that expressions can read like ordinary data, and cannot change.

The values of directories and the parameters of jobs are shared between many evaluations; code that
changed them would change the results for other jobs. They are real dicts and lists (subclasses
whose changing methods raise), because expressions test `isinstance(x, dict)`, compare with
`[1, 2]`, call `.get` and pass them to json: a MappingProxyType is no dict, and a tuple equals no
list. Results of `dict(x)`, `x + [1]`, slices and copies can be changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from rowtui.core.base.errors import RowtuiError


class ReadOnlyError(RowtuiError, TypeError):
    """Code tried to change a read-only object."""


def _refuse(*_: object, **__: object) -> NoReturn:
    raise ReadOnlyError(
        "values, parameters and the objects that expressions are shown can only be read",
        "take a copy: dict(...), list(...), copy.deepcopy(...)",
    )


class ReadOnlyDict(dict[str, Any]):
    """A read-only dict."""

    __slots__ = ()

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        """Return a plain, independent copy."""
        return {key: _plain(value) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain data."""
        return _plain, (dict(self),)


class ReadOnlyList(list[Any]):
    """A read-only list."""

    __slots__ = ()

    __setitem__ = __delitem__ = append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = _refuse

    __iadd__ = __imul__ = _refuse

    def __deepcopy__(self, memo: object) -> list[Any]:
        """Return a plain, independent copy."""
        return [_plain(value) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain data."""
        return _plain, (list(self),)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def read_only(value: Any) -> Any:
    """Return the same data, read-only at all depths; a value that is no container is unchanged."""
    if isinstance(value, tuple):
        return tuple(read_only(each) for each in value)
    top = _shell(value)
    if top is None:
        return value
    # The loop avoids recursion, because files may nest values to any depth.
    todo: list[tuple[Any, Any]] = [(top, value)]
    while todo:
        new, old = todo.pop()
        if isinstance(new, ReadOnlyDict):
            for key, each in old.items():
                shell = _shell(each)
                if shell is not None:
                    todo.append((shell, each))
                dict.__setitem__(new, key, each if shell is None else shell)
        else:
            for each in old:
                shell = _shell(each)
                if shell is not None:
                    todo.append((shell, each))
                list.append(new, each if shell is None else shell)
    return top


def _shell(value: Any) -> ReadOnlyDict | ReadOnlyList | None:
    """Return an empty read-only container for a value; None if the value needs none."""
    kind = type(value)
    if kind is dict:
        return ReadOnlyDict()
    if kind is list:
        return ReadOnlyList()
    if kind in {str, int, float, bool, type(None), ReadOnlyDict, ReadOnlyList}:
        return None
    if isinstance(value, Mapping):
        return ReadOnlyDict()
    return ReadOnlyList() if isinstance(value, (list, tuple)) else None
