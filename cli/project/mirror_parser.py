"""The grammar of `mirror`; loaded only when it is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_EXAMPLES = """\
  rowtui mirror                        all copies, and how they differ from this project
  rowtui mirror alpha --compare dir1   only what this directory and the project need
  rowtui mirror alpha --fetch dir1     everything that is newer there, not the products alone
  rowtui mirror alpha --send
  rowtui mirror alpha --keep here run.sh
  rowtui mirror alpha --remove"""


def add_mirror(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command, with its description."""
    mirror = add(commands, "mirror", "project.mirror", about["mirror"], _EXAMPLES)
    mirror.add_argument("of", nargs="?", metavar="CLUSTER", help="its copy [default: all]")
    verbs = mirror.add_mutually_exclusive_group()
    verbs.add_argument(
        "--compare", nargs="*", metavar="DIRECTORY", help="look at these only [default: all]"
    )
    verbs.add_argument(
        "--send", nargs="*", metavar="DIRECTORY", help="copy there what is newer here"
    )
    verbs.add_argument(
        "--fetch", nargs="*", metavar="DIRECTORY", help="copy here what is newer there"
    )
    verbs.add_argument(
        "--keep",
        nargs="+",
        metavar=("here|there", "PATH"),
        help="decide conflicts: this side's file replaces the other's",
    )
    verbs.add_argument("--remove", action="store_true", help="delete the copy, after asking")
    mirror.add_argument("--yes", action="store_true", help="do not ask before copying much")
    mirror.add_argument("--json", action="store_true", help="print JSON for programs")
