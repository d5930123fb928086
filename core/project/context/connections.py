"""The clusters that jobs are on or may go to, and the connections to them.

The input is the configuration. The result is schedulers and, for a project, the access to a
cluster: its scheduler with the project's folder on that cluster. There is one connection for each
cluster, opened when it is first needed. Background work never prompts the user; only `connect`
does.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import visible
from rowtui.core.clusters.commands import LocalTransport, Transport
from rowtui.core.clusters.config.builtin import LOCAL
from rowtui.core.clusters.config.load_remote import remote_path, ssh_target
from rowtui.core.clusters.identify import runs_here
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.polling.description_cache import (
    described_cluster,
    remember_description,
)
from rowtui.core.clusters.schedulers.base import Scheduler
from rowtui.core.clusters.schedulers.kind import kind_of, make_scheduler, needs_description
from rowtui.core.clusters.transports.login import PASSING, LoginError, LoginTrouble, NoUser
from rowtui.core.mirror.model import CopyFailure, MirrorError
from rowtui.core.project.context.credentials import LoginCredentials
from rowtui.core.submission.sending.site import Access, LocalSite, RemoteSite, Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rowtui.core.clusters.polling.poll import Polled
    from rowtui.core.clusters.transports.login import Asker
    from rowtui.core.mirror.mirror import Mirror
    from rowtui.core.project.context.configured import ConfiguredClusters
    from rowtui.core.submission.plan.model import PlannedJob


class Connection(Transport, Protocol):
    """A transport that can be opened and closed."""

    @property
    def alive(self) -> bool:
        """Whether there is a connection, as far as is known."""
        ...

    @property
    def error(self) -> LoginError | None:
        """Return why there is no connection, if the reason is known."""
        ...

    async def reconnect(self) -> None:
        """Log in now. Raises: LoginError."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


def scheduler_of(cluster: Cluster, transport: Transport | None = None) -> Scheduler:
    """Return the scheduler of a cluster. Default transport: local.

    Raises: RowtuiError if the scheduler is not installed, or its plug-in fails.
    """
    return make_scheduler(cluster.scheduler, cluster.name, transport, cluster.query_seconds)


class Connections:
    """The clusters reachable from one process.

    `root`: the project's folder, if there is a project.
    """

    def __init__(self, around: ConfiguredClusters, root: Path | None = None) -> None:
        self.around = around
        self._root = root
        self._described: dict[str, Cluster] = {}
        self._asked: Counter[str] = Counter()  # questions that the user was asked, by cluster
        self._wanted: Counter[str] = Counter()  # logins that the user requests now, by cluster
        self._quiet: Counter[str] = Counter()  # uses that must not prompt the user, by cluster
        self._connections: dict[str, Connection] = {}
        self._schedulers: dict[str, Scheduler] = {}
        self._mirrors: dict[str, Mirror] = {}
        self.log = around.log

    # Clusters

    def known(self, name: str) -> Cluster | None:
        """Return the cluster with this name, as far as it can be determined now.

        Such a cluster is reached over SSH, or is this machine's own queue, or the default cluster
        of jobs.
        """
        cluster = self.around.configured.named(name)
        if cluster is not None and (self.is_remote(cluster) or name == LOCAL.name):
            return cluster
        if name == LOCAL.name:
            return LOCAL
        here = self.around.here()
        if here is not None and here.name == name:
            return here
        return cluster if cluster is not None and cluster.remote is not None else None

    def remote(self) -> tuple[Cluster, ...]:
        """Return the clusters that are reached over SSH."""
        return tuple(c for c in self.around.configured.clusters if self.is_remote(c))

    def is_remote(self, cluster: Cluster) -> bool:
        """Whether commands for this cluster run on another machine."""
        return cluster.remote is not None and not runs_here(cluster, self.around.environment)

    def is_copied(self, cluster: Cluster) -> bool:
        """Whether the cluster uses a copy of the project instead of the project's own folder."""
        return self.is_remote(cluster) and self._shared_folder(cluster) is None

    def copied(self, jobs: Iterable[PlannedJob]) -> list[Cluster]:
        """Return the clusters of these jobs that use a copy of the project."""
        names = dict.fromkeys(job.destination.cluster for job in jobs)
        return [it for name in names if (it := self.known(name)) and self.is_copied(it)]

    def described(self, cluster: Cluster, *, ask: bool = True) -> Cluster:
        """Return the cluster with its partitions, asking the cluster if needed.

        The cluster is not asked in an event loop.

        Raises: RowtuiError if the partitions are not known yet.
        """
        if not self.is_remote(cluster):
            return cluster
        if not needs_description(cluster):
            # a cached description may hold the maximum array size
            return described_cluster(cluster) or cluster
        if cluster.name not in self._described:
            kept = described_cluster(cluster)
            if kept is None and ask and self.around.always_ask and not _in_loop():
                old = described_cluster(cluster, at_most=math.inf)  # better than none
                with contextlib.suppress(RowtuiError) if old else contextlib.nullcontext():
                    self.around.wait(self.prepare(cluster))
                kept = described_cluster(cluster) or self._described.get(cluster.name) or old
            if kept is None:
                name = visible(cluster.name)
                raise RowtuiError(
                    f"{name} was not asked for its partitions yet",
                    self.login_needed(cluster.name)
                    or f"log in with '{self.login_command(cluster.name)}'",
                )
            self._described[cluster.name] = kept
        return self._described[cluster.name]

    async def prepare(self, cluster: Cluster | None = None) -> None:
        """Ask a cluster for its partitions, if the configuration does not list them.

        Without an argument, the default cluster of jobs is asked. Raises: RowtuiError.
        """
        cluster = cluster or self.around.recognised.cluster
        if not (self.is_remote(cluster) and needs_description(cluster)):
            return
        if cluster.name in self._described or described_cluster(cluster) is not None:
            return
        kind = kind_of(cluster)
        described = await kind.describe(self.transport(cluster))
        if described is None:
            raise RowtuiError(
                f"{visible(cluster.name)} has no {kind.title} that answers",
                "name its scheduler in clusters.toml",
            )
        self._described[cluster.name] = remember_description(cluster, described)

    def where(self, name: str) -> str:
        """Return `me@host` for a cluster that is reached over SSH."""
        cluster = self.known(name)
        if cluster is None or cluster.remote is None:
            return "here"

        return str(ssh_target(cluster.remote))

    def connected(self, name: str, polled: Polled | None = None) -> bool:
        """Whether there is a connection, as far as is known.

        `polled`: the cluster's queue, which another process of this user may have asked just now.
        """
        connection = self._connections.get(name)
        if connection is not None and connection.alive:
            return True
        return polled is not None and not self.login_needed(name) and polled.is_fresh(time.time())

    def login_needed(self, name: str) -> str:
        """Return why the user has to log in, "" if no login is needed."""
        connection = self._connections.get(name)
        error = connection.error if connection is not None else None
        if error is None or error.trouble in PASSING:
            return ""
        if error.trouble is LoginTrouble.HOST_KEY_CHANGED:
            return f"{error.message}; {error.hint}"
        return error.message

    def logins_needed(self) -> dict[str, str]:
        """Return the clusters in use that need a login of the user, with the reasons."""
        return {name: why for name in self._connections if (why := self.login_needed(name))}

    def login_error(self, name: str) -> LoginError | None:
        """Return why there is no connection, if the reason is known."""
        connection = self._connections.get(name)
        return connection.error if connection is not None else None

    def login_command(self, name: str) -> str:
        """Return the command with which a user logs in; "" if no login helps (changed host key).

        OpenSSH's own client prompts only in its own terminal.
        """
        error = self.login_error(name)
        if error is not None and error.trouble is LoginTrouble.HOST_KEY_CHANGED:
            return ""
        cluster = self.known(name)
        remote = cluster.remote if cluster is not None else None
        if remote is not None and remote.transport == "openssh":
            return f"ssh {visible(remote.host)}"
        return f"rowtui connect {visible(name)}"

    # Connections

    def transport(self, cluster: Cluster) -> Transport:
        """Return the transport that runs commands on a cluster."""
        if not self.is_remote(cluster):
            return LocalTransport(log=self.log)
        return self._connection(cluster)

    def _connection(self, cluster: Cluster) -> Connection:
        if cluster.name not in self._connections:
            from rowtui.core.clusters.transports.cluster_transport import transport_for

            assert cluster.remote is not None
            credentials = LoginCredentials(cluster.remote, partial(self._person, cluster.name))
            self._connections[cluster.name] = transport_for(
                cluster.remote, credentials, cluster=cluster.name, log=self.log
            )
        return self._connections[cluster.name]

    async def connect(self, name: str) -> None:
        """Log in to a cluster, with prompts to the user. Raises: LoginError, RowtuiError."""
        cluster = self.known(name)
        if cluster is None:
            raise RowtuiError(f"there is no cluster '{visible(name)}' to connect to")
        if self.is_remote(cluster):
            connection = self._connection(cluster)
            self._wanted[name] += 1
            try:
                await self._log_in(name, connection)
            finally:
                self._wanted[name] -= 1

    async def _log_in(self, name: str, connection: Connection) -> None:
        """Log in; retry once if the login that was already under way could not prompt the user."""
        asked = self._asked[name]
        try:
            await connection.reconnect()
        except LoginError as error:
            if error.trouble in PASSING or self._asked[name] > asked:
                raise
            await connection.reconnect()

    def _person(self, name: str) -> Asker:
        """Return the asker for a cluster's login prompts; without a wanted login it refuses all."""
        person = self.around.person
        asked_for = self._wanted[name] or (self.around.always_ask and not self._quiet[name])
        if person is None or not asked_for:
            return NoUser()
        self._asked[name] += 1
        return person(name)

    @contextlib.contextmanager
    def asking_nobody(self, name: str) -> Iterator[None]:
        """Within this context, a login at a cluster prompts the user only through `connect`."""
        self._quiet[name] += 1
        try:
            yield
        finally:
            self._quiet[name] -= 1

    async def close(self) -> None:
        """Close all connections."""
        connections, self._connections = self._connections, {}
        self._schedulers.clear()
        self._mirrors.clear()
        for connection in connections.values():
            await connection.close()

    def scheduler(self, name: str) -> Scheduler | None:
        """Return the scheduler of a cluster; None if it cannot be asked from here."""
        if name not in self._schedulers:
            cluster = self.known(name)
            if cluster is None:
                return None
            self._schedulers[name] = scheduler_of(cluster, self.transport(cluster))
        return self._schedulers[name]

    @property
    def root(self) -> Path:
        """Return the project's folder."""
        assert self._root is not None, "there is no project"
        return self._root

    async def access(self, name: str) -> Access | None:
        """Return the scheduler and the project's folder there; None if the cluster cannot be asked.

        Raises: RowtuiError if the folder cannot be determined.
        """
        cluster, scheduler = self.known(name), self.scheduler(name)
        if cluster is None or scheduler is None:
            return None
        return Access(scheduler, await self._site(cluster))

    async def _site(self, cluster: Cluster) -> Site:
        root = self.root
        if not self.is_remote(cluster):
            return LocalSite(root, log=self.log)
        shared = self._shared_folder(cluster)
        if shared is not None:
            return LocalSite(root, shared, log=self.log)
        with self.explained(cluster.name):
            copy = await self.mirror(cluster).resolve()
        return RemoteSite(self.transport(cluster), Path(copy))

    @contextlib.contextmanager
    def explained(self, name: str) -> Iterator[None]:
        """Raise the login error in place of a broken connection, if the login was the cause."""
        try:
            yield
        except MirrorError as error:
            login = self.login_error(name)
            if error.cause is CopyFailure.CUT and login is not None:
                raise login from None
            raise

    def forget_mirror(self, cluster: Cluster) -> None:
        """Drop the removed copy from the cache, so that the next use searches for a copy again."""
        self._mirrors.pop(cluster.name, None)

    def _shared_folder(self, cluster: Cluster) -> Path | None:
        """Return the project's folder on the cluster, if the cluster shares the folder."""
        assert cluster.remote is not None
        found = remote_path(self.root, cluster.remote.paths)
        return None if found is None else Path(found)

    def mirror(self, cluster: Cluster) -> Mirror:
        """Return the copy of the project on a cluster that does not share its file system."""
        if cluster.name not in self._mirrors:
            from rowtui.core.mirror.mirror import Mirror
            from rowtui.core.mirror.place import default_place

            assert cluster.remote is not None
            root = self.root
            place = default_place(cluster.remote.mirror, root)
            self._mirrors[cluster.name] = Mirror(root, cluster.name, self.transport(cluster), place)
        return self._mirrors[cluster.name]


def _in_loop() -> bool:
    """Whether this thread runs an event loop, which must not block."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
