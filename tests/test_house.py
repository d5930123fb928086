"""The figures of the code's structure that nothing may exceed (docs/architecture.md)."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("core", "cli", "tui")
MOST_MODULES = 16


def folders() -> dict[Path, list[Path]]:
    """The modules of each package, without its `__init__.py`."""
    found: dict[Path, list[Path]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            inside = found.setdefault(path.parent, [])
            if path.name != "__init__.py":
                inside.append(path)
    return found


def test_no_folder_holds_more_modules_than_one_can_survey() -> None:
    sizes = Counter({str(folder.relative_to(ROOT)): len(its) for folder, its in folders().items()})
    assert {name: size for name, size in sizes.items() if size > MOST_MODULES} == {}


def test_every_folder_says_what_it_is_for() -> None:
    for folder in folders():
        text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
        assert text, folder
        summary, _, paragraph = text.partition("\n\n")
        assert "\n" not in summary, folder
        assert paragraph, f"{folder}: say what it takes, gives and leaves to others"


def test_the_architecture_names_every_folder() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    lines = {line.strip().split()[0] for line in page.splitlines() if line.strip()}
    missing = [
        str(folder.relative_to(ROOT))
        for folder in folders()
        if f"{folder.relative_to(ROOT)}/" not in lines
    ]
    assert missing == []
