"""`rowtui run --install-service`: let systemd of the user drive a project, also after a restart.

The input is a run whose limits the user is about to confirm; the result is an enabled unit. Where
systemd is missing, the message names the alternatives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys

from rowtui.cli.environment import cluster_name
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import ask
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import replace_file
from rowtui.core.base.text import visible
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.service import service_path, service_unit

ALTERNATIVES = (
    "start `nohup rowtui run --yes > run.log 2>&1 &`, or `rowtui run` within tmux or screen"
)
_SECONDS = 30.0


def show_service(args: argparse.Namespace, project: OpenProject, out: Output) -> None:
    """Print the unit that would drive this project.

    Raises: RowtuiError if this machine has no systemd of the user.
    """
    _require_systemd()
    path = service_path(project.root, os.environ)
    out.print(f"Unit {visible(str(path))}:")
    out.lines(f"  {visible(line)}" for line in _unit(args, project).splitlines())


def install_service(args: argparse.Namespace, project: OpenProject, out: Output) -> int:
    """Write the unit, start it, and report whether it stays when the user logs out."""
    path = service_path(project.root, os.environ)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, _unit(args, project).encode())
    except OSError as error:
        raise RowtuiError(f"{path} cannot be written: {error.strerror}", ALTERNATIVES) from None
    _systemctl("daemon-reload")
    _systemctl("enable", path.name)
    _systemctl("restart", path.name)
    out.print(f"systemd drives the run: `systemctl --user status {path.name}`,")
    out.print(f"`journalctl --user -u {path.name}`, or `rowtui run --status`.")
    if not _lingers():
        out.warn(
            "systemd ends the service when you log out: run `loginctl enable-linger`. If the"
            " site does not allow this, " + ALTERNATIVES
        )
    return 0


def uninstall_service(args: argparse.Namespace, project: OpenProject, out: Output) -> int:
    """Stop and remove the unit of this project, after asking; submitted jobs continue."""
    path = service_path(project.root, os.environ)
    if not path.exists():
        out.print("No service is installed for this project.")
        return 0
    out.print(f"{visible(str(path))} is stopped and removed. Submitted jobs continue.")
    if not (args.yes or ask("Proceed?", out, as_json=args.json)):
        out.warn("Nothing was changed.")
        return 1
    _require_systemd()
    _systemctl("disable", "--now", path.name)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise RowtuiError(f"{path} cannot be removed: {error.strerror}") from None
    _systemctl("daemon-reload")
    out.print("The service is removed. 'rowtui run' goes on with the run.")
    return 0


def _unit(args: argparse.Namespace, project: OpenProject) -> str:
    words = [sys.executable, "-P", "-m", "rowtui.cli.main"]
    if cluster := cluster_name(args):
        words += ["--cluster", cluster]
    words += ["run", "--resume"]
    words += ["--no-retry"] * args.no_retry
    if args.action is not None:
        words.append(f"--action={args.action}")
    return service_unit(project.root, words, os.environ)


def _require_systemd() -> None:
    if shutil.which("systemctl") is None:
        raise RowtuiError("this machine has no systemd", ALTERNATIVES)
    if not _done("systemctl", "--user", "show-environment").returncode == 0:
        raise RowtuiError("systemd does not run services for you on this machine", ALTERNATIVES)


def _systemctl(*words: str) -> None:
    done = _done("systemctl", "--user", *words)
    if done.returncode:
        text = visible(done.stderr.strip().splitlines()[-1]) if done.stderr.strip() else "no reason"
        raise RowtuiError(f"`systemctl --user {' '.join(words)}` failed: {text}", ALTERNATIVES)


def _lingers() -> bool:
    """Whether the user's services run while the user is logged out."""
    done = _done("loginctl", "show-user", str(os.getuid()), "--property=Linger", "--value")
    return done.stdout.strip() == "yes"


def _done(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words,
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 127, "", str(error))
