"""Who answers what a login asks: a password that was stored, then a person, if one is there.

Takes the questions of one cluster's logins. A stored password answers a single question for a
password, once for each login: if it is wrong, a person is asked. It is given to the cluster alone,
not to a jump host on the way there. One-time codes and pass phrases are never looked up. A person
is asked only while one wants to log in, or sits before a command.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rowtui.core.secrets.model import Secret

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Remote
    from rowtui.core.clusters.transports.login import Asker, Prompt, UnknownHostKey

# A second question for a password so soon means that the first answer was wrong.
_SAME_LOGIN_SECONDS = 60.0
_PASSWORD = re.compile(r"\b(password|passwort|kennwort|mot de passe|contraseña)\b", re.IGNORECASE)
_NO_PASSWORD = re.compile(r"one[- ]time|phrase|code|token|otp|new password", re.IGNORECASE)


def asks_for_password(prompts: Sequence[Prompt]) -> bool:
    """Whether the one question is for the password of the account, and for nothing else."""
    if len(prompts) != 1 or prompts[0].echo:
        return False
    line = prompts[0].text.split("\n")[-1]
    return bool(_PASSWORD.search(line)) and not _NO_PASSWORD.search(line)


class Door:
    """The asker of one connection. `person`: who is there to be asked now, if anyone."""

    def __init__(self, remote: Remote, person: Callable[[], Asker]) -> None:
        self._remote = remote
        self._person = person
        self._given_at = float("-inf")

    async def ask(self, prompts: Sequence[Prompt]) -> Sequence[str] | None:
        """See `Asker`."""
        again = time.monotonic() - self._given_at < _SAME_LOGIN_SECONDS
        if asks_for_password(prompts) and not again and self._is_asked_by_it(prompts[0]):
            stored = await self._stored()
            if stored is not None:
                self._given_at = time.monotonic()
                return [stored.reveal()]
        return await self._person().ask(prompts)

    async def host_key(self, question: UnknownHostKey) -> bool:
        """See `Asker`."""
        return await self._person().host_key(question)

    def _is_asked_by_it(self, prompt: Prompt) -> bool:
        """Whether it is the cluster itself that asks: its password is no matter of jump hosts."""
        from rowtui.core.clusters.load_remote import ssh_target

        return prompt.machine == str(ssh_target(self._remote))

    async def _stored(self) -> Secret | None:
        """The password for this machine, by the name that clusters.toml or ~/.ssh/config has."""
        import os

        from rowtui.core.clusters.load_remote import ssh_target
        from rowtui.core.clusters.transports.ssh_config import read_settings
        from rowtui.core.secrets.service import open_service

        target = ssh_target(self._remote)
        settings = await asyncio.to_thread(read_settings, target, connect_timeout=20.0)
        service = await open_service(os.environ)
        for machine in dict.fromkeys((target.host, settings.host)):
            found = (await service.look_up(machine, settings.user)).found
            if found is not None:
                return found.secret
        return None
