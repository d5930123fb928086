"""The unit of `systemd --user` that drives a project while its user is logged out.

Takes a project's folder and the words of a command. Gives the unit's name, its text and its path.
The unit restarts a driver that was killed, but not one that paused or ended. Source of the quoting:
systemd.syntax(7), and "Command lines" in systemd.service(5).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible

# Exit codes of `rowtui run` after which only the user can decide, see docs/run.md.
_FINAL_EXITS = "1 2 130"
_RESTART_SECONDS = 30
_STOP_SECONDS = 60
# A service does not inherit the user's shell: these variables decide what a driver finds.
KEPT_VARIABLES = (
    "PATH",
    "ROWTUI_LOCAL_DIR",
    "ROW_HOME",
    "SGE_CELL",
    "SGE_ROOT",
    "SLURM_CONF",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
)
_SHELL = 'cd -- "$0" && exec "$@"'


def service_name(root: Path) -> str:
    """Return the unit's name, such as `rowtui-study-1a2b3c4d.service`: one for each folder."""
    word = re.sub(r"[^A-Za-z0-9_]+", "-", root.name).strip("-")[:40] or "project"
    path = str(root.resolve()).encode("utf-8", "surrogateescape")
    return f"rowtui-{word}-{hashlib.sha256(path).hexdigest()[:8]}.service"


def service_path(root: Path, environment: Mapping[str, str]) -> Path:
    """Return where the user's unit for this folder is stored."""
    home = Path(environment.get("HOME") or Path.home())
    configuration = environment.get("XDG_CONFIG_HOME") or ""
    base = Path(configuration) if configuration.startswith("/") else home / ".config"
    return base / "systemd" / "user" / service_name(root)


def quoted_word(text: str) -> str:
    """Return one word of a unit's setting, in which systemd replaces nothing.

    Raises: RowtuiError for bytes that are no UTF-8, which systemd does not read.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RowtuiError(
            f"systemd cannot use '{visible(text)}', which is not valid UTF-8",
            "rename the folder, or start `nohup rowtui run --yes &`",
        ) from None
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda it: f"\\x{ord(it[0]):02x}", escaped) + '"'


def quoted_argument(text: str) -> str:
    """Return one argument of a unit's command line, in which `$` is special as well.

    Raises: RowtuiError as `quoted_word`.
    """
    return quoted_word(text).replace("$", "$$")


def service_unit(root: Path, words: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the text of a unit that runs these words in the folder of the project.

    Raises: RowtuiError if systemd cannot use a path.
    """
    # A shell changes to the folder: WorkingDirectory= has other rules of quoting.
    arguments = " ".join(map(quoted_argument, ("-c", _SHELL, str(root), *words)))
    variables = [
        f"Environment={quoted_word(f'{name}={environment[name]}')}"
        for name in KEPT_VARIABLES
        if environment.get(name)
    ]
    about = visible(root.name).replace("%", "%%").replace("\\", "\\\\")
    return "\n".join(
        [
            "[Unit]",
            f"Description=rowtui run of {about}",
            "",
            "[Service]",
            *variables,
            f"ExecStart=/bin/sh {arguments}",
            "Restart=on-failure",
            f"RestartSec={_RESTART_SECONDS}",
            f"RestartPreventExitStatus={_FINAL_EXITS}",
            f"TimeoutStopSec={_STOP_SECONDS}",
            # Jobs of the queue `local` and shared logins outlive the driver.
            "KillMode=process",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        ]
    )
