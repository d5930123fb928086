"""Each provider with what is really there: variables, files, key rings."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import traceback
from pathlib import Path

import keyring
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keyring.backends import fail, null
from rowtui.core.secrets import keyring_provider
from rowtui.core.secrets.keyring_provider import KeyringProvider, open_keyring
from rowtui.core.secrets.model import (
    CouldNotDeleteCredentials,
    CouldNotListCredentials,
    CouldNotRetrieveCredentials,
    CouldNotSetCredentials,
    NotSupportedByProvider,
    ProviderUnavailable,
    Secret,
    SecretError,
    SecretName,
    SecretProvider,
)
from rowtui.core.secrets.netrc_provider import NetrcProvider, netrc_path
from rowtui.core.secrets.service import EnvironmentProvider, PromptProvider, variable_name

from tests.core.secrets.key_ring import (
    FileKeyring,
    LockedKeyring,
    SilentKeyring,
    TalkativeKeyring,
)

PLANTED = "pl4nted-s3cret"
ROOT = Path(__file__).parents[3]


# --- environment


async def test_a_variable_in_capitals_has_the_secret() -> None:
    environment = {"ROWTUI_SECRET_LOGIN_1_EXAMPLE_ORG_9000_JANE_DOE": PLANTED, "PATH": "/bin"}
    provider = EnvironmentProvider(environment)
    found = await provider.find_password_for_user("login-1.example.org:9000", "jane.doe")
    assert found == Secret(PLANTED)
    assert await provider.find_password_for_user("login-1.example.org", "jane.doe") is None
    assert environment == {"PATH": "/bin"}  # nothing that is started later inherits it


async def test_variables_are_listed_without_their_values() -> None:
    provider = EnvironmentProvider({"ROWTUI_SECRET_B_U": "x", "ROWTUI_SECRET_A_U": PLANTED})
    assert await provider.names() == (
        SecretName("", "", "ROWTUI_SECRET_A_U"),
        SecretName("", "", "ROWTUI_SECRET_B_U"),
    )


async def test_an_empty_variable_is_none() -> None:
    provider = EnvironmentProvider({"ROWTUI_SECRET_A_U": ""})
    assert await provider.find_password_for_user("a", "u") is None
    assert await provider.names() == ()


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_machine_and_user_make_a_variable_that_a_shell_can_set(machine: str, user: str) -> None:
    name = variable_name(machine, user)
    assert name.isascii()
    assert name.isidentifier()
    assert name == name.upper()
    assert len(name) == len("ROWTUI_SECRET__") + len(machine) + len(user)


def test_children_do_not_inherit_secrets() -> None:
    code = (
        "import asyncio, os, subprocess, sys\n"
        "from rowtui.core.secrets.service import open_service\n"
        "service = asyncio.run(open_service(os.environ))\n"
        "found = asyncio.run(service.find_password_for_user('m', 'u'))\n"
        "print(len(found.reveal()))\n"
        "sys.stdout.flush()\n"
        "subprocess.run(['/usr/bin/env'], check=True)\n"
        "os.system('cat /proc/$$/environ')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "ROWTUI_SECRET_M_U": PLANTED},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"{len(PLANTED)}\n")
    assert "PATH=" in done.stdout
    assert PLANTED not in done.stdout + done.stderr


# --- netrc

NETRC = """\
# machine commented.org login jane password no
machine login.example.org login jane password pl4nted-s3cret
#machine old.org login jane password no
machine second.org
    login john
    account x
    password "with \\"blanks\\" # in it"
macdef init
    machine macro.org login jane password no

machine any.org password #anyone
machine nothing.org login jane
default login jane password everywhere
"""


@pytest.fixture
def netrc(tmp_path: Path) -> Path:
    path = tmp_path / "netrc"
    path.write_text(NETRC)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    ("machine", "user", "password"),
    [
        ("login.example.org", "jane", PLANTED),
        ("second.org", "john", 'with "blanks" # in it'),
        ("login.example.org:9000", "jane", PLANTED),
        ("login.example.org", "jim", None),
        ("any.org", "whoever", "#anyone"),
        ("nothing.org", "jane", None),
        ("commented.org", "jane", None),
        ("macro.org", "jane", None),
        ("old.org", "jane", None),
        ("elsewhere.org", "jane", None),  # `default` would give the password to any machine
    ],
)
async def test_netrc_answers_for_its_machines(
    netrc: Path, machine: str, user: str, password: str | None
) -> None:
    found = await NetrcProvider(netrc).find_password_for_user(machine, user)
    assert (found and found.reveal()) == password


async def test_netrc_lists_who_has_a_password(netrc: Path) -> None:
    assert await NetrcProvider(netrc).names() == (
        SecretName("login.example.org", "jane"),
        SecretName("second.org", "john"),
        SecretName("any.org", ""),
    )


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610, 0o666])
async def test_a_netrc_that_is_open_to_others_is_refused(netrc: Path, mode: int) -> None:
    os.chmod(netrc, mode)
    with pytest.raises(CouldNotRetrieveCredentials) as caught:
        await NetrcProvider(netrc).find_password_for_user("login.example.org", "jane")
    assert f"mode {mode:04o}" in str(caught.value)
    assert f"chmod 600 {netrc}" in caught.value.hint
    with pytest.raises(CouldNotListCredentials):
        await NetrcProvider(netrc).names()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"machine a login b password {PLANTED} {PLANTED}", 1),
        (f"machine a\nlogin b passwd {PLANTED}", 2),
        (f"machine a login b password {PLANTED}\nmachine", 2),
        (f"{PLANTED}", 1),
    ],
)
async def test_a_faulty_netrc_is_explained_without_quoting_it(
    tmp_path: Path, text: str, line: int
) -> None:
    path = tmp_path / "netrc"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(CouldNotRetrieveCredentials) as caught:
        await NetrcProvider(path).find_password_for_user("a", "b")
    assert f"{path} cannot be read at line {line} or the one before" in str(caught.value)
    shows_nothing(caught.value)


async def test_no_netrc_is_no_password(tmp_path: Path) -> None:
    provider = NetrcProvider(tmp_path / "nothing")
    assert await provider.find_password_for_user("a", "b") is None
    assert await provider.names() == ()


async def test_a_pipe_in_its_place_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "netrc", 0o600)
    with pytest.raises(CouldNotRetrieveCredentials, match="not a regular file"):
        await NetrcProvider(tmp_path / "netrc").find_password_for_user("a", "b")


async def test_a_netrc_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "netrc"
    path.write_bytes(b"machine a login b password pl4nted-s3cret-caf\xe9")
    path.chmod(0o600)
    with pytest.raises(CouldNotRetrieveCredentials, match="is not text in UTF-8") as caught:
        await NetrcProvider(path).find_password_for_user("a", "b")
    shows_nothing(caught.value)


async def test_of_several_entries_for_a_machine_the_last_one_counts(tmp_path: Path) -> None:
    path = tmp_path / "netrc"
    path.write_text("machine m login a password one\nmachine m login b password two\n")
    path.chmod(0o600)
    provider = NetrcProvider(path)
    assert await provider.find_password_for_user("m", "b") == Secret("two")
    assert await provider.find_password_for_user("m", "a") is None


def test_the_variable_netrc_names_the_file() -> None:
    assert netrc_path({"NETRC": "/x/y", "HOME": "/home/a"}) == Path("/x/y")
    assert netrc_path({"HOME": "/home/a"}) == Path("/home/a/.netrc")


# --- key ring


async def test_a_key_ring_stores_finds_lists_and_deletes(tmp_path: Path) -> None:
    provider = KeyringProvider(FileKeyring(tmp_path / "ring"))
    assert await provider.find_password_for_user("m", "u") is None
    await provider.set_password_for_user("m", "u", Secret("old"))
    await provider.set_password_for_user("m", "u", Secret(PLANTED))
    await provider.set_password_for_user("a", "u", Secret("other"))
    assert await provider.find_password_for_user("m", "u") == Secret(PLANTED)
    assert await provider.names() == (SecretName("a", "u"), SecretName("m", "u"))
    await provider.del_password_for_user("m", "u")
    assert await provider.find_password_for_user("m", "u") is None
    assert await provider.names() == (SecretName("a", "u"),)
    with pytest.raises(CouldNotDeleteCredentials, match="it has none"):
        await provider.del_password_for_user("m", "u")


async def test_what_other_programs_keep_for_the_machine_is_not_touched(tmp_path: Path) -> None:
    ring = FileKeyring(tmp_path / "ring")
    ring.set_password("m", "u", "of another program")
    provider = KeyringProvider(ring)
    assert await provider.find_password_for_user("m", "u") is None
    await provider.set_password_for_user("m", "u", Secret(PLANTED))
    await provider.del_password_for_user("m", "u")
    assert ring.get_password("m", "u") == "of another program"


@pytest.mark.parametrize("text", ["{", "7", '[["a"], 5, ["m", 1]]', "[[[]]]"])
async def test_a_damaged_list_of_names_hides_no_secret(tmp_path: Path, text: str) -> None:
    ring = FileKeyring(tmp_path / "ring")
    provider = KeyringProvider(ring)
    await provider.set_password_for_user("m", "u", Secret(PLANTED))
    ring.set_password("rowtui", "names", text)
    assert await provider.names() == ()
    assert await provider.find_password_for_user("m", "u") == Secret(PLANTED)
    await provider.set_password_for_user("m", "u", Secret(PLANTED))
    assert await provider.names() == (SecretName("m", "u"),)


async def failures_of(provider: SecretProvider) -> list[SecretError]:
    """What finding, storing and deleting raise."""
    with pytest.raises(CouldNotRetrieveCredentials) as finding:
        await provider.find_password_for_user("m", "u")
    with pytest.raises(CouldNotSetCredentials) as storing:
        await provider.set_password_for_user("m", "u", Secret(PLANTED))
    with pytest.raises(CouldNotDeleteCredentials) as deleting:
        await provider.del_password_for_user("m", "u")
    return [finding.value, storing.value, deleting.value]


def shows_nothing(error: BaseException) -> None:
    """Neither its text, nor what it came from, nor the variables of its frames in core."""
    assert error.__cause__ is None
    assert error.__context__ is None
    everything = traceback.TracebackException.from_exception(error, capture_locals=True)
    ours = [frame.locals for frame in everything.stack if "rowtui/core/secrets/" in frame.filename]
    assert PLANTED not in f"{error!r} {error} {traceback.format_exception(error)}"
    assert ours
    assert PLANTED not in str(ours)


async def test_a_key_ring_whose_errors_say_everything_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "ring").write_text(f'{{"rowtui:m|u": "{PLANTED}"}}')
    for error in await failures_of(KeyringProvider(TalkativeKeyring(tmp_path / "ring"))):
        assert "it failed with" in error.reason
        shows_nothing(error)


async def test_a_locked_key_ring_says_so(tmp_path: Path) -> None:
    errors = await failures_of(KeyringProvider(LockedKeyring(tmp_path / "ring")))
    assert {error.reason for error in errors} == {"it is locked"}


async def test_a_key_ring_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    ring = SilentKeyring(tmp_path / "ring")
    provider = KeyringProvider(ring, seconds=0.05)
    errors = await failures_of(provider)
    assert {error.reason for error in errors} == {"it did not answer in time"}
    assert "all the same" in errors[1].hint
    ring.released.set()


def test_a_program_ends_although_its_key_ring_hangs() -> None:
    code = (
        "import asyncio\n"
        "from pathlib import Path\n"
        "from rowtui.core.secrets.keyring_provider import KeyringProvider\n"
        "from tests.core.secrets.key_ring import SilentKeyring\n"
        "provider = KeyringProvider(SilentKeyring(Path('ring')), seconds=0.05)\n"
        "try:\n"
        "    asyncio.run(provider.find_password_for_user('m', 'u'))\n"
        "except Exception as error:\n"
        "    print(error.reason)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("it did not answer in time\n", "")


@pytest.fixture
def chosen_key_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test chooses, the library then forgets."""
    monkeypatch.setattr(keyring.core, "_keyring_backend", None)


@pytest.mark.usefixtures("chosen_key_ring")
async def test_the_key_ring_that_the_library_chooses_is_used(tmp_path: Path) -> None:
    keyring.set_keyring(FileKeyring(tmp_path / "ring"))
    provider = await open_keyring()
    await provider.set_password_for_user("m", "u", Secret(PLANTED))
    assert keyring.get_password("rowtui:m", "u") == PLANTED


@pytest.mark.usefixtures("chosen_key_ring")
@pytest.mark.parametrize("backend", [fail.Keyring, null.Keyring])
async def test_without_a_key_ring_the_provider_is_left_out(
    backend: type[fail.Keyring | null.Keyring],
) -> None:
    keyring.set_keyring(backend())
    with pytest.raises(ProviderUnavailable, match="no key ring on this machine"):
        await open_keyring()


def test_without_the_library_the_provider_is_left_out_with_a_notice(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['keyring'] = None\n")
    code = (
        "import asyncio\n"
        "from rowtui.core.secrets.service import open_service\n"
        "service = asyncio.run(open_service({}))\n"
        "print([provider.name for provider in service.providers])\n"
        "print(*service.notices)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (
        "['environment', 'netrc']\n"
        "secrets from keyring are left out: the library 'keyring' is not installed\n"
        "    pip install 'rowtui[keyring]'\n"
    )


def test_the_extra_of_the_hint_exists() -> None:
    assert "[keyring]" in Path(keyring_provider.__file__).read_text()
    assert '\nkeyring = ["keyring>=' in (ROOT / "pyproject.toml").read_text()


# --- a person


async def test_a_person_is_asked_each_time() -> None:
    asked: list[tuple[str, bool]] = []
    answers = [Secret(PLANTED), None]

    async def ask(prompt: str, echo: bool) -> Secret | None:
        await asyncio.sleep(0)
        asked.append((prompt, echo))
        return answers[len(asked) - 1]

    provider = PromptProvider(ask)
    assert await provider.find_password_for_user("bad\x1b[2J", "jane") == Secret(PLANTED)
    assert await provider.find_password_for_user("m", "u") is None
    assert asked == [
        (r"Password of jane at bad\x1b[2J: ", False),
        ("Password of u at m: ", False),
    ]
    assert await provider.names() == ()


@pytest.mark.parametrize(
    "provider",
    [
        EnvironmentProvider({}),
        NetrcProvider(Path("/nowhere")),
        PromptProvider(lambda prompt, echo: asyncio.sleep(0)),
    ],
    ids=lambda provider: provider.name,
)
async def test_what_is_only_read_says_so(provider: SecretProvider) -> None:
    with pytest.raises(NotSupportedByProvider):
        await provider.set_password_for_user("m", "u", Secret(PLANTED))
    with pytest.raises(NotSupportedByProvider):
        await provider.del_password_for_user("m", "u")
