"""What is in the checkout is what is installed."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import rowtui
import rowtui.core
import yaml

from tests.test_house import statements

ROOT = Path(__file__).parents[1]
FOLDERS = ("core", "cli", "tui", "themes")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def files_of(folder: Path) -> list[str]:
    return sorted(
        str(path.relative_to(folder.parent))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )


def test_every_folder_with_modules_is_a_package() -> None:
    there = {path.parent for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    assert all((folder / "__init__.py").exists() for folder in there)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel that `pip install .` would make, from a copy: building writes beside the sources.

    Built by setuptools itself, so that nothing is fetched.
    """
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "source"
    copy.mkdir()
    for name in ("api", *FOLDERS, "pyproject.toml", "setup.py", "README.md", "LICENSE"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, copy)
    (copy / "docs").mkdir()
    shutil.copy2(ROOT / "docs/rowtui.1", copy / "docs")
    subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])",
            str(folder),
        ],
        cwd=copy,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_has_every_file_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    data = f"rowtui-{rowtui.core.__version__}.data/data/"
    packed = sorted(
        name for name in wheel.namelist() if ".dist-info/" not in name and not name.startswith(data)
    )
    wanted = [f"rowtui/{file}" for folder in FOLDERS for file in files_of(ROOT / folder)]
    wanted += [f"rowtui/{file.removeprefix('api/')}" for file in files_of(ROOT / "api")]
    assert packed == sorted(wanted)
    for suffix in (".tcss", ".toml", ".sh", "py.typed"):  # data, not only modules
        assert any(name.endswith(suffix) for name in packed)


def test_the_wheel_installs_the_manual_page(wheel: zipfile.ZipFile) -> None:
    data = f"rowtui-{rowtui.core.__version__}.data/data/"
    packed = [name.removeprefix(data) for name in wheel.namelist() if name.startswith(data)]
    assert packed == ["share/man/man1/rowtui.1"]
    assert wheel.read(data + packed[0]) == (ROOT / "docs/rowtui.1").read_bytes()


def test_the_wheel_says_the_version_and_the_licence(wheel: zipfile.ZipFile) -> None:
    version = rowtui.core.__version__
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    assert metadata == f"rowtui-{version}.dist-info/METADATA"
    lines = wheel.read(metadata).decode().splitlines()
    assert f"Version: {version}" in lines
    assert f"Requires-Python: {PROJECT['project']['requires-python']}" in lines
    assert any(name.endswith("LICENSE") for name in wheel.namelist())


HOME = PROJECT["project"]["urls"]["Homepage"]


def test_the_readme_on_pypi_has_absolute_addresses_of_the_same_files(
    wheel: zipfile.ZipFile,
) -> None:
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    shown = wheel.read(metadata).decode().partition("\n\n")[2]
    link = re.compile(r"""(?:\]\(|\b(?:src|href|srcset)=")([^)\s"]+)""")
    relative = link.findall((ROOT / "README.md").read_text())
    absolute = link.findall(shown)

    assert len(absolute) == len(relative) > 20
    for before, after in zip(relative, absolute, strict=True):
        assert after.startswith(("https://", "#"))
        if before != after:
            kind, version, path = after.removeprefix(f"{HOME}/").split("/", 2)
            assert version == f"v{rowtui.__version__}"
            assert kind == ("raw" if Path(path).suffix in {".png", ".svg", ".gif"} else "blob")
            assert path == before
            assert (ROOT / path.partition("#")[0]).exists()


def test_every_address_of_the_project_begins_with_the_one_in_pyproject() -> None:
    assert all(url.startswith(HOME) for url in PROJECT["project"]["urls"].values())
    with_addresses = [ROOT / name for name in ("CITATION.cff", "SECURITY.md", "CODE_OF_CONDUCT.md")]
    with_addresses.append(ROOT / "docs/check.md")
    for file in [*with_addresses, *(ROOT / ".github").rglob("*.*")]:
        for url in re.findall(r"https://[^\s)>\"']+", file.read_text()):
            assert url.startswith(HOME) or "rowtui" not in url, file


def test_the_citation_names_this_version_and_address() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == rowtui.__version__
    assert cited["repository-code"] == HOME
    assert cited["license"] == PROJECT["project"]["license"]
    assert cited["authors"] == PROJECT["project"]["authors"]


def test_the_workflow_of_ci_runs_the_test_command_on_every_python_of_the_metadata() -> None:
    kept = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    (job,) = kept["jobs"].values()
    named = [
        line.rpartition(" ")[2]
        for line in PROJECT["project"]["classifiers"]
        if line.startswith("Programming Language :: Python :: 3.")
    ]
    assert job["strategy"]["matrix"]["python"] == named
    assert "./setup.sh test" in [step.get("run") for step in job["steps"]]


def test_the_version_is_said_everywhere_alike() -> None:
    version = rowtui.__version__
    said = subprocess.run(
        [sys.executable, "-m", "rowtui", "--version"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert said.stdout == f"rowtui {version}\n"
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_entry_point_leads_somewhere() -> None:
    points = [("scripts", *item) for item in PROJECT["project"]["scripts"].items()]
    for group, named in PROJECT["project"]["entry-points"].items():
        points += [(group, *item) for item in named.items()]
    assert {group for group, _, _ in points} >= {"scripts", "rowtui.schedulers"}
    for group, name, value in points:
        assert callable(EntryPoint(name, value, group).load())


ONLY_WITH_AN_EXTRA = {
    ROOT / "tui" / "serve.py",
    ROOT / "core" / "packing" / "optimal" / "solver.py",
}


def test_whatever_is_imported_is_a_dependency() -> None:
    packages = {
        "pillow": "PIL",
        "pyyaml": "yaml",
        "textual-serve": "textual_serve",
        "aiohttp-jinja2": "aiohttp_jinja2",
    }

    def named_in(lines: list[str]) -> set[str]:
        names = [re.split(r"[<>=\[ ]", line)[0].lower() for line in lines]
        return {packages.get(name, name) for name in names}

    declared = named_in(PROJECT["project"]["dependencies"])
    extras = PROJECT["project"]["optional-dependencies"]
    optional = {name for extra in extras if extra != "test" for name in named_in(extras[extra])}
    used = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            module = ast.parse(path.read_bytes())
            # `rowtui serve` alone loads its module, and reports what is missing; packers that need
            # HiGHS load its solver only where it is installed.
            at_the_top = imported_by(module.body) & optional
            alone = not at_the_top or path in ONLY_WITH_AN_EXTRA
            assert alone, f"{path} needs an extra to be imported"
            used |= imported_by(statements(module.body))
    # rich is a part of Textual's interface and comes with it.
    assert used - set(sys.stdlib_module_names) - {"rowtui", "rich"} <= declared | optional
    assert {"textual", "keyring"} <= used


def imported_by(nodes: Iterable[ast.AST]) -> set[str]:
    """The packages that these statements import."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_an_older_python_is_refused_in_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    ast.parse((ROOT / "setup.py").read_text(), feature_version=(3, 6))
    monkeypatch.setattr(sys, "version_info", (3, 9, 18, "final", 0))

    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "setup.py"))

    assert ended.value.code == "rowtui needs Python 3.11 or newer, and this is Python 3.9"


def test_an_older_python_reads_from_the_metadata_which_one_is_needed(
    wheel: zipfile.ZipFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (ROOT / "release/build_backend.py").read_text()
    ast.parse(source, feature_version=(3, 6))
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "version_info", (3, 6, 15, "final", 0))
    backend = runpy.run_path(str(ROOT / "release/build_backend.py"))
    monkeypatch.undo()

    assert backend["get_requires_for_build_wheel"]() == []
    monkeypatch.chdir(ROOT)
    made = tmp_path / backend["prepare_metadata_for_build_wheel"](str(tmp_path))
    assert "\nRequires-Python: >=3.11\n" in (made / "METADATA").read_text()
    # pip compares the dependencies first, so an older Python must have none.
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    lines = wheel.read(metadata).decode().splitlines()
    needed = [line for line in lines if line.startswith("Requires-Dist:") and "extra" not in line]
    assert len(needed) == len(PROJECT["project"]["dependencies"])
    assert all(line.endswith('; python_version >= "3.11"') for line in needed)


# Reads each kind of file that rowtui brings with it.
READS_ITS_FILES = """
import asyncio
from pathlib import Path
import aiohttp_jinja2, rowtui
from rowtui.cli.demo.command import make_study
from rowtui.cli.main import main
from rowtui.tui.serve import DashboardServer
from rowtui.tui.shell.themes import load_themes

main(["--version"])
main(["show", "status"])
main(["show", "status"])  # The second one is the stored text.
print(load_themes().themes, load_themes().wrong)
make_study(Path("study"))
print(sorted((file.name, file.read_bytes()) for file in Path("study").glob("*.*")))
app = asyncio.run(DashboardServer("true", "title")._make_app())
print(aiohttp_jinja2.get_env(app).loader.get_source(None, "serve.html")[0])
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A zip with all of rowtui, from which Python imports it."""
    path = tmp_path_factory.mktemp("archive") / "rowtui.zip"
    with zipfile.ZipFile(path, "w") as made:
        for folder in ("api", *FOLDERS):
            for file in files_of(ROOT / folder):
                made.write(ROOT / file, f"rowtui/{file.removeprefix('api/')}")
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "workspace" / "a").mkdir(parents=True)
    (tmp_path / "workflow.toml").write_text(
        "[[action]]\nname = 'one'\ncommand = 'true {directory}'"
    )
    return tmp_path


def printed(folder: Path, archive: str, *words: str, keys: str = "") -> str:
    """Return the output of Python in this folder, with rowtui from the archive if one is named."""
    done = subprocess.run(
        [sys.executable, "-P", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": archive},
        input=keys,
        check=True,
        capture_output=True,
        text=True,
    )
    assert not done.stderr
    shutil.rmtree(folder / "study", ignore_errors=True)
    return done.stdout


def test_from_a_zip_everything_is_read_as_from_an_installation(
    archive: Path, project: Path
) -> None:
    where = printed(project, str(archive), "-c", "import rowtui; print(rowtui.__file__)")
    assert where == f"{archive}/rowtui/__init__.py\n"
    installed = printed(project, "", "-c", READS_ITS_FILES)
    assert printed(project, str(archive), "-c", READS_ITS_FILES) == installed


def test_from_a_zip_the_dashboard_opens(archive: Path, project: Path) -> None:
    shown = printed(project, str(archive), "-m", "rowtui", "--plain", keys="q\n")
    assert "1. one: 0 completed, 0 submitted, 1 eligible, 0 waiting" in shown
