"""`rowtui completion SHELL`: the script that makes a shell complete rowtui's commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output


def run(args: argparse.Namespace, out: Output) -> int:
    """Print argcomplete's script for the shell."""
    from argcomplete.shell_integration import shellcode

    out.write(shellcode(["rowtui"], shell=args.shell))
    return 0
