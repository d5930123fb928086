"""Key rings for tests, through the library's own interface: one in a file, and some that fail."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

from keyring import errors
from keyring.backend import KeyringBackend


class FileKeyring(KeyringBackend):
    """Items in a JSON file: the one given, or the one that TEST_KEY_RING names."""

    priority = 1  # type: ignore[assignment]

    def __init__(self, path: Path | None = None) -> None:
        super().__init__()
        self.path = path or Path(os.environ["TEST_KEY_RING"])

    def items(self) -> dict[str, str]:
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def _write(self, items: dict[str, str]) -> None:
        self.path.write_text(json.dumps(items))

    def get_password(self, service: str, username: str) -> str | None:
        return self.items().get(f"{service}|{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._write({**self.items(), f"{service}|{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        items = self.items()
        if items.pop(f"{service}|{username}", None) is None:
            raise errors.PasswordDeleteError("no such item")
        self._write(items)


class TalkativeKeyring(FileKeyring):
    """Its errors say all that it knows."""

    def get_password(self, service: str, username: str) -> str | None:
        raise ValueError(f"{self.path.read_text()} cannot be decoded")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise errors.PasswordSetError(f"{password} is too weak")

    def delete_password(self, service: str, username: str) -> None:
        raise errors.PasswordDeleteError(self.path.read_text())


class LockedKeyring(FileKeyring):
    """Nobody unlocks it."""

    def get_password(self, service: str, username: str) -> str | None:
        raise errors.KeyringLocked("Failed to unlock the collection!")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise errors.KeyringLocked("Failed to unlock the collection!")

    def delete_password(self, service: str, username: str) -> None:
        raise errors.KeyringLocked("Failed to unlock the collection!")


class SilentKeyring(FileKeyring):
    """Answers only once `released` is set."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__(path)
        self.released = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.released.wait()
        return super().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.released.wait()
        super().set_password(service, username, password)
