"""Print clusters and launchers as the same TOML text as Row 1.1, byte for byte.

Launchers are in the order of their names, which is random in Row. Settings that Row does not have
(how a cluster is reached over SSH) are printed in their places in rowtui's own clusters.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rowtui.core.base.text import visible
from rowtui.core.clusters.model import (
    Cluster,
    Launcher,
    Launchers,
    NodeType,
    PackingDefaults,
    Partition,
    Remote,
)
from rowtui.core.clusters.schedulers.kind import kind_of

# Write node types and packing settings as TOML text for rowtui's own clusters.toml.
#
# The text of configured or detected values reads back as the same values.


SECONDS_PER_DAY = 86_400


def node_types_toml(
    kinds: Sequence[NodeType],
    prefix: str = "cluster.",
    remarks: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return a `[[node_type]]` for each; `remarks` by name are written as comments in it."""
    return "".join(_node_type(kind, prefix, (remarks or {}).get(kind.name, ())) for kind in kinds)


def packing_toml(packing: PackingDefaults, prefix: str = "cluster.") -> str:
    """Return the `[packing]` table, and one for each partition with settings of its own."""
    text = f"\n[{prefix}packing]\n" + _packing(packing)
    for name, special in packing.partitions.items():
        text += f"\n[{prefix}packing.partition.{toml_key(name)}]\n" + _packing(special)
    return text


def amount(megabytes: int) -> str:
    """Return an exact amount: `256G`, `64000M`, `1536G` for 1.5 TB."""
    return f"{megabytes // 1024}G" if megabytes and megabytes % 1024 == 0 else f"{megabytes}M"


def duration(seconds: int) -> str:
    """Return a duration in the form of walltimes: `12:00:00`, `2 days, 12:00:00`."""
    days, rest = divmod(seconds, SECONDS_PER_DAY)
    time = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days} day{'' if days == 1 else 's'}, {time}" if days else time


def _node_type(kind: NodeType, prefix: str, remarks: Sequence[str]) -> str:
    lines = [f"name = {toml_string(kind.name)}"]
    if kind.partition:
        lines.append(f"partition = {toml_string(kind.partition)}")
    lines.append(f"cpus = {kind.cpus}")
    if kind.memory_mb is not None:
        lines.append(f'memory = "{amount(kind.memory_mb)}"')
    if kind.gpus:
        lines.append(f"gpus = {kind.gpus}")
    if kind.disk_mb is not None:
        lines.append(f'local_disk = "{amount(kind.disk_mb)}"')
    if kind.price_per_hour is not None:
        lines.append(f"price_per_hour = {kind.price_per_hour!r}")
    if kind.at_most is not None:
        lines.append(f"count = {kind.at_most}")
    if kind.boot_seconds:
        lines.append(f'boot_time = "{duration(kind.boot_seconds)}"')
    if kind.longest_seconds is not None:
        lines.append(f'maximum_walltime = "{duration(kind.longest_seconds)}"')
    if kind.whole_node:
        lines.append("whole_node = true")
    text = "".join(f"# {visible(remark)}\n" for remark in remarks)
    return f"\n[[{prefix}node_type]]\n{text}" + "\n".join(lines) + "\n"


def _packing(packing: PackingDefaults) -> str:
    lines = [f"enabled = {str(packing.enabled).lower()}", f"packer = {toml_string(packing.packer)}"]
    if packing.largest_bundle is not None:
        lines.append(f"largest_bundle = {packing.largest_bundle}")
    if packing.longest_seconds is not None:
        lines.append(f'longest = "{duration(packing.longest_seconds)}"')
    lines.append(f"time_factor = {packing.time_factor!r}")
    return "\n".join(lines) + "\n"


# Write TOML keys and strings in the simplest form that can hold the text.


def toml_key(name: str) -> str:
    """Return a key, without quotes if possible."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    text = toml_string(name)
    return _escaped_string(name) if text.startswith(('"""', "'''")) else text


def toml_string(text: str) -> str:
    """Return a TOML string in the simplest form that can hold it, as the Rust library does."""
    newline = "\n" in text
    control = _CONTROL.search(text) is not None
    start = "\n" if newline else ""
    if not (control or newline):
        if '"' not in text and "\\" not in text:
            return f'"{text}"'
        if "'" not in text:
            return f"'{text}'"
    if not control:
        if "\\" not in text and '"""' not in text:
            return f'"""{start}{text}"""'
        if "'''" not in text:
            return f"'''{start}{text}'''"
    if newline:
        return f'"""\n{_all_escaped(text)}"""'
    return _escaped_string(text)


_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


def _escaped_string(text: str) -> str:
    return '"' + _all_escaped(text).replace("\n", "\\n") + '"'


def _all_escaped(text: str) -> str:
    return "".join(_ESCAPES.get(char) or _escaped(char) for char in text)


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04X}" if _CONTROL.fullmatch(char) else char


_PARTITION_KEYS = (
    "name",
    "maximum_cpus_per_job",
    "require_cpus_multiple_of",
    "warn_cpus_not_multiple_of",
    "memory_per_cpu",  # the key of Row 0.3
    "memory_per_cpu_mb",
    "cpus_per_node",
    "minimum_gpus_per_job",
    "maximum_gpus_per_job",
    "require_gpus_multiple_of",
    "warn_gpus_not_multiple_of",
    "memory_per_gpu",
    "memory_per_gpu_mb",
    "gpus_per_node",
    "prevent_auto_select",
    "account_suffix",
    "parallel_environment",  # of Grid Engine
)
USUAL_POLL_SECONDS = Cluster._field_defaults["poll_seconds"]
_LAUNCHER_KEYS = ("executable", "gpus_per_process", "processes", "threads_per_process")


def cluster_toml(cluster: Cluster) -> str:
    """Return one cluster, as `show cluster` prints it."""
    return _cluster(cluster, "")


def clusters_toml(clusters: Iterable[Cluster]) -> str:
    """Return several clusters, as `show cluster --all` prints them."""
    return "\n".join("[[cluster]]\n" + _cluster(cluster, "cluster.") for cluster in clusters)


def launchers_toml(launchers: Launchers, cluster: str | None = None) -> str:
    """Return the launchers of one cluster, or all of them (`cluster` is None, `--all`)."""
    tables = []
    for name, by_cluster in sorted(launchers.launchers.items()):
        if cluster is not None:
            launcher = launchers.find(name, cluster)
            if launcher is not None:
                tables.append(f"[{toml_key(name)}]\n" + _launcher(launcher))
            continue
        places = sorted(by_cluster, key=lambda key: (key != "default", key))
        tables += [
            f"[{toml_key(name)}.{toml_key(where)}]\n" + _launcher(by_cluster[where])
            for where in places
        ]
    return "\n".join(tables)


def _cluster(cluster: Cluster, prefix: str) -> str:
    identify = cluster.identify
    if identify.by_environment is not None:
        identified = f"by_environment = {_array(identify.by_environment)}"
    else:
        identified = f"always = {_value(identify.always)}"
    empty = "" if cluster.partitions or cluster.asked_partitions else "partition = []\n"
    remote = cluster.remote
    poll = ""
    if remote is not None or cluster.poll_seconds != USUAL_POLL_SECONDS:
        poll = f"poll = {cluster.poll_seconds:.15g}\n"
    if cluster.query_seconds != Cluster._field_defaults["query_seconds"]:
        poll += f"query_timeout = {cluster.query_seconds:.15g}\n"
    if cluster.arrays is not None:
        poll += f"arrays = {_value(cluster.arrays)}\n"
    resources = ""
    if kind_of(cluster).names_resources:
        resources = f"memory_resource = {toml_string(cluster.memory_resource)}\n"
        resources += f"gpu_resource = {toml_string(cluster.gpu_resource)}\n"
    if cluster.currency:
        resources += f"currency = {toml_string(cluster.currency)}\n"
    return (
        f"name = {toml_string(cluster.name)}\n"
        f"scheduler = {toml_string(cluster.scheduler)}\n{empty}"
        f"slurm_gpus_per_task = {toml_string(cluster.slurm_gpus_per_task)}\n"
        f"submit_options = {_array(cluster.submit_options)}\n{resources}{poll}"
        f"\n[{prefix}identify]\n{identified}\n{'' if remote is None else _remote(remote, prefix)}"
        + "".join(_partition(partition, prefix) for partition in cluster.partitions)
        + _for_packing(cluster, prefix)
    )


def _for_packing(cluster: Cluster, prefix: str) -> str:
    """Return the node types of the cluster, and its packing settings."""
    if not cluster.node_types and cluster.packing is None:
        return ""
    packing = "" if cluster.packing is None else packing_toml(cluster.packing, prefix)
    return node_types_toml(cluster.node_types, prefix) + packing


def _remote(remote: Remote, prefix: str) -> str:
    lines = [f"host = {toml_string(remote.host)}"]
    if remote.user:
        lines.append(f"user = {toml_string(remote.user)}")
    if remote.port:
        lines.append(f"port = {remote.port}")
    lines += [
        f"transport = {toml_string(remote.transport)}",
        f"mirror = {toml_string(remote.mirror)}",
    ]
    if remote.config:
        lines.append(f"config = {_array(remote.config)}")
    text = f"\n[{prefix}ssh]\n" + "\n".join(lines) + "\n"
    for pair in remote.paths:
        text += f"\n[[{prefix}ssh.paths]]\nlocal = {toml_string(pair.local)}\n"
        text += f"remote = {toml_string(pair.remote)}\n"
    return text


def _partition(partition: Partition, prefix: str) -> str:
    lines = [f"\n[[{prefix}partition]]\n"]
    for key in _PARTITION_KEYS:
        value = getattr(partition, key)
        if value is not None:
            lines.append(f"{key} = {_value(value)}\n")
    return "".join(lines)


def _launcher(launcher: Launcher) -> str:
    values = ((key, getattr(launcher, key)) for key in _LAUNCHER_KEYS)
    return "".join(f"{key} = {toml_string(value)}\n" for key, value in values if value is not None)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else toml_string(str(value))


def _array(values: tuple[str, ...]) -> str:
    if len(values) < 2:
        return "[" + "".join(toml_string(value) for value in values) + "]"
    return "[\n" + "".join(f"    {toml_string(value)},\n" for value in values) + "]"
