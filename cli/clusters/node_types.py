"""`rowtui doctor --node-types`: a cluster's node types, as an entry for rowtui's clusters.toml."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.cli.loop import run as run_async
from rowtui.cli.project.open import ask, cluster_name, sit_before
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.json_objects import VERSION
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.config.user_config import Added, add_entry, own_file
from rowtui.core.engine.api.json_views import node_kind_of
from rowtui.core.project.context.cluster_context import Surroundings
from rowtui.core.project.context.live_node_types import entry_toml, live_node_types

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output
    from rowtui.core.base import json_objects as to
    from rowtui.core.clusters.model import Cluster
    from rowtui.core.clusters.schedulers.slurm.nodes import FoundKind, FoundNodes


def show_node_types(args: argparse.Namespace, out: Output) -> int:
    """Print the entry, and add it to the file on request."""
    around = Surroundings(args.node_types or cluster_name(args))
    sit_before(around)
    out.problems(around.configured.problems)
    cluster = around.recognised.cluster
    found = run_async(live_node_types(around.reach, cluster, around.environment))
    for notice in found.notices:
        out.warn(notice)
    if not found.kinds:
        raise RowtuiError(f"{visible(cluster.name)} has no nodes for jobs")
    file = own_file(os.environ)
    text = entry_toml(cluster, found)
    if not args.json:
        out.write(text)
    added = _write(args, cluster, text, file, out) if args.write else None
    if args.json:
        out.print(json.dumps(_values(cluster, found, text, file, added), indent=2))
    elif not args.write:
        _say_where(cluster, file, out)
    return 0


def _say_where(cluster: Cluster, file: Path, out: Output) -> None:
    place = visible(str(file))
    if cluster.node_types:
        name = visible(cluster.name)
        where = f"{name} has node types already: these may replace them in {place}."
    else:
        where = f"This may stand at the end of {place}; --write puts it there."
    out.note(where)
    if all(kind.price is None for kind in cluster.node_types):
        out.note("If its nodes cost something, give each type a `price_per_hour`.")


def _write(
    args: argparse.Namespace, cluster: Cluster, text: str, file: Path, out: Output
) -> Added | None:
    """Add the entry, if the user agrees."""
    if cluster.node_types:
        raise RowtuiError(
            f"{visible(cluster.name)} has node types already, so nothing was written",
            f"change them by hand in {visible(cluster.node_types[0].source)}",
        )
    question = f"Add this to {visible(str(file))}?"
    if not (args.yes or ask(question, out, default=False, as_json=args.json)):
        out.warn("Nothing was written.")
        return None
    added = add_entry(text, cluster.name, os.environ)
    kept = "" if added.backup is None else f"; {visible(str(added.backup))} is as it was before"
    number = plural(text.count("\n[[cluster.node_type]]\n"), "node type")
    out.note(f"Added {number} to {visible(str(added.file))}{kept}.")
    return added


def _values(
    cluster: Cluster, found: FoundNodes, text: str, file: Path, added: Added | None
) -> to.NodeTypes:
    return {
        "version": VERSION,
        "cluster": cluster.name,
        "node_types": [_found(each) for each in found.kinds],
        "notices": list(found.notices),
        "toml": text,
        "file": str(file),
        "written": added is not None,
        "backup": str(added.backup) if added is not None and added.backup is not None else None,
    }


def _found(found: FoundKind) -> to.FoundNodeType:
    return {
        **node_kind_of(found.kind),
        "nodes": found.nodes,
        "down": found.down,
        "asleep": found.asleep,
        "closed": found.closed,
    }
