"""The sockets of shared connections, and the check of the user at the other end.

The input is a cluster's name and its machine; the result is a path that is the same for all rowtui
processes of this user on this machine, and sockets that listen there or are connected to it. The
folder is used only if it is the user's alone (0700); the kernel reports the user at the other end.
Source: unix(7): a socket's path has at most 107 bytes, so it is named through /proc/self/fd;
SO_PEERCRED; the XDG rules for runtime files.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import re
import socket
import stat
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.login import SshTarget

SUFFIX = ".socket"
_BACKLOG = 128
_LONGEST_NAME = 40  # characters of a cluster's name in the name of its socket
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid
_BUSY_TRIES, _BUSY_PAUSE = 40, 0.05  # while the queue of the listening socket is full


class SharedError(RowtuiError):
    """A shared connection cannot be used; the message has the reason."""


class NobodyThere(SharedError):
    """There is no shared connection, or the process that held it has ended."""


def shared_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of this user's sockets: in the runtime folder, else in the cache folder.

    A folder in the cache is for this machine only. A process that cron or `su` started may have no
    runtime folder in its environment, or that of another user.
    """
    environ = os.environ if environ is None else environ
    for runtime in (environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.geteuid()}"):
        if runtime.startswith("/") and _is_own_folder(runtime):
            return Path(runtime) / "rowtui"
    cache = environ.get("XDG_CACHE_HOME", "")
    base = Path(cache) if cache.startswith("/") else Path(environ.get("HOME") or "~") / ".cache"
    machine = re.sub(r"[^A-Za-z0-9_-]+", "_", os.uname().nodename)
    return base.expanduser() / "rowtui" / f"connections-{machine}"


def shared_socket(
    cluster: str, target: SshTarget, environ: Mapping[str, str] | None = None
) -> Path:
    """Return the socket path of a cluster's shared connection; it may have no listener."""
    parts = (cluster, target.host, target.user, target.port, target.config)
    digest = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return shared_folder(environ) / f"{plain_name(cluster)}-{digest}{SUFFIX}"


def plain_name(cluster: str) -> str:
    """Return a cluster's name as contained in the name of its socket."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", cluster)[:_LONGEST_NAME].strip("_") or "cluster"


def sockets(folder: Path) -> tuple[Path, ...]:
    """Return all sockets in a folder, by name, including those without a listener."""
    try:
        names = os.listdir(folder)
    except OSError:
        return ()
    return tuple(folder / name for name in sorted(names) if name.endswith(SUFFIX))


async def connect_to(path: Path) -> socket.socket:
    """Return a connected socket with this user at its other end.

    Raises: NobodyThere; SharedError if the socket cannot be used.
    """
    with _private(path.parent, make=False) as folder:
        connected = _unconnected()
        try:
            for _ in range(_BUSY_TRIES):
                with contextlib.suppress(BlockingIOError):
                    connected.connect(_address(folder, path))
                    break
                await asyncio.sleep(_BUSY_PAUSE)
            else:
                raise SharedError("the shared connection has too many who wait for it")
        except (FileNotFoundError, ConnectionRefusedError):
            connected.close()
            raise NobodyThere("there is no shared connection") from None
        except OSError as error:
            connected.close()
            raise SharedError(
                f"the shared connection at {visible(str(path))} cannot be used: {error.strerror}"
            ) from error
        except BaseException:
            connected.close()
            raise
    try:
        refuse_others(connected)
    except BaseException:
        connected.close()
        raise
    return connected


def listen_at(path: Path) -> socket.socket:
    """Return the only socket that listens at `path`.

    Raises: SharedError, also if another process already listens there.
    """
    with _private(path.parent, make=True) as folder, _alone(folder):
        address = _address(folder, path)
        try:
            if _is_heard(address):
                raise SharedError(
                    "there is a shared connection already", "rowtui disconnect ends it"
                )
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path.name, dir_fd=folder)
            listening = _unconnected()
            try:
                listening.bind(address)
                os.chmod(path.name, 0o600, dir_fd=folder)
                listening.listen(_BACKLOG)
            except BaseException:
                listening.close()
                raise
        except OSError as error:
            raise SharedError(
                f"no socket can be made in {visible(str(path.parent))}: {error.strerror}",
                "set XDG_RUNTIME_DIR to a folder of yours on a local file system",
            ) from error
    return listening


def identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of the socket's path; None if it does not exist."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def remove(path: Path, ours: tuple[int, int] | None) -> None:
    """Remove a socket if it is still the one that this process made."""
    with (
        contextlib.suppress(OSError, SharedError),
        _private(path.parent, make=False) as folder,
        _alone(folder),
    ):
        if identity(path) == ours:
            os.unlink(path.name, dir_fd=folder)


def peer_pid(connected: socket.socket) -> int:
    """Return the id of the process that listened, or that connected."""
    return _credentials(connected)[0]


def refuse_others(connected: socket.socket) -> None:
    """Raise SharedError unless the other end is a process of this user."""
    user = _credentials(connected)[1]
    if user != os.geteuid():
        raise SharedError(f"user {user} is at the other end of the shared connection")


def _credentials(connected: socket.socket) -> tuple[int, int]:
    data = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _ = _CREDENTIALS.unpack(data)
    return pid, user


@contextlib.contextmanager
def _private(path: Path, *, make: bool) -> Iterator[int]:
    """Open the folder if it is accessible to this user alone. Raises: NobodyThere, SharedError."""
    shown = visible(str(path))
    try:
        if make:
            path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, 0o700)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NobodyThere("there is no shared connection") from None
    except OSError as error:
        hint = "set XDG_RUNTIME_DIR to a folder of yours"
        raise SharedError(f"{shown} cannot be used: {error.strerror}", hint) from error
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid():
            raise SharedError(
                f"{shown} belongs to user {status.st_uid}: no shared connection is kept there"
            )
        if stat.S_IMODE(status.st_mode) & 0o077:
            raise SharedError(
                f"{shown} is open to others (mode {stat.S_IMODE(status.st_mode):04o}): "
                "no shared connection is kept there",
                f"chmod go-rwx '{shown}'",
            )
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def _alone(folder: int) -> Iterator[None]:
    """Lock the folder while sockets are made or removed, so that no new one is removed."""
    lock = os.open("lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _address(folder: int, path: Path) -> str:
    return f"/proc/self/fd/{folder}/{path.name}"


def _unconnected() -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.setblocking(False)
    return made


def _is_heard(address: str) -> bool:
    with contextlib.closing(_unconnected()) as probe:
        try:
            probe.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except BlockingIOError:
            return True
    return True


def _is_own_folder(path: str) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
