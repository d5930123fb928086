"""The offline bundle: one self-unpacking file with rowtui, its packages and a CPython.

Pure code is compiled into one zip, since every file on a cluster's file system costs time. Packages
with extension modules, which cannot be imported from a zip, stay files. `python3._pth` names the
places of all modules, and keeps the user's PYTHON* variables and packages out.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
MOST_FILES = 700
MOST_BYTES = 60 * 1024**2

# Parts of the standard library, of its extension modules and of packages that nothing here uses.
UNUSED_LIBRARY = re.compile(
    r"(test|idlelib|tkinter|turtledemo|turtle\.py|ensurepip|lib2to3|pydoc_data|config-.*|venv"
    r"|distutils|curses|sqlite3|site-packages|lib-dynload|__phello__.*|__pycache__|.*\.txt)"
)
UNUSED_MODULES = re.compile(
    r"(_test|_xx|xx|_tkinter|_curses|_sqlite3|_dbm|_gdbm|_crypt|nis|ossaudiodev|spwd|readline)"
)
UNUSED_FILES = re.compile(
    r"(.*/)?(tests?|__pycache__|_pyinstaller|include|_examples)/.*"
    r"|numpy/(f2py|distutils|doc|_core/lib)/.*|(PIL/_|pillow.libs/lib)avif.*"
    r"|.*\.(pyi|pyx|pxd|c|h|a|build|typed)"
)
# These packages open their own data as files.
WITH_DATA = ("textual_serve",)
# Python files that are data: the demos copy them into the user's project.
NOT_COMPILED = "rowtui/cli/demo/*.py"
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|pthread|rt|util|resolv))\.so.*")
PATHS = "../lib/pure.zip\n../lib/modules\n../lib/packages\n"
ASKED = """\
import json, sys, sysconfig
print(json.dumps({
    "version": sys.version.split()[0],
    "program": sys.executable,
    "library": sysconfig.get_path("stdlib"),
    "packages": sysconfig.get_path("purelib"),
    "folder": sys.base_prefix,
}))
"""


class BundleError(Exception):
    """The bundle cannot be made, in a sentence for the maker of the release."""


def ask(python: Path) -> dict[str, str]:
    """Return the version and the folders of a Python."""
    done = subprocess.run([python, "-c", ASKED], capture_output=True, text=True, check=True)
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


def make_tree(tree: Path, python: Path, environment: Path, tools: Path) -> list[Path]:
    """Make the folder that the bundle unpacks to; return this machine's shared libraries in it.

    `python`: the one that is packed; `environment`: a virtual environment of it with rowtui and
    the packages; `tools`: the folder of patchelf.
    """
    about, inside = ask(python), ask(environment / "bin/python")
    pure, packages = tree / "lib/pure", tree / "lib/packages"
    modules = tree / "lib/modules"
    for folder in (tree / "bin", pure, packages, modules, tree / "share/man/man1"):
        folder.mkdir(parents=True)
    _copy_python(tree, about)
    _copy_packages(Path(inside["packages"]), pure, packages)
    for folder in (pure, packages):
        _compile(python, folder)
    _zip(pure)
    shutil.copy(environment / "share/man/man1/rowtui.1", tree / "share/man/man1")
    shutil.copy(HERE / "launcher.sh", tree / "bin/rowtui")
    (tree / "bin/rowtui").chmod(0o755)
    return _complete(tree, Path(about["folder"]), tools)


def _copy_python(tree: Path, about: dict[str, str]) -> None:
    shutil.copy(Path(about["program"]).resolve(), tree / "bin/python3")
    (tree / "bin/python3._pth").write_text(PATHS)
    library = Path(about["library"])
    for entry in library.iterdir():
        if UNUSED_LIBRARY.fullmatch(entry.name):
            continue
        if entry.is_dir():
            unused = shutil.ignore_patterns("__pycache__", "tests", "test", "idle_test")
            shutil.copytree(entry, tree / "lib/pure" / entry.name, ignore=unused)
        else:
            shutil.copy(entry, tree / "lib/pure")
    for module in (library / "lib-dynload").glob("*.so"):
        if not UNUSED_MODULES.match(module.name):
            shutil.copy(module, tree / "lib/modules")
    _strip(tree / "bin/python3", *(tree / "lib/modules").iterdir())


def _strip(*files: Path) -> None:
    """Remove what a debugger needs. Packages are left alone: their makers have done so."""
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-unneeded", *files], check=True)


def _copy_packages(source: Path, pure: Path, packages: Path) -> None:
    """Copy each package: with all of its files into one of the two folders."""
    files = [
        path.relative_to(source)
        for path in source.rglob("*")
        if path.is_file() and not UNUSED_FILES.fullmatch(str(path.relative_to(source)))
    ]
    as_files = {file.parts[0] for file in files if ".so" in file.suffixes} | {*WITH_DATA}
    for file in files:
        info = file.parts[0].endswith(".dist-info")
        if info and file.name not in {"METADATA", "entry_points.txt"}:
            continue
        target = (packages if file.parts[0] in as_files else pure) / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / file, target)
    _link_copies(packages)


def _link_copies(packages: Path) -> None:
    """Replace copies of a shared library, which were links before a wheel was made, by links."""
    seen: dict[tuple[Path, str], Path] = {}
    for path in programs(packages):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        first = seen.setdefault((path.parent, digest), path)
        if first != path:
            path.unlink()
            path.symlink_to(first.name)


def _compile(python: Path, folder: Path) -> None:
    """Replace sources by compiled modules that are valid whatever the time of a file is."""
    kept = {path: path.read_bytes() for path in folder.glob(NOT_COMPILED)}
    words = ["-m", "compileall", "-q", "-b", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([python, *words, "-s", folder, folder], check=True)
    for path in [*folder.rglob("*.py")]:
        if path not in kept:
            path.unlink()


def _zip(folder: Path) -> None:
    """Replace a folder by a zip, without compression: modules are then read fastest."""
    with zipfile.ZipFile(folder.with_suffix(".zip"), "w") as archive:
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.is_file():
                archive.writestr(zipfile.ZipInfo(name), path.read_bytes())
            else:  # Python looks for the entry of the folder if a package has no __init__.
                archive.writestr(zipfile.ZipInfo(f"{name}/"), b"")
    shutil.rmtree(folder)


def programs(tree: Path) -> Iterator[Path]:
    """Yield the ELF files below a folder."""
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def _complete(tree: Path, folder: Path, tools: Path) -> list[Path]:
    """Add the shared libraries that are missing, and let every file find them beside itself."""

    def patchelf(*words: str | Path) -> list[str]:
        words = (tools / "patchelf", *words)
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()

    copied = []
    todo = [*programs(tree)]
    there = {path.name for path in todo}
    while todo:
        path = todo.pop()
        for name in patchelf("--print-needed", path):
            if name not in there and not OF_THE_SYSTEM.fullmatch(name):
                copied.append(_system_library(name, path, folder))
                shutil.copy(copied[-1], tree / "lib" / name)
                _strip(tree / "lib" / name)
                there.add(name)
                todo.append(tree / "lib" / name)
    added = {path.name for path in (tree / "lib").glob("*.so*")}
    for path in programs(tree):
        of_a_package = tree / "lib/packages" in path.parents
        if not of_a_package or added & {*patchelf("--print-needed", path)}:
            place = f"$ORIGIN/{os.path.relpath(tree / 'lib', path.parent)}"
            patchelf("--add-rpath" if of_a_package else "--set-rpath", place, path)
    return [file for file in copied if folder not in file.parents]


def _system_library(name: str, user: Path, folder: Path) -> Path:
    """Return the file of a shared library that `user` needs."""
    if (folder / "lib" / name).exists():
        return folder / "lib" / name
    listed = subprocess.run(["ldd", user], capture_output=True, text=True, check=False).stdout
    found = re.search(rf"{re.escape(name)} => (/\S+)", listed)
    if found is None:
        raise BundleError(f"{user.name} needs {name}, which is not on this machine")
    return Path(found[1])


def glibc_needed(tree: Path) -> str:
    """Return the oldest glibc with which all programs below a folder can be loaded."""
    needed = {(2, 17)}
    for path in programs(tree):
        for major, minor in re.findall(rb"\0GLIBC_(\d+)\.(\d+)[.\d]*(?=\0)", path.read_bytes()):
            needed.add((int(major), int(minor)))
    return "{}.{}".format(*max(needed))


def write_run(path: Path, tree: Path, *, version: str, machine: str, glibc: str, time: int) -> None:
    """Write the self-unpacking file. `time`: of all files in it, so that it can be made again."""
    payload = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=payload, mode="wb", mtime=time) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for file in sorted(tree.rglob("*")):
            entry = archive.gettarinfo(str(file), str(file.relative_to(tree)))
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mtime = time
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            with file.open("rb") if entry.isreg() else io.BytesIO() as content:
                archive.addfile(entry, content if entry.isreg() else None)
    digest = hashlib.sha256(payload.getvalue()).hexdigest()
    size = sum(-(-file.stat().st_size // 4096) * 4 for file in tree.rglob("*"))
    header = (HERE / "installer.sh").read_text()
    values = {
        "VERSION": version,
        "MACHINE": machine,
        "GLIBC": glibc,
        "BUILD": digest[:8],
        "KILOBYTES": str(size * 11 // 10 + 100),
        "SHA256": digest,
        "LINES": str(header.count("\n")),
    }
    header = re.sub("@([A-Z0-9]+)@", lambda found: values[found[1]], header)
    path.write_bytes(header.encode() + payload.getvalue())
    path.chmod(0o755)
