"""The grammar of the `secrets` commands; loaded only when one of them is typed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from rowtui.cli.argument_parser import sub_parser

SET_EXAMPLES = """\
  rowtui secrets set login.example.org          asks twice, without showing what is typed
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
    ("get", "say whether a password is known, and by whom", GET_EXAMPLES),
    ("delete", "remove a password from your key ring", DELETE_EXAMPLES),
    ("list", "list whose passwords are known, and by whom", LIST_EXAMPLES),
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
        parser.add_argument(
            "--stdin", action="store_true", help="read it from standard input, one line"
        )
    if verb == "get":
        parser.add_argument("--show", action="store_true", help="print it, after a warning")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
