"""Read clusters.toml: the user's descriptions, before the built-in ones.

The input is the environment, which determines the files; the result is the clusters in the order of
preference. Clusters of the same name are not merged: the first one is
used. One exception: an entry of rowtui's own file that has neither scheduler nor identify nor
partition adds its settings (how the cluster is reached over SSH) to the first cluster of that name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.files import own_config_folder, row_config_folder
from rowtui.core.base.text import has_control, visible
from rowtui.core.clusters.config.builtin import CLUSTERS
from rowtui.core.clusters.config.cluster_keys import (
    CLUSTER_KEYS,
    COUNTS,
    DESCRIPTION,
    GRID_ENGINE_NAME,
    ROW_CLUSTER_KEYS,
    ROW_SCHEDULERS,
    TEXTS,
)
from rowtui.core.clusters.model import Cluster, EnergyFactors, Identify, Partition, Remote
from rowtui.core.clusters.schedulers.kind import has_scheduler, scheduler_kind, scheduler_names
from rowtui.core.workflow.toml_file import TomlFile, TomlTable, did_you_mean, open_toml

DEFAULT_REMOTE = "slurm"  # the scheduler of a cluster that only `ssh` describes

_Seconds = tuple[float | None, float | None]  # `poll` and `query_timeout`
_OF_PACKING = ("node_type", "currency", "packing")


class ClusterFile(NamedTuple):
    """All clusters, the user's first, and the problems in the user's files.

    A cluster with an error is left out; the others are usable.
    """

    clusters: tuple[Cluster, ...]
    problems: tuple[Problem, ...] = ()

    def named(self, name: str) -> Cluster | None:
        """Return the first cluster with that name, or None."""
        return next((cluster for cluster in self.clusters if cluster.name == name), None)


def load_clusters(environ: Mapping[str, str]) -> ClusterFile:
    """Return the user's clusters (Row's file, then rowtui's), then built-in ones. Never raises."""
    row, own = row_config_folder(environ), own_config_folder(environ)
    return read_clusters(row and row / "clusters.toml", own and own / "clusters.toml")


def read_clusters(row_file: Path | None, own_file: Path | None) -> ClusterFile:
    """Return the same from these files, which need not exist. Never raises."""
    entries: list[Cluster | TomlTable] = []
    problems: list[Problem] = []
    files: list[TomlFile] = []
    for path, own in ((row_file, False), (own_file, True)):
        try:
            keys = CLUSTER_KEYS if own else ROW_CLUSTER_KEYS
            file = None if path is None else open_toml(path, keys)
        except InvalidFileError as error:
            problems += error.problems
            continue
        if file is not None:
            files.append(file)
            for table in file.top.tables("cluster") or ():
                if own and not any(key in table for key in DESCRIPTION):
                    entries.append(table)
                    continue
                names = {it.name for it in entries if isinstance(it, Cluster)}
                for cluster in _cluster(table, own):
                    if cluster.name in names:
                        message = f"another cluster is called '{visible(cluster.name)}'"
                        table.problem("name", f"{message}: the first counts", severity="warning")
                    entries.append(cluster)
    clusters = _with_additions(entries)
    problems += (problem for file in files for problem in file.in_order)
    return ClusterFile(tuple(clusters), tuple(problems))


def _cluster(table: TomlTable, own: bool) -> list[Cluster]:
    """Return the cluster of one entry; an empty list if the entry has an error."""
    before = _errors(table.file)
    table.check()
    over_ssh = own and "ssh" in table
    for key in DESCRIPTION:
        if key not in table and not (own and _may_be_left_out(key, table, over_ssh)):
            table.problem((), f"the cluster is missing `{key}`")
    name = table.string("name")
    identify = Identify() if over_ssh and "identify" not in table else _identify(table)
    is_default = over_ssh and "scheduler" not in table
    scheduler = DEFAULT_REMOTE if is_default else _scheduler(table, own)
    partitions = [_partition(element, own) for element in table.tables("partition") or ()]
    options = _submit_options(table)
    gpus = table.string("slurm_gpus_per_task")
    remote, seconds = _reach(table, scheduler) if own else (None, (None, None))
    cluster = Cluster(
        name=name or "",
        identify=identify or Identify(),
        scheduler=scheduler or "",
        partitions=tuple(partition for partition in partitions if partition is not None),
        submit_options=options,
        source=table.file.file,
        remote=remote,
        asked_partitions=own and remote is None and "partition" not in table,
    )
    if own:
        cluster = _with_packing(_with_resources(cluster, table), table)
    energy = _energy(table) if own else None
    if name is None or identify is None or scheduler is None or _errors(table.file) > before:
        return []
    return [_with_the_rest(cluster, gpus, seconds, energy)]


def _with_additions(entries: Sequence[Cluster | TomlTable]) -> list[Cluster]:
    """Return all clusters, with built-in ones; extending entries are added to their clusters.

    An entry with `ssh` and a new name is a Slurm cluster. A cluster with an error in such an
    addition is left out: without its `ssh` it would be used as a cluster on this machine.
    """
    described = {entry.name for entry in (*entries, *CLUSTERS) if isinstance(entry, Cluster)}
    reached: set[str] = set()  # new names that entries with only `ssh` introduced
    every: list[Cluster] = []
    adding: list[TomlTable] = []
    for table in entries:
        if isinstance(table, Cluster):
            every.append(table)
            continue
        name = table.values.get("name")
        if not isinstance(name, str):
            every += _cluster(table, own=True)
        elif name in described or (name in reached and "ssh" not in table):
            adding.append(table)
        elif "ssh" in table:
            reached.add(name)
            every += _cluster(table, own=True)
        else:
            hint = did_you_mean(name, described) or "a new one needs `scheduler`, or `ssh`"
            table.problem("name", f"no cluster is called '{visible(name)}' to add this to", hint)
    every += CLUSTERS
    for table in adding:
        name = table.values["name"]
        index = next((at for at, cluster in enumerate(every) if cluster.name == name), None)
        if index is not None:
            before = _errors(table.file)
            every[index] = _added(table, every[index])
            if _errors(table.file) > before:
                every = [cluster for cluster in every if cluster.name != name]
    return every


def _added(table: TomlTable, cluster: Cluster) -> Cluster:
    if "submit_options" in table:
        cluster = cluster._replace(submit_options=_submit_options(table))
    gpus = table.string("slurm_gpus_per_task")
    if cluster.remote is not None and "ssh" in table:
        name = visible(cluster.name)
        table.problem("ssh", f"'{name}' has a second `ssh`", "one way to reach it is enough")
    remote, seconds = _reach(table, cluster.scheduler)
    cluster = _with_resources(cluster._replace(remote=remote or cluster.remote), table)
    cluster = _with_packing(cluster, table)
    return _with_the_rest(cluster, gpus, seconds, _energy(table))


def _energy(table: TomlTable) -> EnergyFactors | None:
    if "energy" not in table:
        return None
    from rowtui.core.clusters.config.load_node_types import load_energy

    return load_energy(table)


def _with_the_rest(
    cluster: Cluster, gpus: str | None, seconds: _Seconds, energy: EnergyFactors | None
) -> Cluster:
    if gpus is not None:
        cluster = cluster._replace(slurm_gpus_per_task=gpus)
    if energy is not None:
        cluster = cluster._replace(energy=energy)
    poll, query = seconds
    return cluster._replace(
        poll_seconds=cluster.poll_seconds if poll is None else poll,
        query_seconds=cluster.query_seconds if query is None else query,
    )


def _with_resources(cluster: Cluster, table: TomlTable) -> Cluster:
    memory, gpu = (_word(table, key) for key in ("memory_resource", "gpu_resource"))
    arrays = table.boolean("arrays")
    return cluster._replace(
        memory_resource=memory or cluster.memory_resource,
        gpu_resource=gpu or cluster.gpu_resource,
        arrays=cluster.arrays if arrays is None else arrays,
    )


def _with_packing(cluster: Cluster, table: TomlTable) -> Cluster:
    """Return the cluster with the node types, packing settings and budget of the table, if any."""
    if not any(key in table for key in (*_OF_PACKING, "budget")):
        return cluster
    from rowtui.core.clusters.config.load_node_types import load_budget, with_packing

    if any(key in table for key in _OF_PACKING):
        cluster = with_packing(cluster, table)
    return cluster._replace(budget=load_budget(table)) if "budget" in table else cluster


def _may_be_left_out(key: str, table: TomlTable, over_ssh: bool) -> bool:
    """Whether a key is optional. The partitions of a Slurm cluster can be queried.

    A cluster that is reached over SSH is by default a Slurm cluster that is used by name.
    """
    if key == "partition":
        name: object = table.values.get("scheduler", DEFAULT_REMOTE if over_ssh else None)
        if name == DEFAULT_REMOTE:
            return True
        try:
            return scheduler_kind(str(name)).describes
        except RowtuiError:  # `_scheduler` reports the problem
            return False
    return over_ssh and key in {"identify", "scheduler"}


def _reach(table: TomlTable, scheduler: str | None) -> tuple[Remote | None, _Seconds]:
    """Return how the cluster is reached, and its `poll` and `query_timeout`."""
    if not any(key in table for key in ("ssh", "poll", "query_timeout")):
        return None, (None, None)
    from rowtui.core.clusters.config.load_remote import load_remote

    remote = load_remote(table) if "ssh" in table else None
    if "ssh" in table and scheduler is not None and scheduler_kind(scheduler).runs_here:
        text = f"a cluster with the scheduler '{scheduler}' cannot be reached over SSH"
        table.problem("ssh", text, "its jobs are processes of this machine: leave `ssh` out")
    return remote, (table.number("poll"), table.number("query_timeout"))


def _errors(file: TomlFile) -> int:
    return sum(problem.severity == "error" for problem in file.problems)


def _submit_options(table: TomlTable) -> tuple[str, ...]:
    options = table.strings("submit_options") or ()
    if any(has_control(option) for option in options):
        table.problem("submit_options", "`submit_options` has control characters")
    return options


def _scheduler(table: TomlTable, own: bool) -> str | None:
    given = table.string("scheduler")
    if given is None or given in ROW_SCHEDULERS:
        return given
    if not own and has_scheduler(given):
        hint = "Row has no entry for it: describe the cluster in ~/.config/rowtui/clusters.toml"
        table.problem("scheduler", f"`scheduler` cannot be '{visible(given)}' in Row's file", hint)
        return None
    names = scheduler_names() if own else ROW_SCHEDULERS
    if not own or not has_scheduler(given):
        expected = ", ".join(f"'{name}'" for name in names)
        hint = did_you_mean(given, names) or f"expected one of {expected}"
        table.problem("scheduler", f"`scheduler` cannot be '{visible(given)}'", hint)
        return None
    try:
        scheduler_kind(given)
    except RowtuiError as error:  # the package of the scheduler is broken
        table.problem("scheduler", error.message, error.hint)
        return None
    return given


def _identify(cluster: TomlTable) -> Identify | None:
    table = cluster.table("identify")
    key = table.only_key() if table is not None else None
    if table is None or key is None:
        return None
    if key == "always":
        always = table.boolean(key)
        return None if always is None else Identify(always=always)
    pair = table.strings(key)
    if pair is None:
        return None
    if len(pair) != 2:
        table.problem(key, f"`{key}` must have 2 strings, a variable and its value")
        return None
    return Identify((pair[0], pair[1]))


def _partition(table: TomlTable, own: bool) -> Partition | None:
    name = table.string("name")
    counts = {key: table.integer(key) for key in COUNTS}
    texts = {key: table.string(key) for key in TEXTS}
    manual = table.boolean("prevent_auto_select") or False
    environment = _word(table, "parallel_environment") if own else None
    if name is None:
        return None
    values: dict[str, Any] = {**counts, **texts}
    return Partition(
        name=name, prevent_auto_select=manual, parallel_environment=environment, **values
    )


def _word(table: TomlTable, key: str) -> str | None:
    """Return a name of Grid Engine, which has no spaces, commas or equal signs."""
    text = table.string(key)
    if text is not None and not re.fullmatch(GRID_ENGINE_NAME, text):
        table.problem(key, f"`{key}` must be the name of one, without options")
        return None
    return text
