"""The grammar of `serve` and `demo`, and the options that record or replay a dashboard."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from rowtui.cli.arguments import positive

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


SCENARIOS = {
    "small": "a real study of percolation that runs on this machine",
    "network": "a study whose samples flow through four actions, driven by itself",
    "large": "100,000 directories and four simulated clusters on a fast clock",
}
LEAST, MOST = 2_000, 1_000_000  # directories of the large demo


def add_recording(parser: Any) -> None:
    """Add `--record`, `--replay` and `--hash-actions`."""
    parser.add_argument(
        "--record", metavar="FILE", help="write what the dashboard is told, with all names hashed"
    )
    parser.add_argument("--replay", metavar="FILE", help="show a recording in the dashboard")
    parser.add_argument(
        "--hash-actions", action="store_true", help="names of actions are hashed as well"
    )


def add_demo(commands: Any, add: Any, text: str) -> None:
    """Add the command and its options."""
    demo = add(
        commands,
        "demo",
        "demo.command",
        text,
        "  rowtui demo\n  rowtui demo network\n  rowtui demo large\n  rowtui demo --headless\n"
        "  rowtui demo --keep ~/rowtui-demo",
    )
    demo.add_argument(
        "scenario", nargs="?", default="small", metavar="SCENARIO", help="small, network or large"
    )
    demo.add_argument("--list", action="store_true", help="say which scenarios there are")
    demo.add_argument("--headless", action="store_true", help="text only; runs to the end")
    demo.add_argument("--keep", metavar="FOLDER", help="make it here and keep it")
    demo.add_argument(
        "--directories", type=positive, metavar="N", help="[default: 240; large: 100000]"
    )
    demo.add_argument(
        "--seed", type=int, default=1, metavar="N", help="another large demo [default: 1]"
    )
    add_recording(demo)
