"""Secrets in the desktop's key ring, through the library `keyring` (extra `rowtui[keyring]`).

A secret is the key ring's item with service `rowtui:<machine>` and the secret's user. Key rings
cannot be listed, so the names of the stored secrets are in an item of their own: user `names` of
service `rowtui`. If two rowtui processes store at the same instant, a name may be lost from this
list, but never a secret.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rowtui.core.secrets.model import (
    CouldNotDeleteCredentials,
    CouldNotListCredentials,
    CouldNotRetrieveCredentials,
    CouldNotSetCredentials,
    ProviderUnavailable,
    Secret,
    SecretName,
)
from rowtui.core.secrets.waiting import TOO_LATE, answer_within

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "rowtui"
NAMES = "names"
# A locked key ring opens a dialog for its own password; the user needs time to find the dialog.
ANSWER_SECONDS = 60.0
HINT = "'keyring --list-backends' shows which key rings there are"

# What the library's errors mean. Their messages are not shown, because a backend may put anything
# into a message.
_MEANING = {
    TOO_LATE: "it did not answer in time",
    "KeyringLocked": "it is locked",
    "InitError": "it could not be opened",
    "NoKeyringError": "there is no key ring",
}


async def open_keyring(seconds: float = ANSWER_SECONDS) -> KeyringProvider:
    """Open the key ring that the library chooses on this machine.

    Raises: ProviderUnavailable if the library is missing or there is no key ring.
    """
    answer = await answer_within(seconds, _backend)
    if answer.failure in {"ModuleNotFoundError", "ImportError"}:
        raise ProviderUnavailable(
            "the library 'keyring' is not installed", "pip install 'rowtui[keyring]'"
        )
    if answer.failure:
        raise ProviderUnavailable(_why(answer.failure), HINT)
    if answer.value is None:
        raise ProviderUnavailable("there is no key ring on this machine", HINT)
    return KeyringProvider(answer.value, seconds=seconds)


def _backend() -> KeyringBackend | None:
    """Return the chosen key ring; None if it is the backend that always fails or stores nothing."""
    import keyring
    from keyring.backends import fail, null

    backend = keyring.get_keyring()
    return None if isinstance(backend, (fail.Keyring, null.Keyring)) else backend


class KeyringProvider:
    """One key ring. Every call runs in a thread and is waited for only for a limited time."""

    name = "keyring"

    def __init__(self, backend: KeyringBackend, *, seconds: float = ANSWER_SECONDS) -> None:
        self._backend = backend
        self._seconds = seconds

    async def find_password_for_user(self, machine: str, user: str) -> Secret | None:
        """Return the stored secret; None if there is none. Raises: CouldNotRetrieveCredentials."""
        answer = await answer_within(
            self._seconds, lambda: Secret.of(self._backend.get_password(_service(machine), user))
        )
        if answer.failure:
            raise CouldNotRetrieveCredentials(machine, user, self.name, _why(answer.failure), HINT)
        return answer.value

    async def set_password_for_user(self, machine: str, user: str, secret: Secret) -> None:
        """Store the secret, and its name in the list. Raises: CouldNotSetCredentials."""
        answer = await answer_within(self._seconds, lambda: self._store(machine, user, secret))
        if answer.failure:
            hint = "it may be stored all the same" if answer.failure == TOO_LATE else HINT
            raise CouldNotSetCredentials(machine, user, self.name, _why(answer.failure), hint)

    async def del_password_for_user(self, machine: str, user: str) -> None:
        """Delete the secret and its name. Raises: CouldNotDeleteCredentials."""
        answer = await answer_within(self._seconds, lambda: self._remove(machine, user))
        if answer.failure:
            hint = "it may be gone all the same" if answer.failure == TOO_LATE else HINT
            raise CouldNotDeleteCredentials(machine, user, self.name, _why(answer.failure), hint)
        if not answer.value:
            raise CouldNotDeleteCredentials(machine, user, self.name, "it has none")

    async def names(self) -> tuple[SecretName, ...]:
        """Return the names of the secrets that rowtui stored. Raises: CouldNotListCredentials."""
        answer = await answer_within(self._seconds, self._names)
        if answer.failure:
            raise CouldNotListCredentials("", "", self.name, _why(answer.failure), HINT)
        return tuple(SecretName(*pair) for pair in answer.value or ())

    def _store(self, machine: str, user: str, secret: Secret) -> None:
        """Store the secret before its name, because a name missing from the list does no harm."""
        self._backend.set_password(_service(machine), user, secret.reveal())
        names = self._names()
        if (machine, user) not in names:
            self._write_names([*names, (machine, user)])

    def _remove(self, machine: str, user: str) -> bool:
        there = self._backend.get_password(_service(machine), user) is not None
        if there:
            self._backend.delete_password(_service(machine), user)
        names = self._names()
        if (machine, user) in names:
            self._write_names([name for name in names if name != (machine, user)])
        return there

    def _names(self) -> list[tuple[str, str]]:
        """Return the stored list of names; empty if the item is not a list of pairs of strings."""
        text = self._backend.get_password(SERVICE, NAMES)
        try:
            pairs = json.loads(text or "[]")
        except ValueError:
            return []
        if not isinstance(pairs, list):
            return []
        found = [
            (pair[0], pair[1])
            for pair in pairs
            if isinstance(pair, list) and len(pair) == 2 and all(isinstance(x, str) for x in pair)
        ]
        return sorted(found)

    def _write_names(self, names: list[tuple[str, str]]) -> None:
        self._backend.set_password(SERVICE, NAMES, json.dumps(sorted(names)))


def _service(machine: str) -> str:
    return f"{SERVICE}:{machine}"


def _why(failure: str) -> str:
    return _MEANING.get(failure, f"it failed with {failure}")
