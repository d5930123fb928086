"""How the offline bundle arranges packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from release import bundle, contents


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_pure_packages_go_into_a_zip_and_the_others_stay_files(tmp_path: Path) -> None:
    source = write(
        tmp_path / "site-packages",
        {
            "pure/__init__.py": "from importlib.metadata import version\nname = version('pure')",
            "pure/tests/test_pure.py": "",
            "pure/data.toml": "",
            "pure-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: pure\nVersion: 1.0\n",
            "pure-1.0.dist-info/RECORD": "",
            "space/inside.py": "import fast; name = f'no __init__, {fast.name}'",
            "rowtui/__init__.py": "",
            "rowtui/cli/demo/study.py": "# copied into a project",
            "fast/__init__.py": "name = 'fast'",
            "fast/_fast.cpython-311-x86_64-linux-gnu.so": "\x7fELF",
            "fast/_same.so": "\x7fELF",
            "fast/fast.pyi": "",
            "textual_serve/__init__.py": "",
            "textual_serve/static/page.js": "",
        },
    )
    pure, packages = tmp_path / "lib/pure", tmp_path / "lib/packages"
    bundle._copy_packages(source, pure, packages)
    for folder in (pure, packages):
        bundle._compile(Path(sys.executable), folder)
    bundle._zip(pure)

    shutil.rmtree(source)
    left = sorted(str(path.relative_to(packages)) for path in packages.rglob("*.*"))
    assert left == [
        "fast/__init__.pyc",
        "fast/_fast.cpython-311-x86_64-linux-gnu.so",
        "fast/_same.so",
        "textual_serve/__init__.pyc",
        "textual_serve/static/page.js",
    ]
    assert (packages / "fast/_same.so").is_symlink()
    code = (
        "import pure, space.inside; print(pure.name, space.inside.name)\n"
        "from importlib.resources import files\n"
        "print(files('pure').joinpath('data.toml').is_file())\n"
        "print(files('rowtui').joinpath('cli/demo/study.py').read_text())\n"
        "print(files('pure').joinpath('tests').is_dir())\n"
    )
    places = {"PYTHONPATH": f"{pure}.zip{os.pathsep}{packages}"}
    shown = subprocess.check_output([sys.executable, "-S", "-c", code], text=True, env=places)
    assert shown.splitlines() == [
        "1.0 no __init__, fast",
        "True",
        "# copied into a project",
        "False",
    ]


def test_every_licence_is_listed(tmp_path: Path) -> None:
    record = "kind-2.0.dist-info/licenses/LICENSE,,\nkind-2.0.dist-info/METADATA,,\nkind.py,,\n"
    named = "Metadata-Version: 2.4\nName: {}\nVersion: 2.0\nLicense-Expression: MIT\n"
    packages = write(
        tmp_path / "packages",
        {
            "kind-2.0.dist-info/METADATA": named.format("kind"),
            "kind-2.0.dist-info/RECORD": record,
            "kind-2.0.dist-info/licenses/LICENSE": "Be kind.",
            "short-2.0.dist-info/METADATA": named.format("short"),
            "rowtui-2.0.dist-info/METADATA": named.format("rowtui"),
        },
    )
    library = write(tmp_path / "library", {"LICENSE.txt": "Of Python."})
    contents.write_licences(tmp_path / "all.txt", packages, library, [])
    text = (tmp_path / "all.txt").read_text()
    for part in ("CPython", "Of Python.", "kind 2.0", "Be kind.", "short 2.0", "MIT"):
        assert part in text
    assert "rowtui 2.0" not in text
