"""Secrets from variables `ROWTUI_SECRET_<MACHINE>_<USER>`, for runs without a terminal.

The variables are removed from the environment when the provider is created, so that programs
started later do not inherit them (sbatch would pass them on to the job). The kernel's copy of the
environment at the start of the process stays readable for the same user in /proc.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping

from rowtui.core.secrets.model import NotSupportedByProvider, Secret, SecretName
from rowtui.core.secrets.variables import SECRET_PREFIX

PREFIX = SECRET_PREFIX
HINT = f"the environment of rowtui is set by whoever starts it: {PREFIX}<MACHINE>_<USER>"


def variable_name(machine: str, user: str) -> str:
    """Return the name in capitals, with `_` for each character that is not an ASCII letter or
    digit.

    Different machines and users may share one variable: `a-b` and `a.b`.
    """
    return PREFIX + re.sub(r"[^A-Z0-9]", "_", f"{_capitals(machine)}_{_capitals(user)}")


def _capitals(text: str) -> str:
    """Convert ASCII letters to capitals and replace other characters by `_`.

    `str.upper` would turn some other characters into two letters (ß) or into ASCII letters (ſ).
    """
    return "".join(char.upper() if char.isascii() else "_" for char in text)


class EnvironmentProvider:
    """The variables of one environment."""

    name = "environment"

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._secrets: dict[str, Secret] = {}
        for variable in [*environment]:
            if variable.startswith(PREFIX) and variable != PREFIX:
                secret = Secret.of(environment.pop(variable))
                if secret is not None:
                    self._secrets[variable] = secret

    async def find_password_for_user(self, machine: str, user: str) -> Secret | None:
        """Return the secret from the variable; None if the variable is not set or is empty."""
        return self._secrets.get(variable_name(machine, user))

    async def set_password_for_user(self, machine: str, user: str, secret: Secret) -> None:
        """Raises: NotSupportedByProvider."""
        raise NotSupportedByProvider(machine, user, self.name, "it is only read", HINT)

    async def del_password_for_user(self, machine: str, user: str) -> None:
        """Raises: NotSupportedByProvider."""
        raise NotSupportedByProvider(machine, user, self.name, "it is only read", HINT)

    async def names(self) -> tuple[SecretName, ...]:
        """Return the variables; the machine and the user cannot be derived from a
        variable's name.
        """
        return tuple(SecretName("", "", variable) for variable in sorted(self._secrets))
