"""The page "Connect a cluster" is true: its files and commands, on a login with one-time codes.

What the page shows is typed on a terminal in its order, against a real sshd and a real Slurm; what
the page says is answered, and every line that it prints must come, but for numbers and times.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import re
import shlex
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from rowtui.cli.parser import build_parser
from rowtui.core.clusters.transports.shared.calls import end_shared, shared_logins

from tests.cli.conftest import Shell
from tests.cli.terminal import Terminal
from tests.eventually import eventually_async
from tests.rig.faults import Prompt
from tests.rig.faulty import faulty_login
from tests.rig.login import LoginNode
from tests.rig.slurm import SlurmRig, start_slurm

PAGE = (Path(__file__).parents[2] / "docs" / "connect.md").read_text(encoding="utf-8")
TYPED = re.findall(r"^\$ rowtui (.*)$", PAGE, re.MULTILINE)
CODE = "271828"


class Shown(NamedTuple):
    """A command of the page and what it prints there."""

    words: tuple[str, ...]
    lines: tuple[str, ...]


def section(number: int) -> str:
    return PAGE.split(f"\n## {number}. ")[1].split("\n## ")[0]


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def shown(text: str) -> list[Shown]:
    """The commands of rowtui in it, in order."""
    found = []
    for block in blocks(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            typed, *lines = part.splitlines()
            if typed.startswith("rowtui "):
                found.append(Shown(tuple(shlex.split(typed)[1:]), tuple(lines)))
    return found


class Site(NamedTuple):
    """A login that wants a password and a code. `hosts`: an ssh_config that leads there."""

    hosts: str
    password: str
    code: Callable[[], str]


@pytest.fixture
def new_rig() -> Iterator[SlurmRig]:
    """A cluster whose first job is 1, as on the page."""
    # Nothing freezes here: a client that gave up on a busy machine would send job 1 again, as 2.
    rig = start_slurm(settings={"MessageTimeout": 60, "TCPTimeout": 60})
    yield rig
    rig.close()


@pytest.fixture
async def site(new_rig: SlurmRig, tmp_path: Path) -> AsyncIterator[Site]:
    """sshd with PAM where root can have that, else asyncssh's server with the same questions."""
    aliases = "    HostName 127.0.0.1\n    HostKeyAlias login.example.org\n"
    if os.geteuid() == 0:
        node = LoginNode(new_rig.keeper, new_rig.cluster, name="codes", one_time_codes=True)
        assert node.codes is not None
        hosts = f"Host alpha\n{aliases}    Port {node.port}\n    User {node.user}\n"
        yield Site(hosts, node.codes.password, node.codes.code)
        return
    rounds = [
        [Prompt("Password: ", "s3cret")],
        [Prompt("One-time password (OATH) for `me': ", CODE)],
    ]
    where = tmp_path / "node"
    options = {"keys": False, "rounds": rounds, "env": new_rig.cluster.env}
    async with faulty_login(where, **options) as server:
        hosts = f"Host alpha\n{aliases}    Port {server.port}\n    User {server.user}\n"
        yield Site(hosts, "s3cret", lambda: CODE)


@pytest.fixture
async def laptop(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Shell]:
    """A machine with the page's two files; a `Host` before them leads to the rig."""
    home, runtime = tmp_path / "home", tmp_path / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    shell = Shell(home, home)
    shell.environment["XDG_RUNTIME_DIR"] = str(runtime)
    shell.environment.pop("SSH_AUTH_SOCK", None)
    (config,) = blocks(section(1), "ssh-config")
    (clusters, _) = blocks(section(1), "toml")
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/config").write_text(site.hosts + config)
    (home / ".config/rowtui").mkdir(parents=True)
    # Nobody waits a minute for a look at the queue here.
    often = clusters.replace("ssh.host", "poll = 1\nssh.host")
    (home / ".config/rowtui/clusters.toml").write_text(often)
    yield shell
    for path, _ in await shared_logins():
        await end_shared(path)


class Person:
    """Types what the page says, and compares what comes with it."""

    def __init__(self, shell: Shell, site: Site) -> None:
        self.shell, self.site = shell, site

    async def follow(self, command: Shown) -> None:
        terminal = Terminal(self.shell, *command.words)
        for prompt, typed in self._answers(command.lines):
            await asyncio.to_thread(terminal.answer, prompt.encode(), f"{typed}\n".encode())
        code = await asyncio.to_thread(terminal.end)

        said = terminal.seen.decode()
        assert code == 0, said
        assert "unexpected" not in said
        came = iter([self.plain(line) for line in said.replace("\r", "\n").split("\n")])
        for line in command.lines:
            assert self.plain(line) in came, f"{shlex.join(command.words)}: {line}\n{said}"

    def _answers(self, lines: Sequence[str]) -> list[tuple[str, str]]:
        """Each question that the page shows, and what to type."""
        found = []
        for line in lines:
            if line.endswith("Password:"):
                found.append((f"{line} ", self.site.password))
            elif "One-time password" in line:
                found.append(("': ", self.site.code()))
            elif line.endswith(": yes"):
                found.append((line.removesuffix("yes"), "yes"))
            elif line.endswith(("[Y/n]: y", "[y/N]: y")):
                found.append(("]: ", "y"))
        return found

    def plain(self, line: str) -> str:
        """The same for every run: no colours, numbers, times, users, paths and widths."""
        line = re.sub(r"\x1b\[[0-9;]*[mK]", "", line)
        line = line.replace(str(self.shell.environment["HOME"]), "/home/me")
        line = re.sub(r"\S*/rowtui/first-\w+", "COPY", line)
        line = re.sub(r"\w+@(127\.0\.0\.1|login\.example\.org):\d+", "LOGIN", line)
        line = re.sub(r"SHA256:\S+", "SHA256", line)
        line = re.sub(r"(step \d+) on \S+", r"\1", line)
        line = re.sub(rf"\b{getpass.getuser()}\b", "me", line)
        line = re.sub(r" +(just now|\d+ s ago), next in .*", "", line)
        line = re.sub(
            r"\d+ m?s\b|\d+ min\b|\(\d+m?s\)|\d\d:\d\d(:\d\d)?|\d{4}-\d\d-\d\d", "TIME", line
        )
        line = re.sub(r"(TIME *)+", "TIME ", line)
        return " ".join(re.sub(r"\d[\d.,]*", "0", line).split())


@pytest.fixture
def person(laptop: Shell, site: Site) -> Person:
    return Person(laptop, site)


def hold_jobs_at(project: Path, gate: Path) -> None:
    """hello.sh waits for the gate where it would sleep."""
    (script,) = blocks(section(1), "sh")
    waiting = f"while [ -e {shlex.quote(str(gate))} ]; do sleep 0.1; done"
    (project / "hello.sh").write_text(script.replace("sleep 4", waiting))
    gate.touch()


@pytest.mark.slurm
async def test_the_page_leads_from_nothing_to_jobs_that_ran(
    person: Person, laptop: Shell, tmp_path: Path
) -> None:
    home, gate = laptop.folder, tmp_path / "gate"
    project = home / "first"
    init, doctor = *shown(section(1)), *shown(section(2))
    (begin,) = shown(section(3))
    log_in, connected, look, disconnect, *_ = shown(section(4))
    submit, queue, logs, status, submit_all, cancel, resubmit = shown(section(6))

    # 1, 2: the cluster has a name, and nobody is asked.
    await person.follow(init)
    for name in ("one", "two", "three"):
        (project / "workspace" / name).mkdir()
    (project / "workflow.toml").write_text(blocks(section(1), "toml")[1])
    hold_jobs_at(project, gate)
    laptop.folder = project
    await person.follow(doctor)

    # 3, 4: one login, with the host key, the password and the code.
    await person.follow(Shown(log_in.words, begin.lines + log_in.lines))
    await person.follow(connected)
    await person.follow(look)

    # 6: one job, then the others, one of which is cancelled and sent again.
    await person.follow(submit)
    await until(laptop, "1", "running")
    await person.follow(queue)
    gate.unlink()
    await person.follow(logs)
    await person.follow(status)
    gate.touch()
    await person.follow(submit_all)
    await until(laptop, "2_1", "running")
    await person.follow(cancel)
    await until(laptop, "2_1", "cancelled")
    await person.follow(resubmit)
    gate.unlink()

    # 4: what is over is over.
    await person.follow(disconnect)
    assert not await shared_logins()


async def until(shell: Shell, job: str, state: str) -> None:
    """Look until the job is in this state; fail where it cannot come to it any more."""
    found = await eventually_async(
        lambda: asyncio.to_thread(states, shell),
        lambda now: now[job] in (state, "completed", "failed", "cancelled"),
        every=0.2,
    )
    assert found[job] == state


def states(shell: Shell) -> dict[str, str]:
    done = shell.succeed("show", "jobs", "--long", "--json", cluster=None)
    jobs = json.loads(done)["jobs"]
    return {it["id"]: it["state"] for it in jobs}


@pytest.mark.parametrize("typed", sorted(set(TYPED)))
def test_every_command_that_is_shown_can_be_typed(typed: str) -> None:
    build_parser().parse_args(shlex.split(typed))
