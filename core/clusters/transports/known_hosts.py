"""Find a machine's keys in known_hosts files, and add a new key.

The input is the lines of known_hosts files (plain, hashed, with patterns and markers); the result
is the entries about one machine. An invalid line is skipped, as in OpenSSH, and never hides other
lines. The module imports asyncssh: import it only where a connection is opened. Source: sshd(8),
SSH_KNOWN_HOSTS FILE FORMAT; a machine on another port than 22 is written `[host]:port`. An entry
without a port may also confirm the key of such a machine, but never contradicts it.
"""

from __future__ import annotations

import base64
import fcntl
import hmac
import os
from collections.abc import Iterator, Sequence
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

import asyncssh
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, sync_folder, write_all
from rowtui.core.clusters.transports.login import KnownKey, UnknownHostKey

_LIMIT = 16 << 20  # bytes of a known_hosts file
_SSH_PORT = 22


class KnownKeys(NamedTuple):
    """The entries of the files about one machine.

    `keys`: the machine's own keys. `elsewhere`: keys of the same name on port 22, which can only
    confirm. `authorities` may sign the machine's key; `revoked` keys must never be accepted.
    """

    keys: tuple[tuple[asyncssh.SSHKey, KnownKey], ...] = ()
    elsewhere: tuple[tuple[asyncssh.SSHKey, KnownKey], ...] = ()
    authorities: tuple[asyncssh.SSHKey, ...] = ()
    revoked: tuple[tuple[asyncssh.SSHKey, KnownKey], ...] = ()

    def vouches(self, key: asyncssh.SSHKey) -> bool:
        """Whether the files contain the key for the machine."""
        return _has((*self.keys, *self.elsewhere), key)

    def revokes(self, key: asyncssh.SSHKey) -> bool:
        """Whether the key is revoked."""
        return _has(self.revoked, key)

    def denies(self, key: asyncssh.SSHKey) -> tuple[KnownKey, ...]:
        """Return the entry that revokes this key, or else the expected keys if this one differs."""
        revoked = tuple(p for known, p in self.revoked if known.public_data == key.public_data)
        if revoked:
            return revoked
        return () if self.vouches(key) else tuple(place for _, place in self.keys)


def _has(keys: Sequence[tuple[asyncssh.SSHKey, KnownKey]], key: asyncssh.SSHKey) -> bool:
    return any(known.public_data == key.public_data for known, _ in keys)


def known_name(host: str, port: int) -> str:
    """Return the machine's name in known_hosts."""
    return host if port in (0, _SSH_PORT) else f"[{host}]:{port}"


def look_up(files: Sequence[Path], host: str, port: int) -> KnownKeys:
    """Return the entries of the files about a machine. A missing file has no entries.

    Raises: OSError, RowtuiError for a file that exists and cannot be read: if its keys were
    ignored, a changed key would pass as unknown.
    """
    name = known_name(host, port)
    keys: list[tuple[asyncssh.SSHKey, KnownKey]] = []
    elsewhere: list[tuple[asyncssh.SSHKey, KnownKey]] = []
    authorities: list[asyncssh.SSHKey] = []
    revoked: list[tuple[asyncssh.SSHKey, KnownKey]] = []
    for file, number, line in _lines(files):
        try:
            entry = asyncssh.import_known_hosts(line)
            own = entry.match(name, "", None)
            same_name = entry.match(host, "", None)
        except ValueError:
            continue  # an invalid line
        for found, place in ((own, keys), (same_name, elsewhere))[: 1 if name == host else 2]:
            place += [(key, _place(file, number, key)) for key in found[0]]
            authorities += found[1]
            revoked += [(key, _place(file, number, key)) for key in found[2]]
    return KnownKeys(
        tuple(keys), tuple(elsewhere), tuple(authorities), tuple(dict.fromkeys(revoked))
    )


def _lines(files: Sequence[Path]) -> Iterator[tuple[Path, int, str]]:
    for file in files:
        try:
            data = read_bounded(file, _LIMIT)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except RowtuiError:
            if file == Path("/dev/null"):
                continue
            raise
        for number, line in enumerate(data.decode(errors="replace").split("\n"), 1):
            if line.strip():
                yield file, number, line


def _place(file: Path, number: int, key: asyncssh.SSHKey) -> KnownKey:
    return KnownKey(str(file), number, key.get_algorithm(), key.get_fingerprint())


def question(host: str, port: int, key: asyncssh.SSHKey) -> UnknownHostKey:
    """Return the question for the user about an unknown key."""
    name = known_name(host, port)
    words = key.export_public_key("openssh").decode().split()[:2]
    return UnknownHostKey(
        name, key.get_algorithm(), key.get_fingerprint(), " ".join([name, *words])
    )


def believe(file: Path, accepted: UnknownHostKey) -> None:
    """Append the key to a known_hosts file, once, under a lock.

    The name is hashed if other names in the file are. Raises: OSError.
    """
    created = not file.parent.is_dir()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        there = _read_all(fd)
        lines = there.split(b"\n")
        if accepted.line.encode() in lines:
            return
        hashed = any(line.startswith(b"|1|") for line in lines)
        text = _hashed(accepted.line) if hashed else accepted.line
        # A last line without its newline would be joined with the new line.
        gap = b"\n" if there and not there.endswith(b"\n") else b""
        write_all(fd, gap + text.encode() + b"\n")
        os.fsync(fd)
    finally:
        os.close(fd)  # also releases the lock
    sync_folder(file.parent)
    if created:
        sync_folder(file.parent.parent)


def _read_all(fd: int) -> bytes:
    chunks = []
    while chunk := os.read(fd, 1 << 20):
        chunks.append(chunk)
    return b"".join(chunks)


def _hashed(line: str) -> str:
    name, rest = line.split(" ", 1)
    salt = os.urandom(sha1(usedforsecurity=False).digest_size)
    digest = hmac.digest(salt, name.encode(), "sha1")
    return f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()} {rest}"
