"""`rowtui connect` on a terminal: one login for all commands; and where secrets never turn up."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rowtui.cli.clusters.parser import in_words
from rowtui.cli.main import main
from rowtui.core.clusters.transports.shared.calls import end_shared, shared_logins
from rowtui.core.clusters.transports.shared.protocol import LoginState

from tests.cli.conftest import Shell
from tests.cli.terminal import Terminal
from tests.rig.faults import Prompt
from tests.rig.faulty import FaultyLogin, faulty_login

PLANTED = "pl4nted-s3cret"
CODE = "pl4nted-c0de"
ROUNDS = [
    [Prompt("Password: ", PLANTED)],
    [Prompt("Code: ", CODE, echo=True, once=True), Prompt("Press Return: ", "")],
]


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[FaultyLogin]:
    options = {"keys": False, "rounds": ROUNDS, "instructions": "Be\x1b[1m kind"}
    async with faulty_login(tmp_path / "node", **options) as node:
        yield node


def describe(home: Path, host: str, config: Path) -> None:
    """A clusters.toml with alpha in it."""
    file = home / ".config/rowtui/clusters.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        f'[[cluster]]\nname = "alpha"\nscheduler = "slurm"\nidentify.always = false\n'
        f'[cluster.ssh]\nhost = "{host}"\nconfig = ["{config}"]\n'
    )


class Here:
    """`rowtui` with a home of its own, whose alpha is the node."""

    def __init__(self, shell: Shell, tmp_path: Path, node: FaultyLogin) -> None:
        self.shell = shell
        self.runtime = tmp_path / "run"
        home = tmp_path / "home"
        describe(home, node.name, node.ssh_config)
        self.runtime.mkdir(mode=0o700)
        (tmp_path / "tmp").mkdir()
        shell.environment["XDG_RUNTIME_DIR"] = str(self.runtime)
        shell.environment["TMPDIR"] = str(tmp_path / "tmp")
        self.terminals: list[Terminal] = []

    async def __call__(self, *words: str) -> tuple[int, str, str]:
        done = await asyncio.to_thread(self.shell, *words, cluster=None)
        return done.returncode, done.stdout, done.stderr

    def on_terminal(self, *words: str) -> Terminal:
        self.terminals.append(Terminal(self.shell, *words))
        return self.terminals[-1]

    async def connect(self, *words: str) -> bytes:
        """Log in; what the screen showed."""
        terminal = self.on_terminal("connect", "alpha", *words)
        await answer(terminal, b"Password: ", PLANTED)
        await answer(terminal, b"Code: ", CODE)
        await answer(terminal, b"Press Return: ", "")
        assert await asyncio.to_thread(terminal.end) == 0
        return terminal.seen

    async def close(self) -> None:
        for terminal in self.terminals:
            if terminal.process.poll() is None:
                terminal.process.kill()
            terminal.process.wait()
        for path, _ in await shared_logins():
            await end_shared(path)


@pytest.fixture
async def here(
    empty_folder: Shell, tmp_path: Path, node: FaultyLogin, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Here]:
    here = Here(empty_folder, tmp_path, node)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(here.runtime))
    yield here
    await here.close()


async def answer(terminal: Terminal, prompt: bytes, typed: str) -> None:
    await asyncio.to_thread(terminal.answer, prompt, f"{typed}\n".encode())


async def left(pid: int) -> None:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    await asyncio.to_thread(select.select, [process], [], [])
    os.close(process)


async def test_a_day_with_one_login(here: Here, node: FaultyLogin, tmp_path: Path) -> None:
    began = time.time()
    seen = await here.connect("--for", "8h", "--idle", "2h")

    # What was typed is seen only where the site lets it be; what the site says steers nothing.
    assert PLANTED.encode() not in seen
    assert CODE.encode() in seen
    assert b"[alpha] Be\\x1b[1m kind\r\nPassword: " in seen
    me = node.user.encode()
    assert b"Connected to alpha as " + me + b"; other rowtui commands use this login for" in seen
    assert b"'rowtui disconnect alpha' ends it.\r\n" in seen

    # It is listed, and a second connect asks nothing.
    (login,) = json.loads((await here("connect", "--json"))[1])["logins"]
    assert (login["cluster"], login["host"], login["state"]) == ("alpha", node.name, "connected")
    assert login["until"] - login["since"] == pytest.approx(8 * 3600, abs=2)
    assert began - 1 <= login["since"] <= time.time()
    code, out, _ = await here("connect", "alpha")
    assert (code, out.startswith("Connected to alpha as ")) == (0, True)
    table = (await here("connect"))[1].splitlines()
    assert table[0].split() == ["Cluster", "Host", "User", "State", "Since", "Idle", "Until"]
    assert table[1].split()[:4] == ["alpha", node.name, node.user, "connected"]
    assert [attempt.accepted for attempt in node.logins] == [True]

    # The secrets are nowhere but in the memory of the processes.
    pid = login["pid"]
    assert isinstance(pid, int)
    for name in ("cmdline", "environ"):
        looked_at = await asyncio.to_thread(Path(f"/proc/{pid}/{name}").read_bytes)
        assert looked_at
        assert PLANTED.encode() not in looked_at
        assert CODE.encode() not in looked_at
    assert await asyncio.to_thread(files_with, tmp_path, node.name)
    assert await asyncio.to_thread(files_with, tmp_path, PLANTED, CODE) == []
    assert {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in (0, 1, 2)} == {os.devnull}

    # It ends when it is told to, and leaves nothing.
    code, out, _ = await here("disconnect", "alpha")
    assert (code, out) == (0, "Disconnected from alpha.\n")
    await left(pid)
    assert not node.connections
    assert [path.name for path in here.runtime.rglob("*") if path.name != "lock"] == ["rowtui"]


@pytest.mark.parametrize("key", ["Ctrl-C", "Ctrl-D"])
async def test_who_gives_up_leaves_no_process(here: Here, node: FaultyLogin, key: str) -> None:
    terminal = here.on_terminal("connect", "alpha")
    await asyncio.to_thread(terminal.answer, b"Password: ", b"" if key == "Ctrl-C" else b"\x04")
    if key == "Ctrl-C":
        ((_, login),) = await shared_logins()
        assert login.state is LoginState.LOGGING_IN
        os.write(terminal.outer, b"half of it\x03")

    code = await asyncio.to_thread(terminal.end)

    assert code == (130 if key == "Ctrl-C" else 1)
    assert (b"was given up" in terminal.seen) == (key == "Ctrl-D")
    assert b"half of it" not in terminal.seen
    assert await gone()
    assert not node.logins


async def test_only_a_yes_believes_an_unknown_host_and_an_unused_login_ends(
    here: Here, node: FaultyLogin
) -> None:
    public = node.known_hosts.read_text()
    node.known_hosts.unlink()

    wary = here.on_terminal("connect", "alpha")
    await answer(wary, b"from now on: ", "y")
    code = await asyncio.to_thread(wary.end)
    still_unknown = not node.known_hosts.exists()
    node.keys, node.rounds = True, []
    bold = here.on_terminal("connect", "alpha", "--idle", "1s")
    await answer(bold, b"from now on: ", "yes")

    assert code == 1
    assert b"ssh-ed25519 SHA256:" in wary.seen
    assert b"compare the fingerprint" in wary.seen
    assert still_unknown
    assert await asyncio.to_thread(bold.end) == 0
    assert node.known_hosts.read_text().split()[:3] == public.split()[:3]
    assert await gone()  # nobody has used it for a second


async def test_a_stored_password_is_given_and_only_the_code_asked(
    here: Here, node: FaultyLogin
) -> None:
    variable = re.sub(r"[^A-Z0-9]", "_", f"{node.name}_{node.user}".upper())
    here.shell.environment[f"ROWTUI_SECRET_{variable}"] = PLANTED

    terminal = here.on_terminal("connect", "alpha")
    await answer(terminal, b"Code: ", CODE)
    await answer(terminal, b"Press Return: ", "")

    assert await asyncio.to_thread(terminal.end) == 0
    assert b"Password" not in terminal.seen
    assert PLANTED.encode() not in terminal.seen


async def test_in_the_foreground_it_lasts_until_ctrl_c(here: Here, node: FaultyLogin) -> None:
    node.keys, node.rounds = True, []
    terminal = here.on_terminal("connect", "alpha", "--foreground")
    await asyncio.to_thread(terminal.answer, b"Ctrl-C ends it.\r\n", b"")

    ((_, login),) = await shared_logins()
    code, _, err = await here("connect", "alpha", "--foreground")
    os.write(terminal.outer, b"\x03")

    assert login.pid == terminal.process.pid
    assert code == 1
    assert "is shared already" in err
    assert await asyncio.to_thread(terminal.end) == 0
    assert b"The connection to alpha has ended." in terminal.seen
    assert not node.connections


async def test_without_a_terminal_nobody_is_asked(here: Here, node: FaultyLogin) -> None:
    here.shell.prefix = ("setsid",)

    code, _, err = await here("connect", "alpha")

    assert code == 1
    assert "the login to" in err
    assert "there is no terminal to ask on" in err
    assert "--stdin" not in err
    assert not node.logins


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("connect", "beta"), 1, "the clusters with SSH access are alpha, here"),
        (("connect", "local"), 1, "needs no login"),
        (("connect", "here"), 1, "this is here: nothing is logged in to"),
        (("connect", "alpha", "--for", "8"), 2, "'8' is no time; write 90m, 8h or 1h30m"),
        (("connect", "alpha", "--for", "0s"), 2, "between 1s and 30d"),
        (("disconnect",), 1, "give the name of a cluster, or --all"),
        (("disconnect", "alpha", "--all"), 1, "which login?"),
        (("disconnect", "alpha"), 1, "No login to alpha is shared."),
        (("connect",), 0, "No login is shared."),
        (("disconnect", "--all"), 0, "No login is shared."),
    ],
)
def test_what_cannot_be_done_is_explained(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    describe(tmp_path, "h", tmp_path)
    with (tmp_path / ".config/rowtui/clusters.toml").open("a") as file:
        file.write('[[cluster]]\nname = "here"\nssh.host = "h"\nscheduler = "slurm"\n')
        file.write('identify.by_environment = ["HOME_OF", "here"]\n')
    monkeypatch.setenv("HOME_OF", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    ended = main(words)

    assert ended == code
    assert said in capsys.readouterr().err


async def test_tab_completes_the_clusters_that_can_be_connected_to(here: Here) -> None:
    line = "rowtui connect "
    here.shell.environment.update(
        _ARGCOMPLETE="1",
        _ARGCOMPLETE_STDOUT_FILENAME=str(here.shell.folder / "answer"),
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
        _ARGCOMPLETE_IFS="\n",
    )

    await here()

    words = (here.shell.folder / "answer").read_text().split("\n")
    assert [word.strip() for word in words] == ["alpha"]
    for name in [name for name in here.shell.environment if "COMP" in name]:
        del here.shell.environment[name]


def test_times_are_said_in_words() -> None:
    assert [in_words(seconds) for seconds in (0, 59.4, 60, 5400, 28_799.8, 90_000, 2.6e6)] == [
        "0 s", "59 s", "1 min", "1 h 30 min", "8 h", "1 d 1 h", "30 d 2 h",
    ]  # fmt: skip


def files_with(folder: Path, *secrets: str) -> list[Path]:
    """The files in which one of these can be read."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and any(secret.encode() in path.read_bytes() for secret in secrets)
    ]


async def gone() -> bool:
    """Whether the process that had the login, or wanted it, has left."""
    for _, login in await shared_logins():
        await left(login.pid)
    return not await shared_logins()
