"""Write node types and packing settings as TOML text for rowtui's own clusters.toml.

The text of configured or detected values reads back as the same values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rowtui.core.base.text import visible
from rowtui.core.clusters.config.toml_text import toml_key, toml_string
from rowtui.core.clusters.model import NodeKind, PackingDefaults

SECONDS_PER_DAY = 86_400


def node_types_toml(
    kinds: Sequence[NodeKind],
    prefix: str = "cluster.",
    remarks: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return a `[[node_type]]` for each; `remarks` by name are written as comments in it."""
    return "".join(_node_type(kind, prefix, (remarks or {}).get(kind.name, ())) for kind in kinds)


def packing_toml(packing: PackingDefaults, prefix: str = "cluster.") -> str:
    """Return the `[packing]` table, and one for each partition with settings of its own."""
    text = f"\n[{prefix}packing]\n" + _packing(packing)
    for name, special in dict(packing.partitions).items():
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


def _node_type(kind: NodeKind, prefix: str, remarks: Sequence[str]) -> str:
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
    if kind.price is not None:
        lines.append(f"price_per_hour = {kind.price!r}")
    if kind.at_most is not None:
        lines.append(f"count = {kind.at_most}")
    if kind.boot_seconds:
        lines.append(f'boot_time = "{duration(kind.boot_seconds)}"')
    if kind.longest_seconds is not None:
        lines.append(f'maximum_walltime = "{duration(kind.longest_seconds)}"')
    if kind.whole_node:
        lines.append("whole_node = true")
    said = "".join(f"# {visible(remark)}\n" for remark in remarks)
    return f"\n[[{prefix}node_type]]\n{said}" + "\n".join(lines) + "\n"


def _packing(packing: PackingDefaults) -> str:
    lines = [f"enabled = {str(packing.enabled).lower()}", f"packer = {toml_string(packing.packer)}"]
    if packing.largest_bundle is not None:
        lines.append(f"largest_bundle = {packing.largest_bundle}")
    if packing.longest_seconds is not None:
        lines.append(f'longest = "{duration(packing.longest_seconds)}"')
    lines.append(f"time_factor = {packing.time_factor!r}")
    return "\n".join(lines) + "\n"
