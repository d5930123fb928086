"""What the mapper is asked: one job request as mapping files see it, and what else is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rowtui.core.clusters.model import JobTotals, PartitionLoad


class Amounts(NamedTuple):
    """What a whole job has or asks for. mem in GB; None: nobody says."""

    gpus: Any = None
    cores: Any = None
    mem: Any = None


class Person(NamedTuple):
    """Who submits. `name` is what the ids of users are matched with (a login, or an e-mail
    address where a site uses those); `roles` are Unix groups, in the user's order.
    """

    name: str
    roles: tuple[str, ...] = ()
    email: str = ""

    @property
    def key(self) -> str:
        """What user entities are looked up by."""
        return self.email or self.name


class WhatIf(NamedTuple):
    """Changes to a job that someone wonders about, made after its rules and before matching.

    Amounts (and the walltime) that are not None replace the job's; tags of `drop_tags` are taken
    from it, those of `add_tags` (tag, strength) given to it. `destination` and `cluster`: where it
    has to go; "": anywhere.
    """

    amounts: Amounts = Amounts()
    walltime_seconds: int | None = None
    drop_tags: tuple[str, ...] = ()
    add_tags: tuple[tuple[str, str], ...] = ()
    destination: str = ""
    cluster: str = ""


class MappingRequest(NamedTuple):
    """One job, before anyone chose where it goes.

    `tool_id`: the action's name. `declared`: what the action says it needs, over the default
    entity and under every match; `assumed`: what it has if nobody says anything. `input_size`: GB
    (2^30 bytes) of its declared inputs. `previous_params`: those of the attempt before this one.
    `history_tags` and `preferences` are Galaxy's: jobs of a workflow have none, test cases may.
    `totals`: what limits of partitions are checked against; None for a request without a job.
    """

    tool_id: str
    user: Person | None = None
    declared: Amounts = Amounts()
    assumed: Amounts = Amounts()
    input_size: float = 0.0
    attempt: int = 1
    state: str = "new"
    version: str = ""
    tool_type: str = "default"
    params: Mapping[str, Any] = {}
    previous_params: Mapping[str, Any] | None = None
    history_tags: tuple[str, ...] = ()
    preferences: Mapping[str, Any] = {}
    directories: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    cluster: str = ""
    totals: JobTotals | None = None
    partition: str | None = None  # named by the user in workflow.toml
    jobs: tuple[tuple[str, str], ...] = ()  # (action, user) of each job that is submitted now
    what_if: WhatIf | None = None


class Facts(NamedTuple):
    """What the clusters said last. `generation` differs whenever anything else does.

    `loads`: (cluster, partition) -> how busy it is; `in_use`: pool -> what this user holds there;
    `reachable`: the clusters that jobs can be sent to from here (None: nobody asked).
    """

    generation: int = 0
    loads: Mapping[tuple[str, str], PartitionLoad] = {}
    in_use: Mapping[str, Amounts] = {}
    reachable: frozenset[str] | None = None


NOTHING_KNOWN = Facts()
