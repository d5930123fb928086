"""The input of the mapper: one job request as mapping files see it, and the cluster facts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rowtui.core.base.document import Flat, TextOrNull
    from rowtui.core.clusters.model import JobTotals, PartitionLoad


class StatedAmounts(NamedTuple):
    """What a job has or asks for, as far as that is stated."""

    cpus: float | None
    memory_mb: int | None
    gpus: float | None


class Amounts(NamedTuple):
    """The amounts of a whole job. mem in GB; None: not set."""

    gpus: Any = None
    cores: Any = None
    mem: Any = None

    def as_document(self) -> StatedAmounts:
        """Return the numbers among them: dialect tpv3 does not check amounts."""
        gpus, cores, mem = (
            each if _is_number(each) and math.isfinite(each) else None for each in self
        )
        return StatedAmounts(cores, None if mem is None else math.ceil(mem * 1024), gpus)


def _is_number(amount: Any) -> bool:
    return isinstance(amount, int | float) and not isinstance(amount, bool)


class Person(NamedTuple):
    """The user who submits.

    `name` is matched with the ids of users (a login, or an e-mail address if a site uses those);
    `roles` are Unix groups, in the user's order.
    """

    name: str
    roles: tuple[str, ...] = ()
    email: str = ""

    @property
    def key(self) -> str:
        """The name by which user entities are looked up."""
        return self.email or self.name


class AddedTag(NamedTuple):
    """A tag and how strongly it is meant: require, prefer, accept or reject."""

    tag: str
    strength: str


class WhatIf(NamedTuple):
    """Hypothetical changes to a job, made after its rules and before matching.

    Amounts (and the walltime) that are not None replace the job's; tags of `drop_tags` are removed
    from the job, tags of `add_tags` are added. `destination` and `cluster`: where
    the job has to go; "": anywhere.
    """

    amounts: Flat[Amounts] = Amounts()
    walltime_seconds: int | None = None
    drop_tags: tuple[str, ...] = ()
    add_tags: tuple[AddedTag, ...] = ()
    destination: TextOrNull = ""
    cluster: TextOrNull = ""


class MappingRequest(NamedTuple):
    """One job, before its destination is chosen.

    `tool_id`: the action's name. `declared`: the amounts that the action itself declares, over the
    default entity and under every match; `assumed`: its amounts if no entity sets any.
    `input_size`: GB (2^30 bytes) of its declared inputs. `previous_params`: the destination's
    parameters at the attempt before. `history_tags` and `preferences` are Galaxy's: jobs of a
    workflow have none, test cases may. `totals`: the amounts compared with limits of partitions;
    None for a request without a job.
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


class ClusterFacts(NamedTuple):
    """The last known state of the clusters. `generation` differs whenever any other field differs.

    `loads`: (cluster, partition) -> its load; `in_use`: pool -> the amounts that this user holds
    there; `reachable`: the clusters that jobs can be sent to from here (None: unknown). `machines`:
    the most that one job can have on a cluster that is one machine, by its name; memory in GB.
    """

    generation: int = 0
    loads: Mapping[tuple[str, str], PartitionLoad] = {}
    in_use: Mapping[str, Amounts] = {}
    reachable: frozenset[str] | None = None
    machines: Mapping[str, Amounts] = {}


NOTHING_KNOWN = ClusterFacts()
