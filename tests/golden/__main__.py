"""Compare what each command prints and what each screen shows with what is stored.

python -m tests.golden                    print a diff of each difference; exit code 1 if any
python -m tests.golden --only plan        only those whose path contains this
python -m tests.golden --store            store them instead, in tests/golden/outputs

It proves that a change of the code changes no output. The commands are in commands.py, the projects
that they run in are made by projects.py, and the screens are the scenes of `python -m screenshots`.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import os
import pwd
import re
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, product
from pathlib import Path

from screenshots.make import LOW, SCENES, Shot, drawn
from tests.cli.served import server
from tests.golden.commands import TABLE, Command, commands
from tests.golden.projects import made

OUTPUTS = Path(__file__).parent / "outputs"
SIZES = (LOW, (160, 45))  # of the screens
# Scenes whose steps wait for a text that some sizes cut: they begin in their own size. The others
# have theirs from the start, since what is below a dialog is not always drawn again for a new size.
RESIZED = {"status", "queue-clusters", "network", "network-list", "demo"}
LIMIT = 100  # seconds of a command
DAY = r"20\d\d-\d\d-\d\d"
USER = pwd.getpwuid(os.getuid()).pw_name

# What differs from run to run, and what is stored in its place. The columns of a table are not
# changed by it: what stands in one has the same length in each run.
RULES = (
    (r"/tmp/rowtui-golden-\w{8}", "/GOLDEN"),  # the folder of the projects
    (r"/tmp/rig-\w{8}", "/RIG"),  # that of sshd and Slurm
    (r"(?<=127\.0\.0\.1:)\d+", "PORT"),
    (rf"(?:\w{{3}} )?{DAY}[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?", "TIME"),
    (DAY, "DAY"),  # also in the name of a run
    (r"(?<= B )\d\d:\d\d:\d\d", "TIME"),  # of a file, in `mirror`
    (r"\b00:00:\d\d\b", "00:00:SS"),  # how long a job ran; no job asks for less than a minute
    (r'("used": \{\s+"cpu_hours": )[\d.e-]+', r"\1FEW"),  # by jobs that ended
    (r"(?<=used by jobs that ended: )\S+", "FEW"),
    (r'(?<="(?:elapsed|packing)_seconds": )[\d.e-]+', "SECONDS"),
    (r'(?<="age_seconds": )[\d.e-]+', "SECONDS"),
    (r"\b\d\.\d\d? s\b", "SECONDS"),  # of a packer
    (r"(?<=answers a command in )\d+", "SOME"),
    (r"Python 3\.\d+\.\d+", "Python 3"),
    (r"\w+(?=: changes are noticed at once)", "FILES"),  # ext4
    (r"(?<=slurm-wlm )[\d.]+|(?<=rsync version )[\d.]+(?: protocol version \d+)?", "VERSION"),
    (rf'(?<=[("\s]){re.escape(USER)}(?=[)"@\s])', "USER"),
    (rf'(?<=[("\s]){re.escape(socket.gethostname())}(?=[)"\s])', "HOST"),
)
# Tokens, ids and digests: numbers tell which of them are the same.
ID = re.compile(r"(?<![.\w])[0-9a-f]{16,64}(?!\w)|(?<=/project-)[0-9a-f]{8}\b")


def main() -> int:
    """Run what is wanted, and store it or compare it."""
    summary, _, examples = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m tests.golden",
        description=summary,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", action="store_true", help="store the outputs")
    parser.add_argument("--only", action="append", metavar="TEXT", help="paths that contain this")
    options = parser.parse_args()

    def is_wanted(path: str) -> bool:
        return not options.only or any(text in path for text in options.only)

    seen = different = 0
    for path, text in outputs(is_wanted):
        seen += 1
        file = OUTPUTS / path
        if options.store:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        else:
            different += _print_difference(file, path, text)
    if options.store:
        for path in stored_paths() - set(paths()):
            (OUTPUTS / path).unlink()
        print(f"{seen} outputs stored")
    else:
        print(f"{seen} outputs compared, {different} differ")
    return 1 if different else 0


def paths() -> list[str]:
    """The path of each output, below `OUTPUTS`."""
    of_screens = [f"screens/{shot.name(scene)}.txt" for scene in SCENES for shot in shots(scene)]
    return [command.path for command in commands()] + of_screens


def stored_paths() -> set[str]:
    """The path of each file that is stored."""
    return {path.relative_to(OUTPUTS).as_posix() for path in OUTPUTS.rglob("*.txt")}


def outputs(is_wanted: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """The path and the text of each wanted output."""
    wanted = [command for command in commands() if is_wanted(command.path)]
    with tempfile.TemporaryDirectory(prefix="rowtui-golden-", dir="/tmp") as folder:
        for name in TABLE:
            chosen = [command for command in wanted if command.project == name]
            if chosen:
                with made(name, Path(folder) / name) as project:
                    for command in chosen:
                        done = server.run(
                            command.words,
                            cwd=project.root,
                            env=project.environment,
                            stdin="",
                            limit=LIMIT,
                        )
                        yield command.path, normalised(as_text(command, *done))
        os.environ["HOME"] = folder  # the dashboard's own files are there
        for scene, size in product(SCENES, SIZES):
            names = [shot.name(scene) for shot in shots(scene) if shot.size == size]
            if any(is_wanted(f"screens/{name}.txt") for name in names):
                for path, text in asyncio.run(_drawn(scene, size)):
                    if is_wanted(path):
                        yield path, text


def as_text(command: Command, code: int, out: bytes, err: bytes) -> str:
    """What is stored of a command, before anything is replaced."""
    line = " ".join(("$ rowtui", *command.words))
    return f"{line}\n--- exit code: {code}\n--- stdout:\n{out.decode()}--- stderr:\n{err.decode()}"


def normalised(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    numbers = count(1)
    ids: dict[str, str] = {}
    for found in ID.findall(text):
        if found not in ids:
            ids[found] = f"ID{next(numbers)}"
    return ID.sub(lambda match: ids[match[0]], text)


def shots(scene: str) -> list[Shot]:
    """The pictures of a scene that are stored as text: each of its parts in two sizes."""
    return [replace(part, size=size) for part in _parts(scene) for size in SIZES]


def _parts(scene: str) -> list[Shot]:
    """The pictures of a scene that differ in more than size and theme."""
    plain = [shot for shot in SCENES[scene].shots if shot.theme == Shot(LOW).theme]
    first = {shot.word: replace(shot, colours=False) for shot in reversed(plain)}
    return [first[word] for word in dict.fromkeys(shot.word for shot in plain)]


async def _drawn(scene: str, size: tuple[int, int]) -> list[tuple[str, str]]:
    """The path and the text of each picture of a scene in this size."""
    one, sequence = SCENES[scene], []
    for part in _parts(scene):
        if scene in RESIZED:
            sequence += [part, replace(part, size=size, before=None)]
        else:
            sequence += [replace(part, size=size)]
    names = {part.name(scene) for part in sequence if part.size == size}
    SCENES[scene] = replace(one, shots=tuple(sequence))
    try:
        return [
            (f"screens/{name}.txt", texts[f"{name}.txt"])
            async for name, _, texts in drawn(scene)
            if name in names
        ]
    finally:
        SCENES[scene] = one


def _print_difference(file: Path, path: str, text: str) -> bool:
    """Print how the text differs from what is stored in the file."""
    stored = file.read_bytes().decode() if file.exists() else ""
    lines = difflib.unified_diff(
        stored.splitlines(keepends=True), text.splitlines(keepends=True), f"stored/{path}", path
    )
    print("".join(lines), end="", flush=True)
    return text != stored


if __name__ == "__main__":
    sys.exit(main())
