"""Stored passwords answer logins; what is asked beside them is for a person."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from rowtui.core.clusters.model import Remote
from rowtui.core.clusters.transports.cluster_transport import transport_for
from rowtui.core.clusters.transports.login import (
    Asker,
    LoginError,
    NoUser,
    Prompt,
    UnknownHostKey,
)
from rowtui.core.project.context.credentials import LoginCredentials, asks_for_password

from tests.rig.faults import Prompt as Asked
from tests.rig.faulty import faulty_login


class Person:
    """Answers from a list, and remembers what was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def ask(self, prompts: Sequence[Prompt]) -> Sequence[str] | None:
        self.asked += [prompt.text for prompt in prompts]
        return [self.answers.pop(0) for _ in prompts] if self.answers else None

    async def host_key(self, question: UnknownHostKey) -> bool:
        return False


@pytest.mark.parametrize(
    ("text", "echo", "expected"),
    [
        ("Password:", False, True),
        ("(me@alpha) Password for me:", False, True),
        ("Welcome to the one-time code site\nPassword:", False, True),
        ("Password + one-time code:", False, False),
        ("One-time password (OATH):", False, False),
        ("Pass phrase for key /home/me/.ssh/id_ed25519:", False, False),
        ("New password:", False, False),
        ("Password:", True, False),
        ("Verification code:", False, False),
    ],
)
def test_only_the_account_s_password_is_looked_up(text: str, echo: bool, expected: bool) -> None:
    assert asks_for_password([Prompt(text, echo)]) is expected
    assert not asks_for_password([Prompt(text, echo), Prompt("Code:")])


async def log_in(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rounds: list[list[Asked]],
    person: Asker,
    stored: str,
) -> list[str]:
    """Log in to a node that asks this; the answers that it got."""
    async with faulty_login(tmp_path, keys=False, rounds=rounds) as node:
        monkeypatch.setenv(f"ROWTUI_SECRET_NODE_{node.user.upper()}", stored)
        monkeypatch.setenv("HOME", str(tmp_path))
        config = tmp_path / "config"
        config.write_text(
            f"Host node\n HostName 127.0.0.1\n Port {node.port}\n User {node.user}\n"
            f" UserKnownHostsFile {node.known_hosts}\n IdentityAgent none\n IdentitiesOnly yes\n"
        )
        remote = Remote("node", config=(str(config),))
        transport = transport_for(remote, LoginCredentials(remote, lambda: person), cluster="node")
        await transport.reconnect()
        await transport.close()
        return [answer for login in node.logins for answer in login.answers]


async def test_a_stored_password_is_given_and_the_code_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = [[Asked("Password: ", "right")], [Asked("One-time code: ", "123456")]]
    person = Person("123456")

    answers = await log_in(tmp_path, monkeypatch, rounds, person, "right")

    assert answers == ["right", "123456"]
    assert [text.split("\n")[-1] for text in person.asked] == ["One-time code:"]


async def test_a_stored_password_that_is_wrong_is_given_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person("right")

    answers = await log_in(tmp_path, monkeypatch, [[Asked("Password: ", "right")]], person, "old")

    assert answers == ["old", "right"]


async def test_a_stored_password_alone_needs_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = await log_in(
        tmp_path, monkeypatch, [[Asked("Password: ", "right")]], NoUser(), "right"
    )

    assert answers == ["right"]


async def test_a_jump_host_never_gets_the_password_of_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a cluster whose password is stored, behind a jump host that asks for one as well
    async with faulty_login(
        tmp_path, name="gate", keys=False, rounds=[[Asked("Password: ", "gate's")]]
    ) as gate:
        monkeypatch.setenv(f"ROWTUI_SECRET_NODE_{gate.user.upper()}", "the cluster's")
        monkeypatch.setenv("HOME", str(tmp_path))
        config = tmp_path / "config"
        config.write_text(
            f"Host gate node\n HostName 127.0.0.1\n User {gate.user}\n"
            f" UserKnownHostsFile {gate.known_hosts}\n IdentityAgent none\n IdentitiesOnly yes\n"
            f"Host gate\n Port {gate.port}\nHost node\n Port 9\n ProxyJump gate\n"
        )
        remote = Remote("node", config=(str(config),))
        person = Person("gate's")
        transport = transport_for(remote, LoginCredentials(remote, lambda: person), cluster="node")
        # when somebody logs in
        with pytest.raises(LoginError):  # nobody listens behind it
            await transport.reconnect()
        await transport.close()
        # then the person answers the jump host
        assert [text.split("\n")[-1] for text in person.asked] == ["Password:"]
        assert [answer for login in gate.logins for answer in login.answers] == ["gate's"]
