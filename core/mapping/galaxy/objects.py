"""The objects for expressions: the action as a tool, its job, its user.

Their attributes can only be read; their data are copies, which code may change without effect.

Only the attributes that files of real sites use exist here; any other attribute of Galaxy raises an
error that explains this.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, NoReturn

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible


class ReadOnlyError(RowtuiError, TypeError):
    """Code tried to change an attribute of a read-only object."""


class NotInRowtui(RowtuiError, AttributeError):
    """Code used a part of Galaxy that rowtui lacks.

    `hasattr` and `getattr` with a default work as usual.
    """

    def __init__(self, what: str, part_of: str = "Galaxy") -> None:
        super().__init__(
            f"{visible(what)} is part of {part_of}; rowtui does not have it",
            "docs/mapping.md lists the names for expressions",
        )


class GalaxyObject:
    """An object for expressions; `_called` is its name in expressions."""

    __slots__ = ()
    _called: ClassVar[str] = ""
    _part_of: ClassVar[str] = "Galaxy"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python itself looks up these names
            raise AttributeError(name)
        raise NotInRowtui(f"{self._called}.{name}", self._part_of)

    def __setattr__(self, name: str, value: object = None) -> NoReturn:
        raise ReadOnlyError(
            f"{self._called}.{visible(name)} can only be read",
            "execute may change `entity`: its cores, mem, gpus, params, env and tags",
        )

    __delattr__ = __setattr__


_put = object.__setattr__
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class GalaxyTool(GalaxyObject):
    """An action. `resource_fields`: the amounts that it declares itself (cores, max_mem, ...)."""

    __slots__ = ("id", "name", "resource_fields", "tool_type", "version")
    _called = "tool"
    dynamic_tool: ClassVar[None] = None
    requires_galaxy_python_environment: ClassVar[bool] = False

    id: str
    name: str
    version: str
    tool_type: str
    resource_fields: Mapping[str, float]

    def __init__(
        self,
        id: str,  # noqa: A002
        name: str = "",
        version: str = "",
        tool_type: str = "default",
        resource_fields: Mapping[str, float] = _NOTHING,
    ) -> None:
        _put(self, "id", id)
        _put(self, "name", name or id)
        _put(self, "version", version)
        _put(self, "tool_type", tool_type)
        _put(self, "resource_fields", resource_fields)

    @property
    def old_id(self) -> str:
        """Galaxy's short id."""
        return self.id

    @property
    def action(self) -> str:
        """The name of the action."""
        return self.name


class GalaxyRole(GalaxyObject):
    """A group of the user."""

    __slots__ = ("name",)
    _called = "role"
    deleted: ClassVar[bool] = False
    name: str

    def __init__(self, name: str) -> None:
        _put(self, "name", name)

    def __repr__(self) -> str:
        return f"Role({self.name!r})"

    @property
    def role(self) -> GalaxyRole:
        """The role itself: Galaxy's `user.roles` are links to roles."""
        return self


class GalaxyUser(GalaxyObject):
    """The submitting user. `username` is the `name`; `roles` are given by name.

    `id` is a number that stays the same for the same name, unless it is given.
    """

    __slots__ = ("_id", "_roles", "email", "extra_preferences", "is_admin", "name")
    _called = "user"
    deleted: ClassVar[bool] = False
    active: ClassVar[bool] = True

    name: str
    email: str
    extra_preferences: Mapping[str, Any]
    is_admin: bool
    _id: int | None
    _roles: tuple[str, ...]

    def __init__(
        self,
        name: str,
        email: str = "",
        roles: Iterable[str] = (),
        id: int | None = None,  # noqa: A002
        extra_preferences: Mapping[str, Any] = _NOTHING,
        *,
        is_admin: bool = False,
    ) -> None:
        _put(self, "name", name)
        _put(self, "email", email or name)
        _put(self, "_roles", tuple(roles))
        _put(self, "_id", id)
        _put(self, "extra_preferences", extra_preferences)
        _put(self, "is_admin", is_admin)

    @property
    def id(self) -> int:
        """A number for the user."""
        if self._id is not None:
            return self._id
        return zlib.crc32(self.name.encode("utf-8", "surrogateescape"))

    @property
    def username(self) -> str:
        """The login."""
        return self.name

    @property
    def roles(self) -> list[GalaxyRole]:
        """The user's groups."""
        return [GalaxyRole(name) for name in self._roles]

    def all_roles(self) -> list[GalaxyRole]:
        """Return the user's groups."""
        return self.roles


class HistoryTag(NamedTuple):
    """One tag of a job's history: `name` or `name:value`."""

    user_tname: str
    value: str | None = None

    @property
    def user_value(self) -> str | None:
        """The value as the user wrote it."""
        return self.value


class GalaxyHistory(GalaxyObject):
    """The history of the job: for expressions that read the tags of histories."""

    __slots__ = ("tags",)
    _called = "job.history"
    tags: list[HistoryTag]

    def __init__(self, tags: Iterable[str] = ()) -> None:
        """`tags`: name, or name:value."""
        parts = (tag.partition(":") for tag in tags)
        _put(self, "tags", [HistoryTag(name, value or None) for name, _, value in parts])


class GalaxyJob(GalaxyObject):
    """The job. `input_size`: GB (2^30 bytes) of its declared inputs.

    `attempt`: from 1; `destination_params`: of the attempt before, None in the first attempt.
    `input_datasets`: Galaxy's objects, if the caller has any.
    """

    __slots__ = (
        "_history_tags", "attempt", "destination_params", "id", "input_datasets", "input_size",
        "params", "state", "tool_id",
    )  # fmt: skip
    _called = "job"

    id: int | None
    state: str
    attempt: int
    params: Mapping[str, Any]
    destination_params: Mapping[str, Any] | None
    input_size: float
    input_datasets: Sequence[Any]
    tool_id: str
    _history_tags: tuple[str, ...]

    def __init__(
        self,
        *,
        state: str = "new",
        attempt: int = 1,
        params: Mapping[str, Any] = _NOTHING,
        destination_params: Mapping[str, Any] | None = None,
        input_size: float = 0.0,
        input_datasets: Sequence[Any] = (),
        history_tags: tuple[str, ...] = (),
        id: int | None = None,  # noqa: A002
        tool_id: str = "",
    ) -> None:
        _put(self, "state", state)
        _put(self, "attempt", attempt)
        _put(self, "params", params)
        _put(self, "destination_params", destination_params)
        _put(self, "input_size", input_size)
        _put(self, "input_datasets", input_datasets)
        _put(self, "_history_tags", history_tags)
        _put(self, "id", id)
        _put(self, "tool_id", tool_id)

    def get_param_values(self, app: object = None, ignore_errors: bool = False) -> Any:
        """Return the parameters of the job, by name."""
        return self.params

    def get_state(self) -> str:
        """Return the state."""
        return self.state

    @property
    def history(self) -> GalaxyHistory:
        """The tags that came with the job."""
        return GalaxyHistory(self._history_tags)


class App(GalaxyObject):
    """A replacement for Galaxy's app without its functions.

    `jobs`: (tool id, user name) of each job that is queued or running, for `helpers`.
    """

    __slots__ = ("jobs",)
    _called = "app"
    jobs: Sequence[tuple[str, str]]

    def __init__(self, jobs: Sequence[tuple[str, str]] = ()) -> None:
        _put(self, "jobs", jobs)


class JobWrapper(GalaxyObject):
    """A replacement for Galaxy's handle on a running job, without its functions."""

    __slots__ = ()
    _called = "job_wrapper"


class ShownMapper(GalaxyObject):
    """The mapper. `destinations`: the destinations that jobs may go to, by id."""

    __slots__ = ("default_inherits", "destinations", "global_context")
    _called = "mapper"
    _part_of = "TPV"
    destinations: Mapping[str, Any]
    default_inherits: str | None
    global_context: Mapping[str, Any]

    def __init__(
        self,
        destinations: Mapping[str, Any],
        default_inherits: str | None,
        global_context: Mapping[str, Any],
    ) -> None:
        _put(self, "destinations", destinations)
        _put(self, "default_inherits", default_inherits)
        _put(self, "global_context", global_context)
