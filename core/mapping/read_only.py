"""JSON data that expressions can read like any other, and not change.

The values of directories and the parameters of jobs are shared between many evaluations; code that
changed them would change the answer for other jobs. They are real dicts and lists all the same
(subclasses whose changing methods raise), because expressions ask `isinstance(x, dict)`, compare
with `[1, 2]`, call `.get` and pass them to json: a MappingProxyType is no dict, and a tuple equals
no list. What is made of them (`dict(x)`, `x + [1]`, slices, copies) can be changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from rowtui.core.errors import RowtuiError


class ReadOnlyError(RowtuiError, TypeError):
    """Code tried to change what it may only read."""


def _refuse(*_: object, **__: object) -> NoReturn:
    raise ReadOnlyError(
        "values, parameters and the objects that expressions are shown can only be read",
        "take a copy: dict(...), list(...), copy.deepcopy(...)",
    )


class ReadOnlyDict(dict[str, Any]):
    """A dict that stays as it is."""

    __slots__ = ()

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        """Plain and all its own."""
        return {key: _plain(value) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        """To other processes it travels as plain data."""
        return _plain, (dict(self),)


class ReadOnlyList(list[Any]):
    """A list that stays as it is."""

    __slots__ = ()

    __setitem__ = __delitem__ = append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = _refuse

    __iadd__ = __imul__ = _refuse

    def __deepcopy__(self, memo: object) -> list[Any]:
        """Plain and all its own."""
        return [_plain(value) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        """To other processes it travels as plain data."""
        return _plain, (list(self),)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def read_only(value: Any) -> Any:
    """The same data, read-only in all its depths. What is no map, list or tuple is itself."""
    if isinstance(value, tuple):
        return tuple(read_only(each) for each in value)
    top = _shell(value)
    if top is None:
        return value
    # Without recursion: a value may be nested as deep as its file says.
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
    """Empty read-only container for a value; None for what needs none."""
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
