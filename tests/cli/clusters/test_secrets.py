"""`rowtui secrets` on a terminal and for programs; and where a secret never turns up."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import keyring
import pytest
from rowtui.cli.main import main

from tests.cli.conftest import Shell
from tests.cli.terminal import Terminal

ROOT = Path(__file__).parents[3]
PLANTED = "pl4nted-s3cret"
WHOSE = ("login.org", "jane")


@pytest.fixture
def shell(empty_folder: Shell, tmp_path: Path) -> Shell:
    """With a key ring in a file, a home, and a folder of temporary files of its own."""
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    for name in [*empty_folder.environment]:
        if name == "NETRC" or name.startswith("ROWTUI_SECRET"):
            del empty_folder.environment[name]
    empty_folder.environment.update(
        {
            "PYTHONPATH": str(ROOT),
            "PYTHON_KEYRING_BACKEND": "tests.core.secrets.key_ring.FileKeyring",
            "TEST_KEY_RING": str(tmp_path / "ring"),
            "TMPDIR": str(tmp_path / "tmp"),
        }
    )
    return empty_folder


def without_a_key_ring(shell: Here) -> Here:
    shell.environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    return shell


def write_netrc(shell: Shell | Here, text: str, mode: int = 0o600) -> None:
    path = Path(shell.environment["HOME"], ".netrc")
    path.write_text(text)
    path.chmod(mode)


def stored(shell: Shell | Here) -> dict[str, str]:
    ring = Path(shell.environment["TEST_KEY_RING"])
    return json.loads(ring.read_text()) if ring.exists() else {}


def outside_of_the_key_ring(tmp_path: Path) -> bytes:
    """All that lies in the files of this test, but for the key ring."""
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "ring"]
    return b"".join(path.read_bytes() for path in files)


class Here:
    """The command line run in this process, with the shell's environment: quick."""

    def __init__(
        self, shell: Shell, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
    ) -> None:
        self.environment = shell.environment
        self._patch, self._capture = patch, capture

    def __call__(self, *words: str, stdin: str = "", **environment: str) -> Done:
        self._capture.readouterr()
        with self._patch.context() as patch:
            for name in [*os.environ]:
                patch.delenv(name)
            for name, value in {**self.environment, **environment}.items():
                patch.setenv(name, value)
            patch.setattr(keyring.core, "_keyring_backend", None)
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            code = main([*words])
        return Done(code, *self._capture.readouterr())

    def succeed(self, *words: str, stdin: str = "", **environment: str) -> str:
        done = self(*words, stdin=stdin, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout


class Done(NamedTuple):
    """How a command ended and what it said."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def here(shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    monkeypatch.chdir(shell.folder)
    return Here(shell, monkeypatch, capsys)


@pytest.fixture
def on_terminal(shell: Shell) -> Iterator[Terminal]:
    terminal = Terminal(shell, "secrets", "set", *WHOSE)
    yield terminal
    if terminal.process.poll() is None:
        terminal.process.kill()
        terminal.process.wait()


# --- typed


def test_a_typed_password_is_stored_and_never_seen(on_terminal: Terminal, shell: Shell) -> None:
    on_terminal.answer(b"Password of jane at login.org: ", f"{PLANTED}\n".encode())
    on_terminal.answer(b"Once more: ", f"{PLANTED}\n".encode())
    assert on_terminal.end() == 0
    assert PLANTED.encode() not in on_terminal.seen
    assert on_terminal.seen.endswith(
        b"Stored the password of jane at login.org; it is in keyring.\r\n"
    )
    assert stored(shell)["rowtui:login.org|jane"] == PLANTED


def test_a_slip_is_noticed(on_terminal: Terminal, shell: Shell) -> None:
    on_terminal.answer(b"login.org: ", f"{PLANTED}\n".encode())
    on_terminal.answer(b"Once more: ", f"{PLANTED}x\n".encode())
    assert on_terminal.end() == 1
    assert b"they are not the same" in on_terminal.seen
    assert PLANTED.encode() not in on_terminal.seen
    assert stored(shell) == {}


@pytest.mark.parametrize("typed", [b"\n", b"\x04"], ids=["return", "Ctrl-D"])
def test_nothing_typed_is_nothing_stored(on_terminal: Terminal, shell: Shell, typed: bytes) -> None:
    on_terminal.answer(b"login.org: ", typed)
    assert on_terminal.end() == 1
    assert b"the password is empty; nothing was stored" in on_terminal.seen
    assert stored(shell) == {}


def test_what_is_no_text_is_refused_without_a_byte_of_it(on_terminal: Terminal) -> None:
    on_terminal.answer(b"login.org: ", PLANTED.encode() + b"\xff\xfe\n")
    assert on_terminal.end() == 1
    assert b"the typed password is not UTF-8" in on_terminal.seen
    assert PLANTED.encode() not in on_terminal.seen
    assert b"xff" not in on_terminal.seen


def test_ctrl_c_gives_the_terminal_back_as_it_was(on_terminal: Terminal) -> None:
    before = termios.tcgetattr(on_terminal.outer)
    on_terminal.answer(b"login.org: ", b"")
    assert not termios.tcgetattr(on_terminal.outer)[3] & termios.ECHO
    os.write(on_terminal.outer, b"half of it\x03")  # the terminal has read the one with the other
    after = b""
    while b"\n" not in after:
        after += os.read(on_terminal.outer, 1 << 16)
    assert termios.tcgetattr(on_terminal.outer) == before
    assert on_terminal.end() == 130
    assert b"half" not in after + on_terminal.seen


def test_the_arguments_and_the_environment_of_the_command_hold_no_password(
    on_terminal: Terminal,
) -> None:
    process = Path(f"/proc/{on_terminal.process.pid}")
    on_terminal.answer(b"login.org: ", f"{PLANTED}\n".encode())
    on_terminal.answer(b"Once more: ", b"")  # now it knows the first
    looked_at = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    assert b"login.org\0jane" in looked_at
    assert PLANTED.encode() not in looked_at
    on_terminal.answer(b"Once more: ", f"{PLANTED}\n".encode())
    assert on_terminal.end() == 0


def test_without_a_terminal_nobody_is_asked(shell: Shell) -> None:
    shell.prefix = ("setsid",)
    done = shell("secrets", "set", *WHOSE, stdin=f"{PLANTED}\n")
    assert done.returncode == 1
    assert "there is no terminal to ask on" in done.stderr
    assert "--stdin" in done.stderr
    assert stored(shell) == {}


# --- standard input and arguments


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_a_password_on_standard_input_is_one_line(here: Here, ending: str) -> None:
    here.succeed("secrets", "set", *WHOSE, "--stdin", stdin=PLANTED + ending)
    assert stored(here)["rowtui:login.org|jane"] == PLANTED


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (f"{PLANTED}\nmore\n", "more than one line"),
        (f"{PLANTED}\0", "NUL"),
        (PLANTED * 10_000, "more than 65,536 bytes"),
        ("\n", "is empty"),
        ("", "is empty"),
    ],
    ids=["lines", "NUL", "long", "newline", "nothing"],
)
def test_what_cannot_be_a_password_is_refused(here: Here, given: str, said: str) -> None:
    done = here("secrets", "set", *WHOSE, "--stdin", stdin=given)
    assert done.returncode == 1
    assert said in done.stderr
    assert PLANTED not in done.stdout + done.stderr
    assert stored(here) == {}


def test_a_password_among_the_arguments_is_refused_and_not_repeated(here: Here) -> None:
    done = here("secrets", "set", *WHOSE, PLANTED)
    assert done.returncode == 2
    assert "never taken from the arguments" in done.stderr
    assert PLANTED not in done.stdout + done.stderr
    assert stored(here) == {}


# --- get, list, delete


def test_get_says_who_has_it_and_shows_it_only_when_told(here: Here) -> None:
    here.succeed("secrets", "set", *WHOSE, "--stdin", stdin=PLANTED)
    quiet = here("secrets", "get", *WHOSE, "-vv")
    assert quiet.stdout == "keyring has the password of jane at login.org.\n"
    assert PLANTED not in quiet.stderr
    shown = here("secrets", "get", *WHOSE, "--show")
    assert shown.stdout == f"{PLANTED}\n"
    assert "the password is printed next" in shown.stderr


def test_json_has_the_password_only_with_show(here: Here) -> None:
    here.succeed("secrets", "set", *WHOSE, "--stdin", "--json", stdin=PLANTED)
    known = {"version": 1, "machine": "login.org", "user": "jane", "provider": "keyring"}
    assert json.loads(here.succeed("secrets", "get", *WHOSE, "--json")) == known
    shown = json.loads(here.succeed("secrets", "get", *WHOSE, "--json", "--show"))
    assert shown == {**known, "password": PLANTED}
    listed = json.loads(here.succeed("secrets", "list", "--json"))
    version = {"version": known.pop("version")}
    secrets = [{**known, "variable": ""}]
    assert listed == {**version, "secrets": secrets, "left_out": [], "failed": []}


def test_what_nobody_knows_is_an_error_that_says_who_was_asked(here: Here) -> None:
    write_netrc(here, f"machine login.org login jane password {PLANTED}", 0o644)
    done = without_a_key_ring(here)("secrets", "get", *WHOSE)
    assert done.returncode == 1
    assert "none of environment, netrc has it" in done.stderr
    assert "is open to others (mode 0644)" in done.stderr
    assert "keyring is left out: there is no key ring on this machine" in done.stderr
    answer = here("secrets", "get", *WHOSE, "--json")
    assert answer.returncode == 1
    assert json.loads(answer.stdout)["provider"] is None
    assert PLANTED not in done.stdout + done.stderr + answer.stdout + answer.stderr


def test_list_names_what_every_provider_has_without_secrets(here: Here) -> None:
    write_netrc(here, f"machine n.org login \x1bann password {PLANTED}")
    here.succeed("secrets", "set", *WHOSE, "--stdin", stdin=PLANTED)
    variable = {"ROWTUI_SECRET_LOGIN_ORG_JOHN": PLANTED}
    done = here("secrets", "list", "-v", **variable)
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["Machine", "User", "Provider"],
        ["$ROWTUI_SECRET_LOGIN_ORG_JOHN", "environment"],
        ["login.org", "jane", "keyring"],
        ["n.org", r"\x1bann", "netrc"],
    ]
    assert PLANTED not in done.stdout + done.stderr
    only = here.succeed("secrets", "list", "n.org", **variable)
    assert [line.split()[0] for line in only.splitlines()] == ["Machine", "n.org"]


def test_list_says_what_is_left_out_and_what_failed(here: Here) -> None:
    write_netrc(here, "mashine")
    done = without_a_key_ring(here)("secrets", "list", "-v")
    assert done.returncode == 1
    assert "secrets from keyring are left out" in done.stderr
    assert "cannot be read at line 1 or the one before" in done.stderr
    assert "No password is stored." in done.stderr


def test_a_password_that_is_hidden_by_another_is_said(here: Here) -> None:
    variable = {"ROWTUI_SECRET_LOGIN_ORG_JANE": "another"}
    done = here("secrets", "set", *WHOSE, "--stdin", stdin=PLANTED, **variable)
    assert done.returncode == 0
    assert "environment also has one" in done.stderr
    assert "another" not in done.stdout + done.stderr


def test_delete_removes_it_once(here: Here) -> None:
    here.succeed("secrets", "set", *WHOSE, "--stdin", stdin=PLANTED)
    here.succeed("secrets", "delete", *WHOSE)
    assert stored(here) == {"rowtui|names": "[]"}
    again = here("secrets", "delete", *WHOSE)
    assert again.returncode == 1
    assert "keyring: it has none" in again.stderr


def test_without_a_user_it_is_the_one_of_this_machine(here: Here) -> None:
    import pwd

    here.succeed("secrets", "set", "login.org", "--stdin", stdin=PLANTED)
    assert f"rowtui:login.org|{pwd.getpwuid(os.getuid()).pw_name}" in stored(here)


def test_where_nothing_can_store_the_way_out_is_named(here: Here) -> None:
    done = without_a_key_ring(here)("secrets", "set", *WHOSE, "--stdin", stdin=PLANTED)
    assert done.returncode == 1
    assert "none of environment, netrc can store anything" in done.stderr
    assert "keyring --list-backends" in done.stderr


# --- where it never turns up

# rowtui, with something unexpected after the password was stored, or while it is.
CRASH = """\
import sys
from rowtui.cli.output import output
from rowtui.core.secrets import service
from rowtui.cli.main import main
def crash(*words):
    raise ZeroDivisionError("crashed while printing", *words)
output.Output.{method} = crash
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("verb", "method"), [("set", "print"), ("get", "print"), ("list", "lines")]
)
def test_a_crash_leaves_no_password_in_its_log(
    shell: Shell, tmp_path: Path, verb: str, method: str
) -> None:
    shell.succeed("secrets", "set", *WHOSE, "--stdin", stdin=PLANTED)
    words = [*WHOSE, *(["--stdin"] if verb == "set" else [])]
    done = subprocess.run(
        [sys.executable, "-c", CRASH.format(method=method), "secrets", verb, *words],
        cwd=shell.folder,
        env=shell.environment,
        input=PLANTED,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (log,) = (tmp_path / "tmp").glob("rowtui-error-*.log")
    assert f"in _{verb}" in log.read_text()
    assert "crashed while printing" in done.stderr
    assert PLANTED not in log.read_text() + done.stdout + done.stderr
    assert PLANTED.encode() not in outside_of_the_key_ring(tmp_path)


@pytest.mark.parametrize("ring", ["TalkativeKeyring", "LockedKeyring"])
@pytest.mark.parametrize("verb", ["set", "get", "delete", "list"])
def test_a_key_ring_that_fails_is_explained_without_the_password(
    here: Here, tmp_path: Path, ring: str, verb: str
) -> None:
    (tmp_path / "ring").write_text(json.dumps({"rowtui:login.org|jane": PLANTED}))
    here.environment["PYTHON_KEYRING_BACKEND"] = f"tests.core.secrets.key_ring.{ring}"
    words = ["--stdin"] if verb == "set" else []
    done = here("secrets", verb, *WHOSE, *words, "-vv", stdin=PLANTED)
    assert done.returncode == 1
    assert "keyring: it " in done.stderr
    assert "unexpected" not in done.stderr
    assert PLANTED not in done.stdout + done.stderr
    assert PLANTED.encode() not in outside_of_the_key_ring(tmp_path)


def test_tab_completes_the_machines_of_netrc(shell: Shell) -> None:
    write_netrc(shell, f"machine login.org login jane password {PLANTED}")
    line = "rowtui secrets get lo"
    done = shell(
        cluster=None,
        _ARGCOMPLETE="1",
        _ARGCOMPLETE_STDOUT_FILENAME=str(shell.folder / "answer"),
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
        _ARGCOMPLETE_IFS="\n",
    )
    assert done.returncode == 0
    assert (shell.folder / "answer").read_text().strip() == "login.org"
