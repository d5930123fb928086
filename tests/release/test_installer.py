"""The offline bundle's installer, with a small payload in place of rowtui and its Python."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import pytest

from release.bundle import glibc_needed, write_run

SHELLS = ("sh", "bash")
RELEASE = Path(__file__).parents[2] / "release"


def make_run(folder: Path, version: str = "1.0", machine: str = "", glibc: str = "2.17") -> Path:
    """A bundle whose rowtui prints its version."""
    tree = folder / f"tree-{version}"
    (tree / "bin").mkdir(parents=True, exist_ok=True)
    (tree / "share/man/man1").mkdir(parents=True, exist_ok=True)
    (tree / "share/man/man1/rowtui.1").write_text("manual")
    (tree / "bin/rowtui").write_text((RELEASE / "launcher.sh").read_text())
    (tree / "bin/python3").write_text(f"#!/bin/sh\necho rowtui {version}\n")
    for program in (tree / "bin").iterdir():
        program.chmod(0o755)
    made = folder / f"rowtui-{version}.run"
    machine = machine or platform.machine()
    write_run(made, tree, version=version, machine=machine, glibc=glibc, time=1_700_000_000)
    return made


def run(shell: str, file: Path, *words: str, path: Path | None = None) -> tuple[int, str, str]:
    """The exit code and output of an installer whose home is beside it."""
    home = file.parent / "home"
    home.mkdir(exist_ok=True)
    programs = f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]
    done = subprocess.run(
        [shell, str(file), *words],
        env={"HOME": str(home), "PATH": programs},
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def installed(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if not path.is_dir())


@pytest.mark.parametrize("shell", SHELLS)
def test_it_installs_goes_on_to_a_new_version_and_leaves_nothing(
    tmp_path: Path, shell: str
) -> None:
    home = tmp_path / "home"
    program = home / ".local/bin/rowtui"
    for version in ("1.0", "1.1", "1.2"):
        file = make_run(tmp_path, version)
        code, text, error = run(shell, file)
        assert (code, error) == (0, "")
        assert text.splitlines()[0] == f"rowtui {version} is installed: {program}"
        assert f'export PATH="{program.parent}:$PATH"' in text
        assert subprocess.check_output([program], text=True) == f"rowtui {version}\n"
        assert (home / ".local/share/man/man1/rowtui.1").read_text() == "manual"
    builds = sorted(path.name[:3] for path in (home / ".local/lib/rowtui").glob("[0-9]*"))
    assert builds == ["1.1", "1.2"]  # A dashboard may still use the version before.

    again = run(shell, file)
    assert again[0] == 0
    assert sorted(path.name[:3] for path in (home / ".local/lib/rowtui").glob("[0-9]*")) == builds
    (home / ".local/bin/other").write_text("of the user")
    code, text, error = run(shell, file, "--uninstall")
    assert (code, error) == (0, "")
    assert "removed" in text
    assert installed(home) == [".local/bin/other"]


@pytest.mark.parametrize("shell", SHELLS)
def test_help_and_check_change_nothing(tmp_path: Path, shell: str) -> None:
    file = make_run(tmp_path)
    code, text, _ = run(shell, file, "--help")
    assert code == 0
    assert "--uninstall" in text
    assert f"Linux on {platform.machine()}" in text
    place = tmp_path / "some folder" / "below"
    assert run(shell, file, "--check", "--prefix", str(place))[0] == 0
    assert run(shell, file, "--nonsense")[0] == 2
    assert not place.parent.exists()
    assert not installed(tmp_path / "home")

    assert run(shell, file, f"--prefix={place}")[0] == 0
    assert (place / "bin/rowtui").exists()


def program(folder: Path, name: str, text: str) -> None:
    """Put a program in place of one of this machine."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


REFUSALS = {
    "another machine": "for Linux on z80, and this is Linux on",
    "an old glibc": "needs glibc 99.1 or newer, and this system has glibc 2.",
    "no glibc": "and this system has musl",
    "a full disk": "has 4 MB free",
    "noexec": "cannot be run from",
    "no folder": "is not a folder",
    "a damaged file": "damaged or incomplete",
    "another installation": "is from another installation",
    "a folder of somebody": "is not from such a file",
    "a program that fails": "does not run on this machine: it ended with: no library",
    "a missing program": "the program 'gzip' is missing",
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("why", REFUSALS)
def test_it_refuses_in_one_sentence_and_changes_nothing(
    tmp_path: Path, shell: str, why: str
) -> None:
    programs = tmp_path / "programs"
    file = make_run(
        tmp_path,
        machine="z80" if why == "another machine" else "",
        glibc="99.1" if why == "an old glibc" else "2.17",
    )
    local = tmp_path / "home/.local"
    local.mkdir(parents=True)
    if why == "no glibc":
        program(programs, "getconf", "exit 1")
        program(programs, "ldd", "echo 'musl libc (x86_64)' >&2; exit 1")
    elif why == "a full disk":
        program(programs, "df", "echo head; echo /dev/disk 9 9 5000 9% /")
        text = file.read_bytes().replace(b"\nkilobytes=", b"\nkilobytes=9000 #", 1)
        file.write_bytes(text)
    elif why == "noexec":
        program(programs, "chmod", "exit 0")
    elif why == "no folder":
        (local / "lib").write_text("")
    elif why == "a damaged file":
        file.write_bytes(file.read_bytes()[:-20])
    elif why == "another installation":
        (local / "bin").mkdir()
        (local / "bin/rowtui").symlink_to("../share/pipx/venvs/rowtui/bin/rowtui")
    elif why == "a folder of somebody":
        (local / "lib/rowtui").mkdir(parents=True)
        (local / "lib/rowtui/thesis").write_text("")
    elif why == "a program that fails":
        (tmp_path / "tree-1.0/bin/python3").write_text("#!/bin/sh\necho no library; exit 127\n")
        values = {"version": "1.0", "machine": platform.machine(), "glibc": "2.17", "time": 0}
        write_run(file, tmp_path / "tree-1.0", **values)
    elif why == "a missing program":
        programs.mkdir()
        for name in ("cat", "chmod", "df", shell):
            (programs / name).symlink_to(f"/bin/{name}")
    before = installed(tmp_path / "home")

    if why == "a missing program":
        env = {"HOME": str(local.parent), "PATH": str(programs)}
        done = subprocess.run([shell, file], env=env, capture_output=True, text=True, check=False)
        code, error = done.returncode, done.stderr
    else:
        code, _, error = run(shell, file, path=programs if programs.exists() else None)
    assert code == 1
    assert REFUSALS[why] in error
    assert error.count("\n") == 1
    left = [name for name in installed(tmp_path / "home") if ".installed-by-bundle" not in name]
    assert left == before


def test_the_same_tree_makes_the_same_file(tmp_path: Path) -> None:
    first = make_run(tmp_path).read_bytes()
    (tmp_path / "tree-1.0/bin/rowtui").touch()
    assert make_run(tmp_path).read_bytes() == first


def test_the_glibc_of_programs_is_read_from_their_symbols(tmp_path: Path) -> None:
    words = b"\0GLIBC_2.3.4\0GLIBC_2.28\0GLIBC_2.4\0GLIBC_PRIVATE\0"
    (tmp_path / "one.so").write_bytes(b"\x7fELF" + words)
    (tmp_path / "text").write_bytes(words.replace(b"28", b"99"))
    assert glibc_needed(tmp_path) == "2.28"
