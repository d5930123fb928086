"""One login for all: commands of others run over it, and what is known when it ends is exact."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble, SshTarget
from rowtui.core.clusters.transports.shared import protocol as shared_protocol
from rowtui.core.clusters.transports.shared.calls import log_in_at, look_at
from rowtui.core.clusters.transports.shared.folder import (
    NobodyThere,
    SharedError,
    listen_at,
    shared_folder,
    shared_socket,
)
from rowtui.core.clusters.transports.shared.protocol import ClientRequest, LoginState, SharedLogin
from rowtui.core.clusters.transports.shared.server import Shared, serve
from rowtui.core.clusters.transports.shared.transport import (
    SharedConnection,
    SharedTransport,
    open_line,
)
from rowtui.core.clusters.transports.shared.user import UserQuestions

from tests.core.clusters.transports.conftest import Person, Reach
from tests.eventually import eventually
from tests.rig.faults import DropBefore, Hang, Prompt
from tests.rig.faulty import FaultyLogin

CODE = [[Prompt("Password: ", "right")], [Prompt("Code: ", "123456", once=True)]]


class Held:
    """A login that is shared by this process, and those who use it."""

    def __init__(self, node: FaultyLogin, path: Path) -> None:
        self.node = node
        self.path = path
        self.serving: asyncio.Task[None]
        self.end = asyncio.Event()
        self._users: list[SharedTransport] = []

    async def begin(self, *, idle_seconds: float = 60, seconds: float = 60) -> None:
        ready = asyncio.Event()
        self.serving = asyncio.create_task(self.serve(ready, idle_seconds, seconds))
        await ready.wait()

    async def serve(
        self, ready: asyncio.Event | None = None, idle_seconds: float = 60, seconds: float = 60
    ) -> None:
        questions = UserQuestions()
        target = SshTarget(self.node.name, config=(self.node.ssh_config,))
        await serve(
            AsyncsshTransport(target, questions),
            self.path,
            idle_seconds,
            shared=Shared("alpha", str(target), seconds),
            questions=questions,
            ready=ready,
            end=self.end,
        )

    def user(self) -> SharedTransport:
        """Another process would have one of these."""
        self._users.append(SharedTransport(self.path))
        return self._users[-1]

    async def close(self) -> None:
        for user in self._users:
            await user.close()
        self.end.set()
        await self.serving


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / ("long" * 30) / "rowtui"  # more than a socket's address can hold
    return folder / "alpha-0.socket"


@asynccontextmanager
async def held(node: FaultyLogin, path: Path, **options: float) -> AsyncIterator[Held]:
    login = Held(node, path)
    await login.begin(**options)
    try:
        yield login
    finally:
        await login.close()


@pytest.fixture
async def alpha(reach: Reach, path: Path) -> AsyncIterator[Held]:
    """Logged in with a password and a one-time code."""
    async with held(await reach.faulty(keys=False, rounds=CODE), path) as login:
        await log_in_at(path, Person(["right"], ["123456"]))
        yield login


async def test_one_login_with_a_one_time_code_serves_everybody(alpha: Held) -> None:
    users = [alpha.user() for _ in range(3)]

    done = await asyncio.gather(
        *(users[n % 3].run(["echo", str(n)], timeout=20) for n in range(30))
    )

    assert [result.stdout for result in done] == [b"%d\n" % n for n in range(30)]
    assert [login.accepted for login in alpha.node.logins] == [True]


async def test_words_input_folder_and_variables_reach_the_command_as_bytes(
    alpha: Held, tmp_path: Path
) -> None:
    user = alpha.user()
    folder = tmp_path / "a'b\n \udcff"
    folder.mkdir()
    word, stdin = "'\n\udcfe\U0001f600", bytes(range(256)) * 9000

    said = await user.run(["printf", "%s|", word], timeout=20)
    where = await user.run(["pwd"], timeout=20, cwd=folder)
    env = {"NOW": word, "HOME": None}
    told = await user.run(["sh", "-c", 'echo "$NOW$HOME"; exit 3'], timeout=20, env=env)
    echoed = await user.run(["sh", "-c", "cat; echo b >&2"], timeout=20, stdin=stdin)

    assert said.stdout == os.fsencode(word) + b"|"
    assert said.argv == ("printf", "%s|", word)
    assert where.stdout == bytes(folder) + b"\n"
    assert (told.exit_status, told.stdout) == (3, os.fsencode(word) + b"\n")
    assert (echoed.stdout, echoed.stderr, echoed.truncated) == (stdin, b"b\n", False)


async def test_what_cannot_be_sent_is_certainly_not_started(alpha: Held) -> None:
    user = alpha.user()

    long = await user.run(["x" * (5 << 20)], timeout=20)
    nothing = await user.run([], timeout=20)
    after = await user.run(["true"], timeout=20)

    assert long.trouble is nothing.trouble is Trouble.NOT_STARTED
    assert "too long" in long.detail
    assert after.exit_status == 0


async def test_a_command_goes_on_when_who_sent_it_goes_away(alpha: Held) -> None:
    user, other = alpha.user(), alpha.user()
    go_on = asyncio.Event()
    alpha.node.inject("marked", Hang(go_on))
    sent = asyncio.create_task(user.run(["echo", "marked"], timeout=20))
    asked = await alpha.node.asked_for("marked")

    sent.cancel()
    await user.close()
    go_on.set()
    await asked.ended.wait()

    assert asked.stdout.endswith(b"marked\n")
    assert (await other.run(["true"], timeout=20)).exit_status == 0


async def test_a_command_that_is_given_up_leaves_the_others_alone(alpha: Held) -> None:
    user = alpha.user()
    go_on = asyncio.Event()
    alpha.node.inject("marked", Hang(go_on))
    given_up = asyncio.create_task(user.run(["echo", "marked"], timeout=20))
    await alpha.node.asked_for("marked")

    given_up.cancel()

    assert (await user.run(["echo", "in"], timeout=20)).stdout == b"in\n"
    go_on.set()


async def test_the_time_out_counts_at_the_other_end(alpha: Held) -> None:
    alpha.node.inject("marked", Hang())

    done = await alpha.user().run(["echo", "marked"], timeout=0.3)

    assert done.trouble is Trouble.TIMED_OUT


# The end


async def test_without_anybody_there_nothing_was_done(path: Path) -> None:
    user = SharedTransport(path)

    done = await user.run(["true"], timeout=20)

    assert done.trouble is Trouble.UNREACHABLE
    assert isinstance(user.error, NobodyThere)
    assert not user.alive


async def test_after_a_disconnect_nothing_is_sent_and_another_server_is_found(
    alpha: Held,
) -> None:
    user = alpha.user()
    await user.run(["true"], timeout=20)
    line, _ = await open_line(alpha.path, ClientRequest.END)
    await alpha.serving
    await line.close()

    gone = await user.run(["echo", "marked"], timeout=20)
    alpha.node.keys = True
    await alpha.begin()
    await log_in_at(alpha.path, Person())
    again = await user.run(["true"], timeout=20)

    assert gone.trouble is Trouble.UNREACHABLE
    assert not [asked for asked in alpha.node.asked if "marked" in asked.command]
    assert again.exit_status == 0


async def test_commands_under_way_may_end_and_later_ones_are_not_begun(alpha: Held) -> None:
    user = alpha.user()
    go_on = asyncio.Event()
    alpha.node.inject("marked", Hang(go_on))
    under_way = asyncio.create_task(user.run(["echo", "marked"], timeout=20))
    await alpha.node.asked_for("marked")
    alpha.end.set()
    await asyncio.to_thread(wait_until_gone, alpha.path)

    late = await user.run(["echo", "late"], timeout=20)
    go_on.set()

    assert late.trouble is Trouble.UNREACHABLE
    assert "ended" in late.detail
    assert (await under_way).stdout == b"marked\n"


async def test_a_lost_login_that_a_key_renews_goes_on(reach: Reach, path: Path) -> None:
    async with held(await reach.faulty(), path) as login:
        await log_in_at(path, Person())
        user = login.user()
        login.node.inject("marked", DropBefore())

        lost = await user.run(["echo", "marked"], timeout=20)
        after = await user.run(["echo", "in"], timeout=20)

        assert lost.trouble is Trouble.LOST
        assert after.stdout == b"in\n"


async def test_a_lost_login_that_only_a_person_can_renew_ends_everything(alpha: Held) -> None:
    user = alpha.user()
    await user.run(["true"], timeout=20)
    alpha.node.cut()

    first = await user.run(["true"], timeout=20)
    await alpha.serving
    then = await user.run(["true"], timeout=20)

    assert first.trouble in (Trouble.UNREACHABLE, Trouble.NOT_STARTED)
    assert then.trouble is Trouble.UNREACHABLE
    assert not is_there(alpha.path)
    assert [login.accepted for login in alpha.node.logins] == [True]


async def test_while_the_network_is_away_the_login_is_kept(reach: Reach, path: Path) -> None:
    async with held(await reach.faulty(), path) as login:
        await log_in_at(path, Person())
        user = login.user()
        await login.node.close()

        away = await user.run(["true"], timeout=20)
        known = await look_at(path)
        await login.node.open()
        await log_in_at(path, Person())
        back = await user.run(["true"], timeout=20)

    assert away.trouble in (Trouble.UNREACHABLE, Trouble.NOT_STARTED)
    assert known is not None
    assert known.state is LoginState.LOST
    assert back.exit_status == 0


@pytest.mark.parametrize("limit", ["idle_seconds", "seconds"])
async def test_it_ends_when_it_is_idle_and_when_its_time_is_over(
    reach: Reach, path: Path, limit: str
) -> None:
    async with held(await reach.faulty(), path, **{limit: 0.2}) as login:
        await log_in_at(path, Person())

        await asyncio.wait_for(login.serving, 60)

        assert not is_there(path)
        assert not login.node.connections


async def test_a_process_that_nobody_could_find_any_more_ends(alpha: Held) -> None:
    user = alpha.user()
    await user.open()
    alpha.path.unlink()

    done = await user.run(["true"], timeout=20)

    assert done.exit_status == 0
    await alpha.serving


# Logging in


async def test_a_denied_login_is_explained_and_nothing_stays(reach: Reach, path: Path) -> None:
    async with held(await reach.faulty(keys=False, rounds=CODE), path) as login:
        with pytest.raises(LoginError) as caught:
            await log_in_at(path, Person(["wrong"], None))
        await login.serving

    assert caught.value.trouble is LoginTrouble.CANCELLED
    assert "wrong" not in str(caught.value)
    assert not is_there(path)


async def test_an_unknown_host_key_is_asked_about_at_the_other_end(
    reach: Reach, path: Path
) -> None:
    node = await reach.faulty()
    node.known_hosts.unlink()
    person = Person(believes=True)
    async with held(node, path):
        known = await log_in_at(path, person)

    assert known.state is LoginState.CONNECTED
    assert [key.kind for key in person.keys] == ["ssh-ed25519"]
    assert node.known_hosts.read_text().split()[1:] == person.keys[0].line.split()[1:]


async def test_who_goes_away_while_being_asked_ends_it(reach: Reach, path: Path) -> None:
    asked = asyncio.Event()

    class Away(Person):
        async def ask(self, prompts: object) -> None:
            asked.set()
            await asyncio.Event().wait()

    async with held(await reach.faulty(keys=False, rounds=CODE), path) as login:
        logging_in = asyncio.create_task(log_in_at(path, Away()))
        await asked.wait()
        with pytest.raises(SharedError, match="in progress"):
            await login.user().open()
        with pytest.raises(SharedError, match="in progress"):
            await log_in_at(path, Person())

        logging_in.cancel()

        await login.serving


async def test_a_question_that_the_server_withdraws_is_withdrawn_here(
    reach: Reach, path: Path
) -> None:
    node = await reach.faulty(keys=False, rounds=CODE)
    withdrawn = []

    class Slow(Person):
        async def ask(self, prompts: object) -> None:
            node.cut()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                withdrawn.append(True)
                raise

    async with held(node, path):
        with pytest.raises(LoginError) as caught:
            await log_in_at(path, Slow())

    assert withdrawn == [True]
    assert "did not wait" in caught.value.message


async def test_who_is_connected_already_is_asked_nothing(alpha: Held) -> None:
    person = Person()

    known = await log_in_at(alpha.path, person)

    assert (known.cluster, known.user) == ("alpha", alpha.node.user)
    assert known.until - known.since == pytest.approx(60, abs=2)
    assert known.pid == os.getpid()
    assert not person.prompts


# Who may


async def test_a_folder_that_others_can_enter_is_refused_by_both_ends(
    alpha: Held, reach: Reach
) -> None:
    alpha.path.parent.chmod(0o710)

    done = await alpha.user().run(["true"], timeout=20)
    with pytest.raises(SharedError, match="open to others") as caught:
        await Held(alpha.node, alpha.path.with_name("b.socket")).serve()

    assert done.trouble is Trouble.UNREACHABLE
    assert "mode 0710" in done.detail
    assert "chmod go-rwx" in caught.value.hint
    alpha.path.parent.chmod(0o700)


async def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    folder = Path("/usr")
    if os.geteuid() == 0:
        folder = tmp_path / "theirs"
        folder.mkdir(mode=0o700)
        os.chown(folder, 1, 1)

    done = await SharedTransport(folder / "alpha.socket").run(["true"], timeout=20)

    assert done.trouble is Trouble.UNREACHABLE
    assert f"belongs to user {folder.stat().st_uid}" in done.detail


async def test_a_link_in_place_of_the_folder_is_refused(alpha: Held, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(alpha.path.parent)

    done = await SharedTransport(link / alpha.path.name).run(["true"], timeout=20)

    assert done.trouble is Trouble.UNREACHABLE
    assert "cannot be used" in done.detail


async def test_the_socket_is_the_users_alone(alpha: Held) -> None:
    assert alpha.path.stat().st_mode & 0o777 == 0o600
    assert alpha.path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("wish", ["commands", "login"])
async def test_another_version_is_refused_but_may_look_and_end(alpha: Held, wish: str) -> None:
    async def told(wish: str) -> dict[str, object]:
        line = await SharedConnection.to(alpha.path)
        shared_protocol.send(line.writer, {"rowtui": "9.9", "protocol": 9, "wish": wish})
        answer = await shared_protocol.receive(line.reader)
        end = await line.reader.read() if wish != "end" else b""
        await line.close()
        assert answer is not None
        return answer.head | {"end": end}

    refused = await told(wish)
    ended = await told("end")
    await alpha.serving

    assert (refused["error"], refused["end"]) == ("version", b"")
    assert refused["rowtui"] == ended["rowtui"] == "0.1.0"
    assert ended["cluster"] == "alpha"


async def test_a_connection_that_another_version_holds_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "shared" / "alpha-0.socket"

    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = {"rowtui": "9\x1b", "protocol": 9, "error": "version"}
        shared_protocol.send(writer, answer)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(other, sock=listen_at(path))
    user = SharedTransport(path)
    done = await user.run(["true"], timeout=20)
    server.close()

    assert done.trouble is Trouble.UNREACHABLE
    assert done.detail.startswith("rowtui 9\\x1b holds the shared connection")
    assert "rowtui disconnect" in str(user.error)


async def test_nonsense_ends_only_the_connection_that_it_came_by(alpha: Held) -> None:
    folder = os.open(alpha.path.parent, os.O_RDONLY)
    for nonsense in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\0\0\0\2\0\0\0\0[]", b""):
        with socket.socket(socket.AF_UNIX) as outsider:
            outsider.connect(f"/proc/self/fd/{folder}/{alpha.path.name}")
            outsider.sendall(nonsense)
            outsider.shutdown(socket.SHUT_WR)
            reader, writer = await asyncio.open_connection(sock=outsider.dup())
            assert await reader.read() == b""
            writer.close()
    os.close(folder)

    assert (await alpha.user().run(["true"], timeout=20)).exit_status == 0


async def test_two_cannot_listen_at_one_place_but_a_dead_socket_is_replaced(
    alpha: Held,
) -> None:
    with pytest.raises(SharedError, match="already"):
        await Held(alpha.node, alpha.path).serve()

    dead = alpha.path.with_name("dead.socket")
    with socket.socket(socket.AF_UNIX) as left_behind:
        folder = os.open(dead.parent, os.O_RDONLY)
        left_behind.bind(f"/proc/self/fd/{folder}/{dead.name}")
        os.close(folder)
    async with held(alpha.node, dead):
        assert await look_at(dead) is not None


# Where it is


def test_the_folder_is_the_runtime_folder_if_that_is_ours(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    home = {"HOME": str(tmp_path / "home")}

    ours = shared_folder({**home, "XDG_RUNTIME_DIR": str(tmp_path / "run")})
    relative = shared_folder({**home, "XDG_RUNTIME_DIR": "run"})
    missing = shared_folder({**home, "XDG_RUNTIME_DIR": str(tmp_path / "none")})

    assert ours == tmp_path / "run" / "rowtui"
    assert relative == missing
    assert missing.is_relative_to(tmp_path) or missing.is_relative_to("/run/user")


def test_a_socket_is_named_by_its_cluster_and_everything_that_decides_the_machine() -> None:
    environ = {"XDG_RUNTIME_DIR": "/"}
    targets = [
        SshTarget("h"),
        SshTarget("h", "u"),
        SshTarget("h", port=2),
        SshTarget("h", config=(Path("/c"),)),
    ]
    found = {shared_socket("alpha", target, environ) for target in targets}
    found.add(shared_socket("be/ta\n\udcff", targets[0], environ))

    assert len(found) == 5
    assert all(path.name.isprintable() and path.parent.name == "rowtui" for path in found)
    assert {path.name.split("-")[0] for path in found} == {"alpha", "be_ta"}


# What is said

texts = st.text(alphabet=st.characters(codec=None)) | st.binary().map(os.fsdecode)


@given(st.lists(texts, min_size=1), st.binary(), st.dictionaries(texts, texts | st.none()), texts)
def test_a_request_arrives_as_it_was_sent(
    argv: list[str], stdin: bytes, env: dict[str, str | None], cwd: str
) -> None:
    request = shared_protocol.Request(7, tuple(argv), 1.5, cwd, env)
    frame = over_a_stream(request, stdin)

    assert shared_protocol.read(shared_protocol.Request, frame.head) == request
    assert frame.body == stdin


@given(
    st.none() | st.integers(-64, 255),
    st.binary(),
    st.binary(),
    st.none() | st.sampled_from(Trouble),
    texts,
    st.booleans(),
)
def test_a_result_arrives_as_it_was_sent(
    status: int | None, out: bytes, err: bytes, trouble: Trouble | None, said: str, cut: bool
) -> None:
    result = CommandResult(("a",), status, out, err, 0.25, trouble, said, cut)
    frame = over_a_stream(shared_protocol.result_head(1, result), out, err)

    assert shared_protocol.read_result(("a",), frame) == result


@given(st.dictionaries(st.sampled_from(SharedLogin._fields), st.integers() | texts | st.none()))
def test_what_another_version_says_of_its_login_is_read_as_far_as_it_goes(
    said: dict[str, object],
) -> None:
    login = shared_protocol.read_login(said)

    for name, default in SharedLogin("")._asdict().items():
        assert type(getattr(login, name)) is type(default)
    assert login.cluster.isprintable()


def is_there(path: Path) -> bool:
    return path.exists()


def wait_until_gone(path: Path) -> None:
    eventually(lambda: not path.exists(), what=f"{path} to be gone")


def over_a_stream(head: shared_protocol.Head, *body: bytes) -> shared_protocol.Message:
    """What comes out at the other end."""

    class Writer:
        data = b""

        def write(self, data: bytes) -> None:
            self.data += data

    async def read(data: bytes) -> shared_protocol.Message | None:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return await shared_protocol.receive(reader)

    writer = Writer()
    shared_protocol.send(writer, head, *body)  # type: ignore[arg-type]
    frame = asyncio.run(read(writer.data))
    assert frame is not None
    return frame
