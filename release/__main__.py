"""Make a release of rowtui in dist/, and try it: `./setup.sh release`."""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from release import bundle, contents, trial

ROOT = Path(__file__).resolve().parents[1]
TOOLS = Path(sys.prefix, "bin")
EXTRAS = "exact,fast,images,keyring,serve"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
MINUTES = 10
"""For one command: installing packages, or a demo."""


def run(*words: str | Path, **more: str) -> None:
    """Run a command in the checkout, with its output on this terminal. Raises: BundleError."""
    print(f"$ {' '.join(map(str, words))}", flush=True)
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **more}
    try:
        subprocess.run(words, cwd=ROOT, env=environment, check=True, timeout=MINUTES * 60)
    except (OSError, subprocess.SubprocessError) as error:
        raise bundle.BundleError(f"{words[0]} failed: {error}") from error


def main() -> int:
    """Make everything; return the exit code."""
    parser = argparse.ArgumentParser(prog="./setup.sh release", description=__doc__)
    parser.add_argument("--python", type=Path, metavar="PATH", help="the CPython for the bundle")
    parser.add_argument("--check", action="store_true", help="also try the bundle, as root")
    args = parser.parse_args()
    python = args.python or Path(sys.base_prefix, "bin/python3")
    python = python / "bin/python3" if python.is_dir() else python
    try:
        if args.check:
            trial.require()
        with tempfile.TemporaryDirectory(prefix="rowtui-release-") as folder:
            make(ROOT / "dist", Path(folder), python.absolute(), check=args.check)
    except (bundle.BundleError, subprocess.SubprocessError, OSError) as error:
        print(f"setup.sh release: {error}", file=sys.stderr)
        return 1
    return 0


def make(dist: Path, work: Path, python: Path, *, check: bool) -> None:
    """Make the distributions and the bundle, and try them."""
    shutil.rmtree(dist, ignore_errors=True)
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    asked = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    time = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    os.environ["SOURCE_DATE_EPOCH"] = time = time or "1700000000"
    asked = ["git", "-C", str(ROOT), "status", "--porcelain"]
    if subprocess.run(asked, capture_output=True, check=False).stdout:
        print("Warning: this checkout has changes that are not committed.")
    run(TOOLS / "validate-pyproject", "pyproject.toml")
    run(TOOLS / "python", "-m", "build", "--outdir", dist, ".")
    shutil.rmtree(ROOT / "rowtui.egg-info", ignore_errors=True)
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    # Compiled against an old C library, so that one wheel serves all Linux of an architecture.
    programs = f"{TOOLS}:{os.environ['PATH']}"
    fast = (TOOLS / "maturin", "build", "--release", "--zig", "--compatibility", "manylinux2014")
    run(*fast, "--manifest-path", ROOT / "fast/Cargo.toml", "--out", dist, PATH=programs)
    run(TOOLS / "twine", "check", "--strict", wheel, source)
    run(TOOLS / "check-wheel-contents", wheel)
    version = wheel.name.split("-")[1]
    for one in pythons():
        try_wheel(one, wheel, work / f"python{one.parent.parent.name}")

    environment = work / "environment"
    run(python, "-m", "venv", environment)
    pip = (environment / "bin/python", "-m", "pip")
    from_here = ("-c", ROOT / "tests/constraints.txt", "--find-links", dist)
    run(*pip, "install", "-q", *from_here, f"{wheel}[{EXTRAS}]")
    run(*pip, "uninstall", "-q", "-y", "setuptools", "pip")
    tree = work / "tree"
    shared = bundle.make_tree(tree, python, environment, TOOLS)
    about = bundle.ask(environment / "bin/python")
    bill = dist / f"rowtui-{version}.cdx.json"
    others = [{"name": "cpython", "version": about["version"]}]
    others += [{"name": file.name, "version": ""} for file in shared]
    contents.write_bill(bill, version, environment, TOOLS, others)
    licences = dist / f"rowtui-{version}-third-party-licenses.txt"
    contents.write_licences(licences, Path(about["packages"]), Path(about["library"]), shared)
    for text in (ROOT / "LICENSE", bill, licences):
        shutil.copy(text, tree)
    glibc = bundle.glibc_needed(tree)
    made = dist / f"rowtui-{version}-linux-{platform.machine()}.run"
    bundle.write_run(
        made, tree, version=version, machine=platform.machine(), glibc=glibc, time=int(time)
    )
    size, files = made.stat().st_size, sum(path.is_file() for path in tree.rglob("*"))
    print(f"The bundle has {size / 1024**2:.1f} MB and {files} files; it needs glibc {glibc}.")
    if size > bundle.MOST_BYTES or files > bundle.MOST_FILES:
        most = f"{bundle.MOST_BYTES >> 20} MB and {bundle.MOST_FILES} files"
        raise bundle.BundleError(f"the bundle is too large: at most {most}")
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(dist.iterdir())
    ]
    (dist / "SHA256SUMS").write_text("".join(sums))
    if check:
        trial.try_bundle(made, version)
    print(f"rowtui {version} is in {dist}:")
    for path in sorted(dist.iterdir()):
        print(f"  {path.stat().st_size:12,}  {path.name}")


def pythons() -> list[Path]:
    """Return one Python of each version from 3.11 on: from the path, pyenv and uv."""
    found: dict[str, Path] = {}
    places = [Path(one) for one in os.environ.get("PATH", "").split(":") if one]
    places += Path.home().glob(".pyenv/versions/*/bin")
    places += Path.home().glob(".local/share/uv/python/*/bin")
    for place in [Path(sys.base_prefix, "bin"), *places]:
        for version in VERSIONS:
            program = place / f"python{version}"
            works = [str(program), "-c", "import ensurepip, venv"]
            if version not in found and os.access(program, os.X_OK):
                done = subprocess.run(works, capture_output=True, check=False)
                if done.returncode == 0:
                    found[version] = program
    return [found[version] for version in sorted(found)]


def try_wheel(python: Path, wheel: Path, folder: Path) -> None:
    """Install the wheel into a new environment of this Python, and run a demo with it."""
    run(python, "-m", "venv", folder)
    run(folder / "bin/python", "-m", "pip", "install", "-q", wheel)
    home = {"HOME": str(folder), "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": ""}
    run(folder / "bin/rowtui", "--version", **home)
    run(folder / "bin/rowtui", "demo", "--headless", "--keep", folder / "demo", **home)


if __name__ == "__main__":
    sys.exit(main())
