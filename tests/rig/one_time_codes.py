"""PAM that wants a password and then a one-time code (HOTP, RFC 4226) of whoever logs in.

sshd gets a folder of its own in the place of /etc/pam.d, in a mount namespace: nothing of this
machine changes, and nothing is left behind. Only root can do that.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path

from tests.rig.processes import RigError, require

WINDOW = 10  # codes that may have been wasted before the right one


class OneTimeCodes:
    """What PAM asks of one user, and the right answers. A code counts once, and none before it."""

    def __init__(self, folder: Path, user: str) -> None:
        if not any(Path("/lib").glob("*/security/pam_oath.so")):
            raise RigError("pam_oath.so missing: apt-get install libpam-oath")
        self._unshare = require("unshare")["unshare"]
        self._services = folder / "pam.d"
        self._services.mkdir(parents=True)
        self._secret = secrets.token_bytes(20)
        self._given = 0
        self.password = f"the password {secrets.token_hex(4)}"
        right, codes = folder / "is_password", folder / "codes"
        right.write_text(f"#!/bin/sh\n[ \"$(tr -d '\\0')\" = '{self.password}' ]\n")
        right.chmod(0o755)
        codes.touch(mode=0o600)
        codes.write_text(f"HOTP {user} - {self._secret.hex()}\n")
        (self._services / "sshd").write_text(
            f"auth requisite pam_exec.so expose_authtok quiet {right}\n"
            f"auth required pam_oath.so usersfile={codes} window={WINDOW} digits=6\n"
            "account required pam_permit.so\n"
            "session required pam_permit.so\n"
        )

    @property
    def settings(self) -> dict[str, object]:
        """What sshd_config has to say."""
        return {
            "UsePAM": "yes",
            "KbdInteractiveAuthentication": "yes",
            "PermitRootLogin": "yes",
            "AuthenticationMethods": "keyboard-interactive",
        }

    def code(self) -> str:
        """The next code, six digits."""
        counter = self._given.to_bytes(8, "big")
        self._given += 1
        digest = hmac.digest(self._secret, counter, hashlib.sha1)
        at = digest[-1] & 0xF
        number = int.from_bytes(digest[at : at + 4], "big") & 0x7FFFFFFF
        return f"{number % 1_000_000:06}"

    def around(self, sshd: Sequence[str]) -> list[str]:
        """The command line that starts sshd, under the same pid, so that it sees our PAM."""
        script = 'mount --bind "$0" /etc/pam.d && exec "$@"'
        return [self._unshare, "--mount", "sh", "-c", script, str(self._services), *sshd]
