"""Read launchers.toml: the user's prefixes of commands, merged with the built-in ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rowtui.core.base.files import row_config_folder
from rowtui.core.base.text import visible
from rowtui.core.clusters.config.builtin import LAUNCHERS
from rowtui.core.clusters.model import Launcher, Launchers
from rowtui.core.workflow.positions import KeyPath
from rowtui.core.workflow.toml_file import TomlFile, open_toml
from rowtui.core.workflow.toml_keys import Key, TableKeys


def _hint(path: KeyPath, _: object) -> str:
    return f"write [{visible(str(path[0]))}.default] above it"


_LAUNCHER = TableKeys(
    {
        "executable": Key("string", "The program that begins the command, with its options."),
        "gpus_per_process": Key("string", "The option before the number of GPUs."),
        "processes": Key("string", "The option before the number of processes."),
        "threads_per_process": Key("string", "The option before the number of threads."),
    }
)
_CLUSTER = Key("table", "On this cluster, or by `default`.", hint=_hint, keys=_LAUNCHER)
_ABOUT = "A prefix of commands, by the name of a cluster."
_BY_CLUSTER = TableKeys({"default": _CLUSTER}, _CLUSTER)
_WITH_DEFAULT = _BY_CLUSTER._replace(named={"default": _CLUSTER._replace(required="")})
LAUNCHER_KEYS = TableKeys(
    dict.fromkeys(LAUNCHERS, Key("table", _ABOUT, keys=_BY_CLUSTER)),
    Key("table", _ABOUT, keys=_WITH_DEFAULT),
)


def load_launchers(environ: Mapping[str, str]) -> Launchers:
    """Return the built-in launchers, replaced by the user's of the same name and cluster.

    Raises: InvalidFileError with every problem of launchers.toml.
    """
    folder = row_config_folder(environ)
    return read_launchers(None if folder is None else folder / "launchers.toml")


def read_launchers(path: Path | None) -> Launchers:
    """Return the same with the launchers of this file, which need not exist."""
    merged = {name: dict(by_cluster) for name, by_cluster in LAUNCHERS.items()}
    file = None if path is None else open_toml(path, LAUNCHER_KEYS)
    if file is not None:
        for name, by_cluster in _launchers(file).items():
            entry = merged.setdefault(name, {})
            entry.update(by_cluster)
            if "none" in by_cluster and "local" not in by_cluster:
                entry["local"] = by_cluster["none"]  # both are this machine
            if "default" not in entry:
                hint = f"add [{visible(name)}.default]"
                file.problem((name,), f"the launcher '{visible(name)}' has no `default`", hint)
        file.raise_if_errors()
    return Launchers(merged)


def _launchers(file: TomlFile) -> dict[str, dict[str, Launcher]]:
    found: dict[str, dict[str, Launcher]] = {}
    for name in file.top:
        by_cluster = file.top.table(name)
        for cluster in by_cluster or ():
            table = by_cluster.table(cluster) if by_cluster is not None else None
            if table is not None:
                found.setdefault(name, {})[cluster] = Launcher(
                    table.string("executable"),
                    table.string("processes"),
                    table.string("threads_per_process"),
                    table.string("gpus_per_process"),
                )
        if by_cluster is not None and not by_cluster.values:
            found.setdefault(name, {})
    return found
