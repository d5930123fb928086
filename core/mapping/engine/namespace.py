"""The names that expressions can read: those of TPV, and those of a workflow's actions.

Of rowtui's own names, only those that some expression reads are put into a namespace, because some
take time to make. TPV's names are all there, since code may list its own namespace. Source:
docs/mapping.md, "Names".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from rowtui.core.mapping.engine.evaluate import Namespace
from rowtui.core.mapping.galaxy.objects import App, GalaxyJob, GalaxyTool, GalaxyUser, JobWrapper
from rowtui.core.mapping.model.request import ClusterFacts, MappingRequest


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
        extra_preferences=deepcopy(dict(request.preferences)),
    )


def job_of(request: MappingRequest) -> GalaxyJob:
    """Return the job."""
    return GalaxyJob(
        state=request.state,
        attempt=request.attempt,
        params=deepcopy(dict(request.params)),
        destination_params=None
        if request.previous_params is None
        else deepcopy(dict(request.previous_params)),
        input_size=float(request.input_size),
        history_tags=request.history_tags,
    )


_OF_REQUEST: Mapping[str, Callable[[MappingRequest], Any]] = {
    "tool": tool_of,
    "action": tool_of,
    "user": user_of,
    "job": job_of,
    "roles": lambda r: r.user.roles if r.user else (),
    "group": lambda r: r.directories,
    "directories": lambda r: r.directories,
    "values": lambda r: deepcopy(r.values),
    "attempt": lambda r: r.attempt,
    "cluster": lambda r: r.cluster,
    "input_size": lambda r: float(r.input_size),
    "resource_params": lambda r: deepcopy(dict(r.params)),
    "app": lambda r: App(jobs=r.jobs),
    "job_wrapper": lambda _: JobWrapper(),
    "workflow_invocation_uuid": lambda _: None,
}
_OF_FACTS = ("load", "expected_wait")
_OF_TPV = (
    "app", "tool", "user", "job", "job_wrapper", "resource_params", "workflow_invocation_uuid",
)  # fmt: skip
KNOWN_NAMES = frozenset((*_OF_REQUEST, *_OF_FACTS, "helpers", "mapper", "log", "entity", "self"))
# The context variable that names a job's inputs, for `input_size`.
INPUTS = "inputs"
# A context variable may not hide these names: they are put in last.
NEVER_HIDDEN = frozenset({"helpers", "input_size"})


class Names:
    """Makes namespaces for one configuration.

    `read`: the names that its expressions read. `fixed`: the names that are the same for every
    request (helpers, mapper, builtins, log); they hide variables of `context`.
    """

    def __init__(
        self, read: frozenset[str], *, context: Mapping[str, Any], fixed: Mapping[str, Any]
    ) -> None:
        wanted = read.union(_OF_TPV) if read else read
        self._getters = [(name, get) for name, get in _OF_REQUEST.items() if name in wanted]
        self._facts = [name for name in _OF_FACTS if name in wanted]
        self._same = {**context, **fixed}

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


def _by_destination(facts: ClusterFacts, name: str) -> Mapping[str, Any]:
    """Return `cluster/partition` -> its load, or its expected wait."""
    return {
        f"{cluster}/{partition}" if partition else cluster: (
            load if name == "load" else load.expected_wait
        )
        for (cluster, partition), load in facts.loads.items()
    }
