"""The secret providers in their order, with the failures that their calls reported.

The first provider that has the secret is used. A secret is stored and deleted by the first provider
that supports the operation. After a provider fails, the next provider is still asked. Source:
SecretService of Fastr.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from rowtui.core.base.plug_ins import PlugIns
from rowtui.core.base.text import visible
from rowtui.core.secrets.keyring_provider import open_keyring
from rowtui.core.secrets.model import (
    SECRET_PREFIX,
    CouldNotDeleteCredentials,
    CouldNotListCredentials,
    CouldNotRetrieveCredentials,
    CouldNotSetCredentials,
    Notice,
    NotSupportedByProvider,
    ProviderUnavailable,
    Secret,
    SecretError,
    SecretName,
    SecretProvider,
)
from rowtui.core.secrets.netrc_provider import NetrcProvider, netrc_path

# Secrets that the user types each time. Nothing is stored, so the user is asked at each use.
#
# The dashboard and the command line ask in different ways; each passes its own `Ask`.


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
        raise NotSupportedByProvider(machine, user, self.name, "typed passwords are not stored")

    async def del_password_for_user(self, machine: str, user: str) -> None:
        """Raises: NotSupportedByProvider."""
        raise NotSupportedByProvider(machine, user, self.name, "typed passwords are not stored")

    async def names(self) -> tuple[SecretName, ...]:
        """Return no names, because the user is not asked for a list of their secrets."""
        return ()


# Secrets from variables `ROWTUI_SECRET_<MACHINE>_<USER>`, for runs without a terminal.
#
# The variables are removed from the environment when the provider is created, so that programs
# started later do not inherit them (sbatch would pass them on to the job). The kernel's copy of the
# environment at the start of the process stays readable for the same user in /proc.


PREFIX = SECRET_PREFIX
HINT = f"set the password in the environment of rowtui: {PREFIX}<MACHINE>_<USER>"


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
        """Return the variables; the machine and the user do not follow from a variable's name."""
        return tuple(SecretName("", "", variable) for variable in sorted(self._secrets))


def _is_provider(made: object) -> bool:
    return isinstance(made, SecretProvider) and isinstance(made.name, str)


PLUG_INS = PlugIns(
    "rowtui.secret_providers", "secret provider", _is_provider, explained=(ProviderUnavailable,)
)
OUR_NAMES = frozenset({"environment", "keyring", "netrc", "prompt"})

T = TypeVar("T")


class FoundSecret(NamedTuple):
    """A secret and the name of the provider that had it."""

    secret: Secret
    provider: str


class SecretLookup(NamedTuple):
    """Result of a search: the secret, if a provider had it, and the failures before that."""

    found: FoundSecret | None
    failures: tuple[SecretError, ...]


class ListedSecret(NamedTuple):
    """The name of a secret and the provider that has it."""

    provider: str
    name: SecretName


class SecretListing(NamedTuple):
    """The names of all secrets, and the failures of providers that could not list their names."""

    names: tuple[ListedSecret, ...]
    failures: tuple[SecretError, ...]


async def open_service(
    environment: MutableMapping[str, str], ask: Ask | None = None
) -> SecretService:
    """Open the providers: environment, key ring, netrc, plug-ins, and a prompt if `ask` is given.

    The variables with secrets are removed from `environment`. A provider that cannot work on this
    machine is left out, and `notices` of the service gives the reason.
    """
    providers: list[SecretProvider] = [EnvironmentProvider(environment)]
    notices = []
    try:
        providers.append(await open_keyring())
    except ProviderUnavailable as unavailable:
        notices.append(Notice("keyring", unavailable.message, unavailable.hint))
    providers.append(NetrcProvider(netrc_path(environment)))
    others, failed = PLUG_INS.load_all(OUR_NAMES)
    providers += others
    notices += [Notice(error.name, error.why, error.hint) for error in failed]
    if ask is not None:
        providers.append(PromptProvider(ask))
    return SecretService(providers, notices)


class SecretService:
    """The providers in their order. `notices`: the providers that were left out, with reasons."""

    def __init__(self, providers: Sequence[SecretProvider], notices: Sequence[Notice] = ()) -> None:
        self.providers = tuple(providers)
        self.notices = tuple(notices)

    async def look_up(self, machine: str, user: str) -> SecretLookup:
        """Ask one provider after the other until one of them has the secret."""
        failures: list[SecretError] = []
        for provider in self.providers:
            of = (machine, user, provider.name)
            answer = await _settled(
                partial(provider.find_password_for_user, machine, user),
                CouldNotRetrieveCredentials,
                of,
            )
            if isinstance(answer, Secret):
                return SecretLookup(FoundSecret(answer, provider.name), tuple(failures))
            if answer is None or isinstance(answer, NotSupportedByProvider):
                continue
            if not isinstance(answer, SecretError):  # a plug-in is not type-checked
                answer = CouldNotRetrieveCredentials(  # type: ignore[unreachable]
                    *of, "its return value is no Secret"
                )
            failures.append(answer)
        return SecretLookup(None, tuple(failures))

    async def find_password_for_user(self, machine: str, user: str) -> Secret:
        """Return the secret. Raises: CouldNotRetrieveCredentials, with each provider's reason."""
        lookup = await self.look_up(machine, user)
        if lookup.found is None:
            raise self.not_found(machine, user, lookup.failures)
        return lookup.found.secret

    def not_found(
        self, machine: str, user: str, failures: Sequence[SecretError]
    ) -> CouldNotRetrieveCredentials:
        """Return the error for a secret that no provider has."""
        return CouldNotRetrieveCredentials(
            machine,
            user,
            "",
            self._together("none of {} has it", failures),
            "\n    ".join(failure.hint for failure in failures if failure.hint),
        )

    async def set_password_for_user(self, machine: str, user: str, secret: Secret) -> str:
        """Store the secret in the first provider that supports storing; return the provider's name.

        Raises: CouldNotSetCredentials.
        """
        for provider in self.providers:
            of = (machine, user, provider.name)
            answer = await _settled(
                partial(provider.set_password_for_user, machine, user, secret),
                CouldNotSetCredentials,
                of,
            )
            if not isinstance(answer, SecretError):
                return provider.name
            if not isinstance(answer, NotSupportedByProvider):
                raise answer
        reason = self._together("none of {} can store anything", ())
        raise CouldNotSetCredentials(machine, user, "", reason, self._notice_hints())

    async def del_password_for_user(self, machine: str, user: str) -> str:
        """Delete the secret in the first provider that supports deletion; return the provider's
        name.

        Raises: CouldNotDeleteCredentials.
        """
        for provider in self.providers:
            of = (machine, user, provider.name)
            answer = await _settled(
                partial(provider.del_password_for_user, machine, user),
                CouldNotDeleteCredentials,
                of,
            )
            if not isinstance(answer, SecretError):
                return provider.name
            if not isinstance(answer, NotSupportedByProvider):
                raise answer
        reason = self._together("none of {} can delete anything", ())
        raise CouldNotDeleteCredentials(machine, user, "", reason, self._notice_hints())

    async def names(self) -> SecretListing:
        """List the names of every provider that supports listing."""
        names: list[ListedSecret] = []
        failures: list[SecretError] = []
        for provider in self.providers:
            answer = await _settled(
                partial(_names_of, provider), CouldNotListCredentials, ("", "", provider.name)
            )
            if not isinstance(answer, SecretError):
                names += answer
            elif not isinstance(answer, NotSupportedByProvider):
                failures.append(answer)
        return SecretListing(tuple(names), tuple(failures))

    def _together(self, sentence: str, failures: Sequence[SecretError]) -> str:
        """Return the sentence with the providers' names, and why some providers did not answer."""
        names = ", ".join(provider.name for provider in self.providers) or "the providers"
        reasons = [sentence.format(names)]
        reasons += (f"{failure.provider}: {failure.reason}" for failure in failures)
        reasons += (f"{notice.provider} is left out: {notice.message}" for notice in self.notices)
        return "; ".join(reasons)

    def _notice_hints(self) -> str:
        return "\n    ".join(notice.hint for notice in self.notices if notice.hint)


async def _names_of(provider: SecretProvider) -> tuple[ListedSecret, ...]:
    """Return the names with every part converted to `str`, since a plug-in may return anything."""
    names = await provider.names()
    return tuple(ListedSecret(provider.name, SecretName(*map(str, name))) for name in names)


async def _settled(
    call: Callable[[], Awaitable[T]], otherwise: type[SecretError], of: tuple[str, str, str]
) -> T | SecretError:
    """Return the answer or the error as a value, without the frames and causes of the error.

    The frames and causes hold the provider's local variables, which include the secret in plain
    text.
    """
    try:
        return await call()
    except NotSupportedByProvider as error:
        otherwise, reason, hint = NotSupportedByProvider, error.reason, error.hint
    except SecretError as error:
        reason, hint = error.reason, error.hint
    except Exception as error:
        reason, hint = f"it failed with {type(error).__name__}", ""
    return otherwise(*of, reason, hint)
