"""Shared parts of the commands' grammars: number types, and options of many commands."""

from __future__ import annotations

import argparse
from typing import Any


def positive(text: str) -> int:
    """Parse a number from 1 on."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def count(text: str) -> int:
    """Parse a number from 0 on."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number


def share(text: str) -> float:
    """Parse a share from 0 to 0.99."""
    number = float(text)
    if not 0 <= number <= 0.99:
        raise argparse.ArgumentTypeError("must be from 0 to 0.99")
    return number


positive.__name__ = count.__name__ = "number"  # argparse names the type when it refuses a text


def json_option(parser: Any) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def directories_argument(parser: Any, text: str) -> None:
    """Add the names of directories."""
    parser.add_argument("directories", nargs="*", metavar="DIRECTORIES", help=text)


def watch_option(parser: Any, seconds: int = 5) -> None:
    """Add `--watch [SECONDS]`."""
    parser.add_argument(
        "--watch",
        nargs="?",
        type=positive,
        const=seconds,
        metavar="SECONDS",
        help=f"then tell only what changes, a line each, until Ctrl-C [every {seconds} seconds]",
    )
