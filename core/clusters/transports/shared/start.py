"""Start the process that holds a login, and run the first steps of that process.

The settings are passed as JSON on standard input, so that they cannot be seen in the list of
processes. The process reports on standard output that it is ready, or why not. It detaches from the
terminal and from its parent, gets no variable that is a secret, and writes no core file.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.clusters.commands import client_environment
from rowtui.core.clusters.transports.login import SshTarget
from rowtui.core.clusters.transports.own_login import own_transport
from rowtui.core.clusters.transports.shared.folder import SharedError

_START_SECONDS = 60.0
_MODULE = "rowtui.core.clusters.transports.shared.start"


def start(
    socket_path: Path,
    cluster: str,
    target: SshTarget,
    *,
    transport: str,
    seconds: float,
    idle_seconds: float,
) -> None:
    """Start the process and wait until it accepts connections. Raises: SharedError."""
    config = None if target.config is None else [str(file) for file in target.config]
    settings = {
        "socket": str(socket_path),
        "cluster": cluster,
        "target": {**target._asdict(), "config": config},
        "transport": transport,
        "seconds": seconds,
        "idle_seconds": idle_seconds,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", _MODULE],
            input=json.dumps(settings).encode(),
            capture_output=True,
            start_new_session=True,
            cwd="/",
            env=client_environment(),
            timeout=_START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SharedError(f"the background process could not be started: {error}") from error
    answer = _last_json(done.stdout)
    if answer.get("ready") is not True:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        message = answer.get("message") or (visible(said[-1]) if said else "it ended at once")
        raise SharedError(f"no connection can be shared: {message}", str(answer.get("hint", "")))


def _last_json(data: bytes) -> Mapping[str, Any]:
    try:
        answer = json.loads(data)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def main() -> None:
    """Detach from the parent process, then serve."""
    settings = json.load(sys.stdin)
    if os.fork():
        os._exit(0)  # the parent waits for the end of the pipes, which the child closes
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    asyncio.run(_serve(settings))


async def _serve(settings: Mapping[str, Any]) -> None:
    from rowtui.core.clusters.transports.shared.server import Shared, serve
    from rowtui.core.clusters.transports.shared.user import Questions

    files = settings["target"]["config"]
    config = None if files is None else tuple(map(Path, files))
    target = SshTarget(**{**settings["target"], "config": config})
    questions = Questions()
    ready, end = asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    serving = asyncio.create_task(
        serve(
            own_transport(settings["transport"], target, questions),
            Path(settings["socket"]),
            settings["idle_seconds"],
            shared=Shared(settings["cluster"], str(target), settings["seconds"]),
            questions=questions,
            ready=ready,
            end=end,
        )
    )
    heard = asyncio.create_task(ready.wait())
    await asyncio.wait({serving, heard}, return_when=asyncio.FIRST_COMPLETED)
    heard.cancel()
    if ready.is_set():
        _let_go({"ready": True})
    with contextlib.suppress(SharedError):
        await serving
        return
    error = serving.exception()
    assert isinstance(error, SharedError)
    if not ready.is_set():
        _let_go({"message": error.message, "hint": error.hint})


def _let_go(answer: Mapping[str, Any]) -> None:
    """Print the answer, and redirect all standard streams to /dev/null."""
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


if __name__ == "__main__":
    main()
