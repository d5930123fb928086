"""The grammar of `serve`; loaded only when it is typed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

_EXAMPLES = """\
  rowtui serve                          prints an address for the browser of this machine
  rowtui serve --open --read-only
  rowtui serve --port 8000              for a tunnel: ssh -L 8000:127.0.0.1:8000 cluster"""


def add_serve(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command, with its description."""
    serve = add(commands, "serve", "dashboard.serve", about["serve"], _EXAMPLES)
    serve.add_argument(
        "--port", type=_port, default=0, metavar="PORT", help="listen there [default: a free one]"
    )
    serve.add_argument("--open", action="store_true", help="open the address in a browser")
    # Options of `rowtui` itself, accepted here as well.
    serve.add_argument(
        "--read-only",
        action="store_true",
        default=argparse.SUPPRESS,
        help="open the dashboard without any verb that acts",
    )
    serve.add_argument(
        "--theme", metavar="NAME", default=argparse.SUPPRESS, help="the dashboard's theme"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port; write a number up to 65535")
    return int(text)
