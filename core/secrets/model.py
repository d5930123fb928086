"""A secret that does not show itself, who can provide one, and the ways in which that fails.

`Secret` guards against accidents (a log line, an f-string, a pickle, a traceback with locals), not
against code that wants to know: `reveal()` gives an ordinary string, and no guard follows that. So
it is called inside the call that needs the string, never bound to a name, and what such a call
raises is turned into words in `waiting.py` before it can carry its frames along. Source: Fastr's
documentation, SecretProvider and its four errors.
"""

from __future__ import annotations

import hmac
from typing import Any, NamedTuple, NoReturn, Protocol, SupportsIndex, final, runtime_checkable

from rowtui.core.errors import RowtuiError
from rowtui.core.text import visible

HIDDEN = "***"


@final
class Secret:
    """Text that only `reveal()` shows. Two are equal if their texts are; none has a hash."""

    __slots__ = ("_text",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):  # a plug-in is not type-checked
            del text  # type: ignore[unreachable]  # a traceback that shows local variables must not show it
            raise TypeError("a secret is made of text")
        self._text = text

    @classmethod
    def of(cls, text: str | None) -> Secret | None:
        """The secret with this text; None where there is none or it is empty."""
        return cls(text) if text else None

    def reveal(self) -> str:
        """The text itself. Use it within the expression that needs it and do not keep it."""
        return self._text

    def __repr__(self) -> str:
        """Without the text."""
        return f"Secret({HIDDEN})"

    def __str__(self) -> str:
        """Without the text."""
        return HIDDEN

    def __format__(self, spec: str) -> str:
        """Without the text, whatever is asked for."""
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        """Compared in a time that does not tell where two texts of one length differ."""
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(
            self._text.encode("utf-8", "surrogatepass"),
            other._text.encode("utf-8", "surrogatepass"),
        )

    def __copy__(self) -> Secret:
        """Itself: it never changes."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        """Itself: it never changes."""
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raises: TypeError. What is pickled is written down somewhere."""
        raise TypeError("a secret is not pickled")

    def __getstate__(self) -> NoReturn:
        """Raises: TypeError, for the same reason."""
        raise TypeError("a secret is not pickled")


class SecretName(NamedTuple):
    """What a secret is for. `variable`: its place in the environment, which names neither."""

    machine: str
    user: str
    variable: str = ""


class Notice(NamedTuple):
    """Why a provider takes no part."""

    provider: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """As an error prints."""
        text = f"secrets from {visible(self.provider)} are left out: {self.message}"
        return text + (f"\n    {self.hint}" if self.hint else "")


class ProviderUnavailable(RowtuiError):
    """A provider cannot work here: a library is missing, or what it talks to."""


class SecretError(RowtuiError):
    """Something did not work with one secret. `reason` is put in words; it never holds the secret.

    `provider` is empty where all of them together are meant.
    """

    what = "use the password of {user} at {machine}"

    def __init__(self, machine: str, user: str, provider: str, reason: str, hint: str = "") -> None:
        what = self.what.format(user=visible(user), machine=visible(machine))
        by = f"{visible(provider)}: " if provider else ""
        super().__init__(f"could not {what}: {by}{reason}", hint)
        self.machine, self.user, self.provider, self.reason = machine, user, provider, reason

    def __reduce__(self) -> tuple[Any, ...]:
        """To cross to another process: from its parts, without what it came from."""
        return type(self), (self.machine, self.user, self.provider, self.reason, self.hint)


class CouldNotRetrieveCredentials(SecretError):
    """No provider has the secret, or the one that was asked failed."""

    what = "find the password of {user} at {machine}"


class CouldNotSetCredentials(SecretError):
    """The secret was not stored, or nobody can say whether it was."""

    what = "store the password of {user} at {machine}"


class CouldNotDeleteCredentials(SecretError):
    """The secret was not there, or is there still."""

    what = "delete the password of {user} at {machine}"


class CouldNotListCredentials(SecretError):
    """The names of secrets could not be listed; this one is about no machine."""

    what = "list whose passwords there are"


class NotSupportedByProvider(SecretError):
    """A provider never does what was asked, such as to store. The seed's NotImplemented."""


@runtime_checkable
class SecretProvider(Protocol):
    """One place where secrets are kept. Third parties register theirs as `rowtui.secret_providers`.

    Methods raise `NotSupportedByProvider` for what the place cannot do. Each bounds its own
    waiting, except where a person is asked.
    """

    @property
    def name(self) -> str:
        """What people call it."""

    async def find_password_for_user(self, machine: str, user: str) -> Secret | None:
        """The secret, or None if this place has none. Raises: CouldNotRetrieveCredentials."""

    async def set_password_for_user(self, machine: str, user: str, secret: Secret) -> None:
        """Store it, over an older one. Raises: CouldNotSetCredentials."""

    async def del_password_for_user(self, machine: str, user: str) -> None:
        """Remove it. Raises: CouldNotDeleteCredentials, also if there is none."""

    async def names(self) -> tuple[SecretName, ...]:
        """Whose secrets it has. Raises: CouldNotListCredentials."""
