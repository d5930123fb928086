"""The names that expressions can read: those of TPV, and those of a workflow's actions.

Only names that some expression of the configuration reads are put into a namespace, since a job has
many names and most are not read. All names are put into it if code may read or change its own
namespace. Source: docs/mapping.md, "Names".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rowtui.core.mapping.engine.evaluate import Namespace
from rowtui.core.mapping.galaxy.modules import (
    App,
    GalaxyJob,
    GalaxyTool,
    GalaxyUser,
    JobWrapper,
    read_only,
)
from rowtui.core.mapping.model.request import ClusterFacts, MappingRequest

Getter = Callable[[MappingRequest], Any]


def tool_of(request: MappingRequest) -> GalaxyTool:
    """Return the action, in the form in which TPV provides tools."""
    return GalaxyTool(
        id=request.tool_id, name=request.tool_id, version=request.version,
        tool_type=request.tool_type,
    )  # fmt: skip


def user_of(request: MappingRequest) -> GalaxyUser | None:
    """Return the user, or None if the request has no user."""
    person = request.user
    if person is None:
        return None
    return GalaxyUser(
        name=person.name,
        email=person.email or person.name,
        roles=person.roles,
        extra_preferences=read_only(dict(request.preferences)),
    )


def job_of(request: MappingRequest) -> GalaxyJob:
    """Return the job."""
    return GalaxyJob(
        state=request.state,
        attempt=request.attempt,
        params=read_only(dict(request.params)),
        destination_params=None
        if request.previous_params is None
        else read_only(dict(request.previous_params)),
        input_size=float(request.input_size),
        history_tags=request.history_tags,
    )


def _decided(_: MappingRequest) -> None:
    """Decide nothing: the value depends at most on the action, the user and the roles."""


def _version(request: MappingRequest) -> str:
    return request.version


def _directories(request: MappingRequest) -> tuple[str, ...]:
    return request.directories


# name -> (its value, the values that decide it: if these are equal, the value is equal)
_OF_REQUEST: Mapping[str, tuple[Getter, Getter]] = {
    "tool": (tool_of, _version),
    "action": (tool_of, _version),
    "user": (user_of, lambda r: repr(r.preferences)),
    "job": (
        job_of,
        lambda r: (
            r.state,
            r.attempt,
            r.input_size,
            r.history_tags,
            repr(r.params),
            repr(r.previous_params),
        ),
    ),
    "roles": (lambda r: r.user.roles if r.user else (), _decided),
    "group": (_directories, _directories),
    "directories": (_directories, _directories),
    "values": (lambda r: read_only(r.values), lambda r: repr(r.values)),
    "attempt": (lambda r: r.attempt, lambda r: r.attempt),
    "cluster": (lambda r: r.cluster, lambda r: r.cluster),
    "input_size": (lambda r: float(r.input_size), lambda r: r.input_size),
    "resource_params": (lambda r: read_only(dict(r.params)), lambda r: repr(r.params)),
    "app": (lambda r: App(jobs=r.jobs), lambda r: r.jobs),
    "job_wrapper": (lambda _: JobWrapper(), _decided),
    "workflow_invocation_uuid": (lambda _: None, _decided),
}
_OF_FACTS = ("load", "expected_wait")
_OF_TPV = (
    "app", "tool", "user", "job", "job_wrapper", "resource_params", "workflow_invocation_uuid",
    "mapper", "log",
)  # fmt: skip
KNOWN_NAMES = frozenset((*_OF_REQUEST, *_OF_FACTS, *_OF_TPV, "helpers", "entity", "self", "log"))
# The context variable that names a job's inputs, for `input_size`.
INPUTS = "inputs"
# A context variable may not hide these names: they are put in last.
NEVER_HIDDEN = frozenset({"helpers", "input_size"})


class Names:
    """Makes namespaces for one configuration.

    `read`: the names that its expressions read; `all_tpv`: some code may read the namespace itself.
    `fixed`: the names that are the same for every request (helpers, mapper, builtins, log).
    """

    def __init__(
        self,
        read: frozenset[str],
        *,
        all_tpv: bool,
        context: Mapping[str, Any],
        fixed: Mapping[str, Any],
    ) -> None:
        wanted = read | frozenset(_OF_TPV) if all_tpv else read
        self._getters = [(name, _OF_REQUEST[name][0]) for name in _OF_REQUEST if name in wanted]
        self._facts = [name for name in _OF_FACTS if name in wanted]
        always = {"__builtins__", "helpers"}
        self._same = dict(context)  # the same for every request
        self._same.update(
            (name, value) for name, value in fixed.items() if name in wanted or name in always
        )

    def build(
        self, request: MappingRequest, facts: ClusterFacts, context: Mapping[str, Any]
    ) -> Namespace:
        """Return the names for one request; `context`: the variables of its entities."""
        namespace = self._same.copy()
        for name, get in self._getters:
            namespace[name] = get(request)
        for name in self._facts:
            namespace[name] = _by_destination(facts, name)
        if context:
            update(namespace, context)
        return namespace


def update(namespace: Namespace, context: Mapping[str, Any]) -> None:
    """Add context variables to a namespace."""
    for name, value in context.items():
        if name not in NEVER_HIDDEN:
            namespace[name] = value


def deciders(read: frozenset[str]) -> tuple[Getter, ...]:
    """Return the functions of a request that decide the value of code that reads these names."""
    found = (_OF_REQUEST[name][1] for name in sorted(read) if name in _OF_REQUEST)
    return tuple(dict.fromkeys(each for each in found if each is not _decided))


def _by_destination(facts: ClusterFacts, name: str) -> Mapping[str, Any]:
    """Return `cluster/partition` -> its load, or its expected wait."""
    found = {
        f"{cluster}/{partition}" if partition else cluster: (
            load if name == "load" else load.expected_wait
        )
        for (cluster, partition), load in facts.loads.items()
    }
    return read_only(found) if name == "expected_wait" else found
