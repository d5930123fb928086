"""Answer asyncssh's callbacks during one login, from the files and by the user.

The object accepts or rejects the machine's host key by its settings and known_hosts, forwards the
server's questions to the user, and afterwards explains a failure as a `LoginError`. The module
imports asyncssh: import it only where a connection is opened.
"""

from __future__ import annotations

from collections.abc import Sequence

import asyncssh
from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.login import (
    LoginError,
    LoginTrouble,
    Prompt,
    SshTarget,
    changed_key_error,
    unknown_key_error,
)
from rowtui.core.clusters.transports.ssh_config import SshSettings
from rowtui.core.clusters.transports.ssh_keys import (
    Asking,
    KeyRing,
    KnownKeys,
    known_name,
    question,
)

_PASSWORD_TRIES = 3  # as in ssh(1)'s NumberOfPasswordPrompts; the server may end it earlier


class Client(asyncssh.SSHClient):
    """The callbacks of one attempt, and the facts that explain its failure."""

    def __init__(
        self,
        target: SshTarget,
        settings: SshSettings,
        known: KnownKeys,
        ring: KeyRing,
        asking: Asking,
    ) -> None:
        self._target = target
        self._settings = settings
        self._known = known
        self._ring = ring
        self._asking = asking
        self._challenged = True
        self._passwords = 0
        self._codes = 0
        self._refused: LoginError | None = None
        self._tried: list[str] = []

    # Host key

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Whether the key is on file, or was accepted in this session."""
        asked = question(self._settings.key_name, self._settings.key_port, key)
        if denied := self._known.denies(key):
            revoked = self._known.revokes(key)
            self._refused = changed_key_error(str(self._target), asked, denied, revoked=revoked)
            return False
        if self._known.vouches(key) or asked.line in self._ring.accepted:
            return True
        self._refused = unknown_key_error(str(self._target), asked)
        return False

    # Authentication

    def begin_auth(self, username: str) -> None:
        """Record progress: the machine's key has been verified."""
        self._asking.moves += 1

    def kbdint_auth_requested(self) -> str | None:
        """Return "" to try again, while the server sent a challenge the last time and the user
        answered.
        """
        if self._asking.cancelled or not self._challenged:
            return None
        self._challenged = False
        return ""

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> Sequence[str] | None:
        """Ask the user all prompts of one challenge together."""
        self._challenged = True
        self._asking.moves += 1
        if not prompts:
            return []
        self._codes += 1
        # The server's instructions are shown above the first question.
        above = " ".join(visible(text.strip()) for text in (name, instructions) if text.strip())
        asked = [
            Prompt(
                (f"{above}\n" if above and not number else "") + visible(text).strip() or "Answer:",
                echo,
                str(self._target),
            )
            for number, (text, echo) in enumerate(prompts)
        ]
        answers = await self._asking.ask(asked)
        if answers is None or len(answers) != len(prompts):
            return None
        return list(answers)

    async def password_auth_requested(self) -> str | None:
        """Ask for the password."""
        if self._asking.cancelled or self._passwords >= _PASSWORD_TRIES:
            return None
        again = "That was not it. " if self._passwords else ""
        self._passwords += 1
        user, machine = visible(self._settings.user), str(self._target)
        text = f"{again}Password of {user} at {machine}:"
        answers = await self._asking.ask([Prompt(text, machine=machine)])
        return answers[0] if answers else None

    # Explaining a failure

    def explain(self, error: asyncssh.Error) -> LoginError:
        """Return the failure of this attempt as a `LoginError`."""
        where = str(self._target)
        if self._refused is not None:
            return self._refused
        if self._asking.cancelled:
            return LoginError(
                LoginTrouble.CANCELLED, f"the login to {where} was given up", tried=self._tries()
            )
        if self._asking.interrupted:
            # Not BROKEN, which would be retried and open the dialog again and again.
            return LoginError(
                LoginTrouble.CANCELLED,
                f"{where} did not wait any longer for the answer",
                "log in again",
                tried=self._tries(),
            )
        if isinstance(error, asyncssh.HostKeyNotVerifiable):
            key = known_name(self._settings.key_name, self._settings.key_port)
            return LoginError(
                LoginTrouble.HOST_KEY_CHANGED,
                f"{where} could not prove that it is {visible(key)}: {visible(error.reason)}",
                "ask the site for its host keys",
            )
        if isinstance(error, asyncssh.ChannelOpenError):
            return LoginError(
                LoginTrouble.REFUSED,
                f"the jump host could not reach {where}: {visible(error.reason)}",
            )
        answered = self._codes or self._passwords
        if (
            isinstance(error, asyncssh.PermissionDenied)
            or (answered and not isinstance(error, asyncssh.ConnectionLost))
            or "authentication failures" in error.reason  # sshd's message after MaxAuthTries
        ):
            tried = self._tries()
            return LoginError(
                LoginTrouble.DENIED,
                f"{where} denied the login of {visible(self._settings.user)}; tried: "
                + (", ".join(tried) or "nothing: there is no key, and no password was requested"),
                f"see whether 'ssh {where}' lets you in; a one-time code counts only once",
                tried=tried,
            )
        why = visible(error.reason) or type(error).__name__
        return LoginError(LoginTrouble.BROKEN, f"the connection to {where} broke: {why}")

    def _tries(self) -> tuple[str, ...]:
        tried = ["the agent"] if self._settings.agent else []
        tried += [visible(str(path)) for path in self._settings.identities if path.is_file()]
        for number, what in (
            (self._codes, "questions of the server"),
            (self._passwords, "password"),
        ):
            if number:
                tried.append(f"{what} ({number} {'time' if number == 1 else 'times'})")
        return tuple(tried)
