"""Secrets that a person types each time. Nothing is kept: who needs it again asks again.

How to ask is the dashboard's or the command line's business: `Ask` is given from there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from rowtui.core.secrets.model import NotSupportedByProvider, Secret, SecretName
from rowtui.core.text import visible

# (prompt, whether what is typed may be seen) -> what was typed; None: they would rather not.
Ask = Callable[[str, bool], Awaitable[Secret | None]]


class PromptProvider:
    """The person in front of the terminal."""

    name = "prompt"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def find_password_for_user(self, machine: str, user: str) -> Secret | None:
        """Asked for now, however long it takes."""
        return await self._ask(f"Password of {visible(user)} at {visible(machine)}: ", False)

    async def set_password_for_user(self, machine: str, user: str, secret: Secret) -> None:
        """Raises: NotSupportedByProvider."""
        raise NotSupportedByProvider(machine, user, self.name, "what is typed is not kept")

    async def del_password_for_user(self, machine: str, user: str) -> None:
        """Raises: NotSupportedByProvider."""
        raise NotSupportedByProvider(machine, user, self.name, "what is typed is not kept")

    async def names(self) -> tuple[SecretName, ...]:
        """None: a person is not asked for all that they know."""
        return ()
