"""The user's SSH keys: the machines in known_hosts files, and the keys that a login may use.

The input is the lines of known_hosts files (plain, hashed, with patterns and markers); the result
is the entries about one machine. An invalid line is skipped, as in OpenSSH, and never hides other
lines. The module imports asyncssh: import it only where a connection is opened. Source: sshd(8),
SSH_KNOWN_HOSTS FILE FORMAT; a machine on another port than 22 is written `[host]:port`. An entry
without a port may also confirm the key of such a machine, but never contradicts it.
"""

from __future__ import annotations

import asyncio
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
from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.login import Asker, KnownKey, Prompt, UnknownHostKey

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


# The keys that a login may use, including locked ones, and the pass phrases that unlock them.
#
# The input is identity files; the result is key pairs in the order in which they are tried. A
# locked key is offered by its public half; its pass phrase is asked only when the server accepts
# that key. The module imports asyncssh: import it only where a connection is opened. Source: the
# behaviour of ssh(1); the format of OpenSSH leaves the public half readable.


_PHRASE_TRIES = 3  # as in ssh(1)
_KEY_LIMIT = 1 << 20  # bytes of an identity file


class KeyRing:
    """Keys that were unlocked, and host keys that were accepted, during a transport's life."""

    def __init__(self) -> None:
        self.unlocked: dict[Path, asyncssh.SSHKey] = {}
        self.accepted: set[str] = set()  # lines of known_hosts


class Asking:
    """The asker of one attempt; every question passes through it.

    `open`: questions that wait for an answer now; `moves` counts the steps of the login;
    `interrupted`: the server did not wait for an answer.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self.open = 0
        self.moves = 0
        self.cancelled = False
        self.interrupted = False

    async def ask(self, prompts: Sequence[Prompt]) -> Sequence[str] | None:
        """Return the user's answers; after the user has given up, ask nothing more."""
        if self.cancelled:
            return None
        self.open += 1
        try:
            answers = await self._asker.ask(prompts)
        except asyncio.CancelledError:
            self.interrupted = True
            raise
        finally:
            self.open -= 1
            self.moves += 1
        if answers is None:
            self.cancelled = True
        return answers


class _LockedKey(asyncssh.SSHKeyPair):
    """A key with a readable public half; its pass phrase is asked when the server accepts it."""

    _key_type = "local"

    def __init__(
        self,
        path: Path,
        data: bytes,
        public: asyncssh.SSHKey,
        *,
        certificate: asyncssh.SSHCertificate | None,
        ring: KeyRing,
        asking: Asking,
    ) -> None:
        super().__init__(
            public.algorithm, public.algorithm, public.sig_algorithms, public.sig_algorithms,
            public.public_data, None, certificate,
        )  # fmt: skip
        self._path = path
        self._data = data
        self._ring = ring
        self._asking = asking

    async def sign_async(self, data: bytes) -> bytes:
        """Sign with the unlocked key. Raises: ValueError; asyncssh then tries the next method."""
        key = self._ring.unlocked.get(self._path)
        if key is None:
            key = self._ring.unlocked[self._path] = await self._unlock()
        algorithm = self.sig_algorithm
        return await asyncio.to_thread(key.sign, data, algorithm)

    async def _unlock(self) -> asyncssh.SSHKey:
        again = ""
        for _ in range(_PHRASE_TRIES):
            text = f"{again}Pass phrase of {visible(str(self._path))}: "
            answers = await self._asking.ask([Prompt(text)])
            if not answers:
                break
            try:
                return await asyncio.to_thread(asyncssh.import_private_key, self._data, answers[0])
            except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
                again = "That was not it. "
        raise ValueError("the key stays locked")


def load_keys(paths: Sequence[Path], ring: KeyRing, asking: Asking) -> list[asyncssh.SSHKeyPair]:
    """Load the usable identity files; the others are left out, as in ssh(1)."""
    plain: list[asyncssh.SSHKeyPair] = []
    locked: list[asyncssh.SSHKeyPair] = []
    for path in paths:
        try:
            data = read_bounded(path, _KEY_LIMIT)
        except (OSError, RowtuiError):
            continue
        if b"PRIVATE KEY" not in data:
            continue  # a public half, which names a key of the agent
        try:
            asyncssh.import_private_key(data)
        except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
            public = _public_half(path, data)
            if public is not None:
                locked += [
                    _LockedKey(path, data, public, certificate=found, ring=ring, asking=asking)
                    for found in dict.fromkeys((_certificate(path), None))
                ]
            continue
        try:
            plain += asyncssh.load_keypairs([path])
        except (OSError, ValueError):
            continue
    return plain + locked


def public_halves(paths: Sequence[Path]) -> list[bytes]:
    """Return the public keys that the identity files name, even if only by their `.pub`."""
    found: list[bytes] = []
    for path in paths:
        try:
            data = read_bounded(path, _KEY_LIMIT)
        except (OSError, RowtuiError):
            data = b""
        halves = (_public_half(path, data), _certificate(path), _certificate(path.with_suffix("")))
        found += [half.public_data for half in halves if half is not None]
    return list(dict.fromkeys(found))


def _public_half(path: Path, data: bytes) -> asyncssh.SSHKey | None:
    """Read the public half from the key itself (as in OpenSSH's format), else from its `.pub`."""
    try:
        return asyncssh.import_public_key(data)
    except ValueError:
        pass
    try:
        return asyncssh.import_public_key(read_bounded(Path(f"{path}.pub"), _KEY_LIMIT))
    except (OSError, ValueError, RowtuiError):
        return None


def _certificate(path: Path) -> asyncssh.SSHCertificate | None:
    try:
        return asyncssh.read_certificate(f"{path}-cert.pub")
    except (OSError, ValueError):
        return None
