"""A login node that fails on request: asyncssh's server in the event loop of the test.

It runs what it is asked for on this machine, in the environment it was given (SLURM_CONF), and
does to a command what `inject` said: drop the connection before it runs or before its reply
leaves, hang, wait, refuse, answer for it. Logging in goes by key, by password or by any dialogue
of prompts. What was asked and who tried to log in is recorded. As with sshd, a command outlives
its connection; it ends with the node, and its shell with the test process. Unlike sshd there is no
MaxSessions, and no login that wants a key and a dialogue both.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from tests.rig.commands import Command, end, send
from tests.rig.faults import (
    Asked,
    Delay,
    DropAfter,
    DropBefore,
    DropOutput,
    Fault,
    Hang,
    LoginAttempt,
    Prompt,
    Refuse,
    Reply,
)
from tests.rig.login import host_block
from tests.rig.processes import free_ports

# asyncssh's: title, instructions, language, prompts; or whether the login is accepted.
Challenge = bool | tuple[str, str, str, Sequence[tuple[str, bool]]]


@dataclass
class _Injection:
    matches: Callable[[str], object]
    fault: Fault
    skip: int
    times: int | None


class FaultyLogin:
    """The node. `faulty_login` opens and closes one."""

    def __init__(
        self,
        folder: Path,
        *,
        name: str = "faulty",
        env: Mapping[str, str] | None = None,
        keys: bool = True,
        password: str | None = None,
        rounds: Sequence[Sequence[Prompt]] = (),
        instructions: str = "",
        banner: str = "",
        sftp_root: Path | None = None,
    ) -> None:
        self.name = name
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.home = folder / "home"
        self.client_key = folder / "client_key"
        self.known_hosts = folder / "known_hosts"
        self.ssh_config = folder / "ssh_config"
        # May be changed at any time, for the connections and channels to come.
        self.env = dict(os.environ if env is None else env)
        self.keys = keys
        self.password = password
        self.rounds = rounds
        self.instructions = instructions
        self.banner = banner
        self.sftp_root = sftp_root
        self.refuse_channels = 0  # so many channels are refused, before their command is known
        self.refuse_logins = 0  # so many passwords or dialogues are wrong, whatever they say
        # What happened.
        self.asked: list[Asked] = []
        self.logins: list[LoginAttempt] = []
        self.connections: set[asyncssh.SSHServerConnection] = set()
        self.port = 0
        self._spent: set[str] = set()
        self._injections: list[_Injection] = []
        self._news = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self.home.mkdir(parents=True)
        self._key = asyncssh.generate_private_key("ssh-ed25519")
        self._host_key = asyncssh.generate_private_key("ssh-ed25519")
        self.client_key.touch(mode=0o600)
        self._key.write_private_key(self.client_key)

    def inject(
        self,
        pattern: str | Callable[[str], object],
        fault: Fault,
        *,
        times: int | None = 1,
        skip: int = 0,
    ) -> None:
        """Do this to the commands in which the pattern is found: `times` of them, after `skip`.

        What was injected first is asked first. `times=None`: for ever, as for a random predicate.
        """
        matches = pattern if callable(pattern) else re.compile(pattern).search
        self._injections.append(_Injection(matches, fault, skip, times))

    async def asked_for(self, pattern: str, count: int = 1) -> Asked:
        """Wait until so many commands with the pattern have come; the last of them."""

        def found() -> list[Asked]:
            return [asked for asked in self.asked if re.search(pattern, asked.command)]

        async with self._news:
            await self._news.wait_for(lambda: len(found()) >= count)
        return found()[count - 1]

    def cut(self) -> None:
        """Lose every connection now."""
        for connection in list(self.connections):
            connection.abort()

    async def open(self) -> None:
        """Listen, and write the files by which clients find and trust this node."""
        for attempt in range(1, 4):
            port = self.port or free_ports(1)[0]
            try:
                self._acceptor = await asyncssh.listen(
                    "127.0.0.1",
                    port,
                    server_factory=lambda: _Server(self),
                    server_host_keys=[self._host_key],
                    encoding=None,
                    allow_pty=False,
                    gss_host=None,
                )
                break
            except OSError:  # somebody else took the port meanwhile
                if attempt == 3:
                    raise
        self.port = port
        public = self._host_key.export_public_key().decode().strip()
        self.known_hosts.write_text(f"[127.0.0.1]:{port} {public}\n")
        self.ssh_config.write_text(
            host_block(
                self.name,
                port=port,
                user=self.user,
                client_key=self.client_key,
                known_hosts=self.known_hosts,
            )
        )

    async def close(self) -> None:
        """Listen no longer, lose the connections, end every command; `open` may follow."""
        if self._acceptor is not None:
            self._acceptor.close()
        self.cut()
        for connection in list(self.connections):
            await connection.wait_closed()
        if self._acceptor is not None:  # from Python 3.12 on it waits for its connections
            await self._acceptor.wait_closed()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # What the connections ask the node.

    def fault_for(self, command: str) -> Fault | None:
        """What is to be done to this command."""
        for injection in self._injections:
            if injection.times == 0 or not injection.matches(command):
                continue
            if injection.skip:
                injection.skip -= 1
                continue
            if injection.times is not None:
                injection.times -= 1
            return injection.fault
        return None

    def record(self, asked: Asked) -> None:
        """Remember a command and tell those who wait for it."""
        self.asked.append(asked)
        self.spawn(self._tell())

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        """Run something that outlives the connection it came by."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def judge(self, method: str, answers: Sequence[str], right: bool) -> bool:
        """Whether the login is good enough, which is written down."""
        if right and self.refuse_logins and method != "publickey":
            self.refuse_logins -= 1
            right = False
        self.logins.append(LoginAttempt(method, tuple(answers), right))
        return right

    def right(self, prompts: Sequence[Prompt], answers: Sequence[str]) -> bool:
        """Whether these answers are wanted; a one-time code is spent by that."""
        if [prompt.answer for prompt in prompts] != list(answers):
            return False
        codes = {prompt.answer for prompt in prompts if prompt.once}
        if codes & self._spent:
            return False
        self._spent |= codes
        return True

    def is_client_key(self, key: asyncssh.SSHKey) -> bool:
        """Whether it is the key that `client_key` holds."""
        return key.public_data == self._key.public_data

    async def carry_out(self, process: asyncssh.SSHServerProcess[bytes], asked: Asked) -> None:
        """Do with one command what its fault says."""
        connection = process.get_extra_info("connection")
        match asked.fault:
            case DropBefore():
                connection.abort()
                return
            case Reply(stdout, stderr, status):
                asked.status = status
                send(process.stdout, stdout)
                send(process.stderr, stderr)
                asked.ended.set()
                end(process, status)
                return
            case Hang(None):
                return
            case Hang(asyncio.Event() as until):
                await until.wait()
            case Delay(seconds):
                await asyncio.sleep(seconds)
        silent = isinstance(asked.fault, DropAfter | DropOutput)
        command = Command(asked, env=self.env, home=self.home)
        asked.status = await command.run(process, silent=silent)
        asked.ended.set()
        if isinstance(asked.fault, DropOutput):
            send(process.stdout, bytes(asked.stdout[: asked.fault.kept]))
            # sshd sends the status when the command ends, and the output when it has read it.
            process.channel._send_request(b"exit-status", asyncssh.packet.UInt32(asked.status))
        if silent:
            connection.abort()
        else:
            end(process, asked.status)


@asynccontextmanager
async def faulty_login(folder: Path, **options: object) -> AsyncIterator[FaultyLogin]:
    """A faulty login node while the block lasts; its files lie in the folder."""
    node = FaultyLogin(folder, **options)  # type: ignore[arg-type]
    await node.open()
    try:
        yield node
    finally:
        await node.close()


class _Server(asyncssh.SSHServer):
    """One connection, from its first byte to its last."""

    def __init__(self, node: FaultyLogin) -> None:
        self._node = node
        self._round = 0
        self._answers: list[str] = []

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._node.connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        self._node.connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        self._known = username == self._node.user
        if self._node.banner:
            self._connection.send_auth_banner(self._node.banner)
        return True

    def public_key_auth_supported(self) -> bool:
        return self._node.keys

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        right = self._known and self._node.is_client_key(key)
        return self._node.judge("publickey", (), right)

    def password_auth_supported(self) -> bool:
        return self._node.password is not None

    def validate_password(self, username: str, password: str) -> bool:
        right = self._known and password == self._node.password
        return self._node.judge("password", (password,), right)

    def kbdint_auth_supported(self) -> bool:
        return bool(self._node.rounds)

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> Challenge:
        self._round = 0
        self._answers = []
        return self._challenge()

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> Challenge:
        self._answers += responses
        if not self._known or not self._node.right(self._node.rounds[self._round], responses):
            return self._node.judge("keyboard-interactive", self._answers, False)
        self._round += 1
        if self._round < len(self._node.rounds):
            return self._challenge()
        return self._node.judge("keyboard-interactive", self._answers, True)

    def _challenge(self) -> Challenge:
        prompts = [(prompt.text, prompt.echo) for prompt in self._node.rounds[self._round]]
        return "", self._node.instructions, "", prompts

    def session_requested(self) -> asyncssh.SSHServerProcess[bytes]:
        if self._node.refuse_channels:
            self._node.refuse_channels -= 1
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, "open failed")
        return _Session(self._node)


class _Session(asyncssh.SSHServerProcess[bytes]):
    """One channel: a command, or SFTP."""

    def __init__(self, node: FaultyLogin) -> None:
        root = node.sftp_root

        def sftp(channel: asyncssh.SSHServerChannel[bytes]) -> asyncssh.SFTPServer:
            assert root is not None
            return asyncssh.SFTPServer(channel, chroot=os.fsencode(root))

        super().__init__(self._begin, None if root is None else sftp, 3, False)  # type: ignore[arg-type]
        self._node = node
        self._asked = Asked("")

    def shell_requested(self) -> bool:
        return False

    def exec_requested(self, command: str) -> bool:
        self._asked = Asked(command, self._node.fault_for(command))
        self._node.record(self._asked)
        return not isinstance(self._asked.fault, Refuse)

    def subsystem_requested(self, subsystem: str) -> bool:
        return subsystem == "sftp" and self._node.sftp_root is not None

    def _begin(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        self._node.spawn(self._node.carry_out(process, self._asked))
