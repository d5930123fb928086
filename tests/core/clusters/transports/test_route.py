"""How machines would be reached, from real files of ssh and a real agent."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble, SshTarget
from rowtui.core.clusters.transports.ssh_config import missing_files, route_to

from tests.rig.login import LoginNode

CONFIG = """\
Host gate
    HostName gate.example.org
    User doorman
    UserKnownHostsFile {folder}/known
Host alpha
    HostName login.example.org
    Port 2222
    IdentityFile {folder}/key
    IdentityFile {folder}/lost
    ProxyJump gate,other@second:2200
    UserKnownHostsFile {folder}/known
Host loop
    ProxyJump loop
Host *
    IdentityAgent {agent}
    GlobalKnownHostsFile /dev/null
"""


def config(folder: Path, agent: str = "none") -> Path:
    file = folder / "config"
    file.write_text(CONFIG.format(folder=folder, agent=agent))
    return file


def make_key(path: Path) -> str:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, timeout=60
    )
    return path.with_suffix(".pub").read_text()


async def test_every_machine_on_the_way_is_told_with_its_keys(tmp_path: Path) -> None:
    public = make_key(tmp_path / "key")
    (tmp_path / "known").write_text(
        f"gate.example.org {public}@cert-authority [login.example.org]:2222 {public}"
    )

    gate, second, alpha = await route_to(SshTarget("alpha", "me", config=(config(tmp_path),)))

    assert [str(hop) for hop in (gate, second, alpha)] == [
        "doorman@gate.example.org:22",
        "other@second:2200",
        "me@login.example.org:2222",
    ]
    assert [(it.kind, it.line) for it in gate.known] == [("ssh-ed25519", 1)]
    assert (second.known, second.vouched) == ((), False)
    assert (alpha.known, alpha.vouched) == ((), True)
    assert (alpha.identities, alpha.missing) == ((tmp_path / "key",), (tmp_path / "lost",))
    assert alpha.agent_keys is None


async def test_a_jump_through_itself_is_an_error_not_a_loop(tmp_path: Path) -> None:
    with pytest.raises(LoginError) as caught:
        await route_to(SshTarget("loop", config=(config(tmp_path),)))
    assert caught.value.trouble is LoginTrouble.CONFIG


def test_the_keys_of_a_real_agent_are_counted(tmp_path: Path) -> None:
    make_key(tmp_path / "key")
    socket = f"{tmp_path}/agent"
    agent = subprocess.Popen(
        ["ssh-agent", "-D", "-a", socket], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    try:
        assert agent.stdout is not None
        agent.stdout.readline()  # it listens
        target = SshTarget("gate", config=(config(tmp_path, socket),))
        (empty,) = asyncio.run(route_to(target))
        subprocess.run(
            ["ssh-add", "-q", str(tmp_path / "key")],
            env={**os.environ, "SSH_AUTH_SOCK": socket},
            check=True,
            timeout=60,
        )
        (full,) = asyncio.run(route_to(target))
    finally:
        agent.kill()
        agent.communicate()
    (gone,) = asyncio.run(route_to(target))
    assert (empty.agent_keys, full.agent_keys, gone.agent_keys) == (0, 1, None)


def test_a_named_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    there = config(tmp_path)
    assert missing_files(SshTarget("x", config=(there, tmp_path / "no"))) == (tmp_path / "no",)
    assert missing_files(SshTarget("x")) == ()


@pytest.mark.slurm
async def test_the_host_key_of_a_real_login_node_is_known(login: LoginNode) -> None:
    (hop,) = await route_to(SshTarget(login.name, config=(login.ssh_config,)))
    assert (hop.host, hop.port, hop.user) == ("127.0.0.1", login.port, login.user)
    assert hop.identities == (login.client_key,)
    assert [place.file for place in hop.known] == [str(login.known_hosts)]
