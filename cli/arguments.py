"""What the grammars of commands share: kinds of numbers, and options that many commands take."""

from __future__ import annotations

import argparse
from typing import Any


def positive(text: str) -> int:
    """A number from 1 on."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def count(text: str) -> int:
    """A number from 0 on."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number


positive.__name__ = count.__name__ = "number"  # argparse names the kind when it refuses a text


def json_option(parser: Any) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def directories_argument(parser: Any, text: str) -> None:
    """The names of directories."""
    parser.add_argument("directories", nargs="*", metavar="DIRECTORIES", help=text)


def watch_option(parser: Any, seconds: int = 5) -> None:
    """`--watch [SECONDS]`."""
    parser.add_argument(
        "--watch",
        nargs="?",
        type=positive,
        const=seconds,
        metavar="SECONDS",
        help=f"then tell only what changes, a line each, until Ctrl-C [every {seconds} seconds]",
    )
