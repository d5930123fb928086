"""install.sh, on a machine whose programs are written by the test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "install.sh"
TEXT = SCRIPT.read_text()
BASICS = ("cat", "dirname", "id", "ln", "mkdir", "readlink", "rm", "sh", "uname")
MACHINE = os.uname().machine
# The last argument of `uv tool install` and the like must arrive as one word.
RECORD = 'printf "%s\\n" "$0 $*" >> "$HOME/log"'
INSTALL = 'mkdir -p "$HOME/.local/bin"; ln -sf "$HOME/../rowtui" "$HOME/.local/bin/rowtui"'


class Machine:
    """A machine with the basic programs, and more in `programs`."""

    def __init__(self, folder: Path) -> None:
        self.programs, self.home = folder / "programs", folder / "home"
        self.here = folder / "here"
        for made in (self.programs, self.home, self.here):
            made.mkdir()
        for name in BASICS:
            (self.programs / name).symlink_to(shutil.which(name) or name)
        self.add("id", "echo 1000")
        self.write(folder / "rowtui", "echo rowtui 1.0")

    def add(self, name: str, text: str) -> None:
        self.write(self.programs / name, text)

    def write(self, path: Path, text: str) -> None:
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def add_python(self, version: str, *, venv: bool = True) -> None:
        """A Python that is asked for its version and its modules only, or makes a venv."""
        old = tuple(map(int, version.split("."))) < (3, 11)
        self.add(
            "python3",
            f"""case "$*" in
                *version_info*) exit {int(old)} ;;
                --version) echo Python {version} ;;
                *ensurepip*) exit {int(not venv)} ;;
                "-m venv"*) {RECORD}; mkdir -p "$4/bin"; ln -sf "$HOME/../rowtui" "$4/bin/rowtui"
                    ln -sf "$HOME/../programs/python3" "$4/bin/python" ;;
                *) {RECORD} ;;
            esac""",
        )

    def install(self, *words: str, script: Path = SCRIPT) -> tuple[int, str, str]:
        done = subprocess.run(
            ["sh", str(script), *words],
            cwd=self.here,
            env={"HOME": str(self.home), "PATH": str(self.programs)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    @property
    def log(self) -> str:
        log = self.home / "log"
        return log.read_text().replace(f"{self.programs}/", "") if log.exists() else ""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_uv_comes_first_and_a_dry_run_does_nothing(machine: Machine) -> None:
    machine.add("uv", f"{RECORD}; {INSTALL}")
    machine.add("pipx", RECORD)
    machine.add_python("3.12.1")
    code, text, _ = machine.install("--dry-run", "--from", "rowtui==1.0")
    assert (code, text) == (0, "$ uv tool install --upgrade --python >=3.11 rowtui==1.0\n")
    assert machine.log == ""

    code, text, error = machine.install("--from", "rowtui", "--extras", "images,serve")
    assert (code, error) == (0, "")
    assert machine.log == "uv tool install --upgrade --python >=3.11 rowtui[images,serve]\n"
    assert f"rowtui 1.0 is installed: {machine.home}/.local/bin/rowtui" in text
    assert "export PATH=" in text


def test_pipx_gets_a_python_that_is_new_enough(machine: Machine) -> None:
    machine.add("pipx", f"{RECORD}; {INSTALL}")
    machine.add_python("3.13.0")
    assert machine.install("--from", "rowtui")[0] == 0
    assert machine.log == "pipx install --force --python python3 rowtui\n"


def test_python_alone_is_enough(machine: Machine) -> None:
    machine.add_python("3.11.2")
    code, text, error = machine.install("--from", "rowtui")
    assert (code, error) == (0, "")
    folder = machine.home / ".local/share/rowtui-venv"
    assert os.readlink(machine.home / ".local/bin/rowtui") == f"{folder}/bin/rowtui"
    assert "rowtui 1.0 is installed" in text
    assert machine.log.splitlines() == [
        f"python3 -m venv --clear {folder}",
        f"{folder}/bin/python -m pip install -q --disable-pip-version-check rowtui",
    ]
    assert machine.install("--from", "rowtui")[0] == 0  # again, over its own link

    (machine.home / ".local/bin/rowtui").unlink()
    (machine.home / ".local/bin/rowtui").write_text("of the user")
    code, _, error = machine.install("--from", "rowtui")
    assert code == 1
    assert "is from another installation" in error


def test_without_a_python_the_bundle_beside_it_is_taken(machine: Machine) -> None:
    machine.add_python("3.9.2")
    code, _, error = machine.install()
    assert code == 1
    assert error.count("\n") == 1
    assert "(python3: Python 3.9.2)" in error
    assert f"get rowtui-*-linux-{MACHINE}.run from" in error

    bundle = machine.here / f"rowtui-1.0-linux-{MACHINE}.run"
    bundle.write_text(f'printf "%s\\n" "bundle $*" >> "$HOME/log"; {INSTALL}\n')
    code, text, error = machine.install()
    assert (code, error) == (0, "")
    assert machine.log == "bundle \n"
    assert "rowtui 1.0 is installed" in text


def test_what_is_missing_is_named_in_one_sentence(machine: Machine) -> None:
    for words, reason in {
        ("--with", "uv"): "because this is missing: uv\n",
        ("--with", "pipx"): "because this is missing: pipx\n",
        ("--with", "venv"): "because this is missing: Python 3.11 or newer\n",
        ("--with", "bundle"): f"a file rowtui-*-linux-{MACHINE}.run in this folder\n",
        ("--with", "conda"): "there is no tool 'conda': use uv, pipx, venv or bundle\n",
        ("--from",): "--from needs a value\n",
    }.items():
        code, text, error = machine.install(*words)
        assert (code, text) == (1, "")
        assert error.endswith(reason)
        assert error.count("\n") == 1
    machine.add_python("3.12.1", venv=False)
    assert "python3-venv" in machine.install("--with", "venv")[2]
    assert machine.install("--nonsense")[0] == 2


def test_root_has_to_ask_for_it(machine: Machine) -> None:
    machine.add("id", "echo 0")
    machine.add("uv", RECORD)
    code, _, error = machine.install()
    assert code == 1
    assert "add --as-root" in error
    assert machine.log == ""
    assert machine.install("--as-root")[0] == 0
    assert machine.log != ""


def test_in_a_checkout_the_checkout_is_installed_else_rowtui_by_name(
    machine: Machine, tmp_path: Path
) -> None:
    machine.add("uv", RECORD)
    assert machine.install("--dry-run")[1].endswith(f" {ROOT}\n")
    alone = tmp_path / "install.sh"
    shutil.copy(SCRIPT, alone)
    assert machine.install("--dry-run", script=alone)[1].endswith(" rowtui\n")


def test_the_script_has_the_address_and_the_python_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"\naddress={project['urls']['Homepage']}\n" in TEXT
    (least,) = re.findall(r"\npython_at_least=(\S+)", TEXT)
    assert project["requires-python"] == f">={least}"
    assert f"({least.replace('.', ', ')})" in TEXT
    assert sys.version_info >= tuple(map(int, least.split(".")))
