"""Logging in: what is asked, what is refused, and how that is explained."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncssh
import pytest
from rowtui.core.clusters.transports.asyncssh_login import Timing
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble, NoUser

from tests.core.clusters.transports.conftest import Person, Reach
from tests.rig.faults import Prompt
from tests.rig.faulty import FaultyLogin

CODES = [
    [Prompt("Password: ", "right")],
    [Prompt("One-time code: ", "123456", echo=True, once=True), Prompt("Site: ", "b", echo=True)],
]


def fingerprint(node: FaultyLogin) -> str:
    public = asyncssh.import_public_key(node.known_hosts.read_text().split(" ", 1)[1])
    return public.get_fingerprint()


async def refused(reach: Reach, node: FaultyLogin, person: Person | None = None) -> LoginError:
    with pytest.raises(LoginError) as caught:
        await reach(node, person).reconnect()
    return caught.value


async def test_a_password_and_then_a_one_time_code_are_asked_as_the_server_asks(
    reach: Reach,
) -> None:
    node = await reach.faulty(keys=False, rounds=CODES, instructions="Welcome\x1b[31m")
    person = Person(["right"], ["123456", "b"])

    done = await reach(node, person).run(["echo", "in"], timeout=20)

    assert done.stdout == b"in\n"
    (first,), second = person.prompts
    assert first.text == "Welcome\\x1b[31m\nPassword:"
    assert not first.echo
    assert [(prompt.text.split("\n")[-1], prompt.echo) for prompt in second] == [
        ("One-time code:", True),
        ("Site:", True),
    ]


async def test_wrong_answers_are_asked_again(reach: Reach) -> None:
    node = await reach.faulty(keys=False, rounds=CODES)
    person = Person(["wrong"], ["right"], ["654321", "b"], ["right"], ["123456", "b"])

    await reach(node, person).reconnect()

    assert not person.answers
    assert [login.accepted for login in node.logins] == [False, False, True]


async def test_a_password_is_asked_three_times_and_then_the_denial_says_what_was_tried(
    reach: Reach,
) -> None:
    node = await reach.faulty(password="right")
    node.keys = False
    person = Person(*[["wrong"]] * 5)

    error = await refused(reach, node, person)

    assert error.trouble is LoginTrouble.DENIED
    assert "password (3 times)" in error.message
    assert str(node.client_key) in error.message
    assert [login.answers for login in node.logins] == [("wrong",)] * 3
    assert "wrong" not in str(error)


async def test_who_gives_up_is_not_asked_for_anything_else(reach: Reach) -> None:
    node = await reach.faulty(keys=False, rounds=CODES, password="right")
    person = Person(["right"], None, ["right"])

    error = await refused(reach, node, person)

    assert error.trouble is LoginTrouble.CANCELLED
    assert len(person.prompts) == 2


async def test_nobody_is_asked_while_a_key_will_do_and_again_after_a_lost_connection(
    reach: Reach,
) -> None:
    node = await reach.faulty(rounds=CODES)
    person = Person()
    transport = reach(node, person)

    await transport.run(["true"], timeout=20)
    node.cut()
    done = await transport.run(["true"], timeout=20)

    assert done.exit_status == 0
    assert not person.prompts


async def test_a_person_may_take_longer_than_the_network(reach: Reach) -> None:
    node = await reach.faulty(keys=False, password="right")

    class Slow(Person):
        async def ask(self, prompts: object) -> list[str]:
            await asyncio.sleep(1.2)  # longer than the time for the network
            return ["right"]

    done = await reach(node, Slow(), timing=Timing(connect=1)).run(["true"], timeout=20)

    assert done.exit_status == 0


async def test_a_machine_that_accepts_and_says_nothing_times_out(reach: Reach) -> None:
    node = await reach.faulty()
    visits: list[tuple[object, object]] = []  # whose connections end with them
    server = await asyncio.start_server(lambda *visit: visits.append(visit), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    node.ssh_config.write_text(node.ssh_config.read_text().replace(str(node.port), str(port)))

    with pytest.raises(LoginError) as caught:
        await reach(node, timing=Timing(connect=0.2)).reconnect()
    server.close()

    assert caught.value.trouble is LoginTrouble.TIMED_OUT


async def test_a_locked_key_is_unlocked_once_and_stays_unlocked(reach: Reach) -> None:
    node = await reach.faulty()
    lock(node.client_key, "open sesame")
    person = Person(["wrong"], ["open sesame"])
    transport = reach(node, person)

    await transport.run(["true"], timeout=20)
    node.cut()
    done = await transport.run(["true"], timeout=20)

    assert done.exit_status == 0
    assert len(person.prompts) == 2
    assert str(node.client_key) in person.prompts[0][0].text
    assert "not it" in person.prompts[1][0].text


async def test_a_locked_key_that_the_server_does_not_want_is_never_asked_for(
    reach: Reach, tmp_path: Path
) -> None:
    node = await reach.faulty()
    other = tmp_path / "other"
    other.touch(mode=0o600)
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(other)
    lock(other, "x")
    first, rest = node.ssh_config.read_text().split("\n", 1)
    more = f"    IdentityFile {other}\n    IdentityFile /no/such\n"
    node.ssh_config.write_text(f"{first}\n{more}{rest}")
    lock(node.client_key, "open sesame")
    person = Person(["open sesame"])

    await reach(node, person).reconnect()

    assert len(person.prompts) == 1


async def test_keys_of_the_agent_are_used(reach: Reach, tmp_path: Path) -> None:
    node = await reach.faulty()
    async with agent_with(tmp_path / "a", node.client_key) as socket:
        lines = node.ssh_config.read_text().replace("IdentityAgent none", f"IdentityAgent {socket}")
        node.ssh_config.write_text(lines.replace("IdentitiesOnly yes", "IdentitiesOnly no"))
        node.client_key.unlink()

        await reach(node).reconnect()


async def test_a_public_half_alone_picks_a_key_of_the_agent(reach: Reach, tmp_path: Path) -> None:
    node = await reach.faulty()
    public = tmp_path / "id.pub"
    public.write_text(await asyncio.to_thread(keygen, "-y", "-f", node.client_key))
    others = [tmp_path / f"other{number}" for number in range(3)]
    for other in others:
        other.touch(mode=0o600)
        asyncssh.generate_private_key("ssh-ed25519").write_private_key(other)
    async with agent_with(tmp_path / "a", *others, node.client_key) as socket:
        lines = node.ssh_config.read_text().replace("IdentityAgent none", f"IdentityAgent {socket}")
        node.ssh_config.write_text(lines.replace(str(node.client_key), str(public)))
        node.client_key.unlink()

        await reach(node).reconnect()

    assert all(login.accepted for login in node.logins)  # no other key was offered


async def test_a_server_that_does_not_wait_for_an_answer_is_not_asked_again_by_itself(
    reach: Reach,
) -> None:
    node = await reach.faulty(keys=False, password="right")
    asked = asyncio.Event()

    class Away(Person):
        async def ask(self, prompts: object) -> None:
            asked.set()
            await asyncio.Event().wait()

    transport = reach(node, Away())
    waiting = asyncio.create_task(transport.run(["true"], timeout=20))
    await asked.wait()
    asked.clear()

    node.cut()
    await waiting
    again = await transport.run(["true"], timeout=20)

    assert transport.error is not None
    assert transport.error.trouble is LoginTrouble.CANCELLED
    assert "did not wait" in again.detail
    assert not asked.is_set()


# Host keys


async def test_an_unknown_host_key_is_shown_with_its_fingerprint_and_refused(reach: Reach) -> None:
    node = await reach.faulty()
    expected = fingerprint(node)
    node.known_hosts.unlink()
    person = Person(believes=False)

    error = await refused(reach, node, person)

    assert error.trouble is LoginTrouble.HOST_KEY_UNKNOWN
    assert [(key.kind, key.fingerprint) for key in person.keys] == [("ssh-ed25519", expected)]
    assert error.unknown == person.keys[0]
    assert expected in error.message
    assert not node.known_hosts.exists()
    assert not node.logins


async def test_an_accepted_host_key_is_written_down_and_not_asked_again(reach: Reach) -> None:
    node = await reach.faulty()
    right = node.known_hosts.read_text().split()[:3]
    node.known_hosts.write_bytes(b"other ssh-ed25519 AAAA\nsomething without newline")
    person = Person(believes=True)

    await reach(node, person).reconnect()
    await reach(node, person).reconnect()

    assert len(person.keys) == 1
    lines = node.known_hosts.read_text().splitlines()
    assert lines[:2] == ["other ssh-ed25519 AAAA", "something without newline"]
    assert lines[2:] == [" ".join(right)]


async def test_an_accepted_host_key_is_hashed_where_the_others_are(
    reach: Reach, tmp_path: Path
) -> None:
    node = await reach.faulty()
    keygen("-q", "-H", "-f", node.known_hosts)
    hashed = node.known_hosts.read_text()
    node.known_hosts.write_text("|1|" + hashed[3:].replace("|", "|AA", 1))
    person = Person(believes=True)

    await reach(node, person).reconnect()

    last = node.known_hosts.read_text().splitlines()[-1]
    assert last.startswith("|1|")
    assert last in keygen("-F", f"[127.0.0.1]:{node.port}", "-f", node.known_hosts)


async def test_a_changed_host_key_is_never_accepted_and_both_fingerprints_are_shown(
    reach: Reach,
) -> None:
    node = await reach.faulty()
    shown = fingerprint(node)
    other = asyncssh.generate_private_key("ssh-ed25519")
    line = other.export_public_key().decode()
    node.known_hosts.write_text(f"# mine\n[127.0.0.1]:{node.port} {line}")
    before = node.known_hosts.read_bytes()
    person = Person(believes=True)

    error = await refused(reach, node, person)

    assert error.trouble is LoginTrouble.HOST_KEY_CHANGED
    assert not person.keys
    assert shown in error.message
    assert other.get_fingerprint() in error.message
    assert f"{node.known_hosts}:2" in error.message
    assert node.known_hosts.read_bytes() == before
    assert not node.logins


async def test_a_host_key_of_another_kind_than_the_one_on_file_counts_as_changed(
    reach: Reach,
) -> None:
    node = await reach.faulty()
    line = asyncssh.generate_private_key("ecdsa-sha2-nistp256").export_public_key().decode()
    node.known_hosts.write_text(f"[127.0.0.1]:{node.port} {line}")

    error = await refused(reach, node, Person(believes=True))

    assert error.trouble is LoginTrouble.HOST_KEY_CHANGED


async def test_a_revoked_host_key_is_not_accepted(reach: Reach) -> None:
    node = await reach.faulty()
    node.known_hosts.write_text("@revoked " + "* " + node.known_hosts.read_text().split(" ", 1)[1])

    error = await refused(reach, node, Person(believes=True))

    assert error.trouble is LoginTrouble.HOST_KEY_CHANGED
    assert "revoked" in error.message


async def test_known_hosts_none_does_not_switch_the_checking_off(reach: Reach) -> None:
    node = await reach.faulty()
    text = node.ssh_config.read_text()
    for nothing in ("none", "/dev/null"):
        node.ssh_config.write_text(text.replace(str(node.known_hosts), nothing))
        error = await refused(reach, node)
        assert error.trouble is LoginTrouble.HOST_KEY_UNKNOWN


async def test_an_accepted_key_counts_for_the_session_where_nothing_is_to_be_written(
    reach: Reach,
) -> None:
    node = await reach.faulty()
    text = node.ssh_config.read_text()
    node.ssh_config.write_text(text.replace(str(node.known_hosts), "none"))
    person = Person(believes=True)
    transport = reach(node, person)

    await transport.run(["true"], timeout=20)
    node.cut()
    await transport.run(["true"], timeout=20)

    assert len(person.keys) == 1


async def test_a_host_key_alias_and_an_included_file_are_honoured(
    reach: Reach, tmp_path: Path
) -> None:
    node = await reach.faulty()
    node.known_hosts.write_text("the-alias " + node.known_hosts.read_text().split(" ", 1)[1])
    included = tmp_path / "included"
    included.write_text(node.ssh_config.read_text() + "    HostKeyAlias the-alias\n")
    outer = tmp_path / "outer"
    outer.write_text(f"Include {included}\n")

    await reach(node, config=outer).reconnect()


# Jump hosts


async def test_a_jump_host_that_is_its_own_jump_host_is_an_error_not_a_loop(reach: Reach) -> None:
    node = await reach.faulty()
    with node.ssh_config.open("a") as config:
        config.write(f"    ProxyJump {node.name}\n")

    error = await refused(reach, node)

    assert error.trouble is LoginTrouble.CONFIG
    assert "too many jump hosts" in error.message


async def test_nobody_answers_nothing_and_believes_nothing() -> None:
    assert await NoUser().ask([]) is None


@asynccontextmanager
async def agent_with(socket: Path, *keys: Path) -> AsyncIterator[Path]:
    """An ssh-agent that holds these keys."""
    agent = await asyncio.create_subprocess_exec(
        "ssh-agent", "-D", "-a", str(socket), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert agent.stdout is not None
        await agent.stdout.readline()  # it listens
        add = await asyncio.create_subprocess_exec(
            "ssh-add", "-q", *map(str, keys), env={**os.environ, "SSH_AUTH_SOCK": str(socket)}
        )
        assert await add.wait() == 0
        yield socket
    finally:
        agent.terminate()
        await agent.wait()


def lock(key: Path, phrase: str) -> None:
    """Give a key a pass phrase, in OpenSSH's own format."""
    keygen("-q", "-p", "-P", "", "-N", phrase, "-f", key)


def keygen(*words: str | Path) -> str:
    """What ssh-keygen says."""
    return subprocess.run(["ssh-keygen", *words], check=True, capture_output=True, text=True).stdout
