"""Answers to the questions of a login: from a stored password first, then from the user.

The module handles the questions of one cluster's logins. A stored password answers a single
password question, once for each login; if the password is wrong, the user is asked. The password is
sent to the cluster alone, never to a jump host. One-time codes and pass phrases are never looked
up. The user is asked only while they want to log in or a command of theirs runs in a terminal.
"""

from __future__ import annotations

import grp
import os
import pwd
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.lazy import asyncio, pattern
from rowtui.core.clusters.config.load_remote import ssh_target
from rowtui.core.clusters.schedulers.local.machine import user_name
from rowtui.core.mapping.model.request import Person
from rowtui.core.secrets.model import Secret

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Remote
    from rowtui.core.clusters.transports.login import Asker, Prompt, UnknownHostKey


# Users as mapping files see them: a name, and roles from the groups of this machine.


def this_person() -> Person:
    """Return the user of this process with the names of their Unix groups, the main group first."""
    return Person(user_name(), _names((os.getegid(), *os.getgroups())))


def person_named(name: str, roles: tuple[str, ...] | None = None) -> Person:
    """Return a user with these roles, by default their Unix groups here, the main group first.

    A user unknown to this machine (or an e-mail address) has no roles.
    """
    return Person(name, unix_groups(name) if roles is None else roles)


def unix_groups(name: str) -> tuple[str, ...]:
    """Return the names of a user's groups on this machine."""
    try:
        main = pwd.getpwnam(name).pw_gid
        return _names((main, *os.getgrouplist(name, main)))
    except (KeyError, OSError, ValueError):
        return ()


def _names(numbers: Iterable[int]) -> tuple[str, ...]:
    """Return the names of groups, each number once. A group without a name cannot be matched."""
    names = []
    for number in dict.fromkeys(numbers):
        try:
            names.append(grp.getgrgid(number).gr_name)
        except KeyError:
            continue
    return tuple(names)


# A second password question within this time means that the first answer was wrong.
_SAME_LOGIN_SECONDS = 60.0
_PASSWORD = pattern(r"\b(password|passwort|kennwort|mot de passe|contraseña)\b", re.IGNORECASE)
_NO_PASSWORD = pattern(r"one[- ]time|phrase|code|token|otp|new password", re.IGNORECASE)


def asks_for_password(prompts: Sequence[Prompt]) -> bool:
    """Whether the single question asks for the account's password alone."""
    if len(prompts) != 1 or prompts[0].echo:
        return False
    line = prompts[0].text.split("\n")[-1]
    return bool(_PASSWORD.search(line)) and not _NO_PASSWORD.search(line)


class LoginCredentials:
    """The asker of one connection. `person` returns the asker for the user, if one is present."""

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
        """Whether the cluster itself asks. A jump host must not receive the cluster's password."""
        return prompt.machine == str(ssh_target(self._remote))

    async def _stored(self) -> Secret | None:
        """Return the password for this machine, by its name in clusters.toml or ~/.ssh/config."""
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
