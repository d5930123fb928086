"""The `Secret` type, the `SecretProvider` protocol and the errors of providers.

`Secret` protects against accidental disclosure (a log line, an f-string, a pickle, a traceback with
local variables), not against code that reads the secret on purpose: `reveal()` returns an ordinary
string, which is no longer protected. Call `reveal()` inside the call that needs the string, and
never bind its result to a name. `waiting.py` reduces an exception of such a call to the name of its
class, because the exception holds stack frames with the plain text. Source: the documentation of
Fastr, SecretProvider and its four errors.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn, Protocol, SupportsIndex, final, runtime_checkable

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import hmac
from rowtui.core.base.text import visible

# Environment variables that hold secrets. They are passed to no other program.


SECRET_PREFIX = "ROWTUI_SECRET_"


def is_secret(variable: str | bytes) -> bool:
    """Whether the value of a variable is a secret."""
    if isinstance(variable, bytes):
        return variable.startswith(SECRET_PREFIX.encode())
    return variable.startswith(SECRET_PREFIX)


HIDDEN = "***"


@final
class Secret:
    """Text that only `reveal()` returns. Equal texts make equal secrets; no secret is hashable."""

    __slots__ = ("_text",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):  # a plug-in is not type-checked
            del text  # type: ignore[unreachable]  # a traceback with locals must not show the text
            raise TypeError("a secret is made of text")
        self._text = text

    @classmethod
    def of(cls, text: str | None) -> Secret | None:
        """Return the secret with this text; None if the text is None or empty."""
        return cls(text) if text else None

    def reveal(self) -> str:
        """Return the text. Use the text in the expression that needs it, and do not keep it."""
        return self._text

    def __repr__(self) -> str:
        """Return a text without the secret."""
        return f"Secret({HIDDEN})"

    def __str__(self) -> str:
        """Return a text without the secret."""
        return HIDDEN

    def __format__(self, spec: str) -> str:
        """Return a text without the secret, for every format specification."""
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        """Compare in a time that does not depend on where two texts of equal length differ."""
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(
            self._text.encode("utf-8", "surrogatepass"),
            other._text.encode("utf-8", "surrogatepass"),
        )

    def __copy__(self) -> Secret:
        """Return the same object, because a secret never changes."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        """Return the same object, because a secret never changes."""
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to pickle, because a pickle may be written to a file. Raises: TypeError."""
        raise TypeError("a secret is not pickled")

    def __getstate__(self) -> NoReturn:
        """Refuse to pickle, because a pickle may be written to a file. Raises: TypeError."""
        raise TypeError("a secret is not pickled")


class SecretName(NamedTuple):
    """The machine and user of a secret.

    `variable` is the name of the environment variable that holds the secret; `machine` and `user`
    are then empty, because they cannot be derived from `variable`.
    """

    machine: str
    user: str
    variable: str = ""


class Notice(NamedTuple):
    """The reason why a provider is not used."""

    provider: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """Return the text in the form of an error message."""
        text = f"secrets from {visible(self.provider)} are left out: {self.message}"
        return text + (f"\n    {self.hint}" if self.hint else "")


class ProviderUnavailable(RowtuiError):
    """A provider cannot work on this machine: a library or the service behind it is missing."""


class SecretError(RowtuiError):
    """An operation on one secret failed. `reason` is a text that never contains the secret.

    `provider` is empty if the error is about all providers together.
    """

    what = "use the password of {user} at {machine}"

    def __init__(self, machine: str, user: str, provider: str, reason: str, hint: str = "") -> None:
        what = self.what.format(user=visible(user), machine=visible(machine))
        by = f"{visible(provider)}: " if provider else ""
        super().__init__(f"could not {what}: {by}{reason}", hint)
        self.machine, self.user, self.provider, self.reason = machine, user, provider, reason

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the arguments of the constructor, without the exception that caused it."""
        return type(self), (self.machine, self.user, self.provider, self.reason, self.hint)


class CouldNotRetrieveCredentials(SecretError):
    """No provider has the secret, or the provider failed."""

    what = "find the password of {user} at {machine}"


class CouldNotSetCredentials(SecretError):
    """The secret was not stored, or rowtui cannot determine whether the secret was stored."""

    what = "store the password of {user} at {machine}"


class CouldNotDeleteCredentials(SecretError):
    """The secret did not exist, or still exists."""

    what = "delete the password of {user} at {machine}"


class CouldNotListCredentials(SecretError):
    """The names of secrets could not be listed. `machine` and `user` of this error are empty."""

    what = "list whose passwords there are"


class NotSupportedByProvider(SecretError):
    """The provider does not support the operation, such as storing. NotImplemented in Fastr."""


@runtime_checkable
class SecretProvider(Protocol):
    """One place where secrets are kept. Plug-ins register a provider as `rowtui.secret_providers`.

    A method raises `NotSupportedByProvider` for an operation that the place does not support. Every
    method limits the time that it waits, except where the user is asked.
    """

    @property
    def name(self) -> str:
        """The provider's name, as shown to the user."""

    async def find_password_for_user(self, machine: str, user: str) -> Secret | None:
        """Return the secret; None if this place has none. Raises: CouldNotRetrieveCredentials."""

    async def set_password_for_user(self, machine: str, user: str, secret: Secret) -> None:
        """Store the secret, replacing an older one. Raises: CouldNotSetCredentials."""

    async def del_password_for_user(self, machine: str, user: str) -> None:
        """Delete the secret. Raises: CouldNotDeleteCredentials, also if there is none."""

    async def names(self) -> tuple[SecretName, ...]:
        """Return the names of all stored secrets. Raises: CouldNotListCredentials."""
