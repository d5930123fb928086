"""Each channel against a real counterpart: servers on loopback, programs, and hostile text."""

from __future__ import annotations

import email
import email.policy
import json
import os
import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.messages import channels
from rowtui.core.messages.channels import deliver, terminal_sequence
from rowtui.core.messages.dispatch import SendingMeans
from rowtui.core.messages.model import Delivery, Outcome, Outgoing, StudyEventKind, study_event
from rowtui.core.messages.settings import ChannelSettings, MailSettings
from rowtui.core.secrets.model import Secret

from tests.eventually import eventually

HOSTILE = 'x\r\nBcc: thief@example.org\x1b]0;t\x07"}, <!channel> & @all *b* `c` [l](http://e)\u202e'


def message(text: str = "run r1 is finished", *details: str, **more: Any) -> Outgoing:
    kind = StudyEventKind.RUN_FINISHED
    event = study_event(kind, "study", text, "k", 1e9, details=details)
    return Outgoing((event,), **more)


class Post(NamedTuple):
    path: str
    body: bytes


class Server:
    """A server that answers each POST with `answer`."""

    def __init__(self) -> None:
        self.posts: list[Post] = []
        self.answer: Callable[[BaseHTTPRequestHandler], None] = lambda it: status(it, 200)
        ours = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                ours.posts.append(Post(self.path, self.rfile.read(length)))
                ours.answer(self)

            do_GET = do_POST  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def channel(self, kind: str = "webhook") -> ChannelSettings:
        url = f"http://127.0.0.1:{self.http.server_port}/hook/s3cret"
        return ChannelSettings(kind, kind, url=url)


def status(handler: BaseHTTPRequestHandler, code: int, **headers: str) -> None:
    handler.send_response(code)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


def means(environment: Mapping[str, str] | None = None) -> SendingMeans:
    return SendingMeans({**os.environ, **(environment or {})})


def test_a_webhook_receives_the_message_as_json(server: Server) -> None:
    assert deliver(server.channel(), message(HOSTILE, HOSTILE), means()).outcome is Outcome.SENT
    found = json.loads(server.posts[0].body)
    assert found["project"] == "study"
    assert found["repeated"] is False
    assert found["events"][0]["kind"] == "run_finished"
    assert "\\r\\nBcc" in found["title"]
    assert not {"\r", "\x1b", "\u202e"} & {*found["title"], *found["text"]}


def test_slack_takes_no_mention_from_the_text(server: Server) -> None:
    deliver(server.channel("slack"), message(HOSTILE), means())
    found = json.loads(server.posts[0].body)
    assert "<" not in found["text"]
    assert "&lt;!channel&gt; &amp; " in found["text"]
    assert found["mrkdwn"] is False


def test_mattermost_takes_no_mention_and_no_markup_from_the_text(server: Server) -> None:
    deliver(server.channel("mattermost"), message(HOSTILE), means())
    text = json.loads(server.posts[0].body)["text"]
    assert "@all" not in text
    assert "\\*b\\*" in text
    assert "\\[l\\]\\(http" in text


@pytest.mark.parametrize(
    ("code", "outcome"), [(500, Outcome.UNKNOWN), (503, Outcome.UNKNOWN), (404, Outcome.FAILED)]
)
def test_an_error_of_the_server_is_no_success_and_shows_no_address(
    server: Server, code: int, outcome: Outcome
) -> None:
    server.answer = lambda it: status(it, code)
    found = deliver(server.channel(), message(), means())
    assert found.outcome is outcome
    assert str(code) in found.reason
    assert "s3cret" not in found.reason


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(server: Server, code: int) -> None:
    other = server.channel().url.replace("/hook", "/other")
    server.answer = lambda it: status(it, code, Location=other)
    found = deliver(server.channel(), message(), means())
    assert found.outcome is Outcome.FAILED
    assert [it.path for it in server.posts] == ["/hook/s3cret"]
    assert "s3cret" not in found.reason


def test_of_a_large_answer_only_the_beginning_is_read(server: Server) -> None:
    written: list[int] = []

    def answer(it: BaseHTTPRequestHandler) -> None:
        it.send_response(200)
        it.end_headers()
        try:
            for _ in range(160):
                it.wfile.write(b"x" * 65_536)
                written.append(65_536)
        except OSError:
            pass

    server.answer = answer
    assert deliver(server.channel(), message(), means()).outcome is Outcome.SENT


def test_a_server_that_hangs_gives_an_unknown_outcome(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    server.answer = lambda _: release.wait(30) and None
    monkeypatch.setattr(channels, "SECONDS", 0.2)
    found = deliver(server.channel(), message(), means())
    release.set()
    assert found.outcome is Outcome.UNKNOWN
    assert "no answer" in found.reason


def test_a_server_that_answers_a_byte_at_a_time_is_left(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    def answer(it: BaseHTTPRequestHandler) -> None:
        it.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while not release.wait(0.05):
            it.wfile.write(b"x")

    server.answer = answer
    monkeypatch.setattr(channels, "LONGEST_SECONDS", 0.5)
    found = deliver(server.channel(), message(), means())
    release.set()
    assert found == Delivery(Outcome.UNKNOWN, "no answer in time")


def test_a_closed_port_is_a_certain_failure(server: Server) -> None:
    channel = server.channel()
    server.http.server_close()
    server.http.shutdown()
    found = deliver(channel, message(), means())
    assert found.outcome is Outcome.FAILED
    assert "s3cret" not in found.reason


# Programs


def program(folder: Path, name: str, body: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_a_program_gets_the_message_without_a_shell_and_without_secrets(tmp_path: Path) -> None:
    out = tmp_path / "out"
    path = program(tmp_path, "tell", f'{{ printf "%s|" "$@"; env; cat; }} > {out}')
    channel = ChannelSettings("me", "command", command=(str(path), "$(touch evil)", "a b"))
    by = means({"ROWTUI_SECRET_A_B": "hunter2"})
    assert deliver(channel, message("it's $(date)", HOSTILE), by).outcome is Outcome.SENT
    text = out.read_text()
    assert text.startswith("$(touch evil)|a b|")
    assert "ROWTUI_MESSAGE_TITLE=study: it's $(date)\n" in text
    assert "ROWTUI_MESSAGE_KIND=run_finished\n" in text
    assert "hunter2" not in text
    assert "\x1b" not in text


def test_a_program_that_does_not_end_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "SECONDS", 0.5)
    pid = tmp_path / "pid"
    path = program(tmp_path, "hang", f"sleep 600 & echo $! > {pid}; wait")
    channel = ChannelSettings("me", "command", command=(str(path),))
    found = deliver(channel, message(), means())
    assert found.outcome is Outcome.UNKNOWN
    state = Path(f"/proc/{pid.read_text().strip()}/stat")
    eventually(lambda: _state(state), lambda word: word in ("gone", "Z"), within=10)


def _state(path: Path) -> str:
    try:
        return path.read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


@pytest.mark.parametrize("command", [("/nowhere/program",), ("no-such-program-here",)])
def test_a_program_that_is_missing_is_a_failure(command: tuple[str, ...]) -> None:
    found = deliver(ChannelSettings("me", "command", command=command), message(), means())
    assert found.outcome is Outcome.FAILED
    assert "there is no program" in found.reason


def test_the_desktop_gets_no_option_and_no_markup_from_the_text(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program(tmp_path / "bin", "notify-send", f'printf "%s\\n" "$@" > {out}')
    by = means({"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"})
    event = study_event(StudyEventKind.BUDGET, "--urgency=x", "t", "k", 1e9, details=["<b>&"])
    assert deliver(ChannelSettings("d", "desktop"), Outgoing((event,)), by).outcome is Outcome.SENT
    assert out.read_text().splitlines()[1:] == ["--", "--urgency=x: t", "&lt;b&gt;&amp;"]


# Mail


def test_sendmail_gets_one_mail_without_injected_headers(tmp_path: Path) -> None:
    out = tmp_path / "mail"
    program(tmp_path / "bin", "sendmail", f'{{ echo "$@"; cat; }} > {out}')
    by = means({"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"})
    settings = MailSettings(("me@example.org",))
    channel = ChannelSettings("mail", "mail", mail=settings)
    assert deliver(channel, message(HOSTILE, HOSTILE), by).outcome is Outcome.SENT
    words, _, text = out.read_text().partition("\n")
    assert words == "-t -i"
    mail = email.message_from_string(text, policy=email.policy.default)
    assert mail["To"] == "me@example.org"
    assert mail["Bcc"] is None
    assert mail["Subject"].startswith("[rowtui] study: x\\r\\nBcc")


@given(st.text(), st.text())
def test_a_title_makes_one_header_of_any_text(project: str, text: str) -> None:
    event = study_event(StudyEventKind.BUDGET, project, text, "k", 1e9, details=[text])
    mail = channels.mail_of(MailSettings(("me@example.org",)), Outgoing((event,), repeated=True))
    parsed = email.message_from_bytes(mail.as_bytes(), policy=email.policy.default)
    assert sorted(parsed.keys()) == sorted(mail.keys())
    assert parsed["To"] == "me@example.org"


class Smtp:
    """A mail server without encryption that keeps what it is told."""

    def __init__(self, *extensions: str, refuse: str = "") -> None:
        self.heard: list[str] = []
        ours = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.say("220 here")
                data = False
                for raw in self.rfile:
                    line = raw.decode().rstrip("\r\n")
                    ours.heard.append(line)
                    word = line.split(" ")[0].upper()
                    if data:
                        if line == ".":
                            data = False
                            self.say("250 taken")
                    elif refuse and line.upper().startswith(refuse):
                        self.say("550 s3cret words")
                    elif word == "EHLO":
                        for each in extensions:
                            self.say(f"250-{each}")
                        self.say("250 OK")
                    elif word == "DATA":
                        data = True
                        self.say("354 go")
                    elif word == "QUIT":
                        self.say("221 bye")
                        return
                    else:
                        self.say("250 OK")

            def say(self, text: str) -> None:
                self.wfile.write(f"{text}\r\n".encode())

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def settings(self, **more: Any) -> ChannelSettings:
        port = self.server.server_address[1]
        given = {"host": "127.0.0.1", "port": port, "starttls": False, **more}
        return ChannelSettings("m", "mail", mail=MailSettings(("me@example.org",), **given))

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def smtp() -> Iterator[Callable[..., Smtp]]:
    made: list[Smtp] = []

    def make(*extensions: str, refuse: str = "") -> Smtp:
        made.append(Smtp(*extensions, refuse=refuse))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_mail_server_gets_the_mail(smtp: Callable[..., Smtp]) -> None:
    there = smtp()
    assert deliver(there.settings(), message(HOSTILE, "second"), means()).outcome is Outcome.SENT
    assert "rcpt TO:<me@example.org>" in there.heard
    assert sum(line.upper().startswith("RCPT") for line in there.heard) == 1
    assert not any(line.startswith("Bcc") for line in there.heard)


def test_no_password_goes_to_a_server_without_encryption(smtp: Callable[..., Smtp]) -> None:
    class Known(NamedTuple):
        environment: Mapping[str, str] = os.environ

        def password(self, machine: str, user: str) -> Secret | None:
            return Secret("hunter2")

        def show(self, sequence: str) -> bool:
            return False

    there = smtp("AUTH PLAIN LOGIN")  # STARTTLS is not offered
    found = deliver(there.settings(user="me", starttls=True), message(), Known())
    assert found.outcome is Outcome.FAILED
    assert "STARTTLS" in found.reason
    assert not any(line.upper().startswith("AUTH") for line in there.heard)


def test_a_refusal_of_the_mail_server_is_reported_without_its_words(
    smtp: Callable[..., Smtp],
) -> None:
    for refuse in ("MAIL", "RCPT", "DATA"):
        found = deliver(smtp(refuse=refuse).settings(), message(), means())
        assert found.outcome is Outcome.FAILED
        assert "s3cret" not in found.reason


def test_a_missing_password_is_reported_with_the_command_that_stores_it(tmp_path: Path) -> None:
    mail = MailSettings(("me@example.org",), host="smtp.example.org", user="me")
    by = SendingMeans({"HOME": str(tmp_path)})
    found = deliver(ChannelSettings("m", "mail", mail=mail), message(), by)
    assert found.outcome is Outcome.FAILED
    assert "rowtui secrets set smtp.example.org me" in found.reason


# Terminals


@pytest.mark.parametrize(
    ("environment", "begins"),
    [
        ({"TERM": "xterm-kitty"}, "\x1b]99;"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "\x1b]99;"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "\x1b]9;rowtui: "),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "\x1b]9;rowtui: "),
        ({"TERM": "xterm-ghostty"}, "\x1b]9;rowtui: "),
        ({"TERM": "rxvt-unicode-256color"}, "\x1b]777;notify;"),
        ({"TERM": "foot"}, "\x1b]777;notify;"),
        ({"TERM": "xterm-256color"}, "\a"),
        ({"TERM": "screen", "STY": "1", "KITTY_WINDOW_ID": "1"}, "\a"),
        ({}, "\a"),
    ],
)
def test_a_terminal_gets_what_it_is_known_to_show(environment: dict[str, str], begins: str) -> None:
    found = terminal_sequence(message(HOSTILE, HOSTILE), environment)
    assert found.startswith(begins)
    inside = found.replace("\x1b]", "").replace("\x1b\\", "")
    assert "\x1b" not in inside
    assert found == "\a" or "\a" not in found


def test_tmux_gets_the_outer_terminals_sequence_only_if_it_passes_it_on() -> None:
    inside = {"TERM": "tmux-256color", "TMUX": "/x,1,0", "KITTY_WINDOW_ID": "3"}
    assert terminal_sequence(message(), inside, lambda _: "") == "\a"
    found = terminal_sequence(message(), inside, lambda _: "xterm-kitty")
    assert found.startswith("\x1bPtmux;\x1b\x1b]99;")
    assert found.endswith("\x1b\\")


def test_without_a_terminal_nothing_is_written() -> None:
    found = deliver(ChannelSettings("t", "terminal"), message(), means())
    assert found == Delivery(Outcome.FAILED, "there is no terminal")
