"""The grammar of `connect`, `disconnect` and `secrets`; loaded only when one of them is typed."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import Any

from rowtui.cli.argument_parser import flag, json_option, sub_parser

_CONNECT_EXAMPLES = """\
  rowtui connect alpha                          asks what the site asks, here
  rowtui connect alpha --for 10h --idle 2h
  rowtui connect                                who is connected, since when, until when
  rowtui connect --json"""

_DISCONNECT_EXAMPLES = """\
  rowtui disconnect alpha
  rowtui disconnect --all"""

_LONGEST = 30 * 86_400  # seconds
_UNITS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}


def add_connect_commands(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add both commands, with their descriptions."""
    connect = add(commands, "connect", "clusters.connect", about["connect"], _CONNECT_EXAMPLES)
    connect.add_argument(
        "connection", nargs="?", metavar="CLUSTER", help="one that clusters.toml reaches over SSH"
    )
    connect.add_argument(
        "--for",
        dest="seconds",
        type=_time,
        default="8h",
        metavar="TIME",
        help="how long the login is kept, as 90m, 8h or 1d [default: 8h]",
    )
    connect.add_argument(
        "--idle",
        type=_time,
        metavar="TIME",
        help="end it earlier once no command has used it for so long",
    )
    flag(connect, "--foreground", "stay here and keep it until Ctrl-C")
    json_option(connect)

    disconnect = add(
        commands,
        "disconnect",
        "clusters.connect:disconnect",
        about["disconnect"],
        _DISCONNECT_EXAMPLES,
    )
    disconnect.add_argument("connection", nargs="?", metavar="CLUSTER", help="its logins")
    flag(disconnect, "--all", "all of them")
    json_option(disconnect)


def _time(text: str) -> float:
    """Parse `8h`, `1h30m` or `2d` into seconds."""
    if not re.fullmatch(r"(\d{1,9}[dhms])+", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no time; write 90m, 8h or 1h30m")
    parts = re.findall(r"(\d+)([dhms])", text)
    seconds = sum(int(number) * _UNITS[unit] for number, unit in parts)
    if not 1 <= seconds <= _LONGEST:
        raise argparse.ArgumentTypeError("must be between 1s and 30d")
    return float(seconds)


def in_words(seconds: float) -> str:
    """Format seconds for the user: `8 h`, `1 h 30 min`, `20 s`."""
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min")]
    shown = [f"{number} {unit}" for number, unit in parts if number]
    return " ".join(shown[:2])


SET_EXAMPLES = """\
  rowtui secrets set login.example.org          asks twice, without showing the password
  rowtui secrets set login.example.org jane
  pass show hpc | rowtui secrets set login.example.org jane --stdin"""

GET_EXAMPLES = """\
  rowtui secrets get login.example.org          is there one, and who has it?
  rowtui secrets get login.example.org jane --show"""

DELETE_EXAMPLES = """\
  rowtui secrets delete login.example.org jane"""

LIST_EXAMPLES = """\
  rowtui secrets list                           whose passwords there are, without them
  rowtui secrets list login.example.org --json"""

_VERBS = (
    ("set", "store a password in your key ring", SET_EXAMPLES),
    ("get", "report whether a password is stored, and by which provider", GET_EXAMPLES),
    ("delete", "remove a password from your key ring", DELETE_EXAMPLES),
    ("list", "list the stored passwords: machine, user and provider", LIST_EXAMPLES),
)


def add_secrets(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command `secrets` with its subcommands."""
    secrets = add(commands, "secrets", "", about["secrets"])
    if not isinstance(secrets, argparse.ArgumentParser):
        return
    secrets.set_defaults(command="clusters.secrets")
    what = secrets.add_subparsers(
        title="Commands", metavar="WHAT", parser_class=sub_parser, required=True
    )
    for name, said, examples in _VERBS:
        parser = add(what, name, "clusters.secrets", said, examples, mixed=True)
        if isinstance(parser, argparse.ArgumentParser):
            _options(parser, name)


def _options(parser: argparse.ArgumentParser, verb: str) -> None:
    parser.set_defaults(verb=verb)
    listing = verb == "list"
    parser.add_argument(
        "machine",
        nargs="?" if listing else None,
        metavar="MACHINE",
        help="only this machine [default: all]" if listing else "as you name it to ssh",
    )
    parser.add_argument(
        "user",
        nargs="?",
        metavar="USER",
        help="only this user [default: all]"
        if listing
        else "your name there [default: the one here]",
    )
    # A word here is most likely a password: it is refused without being repeated.
    parser.add_argument("surplus", nargs="*", help=argparse.SUPPRESS)
    if verb == "set":
        flag(parser, "--stdin", "read it from standard input, one line")
    if verb == "get":
        flag(parser, "--show", "print it, after a warning")
    json_option(parser)
