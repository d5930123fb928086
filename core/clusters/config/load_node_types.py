"""Read what costs and packing need of rowtui's clusters.toml, such as `node_type` and `energy`.

The input is a table of the file and the cluster that it describes or extends; the result is the
cluster with these settings. Every mistake is reported with its position. The module is imported
only if a cluster has such a setting. Amounts of memory and disk use powers of 1024, as in Slurm and
Row; plain numbers are MB.
"""

from __future__ import annotations

import math
import re
from typing import Any

from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.config.cluster_keys import (
    FACTORS,
    LARGEST_MB,
    LONGEST_BOOT,
    LONGEST_SOURCE,
    LONGEST_WALLTIME,
    MEMORY_FORM,
    PACKER_NAME,
)
from rowtui.core.clusters.model import (
    BudgetLimit,
    Cluster,
    EnergyFactors,
    NodeType,
    PackingDefaults,
)
from rowtui.core.workflow.duration import DurationError, parse_duration
from rowtui.core.workflow.positions import KeyPath
from rowtui.core.workflow.toml_file import TomlTable, did_you_mean, kind_of

_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1 << 20, "P": 1 << 30}
_LEAST_BELIEVABLE_MB = 512  # a node with less: the user probably wrote GB


def load_budget(cluster: TomlTable) -> BudgetLimit | None:
    """Return the limits of `budget`; None if it has an error."""
    before = len(cluster.file.problems)
    table = cluster.table("budget")
    if table is None:
        return None
    cpu, gpu = table.number("cpu_hours"), table.number("gpu_hours")
    if "cpu_hours" not in table and "gpu_hours" not in table:
        table.problem((), "`budget` has neither `cpu_hours` nor `gpu_hours`")
    return BudgetLimit(cpu, gpu) if len(cluster.file.problems) == before else None


def load_energy(cluster: TomlTable) -> EnergyFactors | None:
    """Return the factors of `energy`; None if it has an error."""
    before = len(cluster.file.problems)
    table = cluster.table("energy")
    if table is None:
        return None
    numbers = {key: table.number(key) for key in FACTORS}
    source = table.string("source") or ""
    if len(source) > LONGEST_SOURCE:
        table.problem("source", f"`source` has more than {LONGEST_SOURCE} characters")
    if len(cluster.file.problems) > before:
        return None
    given = {key: number for key, number in numbers.items() if number is not None}
    return EnergyFactors(**given, source=visible(source))


def memory_mb(text: str) -> int | None:
    """Return `256G`, `250 GB`, `1.5TiB`, `500M` in whole MB; None if the text is no amount."""
    match = re.fullmatch(MEMORY_FORM, text.strip())
    return None if match is None else int(float(match[1]) * _UNITS[match[2].upper()])


def with_packing(cluster: Cluster, table: TomlTable) -> Cluster:
    """Return the cluster with the node types, currency and packing settings of its entry."""
    kinds = [*cluster.node_types]
    for element in table.tables("node_type") or ():
        kinds += _node_type(element, cluster)
    _same_names(table, cluster)
    _prices_for_all_or_none(table, cluster)
    currency = _name(table, "currency", 12)
    packing = _packing(table, cluster) if "packing" in table else None
    return cluster._replace(
        node_types=tuple(kinds),
        currency=cluster.currency if currency is None else currency,
        packing=packing or cluster.packing,
    )


def _node_type(table: TomlTable, cluster: Cluster) -> list[NodeType]:
    """Return the node type of one table; an empty list if the table has an error."""
    before = len(table.file.problems)
    name = _name(table, "name")
    partition = _name(table, "partition")
    if partition is not None and cluster.partitions:
        _known_partition(table, "partition", partition, cluster)
    kind = NodeType(
        name=name or "",
        partition=partition or "",
        cpus=table.integer("cpus") or 0,
        memory_mb=_megabytes(table, "memory", at_least=1),
        gpus=table.integer("gpus") or 0,
        disk_mb=_megabytes(table, "local_disk"),
        price_per_hour=table.number("price_per_hour"),
        at_most=table.integer("count"),
        boot_seconds=_seconds(table, "boot_time", LONGEST_BOOT) or 0,
        longest_seconds=_seconds(table, "maximum_walltime", LONGEST_WALLTIME, at_least=1),
        whole_node=table.boolean("whole_node") or False,
        source=table.file.file,
    )
    wrong = any(it.severity == "error" for it in table.file.problems[before:])
    return [] if wrong else [kind]


def _known_partition(table: TomlTable, key: str | KeyPath, name: str, cluster: Cluster) -> None:
    """Check a partition's name. Row's files may join several Slurm partitions: `gpu_mig40,gpu`."""
    names = {partition.name for partition in cluster.partitions}
    if name not in names and name not in {each for it in names for each in it.split(",")}:
        shown = ", ".join(f"'{visible(known)}'" for known in sorted(names)[:20])
        hint = did_you_mean(name, names) or f"it has {shown}"
        text = f"'{visible(cluster.name)}' has no partition '{visible(name)}'"
        table.problem(key, text, hint)


def _same_names(table: TomlTable, cluster: Cluster) -> None:
    """Check that the node types of a cluster have different names."""
    known = {kind.name for kind in cluster.node_types}
    elements = table.values.get("node_type")
    for index, element in enumerate(elements if isinstance(elements, list) else ()):
        name = element.get("name") if isinstance(element, dict) else None
        if not isinstance(name, str):
            continue
        if name in known:
            text = f"there are two node types '{visible(name)}'"
            table.problem(("node_type", index, "name"), text, "give each a name of its own")
        known.add(name)


def _prices_for_all_or_none(table: TomlTable, cluster: Cluster) -> None:
    """Check that all node types have a price, or none; report the first one without a price.

    Costs can be compared only if every node type has a price.
    """
    elements = table.values.get("node_type")
    here = [it for it in elements if isinstance(it, dict)] if isinstance(elements, list) else []
    priced = [it for it in here if "price_per_hour" in it]
    before = [kind for kind in cluster.node_types if kind.price_per_hour is not None]
    if not here or not (priced or before):
        return
    bare = [it for it in here if "price_per_hour" not in it]
    bare_before = len(cluster.node_types) - len(before)
    if not bare and not bare_before:
        return
    assert isinstance(elements, list)
    at = elements.index(bare[0]) if bare else elements.index(priced[0])
    without = plural(len(bare) + bare_before, "node type has", "node types have")
    text = f"{without} no `price_per_hour`, but others of this cluster have one"
    hint = "costs could not be compared: give all of them a price, or none; 0 is a price"
    table.problem(("node_type", at), text, hint)


# -- packing -------------------------------------------------------------------------------------


def _packing(table: TomlTable, cluster: Cluster) -> PackingDefaults | None:
    packing = table.table("packing")
    if packing is None:
        return None
    defaults = _packing_values(packing, cluster.packing or PackingDefaults())
    by_name = packing.table("partition")
    special: dict[str, PackingDefaults] = {}
    for name in by_name or ():
        inner = by_name.table(name) if by_name is not None else None
        if inner is None:
            continue
        if cluster.partitions:
            _known_partition(inner, (), name, cluster)
        special[name] = _packing_values(inner, defaults._replace(partitions={}))
    return defaults._replace(partitions=special)


def _packing_values(table: TomlTable, otherwise: PackingDefaults) -> PackingDefaults:
    """Return the settings of a table, with those of `otherwise` for missing keys."""
    enabled = table.boolean("enabled")
    packer = table.string("packer")
    if packer is not None and not re.fullmatch(PACKER_NAME, packer):
        text = f"`packer` cannot be '{visible(packer)}'"
        table.problem("packer", text, 'it is the name of one: packer = "best"')
    given: dict[str, Any] = {
        "enabled": enabled,
        "packer": packer,
        "largest_bundle": table.integer("largest_bundle"),
        "longest_seconds": _seconds(table, "longest", LONGEST_WALLTIME, at_least=1),
        "time_factor": table.number("time_factor"),
    }
    return otherwise._replace(**{key: it for key, it in given.items() if it is not None})


# -- values --------------------------------------------------------------------------------------


def _name(table: TomlTable, key: str, longest: int = 200) -> str | None:
    text = table.string(key)
    if text is None:
        return None
    if not text.strip() or len(text) > longest:
        what = "is empty" if not text.strip() else f"has more than {longest} characters"
        table.problem(key, f"`{key}` {what}", "leave it out, or name one")
        return None
    return text


def _megabytes(table: TomlTable, key: str, at_least: int = 0) -> int | None:
    """Return the MB of `"256G"` or of a plain number."""
    value = table.values.get(key)
    if value is None:
        return None
    form = f'write {key} = "256G", or a number of MB'
    if isinstance(value, str):
        megabytes = memory_mb(value)
        if megabytes is None:
            bare = value.strip().isdecimal()
            hint = f'give it a unit: "{value.strip()[:18]}G", "{value.strip()[:18]}M"'
            text = f"`{key}` cannot be '{visible(value)}'"
            table.problem(key, text, hint if bare else form)
            return None
    elif isinstance(value, int) and not isinstance(value, bool):
        megabytes = value
        if key == "memory" and at_least <= value < _LEAST_BELIEVABLE_MB:
            hint = f'numbers are MB; for GB write {key} = "{value}G"'
            table.problem(key, f"`{key}` is only {value} MB", hint, "warning")
    else:
        table.problem(key, f"`{key}` must be a string, not {kind_of(value)}", form)
        return None
    if not at_least <= megabytes <= LARGEST_MB:
        wanted = f"at most {LARGEST_MB:,}" if megabytes > 0 else f"at least {at_least}"
        table.problem(key, f"`{key}` is {megabytes:,} MB but must be {wanted}", form)
        return None
    return megabytes


def _seconds(table: TomlTable, key: str, most: int, at_least: int = 0) -> int | None:
    """Return whole seconds, rounded up, of `"00:02:00"` or of a plain number."""
    value = table.values.get(key)
    if value is None:
        return None
    hint = f'write {key} = "00:02:00", "2 days, 12:00:00", or a number of seconds'
    if isinstance(value, str):
        try:
            seconds = parse_duration(value)
        except DurationError as error:
            table.problem(key, f"`{key}` cannot be '{visible(value)}': {error}", error.hint)
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        seconds = math.ceil(value)
    else:
        quoted = isinstance(value, float | bool | list | dict)
        hint = hint if quoted else f'a time stands in quotes: {key} = "{value}"'
        table.problem(key, f"`{key}` must be a time, not {kind_of(value)}", hint)
        return None
    if not at_least <= seconds <= most:
        text = f"`{key}` is {seconds:,} s but must be between {at_least} and {most:,} s"
        table.problem(key, text, hint)
        return None
    return seconds
