"""The demo project on disk: a study of percolation, made from the files beside this module."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError

LATTICES = ("square", "triangular")
SIZES = (8, 12, 16, 24, 32)
# Sites in all lattices of one directory: about a tenth of a second of work.
SITES_PER_DIRECTORY = 40_000
SEED = 20_261_121
# A result this many standard errors away from the known value is wrong (1 in 16,000 by chance; the
# seeds are fixed, so that this never happens by chance).
SIGMAS = 4.0


class Threshold(NamedTuple):
    """One result of the study, with the known value."""

    lattice: str
    threshold: float
    error: float
    known: float
    lattices: int

    @property
    def right(self) -> bool:
        """Whether the known value is within the error."""
        return abs(self.threshold - self.known) < SIGMAS * self.error


def make_project(root: Path, directories: int) -> int:
    """Make the project with about that many directories; return their actual number.

    Raises: RowtuiError if `root` exists already.
    """
    if root.exists() and any(root.iterdir()):
        raise RowtuiError(f"{root} is not empty", "name a folder that does not exist yet")
    root.mkdir(parents=True, exist_ok=True)
    source = files("rowtui.cli.demo")
    for name in ("percolation.py", "average.sh"):
        with source.joinpath(name).open("rb") as read, (root / name).open("wb") as write:
            shutil.copyfileobj(read, write)
    text = source.joinpath("workflow.toml").read_text()
    python = shlex.quote(sys.executable).replace("\\", "\\\\").replace('"', '\\"')
    (root / "workflow.toml").write_text(text.replace("PYTHON", python))
    replicas = max(2, directories // (len(LATTICES) * len(SIZES)))
    made = 0
    for lattice in LATTICES:
        for size in SIZES:
            for replica in range(replicas):
                folder = root / "workspace" / f"{lattice}-{size:02}-{replica:02}"
                folder.mkdir(parents=True)
                value = {
                    "lattice": lattice,
                    "size": size,
                    "replica": replica,
                    "lattices": SITES_PER_DIRECTORY // size**2,
                    "seed": SEED + made,
                }
                (folder / "value.json").write_text(json.dumps(value) + "\n")
                made += 1
    return made


def read_thresholds(root: Path) -> list[Threshold]:
    """Return the study's results, without lattices that are not finished."""
    found = []
    for lattice in LATTICES:
        folders = sorted((root / "workspace").glob(f"{lattice}-*"))
        path = folders[0] / "threshold.json" if folders else None
        if path is not None and path.exists():
            found.append(Threshold(**json.loads(path.read_text())))
    return found
