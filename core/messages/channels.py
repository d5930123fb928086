"""Send one message on one channel: mail, webhooks, a program, the desktop, a terminal.

Each way to send takes the channel's settings and the message, and returns a `Delivery`. It waits a
bounded time and reads a bounded answer. The texts of errors never hold an address or a password.
Sources: the manuals of `sendmail -t`, notify-send, Slack's and Mattermost's incoming webhooks, and
the terminal sequences OSC 9 (iTerm2), OSC 99 (kitty) and OSC 777 (urxvt).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import smtplib
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from email.utils import formatdate
from html import escape
from http.client import HTTPException
from typing import Any, NoReturn, Protocol
from urllib.parse import urlsplit

from rowtui.core.base.text import visible
from rowtui.core.messages.model import Delivery, Outcome, Outgoing
from rowtui.core.messages.settings import LOOPBACK, ChannelSettings, MailSettings
from rowtui.core.secrets.model import Secret, is_secret

SECONDS = 20.0  # for one step of a conversation
LONGEST_SECONDS = 30.0  # for all of a message; after that it may or may not arrive
LARGEST_ANSWER = 64 << 10  # bytes of a server's answer that are read
SENDMAIL_FOLDERS = "/usr/sbin:/usr/lib:/usr/local/sbin"

SENT = Delivery(Outcome.SENT)


class Senders(Protocol):
    """What a channel needs from the process that sends."""

    @property
    def environment(self) -> Mapping[str, str]: ...

    def password(self, machine: str, user: str) -> Secret | None:
        """Return the user's password of a mail server; None if there is none."""

    def show(self, sequence: str) -> bool:
        """Write a sequence to the user's terminal; False if there is no terminal."""


def deliver(channel: ChannelSettings, message: Outgoing, by: Senders) -> Delivery:
    """Send a message, within `LONGEST_SECONDS`. Nothing is raised."""
    answers: list[Delivery] = []

    def work() -> None:
        try:
            answers.append(_WAYS[channel.kind](channel, message, by))
        except Exception as error:  # a defect must not end the sending of other messages
            answers.append(Delivery(Outcome.UNKNOWN, f"it failed with {type(error).__name__}"))

    thread = threading.Thread(target=work, name="rowtui-message", daemon=True)
    thread.start()
    thread.join(LONGEST_SECONDS)
    return answers[0] if answers else Delivery(Outcome.UNKNOWN, "no answer in time")


def _failed(why: str) -> Delivery:
    return Delivery(Outcome.FAILED, why[:300])


# Programs


def _command(channel: ChannelSettings, message: Outgoing, by: Senders) -> Delivery:
    kinds = ",".join(dict.fromkeys(event.kind.value for event in message.events))
    values = {
        "KIND": kinds,
        "PROJECT": message.project,
        "TITLE": message.title,
        "TEXT": message.body,
        "REPEATED": "1" if message.repeated else "0",
    }
    more = {f"ROWTUI_MESSAGE_{name}": value for name, value in values.items()}
    return _ran(channel.command, f"{message.title}\n{message.body}\n", by, more)


def _desktop(_: ChannelSettings, message: Outgoing, by: Senders) -> Delivery:
    words = ("notify-send", "--app-name=rowtui", "--", message.title)
    return _ran((*words, escape(message.body, quote=False)), "", by)


def _ran(
    command: Sequence[str], text: str, by: Senders, more: Mapping[str, str] | None = None
) -> Delivery:
    """Run a program without a shell, without secrets in its environment, and end all of it."""
    environment = {name: value for name, value in by.environment.items() if not is_secret(name)}
    name = visible(os.path.basename(command[0]))
    program = shutil.which(command[0], path=environment.get("PATH", os.defpath))
    if program is None:
        return _failed(f"there is no program {name}")
    try:
        process = subprocess.Popen(
            [program, *command[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**environment, **(more or {})},
            start_new_session=True,
        )
    except OSError as error:
        return _failed(f"{name} cannot be started: {error.strerror}")
    try:
        process.communicate(text.encode("utf-8", "replace"), timeout=SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return Delivery(Outcome.UNKNOWN, f"{name} did not end in {SECONDS:.0f} seconds")
    if process.returncode:
        return _failed(f"{name} ended with exit code {process.returncode}")
    return SENT


# Webhooks


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the address of a webhook is a secret, and not for other machines."""

    def redirect_request(self, req: Any, fp: Any, code: int, *_: Any) -> NoReturn:
        """Refuse."""
        raise _RedirectError


class _RedirectError(Exception):
    pass


def _webhook(channel: ChannelSettings, message: Outgoing, _: Senders) -> Delivery:
    events = [event._asdict() | {"kind": event.kind.value} for event in message.events]
    for event in events:
        del event["again_after"]
    return _posted(
        channel,
        {
            "version": 1,
            "project": message.project,
            "title": message.title,
            "text": message.body,
            "repeated": message.repeated,
            "events": events,
            "more_events": message.more,
        },
    )


def _slack(channel: ChannelSettings, message: Outgoing, _: Senders) -> Delivery:
    # `<!channel>`, links and formatting begin with these characters; Slack wants no others escaped.
    text = escape(f"{message.title}\n{message.body}".strip(), quote=False)
    return _posted(channel, {"text": text, "mrkdwn": False})


def _mattermost(channel: ChannelSettings, message: Outgoing, _: Senders) -> Delivery:
    text = f"{message.title}\n{message.body}".strip()
    text = re.sub(r"([\\`*_\[\]()~<>#|!:])", r"\\\1", text)
    # `@all` would notify everybody, also escaped: an invisible character separates it.
    return _posted(channel, {"text": text.replace("@", "@\u200b")})


def _posted(channel: ChannelSettings, document: Mapping[str, Any]) -> Delivery:
    handlers: list[Any] = [_NoRedirects()]
    if urlsplit(channel.url).hostname in LOOPBACK:
        handlers.append(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(  # noqa: S310 the scheme was checked by the settings
        channel.url,
        json.dumps(document).encode(),
        {"Content-Type": "application/json", "User-Agent": "rowtui"},
        method="POST",
    )
    try:
        opener = urllib.request.build_opener(*handlers)
        with opener.open(request, timeout=SECONDS) as answer:
            answer.read(LARGEST_ANSWER)
    except _RedirectError:
        return _failed("the address leads to another one; write the final address")
    except urllib.error.HTTPError as error:
        outcome = Outcome.UNKNOWN if error.code >= 500 else Outcome.FAILED
        return Delivery(outcome, f"the server answered with status {error.code}")
    except urllib.error.URLError as error:
        return _not_reached(error.reason)
    except TimeoutError:
        return Delivery(Outcome.UNKNOWN, f"the server gave no answer in {SECONDS:.0f} seconds")
    except (OSError, HTTPException) as error:
        return Delivery(Outcome.UNKNOWN, f"the connection broke: {type(error).__name__}")
    return SENT


def _not_reached(reason: object) -> Delivery:
    """Return why a request was not sent; a timeout may also have happened after it was sent."""
    if isinstance(reason, TimeoutError):
        return Delivery(Outcome.UNKNOWN, f"the server gave no answer in {SECONDS:.0f} seconds")
    if isinstance(reason, ssl.SSLCertVerificationError):
        return _failed("the server's certificate is not valid")
    if isinstance(reason, ConnectionResetError | BrokenPipeError):
        return Delivery(Outcome.UNKNOWN, "the connection broke")
    why = reason.strerror if isinstance(reason, OSError) and reason.strerror else "no connection"
    return _failed(f"the server cannot be reached: {visible(why)}")


# Mail


def mail_of(settings: MailSettings, message: Outgoing) -> EmailMessage:
    """Return the mail. Its headers are single lines, because titles have no control characters."""
    mail = EmailMessage()
    mail["Subject"] = f"[rowtui] {message.title}"
    mail["To"] = ", ".join(settings.to)
    if settings.sender:
        mail["From"] = settings.sender
    mail["Date"] = formatdate(localtime=True)
    mail["Auto-Submitted"] = "auto-generated"
    body = message.body or message.title
    mail.set_content(f"{message.title}\n\n{body}\n" if message.body else f"{body}\n")
    return mail


def _mail(channel: ChannelSettings, message: Outgoing, by: Senders) -> Delivery:
    settings = channel.mail
    assert settings is not None
    mail = mail_of(settings, message)
    if not settings.host:
        return _by_sendmail(mail, by)
    if settings.user and not settings.sender and "@" in settings.user:
        mail["From"] = settings.user
    elif not settings.sender:
        mail["From"] = settings.to[0]
    return _by_server(settings, mail, by)


def _by_sendmail(mail: EmailMessage, by: Senders) -> Delivery:
    path = f"{by.environment.get('PATH', os.defpath)}:{SENDMAIL_FOLDERS}"
    program = shutil.which("sendmail", path=path)
    if program is None:
        return _failed("there is no program sendmail; name a mail server with `host`")
    return _ran((program, "-t", "-i"), mail.as_string(), by)


def _by_server(settings: MailSettings, mail: EmailMessage, by: Senders) -> Delivery:
    password = by.password(settings.host, settings.user) if settings.user else None
    if settings.user and password is None:
        return _failed(
            f"no password of {visible(settings.user)} at {visible(settings.host)} is stored: "
            f"rowtui secrets set {visible(settings.host)} {visible(settings.user)}"
        )
    begun = False
    try:
        with smtplib.SMTP(settings.host, settings.port, timeout=SECONDS) as server:
            if settings.starttls:
                server.starttls(context=ssl.create_default_context())
            if password is not None:
                server.login(settings.user, password.reveal())
            begun = True
            refused = server.send_message(mail)
    except smtplib.SMTPAuthenticationError:
        return _failed("the mail server refused the password")
    except smtplib.SMTPNotSupportedError:
        return _failed("the mail server does not offer what is needed, as STARTTLS")
    except smtplib.SMTPResponseException as error:
        return _failed(f"the mail server answered with code {error.smtp_code}")
    except smtplib.SMTPRecipientsRefused:
        return _failed("the mail server refused the addresses")
    except ssl.SSLCertVerificationError:
        return _failed("the mail server's certificate is not valid")
    except (OSError, smtplib.SMTPException) as error:
        why = visible(getattr(error, "strerror", None) or type(error).__name__)
        return Delivery(
            Outcome.UNKNOWN if begun else Outcome.FAILED, f"no mail could be handed over: {why}"
        )
    return _failed("the mail server refused some addresses") if refused else SENT


# Terminals


def _terminal(_: ChannelSettings, message: Outgoing, by: Senders) -> Delivery:
    text = terminal_sequence(message, by.environment)
    return SENT if by.show(text) else _failed("there is no terminal")


def terminal_sequence(
    message: Outgoing,
    environment: Mapping[str, str],
    ask_tmux: Callable[[Mapping[str, str]], str] | None = None,
) -> str:
    """Return the sequence that the terminal of this environment is known to show; else a bell.

    `ask_tmux`: returns the name of the terminal outside of tmux if tmux passes sequences on.
    """
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    kitty = bool(environment.get("KITTY_WINDOW_ID"))
    inside = bool(environment.get("TMUX"))
    if inside:
        term, program, kitty = (ask_tmux or _outside_of_tmux)(environment), "", False
    elif environment.get("STY") or term.startswith(("screen", "tmux")):
        return "\a"
    title, body = message.title, message.body.replace("\n", " ")[:200]
    if kitty or term.startswith("xterm-kitty"):
        parts = ((":d=0", title), (":d=1:p=body", body))
        sequence = "".join(
            f"\x1b]99;i=rowtui{how}:e=1;{b64encode(text.encode()).decode()}\x1b\\"
            for how, text in parts
        )
    elif program in ("iTerm.app", "WezTerm", "ghostty") or term in ("xterm-ghostty", "wezterm"):
        sequence = f"\x1b]9;rowtui: {title}\x1b\\"
    elif term.startswith(("rxvt-unicode", "foot")):
        title, body = title.replace(";", ","), body.replace(";", ",")
        sequence = f"\x1b]777;notify;{title};{body}\x1b\\"
    else:
        return "\a"
    if inside:
        doubled = sequence.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{doubled}\x1b\\"
    return sequence


def _outside_of_tmux(environment: Mapping[str, str]) -> str:
    """Return the name of the outer terminal, if tmux is set to pass sequences on; else ""."""
    words = "#{allow-passthrough} #{client_termname}"
    try:
        asked = subprocess.run(
            ["tmux", "display-message", "-p", words],
            env={**environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    allowed, _, name = asked.stdout.decode("utf-8", "replace").strip().partition(" ")
    return name if allowed in ("on", "1", "all") else ""


_WAYS: dict[str, Callable[[ChannelSettings, Outgoing, Senders], Delivery]] = {
    "command": _command,
    "webhook": _webhook,
    "slack": _slack,
    "mattermost": _mattermost,
    "mail": _mail,
    "desktop": _desktop,
    "terminal": _terminal,
}
