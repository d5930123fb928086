"""Secrets that the user types each time. Nothing is stored, so the user is asked at each use.

The dashboard and the command line ask in different ways; each passes its own `Ask`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from rowtui.core.base.text import visible
from rowtui.core.secrets.model import NotSupportedByProvider, Secret, SecretName

# (prompt, whether the typed text may be shown) -> the typed text; None if the user declines.
Ask = Callable[[str, bool], Awaitable[Secret | None]]


class PromptProvider:
    """The user at the terminal."""

    name = "prompt"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def find_password_for_user(self, machine: str, user: str) -> Secret | None:
        """Ask the user now, without a time limit."""
        return await self._ask(f"Password of {visible(user)} at {visible(machine)}: ", False)

    async def set_password_for_user(self, machine: str, user: str, secret: Secret) -> None:
        """Raises: NotSupportedByProvider."""
        raise NotSupportedByProvider(machine, user, self.name, "what is typed is not kept")

    async def del_password_for_user(self, machine: str, user: str) -> None:
        """Raises: NotSupportedByProvider."""
        raise NotSupportedByProvider(machine, user, self.name, "what is typed is not kept")

    async def names(self) -> tuple[SecretName, ...]:
        """Return no names, because the user is not asked for a list of their secrets."""
        return ()
