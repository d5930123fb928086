"""How often the file system is asked, counted by strace: the same however many directories."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from rowtui.core.state.row.staging import stage_completions
from rowtui.core.workspace.update import STAMPS_UP_TO

from tests.cli.conftest import Shell

FEW, MANY = 20, 2_000
CALL = re.compile(
    r"^\d+ +(?P<call>\w+)\((?:(?:AT_FDCWD|\d+)(?:<(?P<open>[^>]*)>)?(?:, )?)?"
    r'(?:"(?P<name>(?:[^"\\]|\\.)*)")?'
)
LISTS = "getdents64"

Project = Callable[[int], "Traced"]


class Call(NamedTuple):
    """`named`: it looked for a name, as a file server is asked; else it is about what is open."""

    what: str
    path: str
    named: bool


def call_of(match: re.Match[str]) -> Call:
    """A line of strace's."""
    what, name, folder = match["call"], match["name"] or "", match["open"] or ""
    if not name or what in {"read", "pread64", "write"}:  # theirs is a text, not a name
        return Call(what, folder, named=False)
    return Call(what, os.path.join(folder, name), named=True)


class Traced:
    """A project of so many directories, and the calls of a command on it."""

    def __init__(self, shell: Shell, folder: Path, directories: int) -> None:
        self.folder = folder
        self._shell = shell
        self._log = folder.parent / f"{folder.name}.strace"
        workspace = folder / "workspace"
        workspace.mkdir(parents=True)
        shutil.copy(shell.folder / "workflow.toml", folder)
        self.names = [b"dir-%06d" % number for number in range(directories)]
        for name in self.names:
            path = os.fsencode(workspace) + b"/" + name
            os.mkdir(path)
            with open(path + b"/v.json", "wb") as file:
                file.write(b'{"v": 1}')
        then = time.time() - 60  # what has just changed is looked at once more
        os.utime(workspace, (then, then))

    def status(self, cluster: str | None = "none") -> str:
        """What it says. Without a cluster's name it is the same text as before, if that holds."""
        done = self._shell("show", "status", cwd=self.folder, cluster=cluster)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def calls(self, cluster: str | None = "none") -> list[Call]:
        """The calls of a status about files of the project, and about what is open of it."""
        self._shell.prefix = ("strace", "-f", "--seccomp-bpf", "-y", "-qq", "-s", "200",
                              "-e", "trace=%file,getdents64,fstat,read,pread64,write",
                              "-e", "signal=none", "-o", str(self._log))  # fmt: skip
        try:
            self.status(cluster)
        finally:
            self._shell.prefix = ()
        found = map(CALL.match, self._log.read_text(errors="replace").splitlines())
        return [one for one in map(call_of, filter(None, found))
                if one.path.startswith(f"{self.folder}/")]  # fmt: skip

    def stage(self, *numbers: int) -> None:
        """A staged file for each of these directories."""
        for number in numbers:
            stage_completions(self.folder, {"one": [self.names[number]]})


@pytest.fixture
def project(rowtui: Shell, tmp_path: Path) -> Project:
    return lambda directories: Traced(rowtui, tmp_path / f"of-{directories}", directories)


def kinds(calls: list[Call]) -> Counter[str]:
    """How many of each."""
    return Counter(call.what for call in calls)


def test_a_warm_status_makes_as_many_calls_for_20_directories_as_for_2000(
    project: Project,
) -> None:
    few, many = project(FEW), project(MANY)
    for one in (few, many):
        assert one.status() == one.status(cluster=None)

    for cluster, most in ((None, 20), ("none", 55)):  # the text of before; counted again
        of_few, of_many = few.calls(cluster), many.calls(cluster)

        # Of few directories it is looked whether somebody edited a value; all else is the same.
        edited = [call for call in of_few if "dir-" in call.path]
        assert FEW < STAMPS_UP_TO < MANY
        assert len(edited) == FEW
        assert not [call for call in of_many if "dir-" in call.path]
        assert kinds([call for call in of_few if call not in edited]) == kinds(of_many)
        assert 5 < len(of_many) <= most


def test_each_staged_file_makes_a_constant_number_of_calls_more(project: Project) -> None:
    found = {}
    for size, staged in ((FEW, 1), (FEW, 2), (FEW, 4), (3 * FEW, 2)):
        one = project(size + staged)
        one.status()
        one.stage(*range(staged))
        found[size, staged] = kinds([call for call in one.calls() if "dir-" not in call.path])
        assert re.search(rf"^one +{staged} ", one.status(), re.MULTILINE)

    more = found[FEW, 2] - found[FEW, 1]
    assert 0 < more.total() <= 10
    assert found[FEW, 4] == found[FEW, 2] + more + more
    assert found[3 * FEW, 2] == found[FEW, 2]


def test_the_first_look_opens_each_value_and_lists_each_directory_once_and_does_no_more(
    project: Project,
) -> None:
    one = project(200)

    calls = [call for call in one.calls() if "dir-" in call.path]

    folders = [f"{one.folder}/workspace/{name.decode()}" for name in one.names]
    files = [f"{folder}/v.json" for folder in folders]
    assert Counter(call.path for call in calls if call.named) == Counter([*folders, *files])
    assert all(call.what.startswith("open") for call in calls if call.named)
    # A listing that fits is one call, and a second that says that this was all.
    assert Counter(call.path for call in calls if call.what == LISTS) == Counter(2 * folders)
