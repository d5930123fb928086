"""Job scripts taken apart, and what they do when they run.

rowtui's scripts differ from Row's on purpose (docs/differences-from-row.md, "Job scripts"). What
must agree is the header, the directories, the exports, the launchers' prefix, and the effect.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass

from tests.differential.run import Outcome, Side

HEAD = "#!/bin/bash\n"
# The words that the generator's commands begin with.
_PREFIX = re.compile(r"^(?P<prefix>.*?)(?:printf|test -e|false|true|no-such-command|cd|echo) ?")


@dataclass(frozen=True)
class Script:
    """The parts that must agree."""

    header: tuple[str, ...]
    array: str  # bash text
    exports: str  # bash text
    prefix: str


def split_scripts(text: str) -> list[str]:
    """The scripts that `submit --dry-run` prints one behind the other."""
    return [HEAD + part for part in re.split(r"(?m)^#!/bin/bash\n", text)[1:]]


def take_apart(script: str) -> Script:
    """The parts of a script of either program."""
    lines = script.splitlines()
    header = tuple(line for line in lines if line.startswith("#SBATCH"))
    start = script.find("directories=(\n")
    end = script.find("\n)\n", start) + 3
    exports = "\n".join(re.findall(r"(?m)^export ACTION_.*$", script))
    return Script(header, script[start:end], exports, _prefix(lines))


def _prefix(lines: list[str]) -> str:
    """What stands before the command: behind the trap in Row's script, in `(...)` in ours."""
    for number, line in enumerate(lines):
        ours = line.strip() == "(" and lines[number - 1].strip() == "set -m"
        if ours or line.startswith("trap 'printf"):
            at = number + 1
            if lines[at : at + 1] == ['for directory in "${directories[@]}"']:
                at += 2
            found = _PREFIX.match(lines[at].lstrip()) if at < len(lines) else None
            return found["prefix"] if found else "?"
    return "?"


def evaluate(scripts: list[Script]) -> list[tuple[list[str], dict[str, str]]]:
    """What bash makes of each script's array and exports. One bash does them all."""
    program = [
        f"(\n{script.array}\n{script.exports}\n"
        'printf "%s\\0" "${directories[@]}" ""\n'
        'for name in ${!ACTION_*}; do printf "%s\\0" "$name" "${!name}"; done\n'
        'printf "%s\\0" "=="\n)'
        for script in scripts
    ]
    done = subprocess.run(
        ["bash"],
        input="\n".join(program).encode("utf-8", "surrogateescape"),
        capture_output=True,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
    )
    found = []
    for part in done.stdout.decode("utf-8", "surrogateescape").split("\0==\0")[:-1]:
        names, _, exports = part.partition("\0\0")
        words = exports.split("\0")
        found.append((names.split("\0"), dict(zip(words[::2], words[1::2], strict=False))))
    return found


def comparable_header(header: tuple[str, ...]) -> list[str]:
    """Header lines without rowtui's warning signal, and with the quotes taken off."""
    lines = []
    for line in header:
        option = line.removeprefix("#SBATCH ")
        if option.startswith("--signal=B:USR1@"):
            continue
        name, equals, value = option.partition("=")
        if value.startswith(("'", '"')):
            try:
                value = "".join(shlex.split(value))
            except ValueError:
                pass
        lines.append(name + equals + value)
    return lines


def run_copies(
    side: Side, scripts: list[str], copy: str
) -> tuple[list[Outcome], dict[str, bytes], object]:
    """Run scripts in a copy of the project: (outcomes, files, what was staged)."""
    root = side.base / copy / "p"
    shutil.copytree(side.root, root, symlinks=True)
    outcomes = [side.run_script(script, 7000 + at, root) for at, script in enumerate(scripts)]
    tree = side.tree(root)
    from tests.differential.records import read_records

    staged = read_records(root).effective
    shutil.rmtree(side.base / copy)
    return outcomes, tree, staged
