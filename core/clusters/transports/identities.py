"""The keys that a login may use, including locked ones, and the pass phrases that unlock them.

The input is identity files; the result is key pairs in the order in which they are tried. A locked
key is offered by its public half; its pass phrase is asked only when the server accepts that key.
The module imports asyncssh: import it only where a connection is opened. Source: the behaviour of
ssh(1); the format of OpenSSH leaves the public half readable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import asyncssh
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.login import Asker, Prompt

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
