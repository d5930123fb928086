"""docs/architecture.md and docs/background name only files, folders and symbols that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = DOCS / "architecture.md"
PAGES = [PAGE, *sorted((DOCS / "background").glob("*.md"))]
MOST_LINES = 300
CODE = ("core", "cli", "tui")
TOP = (*CODE, "tests", "docs", "bench", "themes", "examples", "screenshots")
FOREIGN = {"Handle._run"}  # of asyncio
PLAIN = {"grid_engine"}  # words with an underscore that are no symbols


def prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def spans(page: Path) -> list[str]:
    return re.findall(r"`([^`\n]+)`", prose(page))


@cache
def defined(path: Path) -> frozenset[str]:
    """The names that a module defines: functions, classes, methods `C.m` and attributes `C.a`."""
    found: set[str] = set()

    def collect(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(prefix + child.name)
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                found.add(prefix + child.id)
            if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
                found.add(prefix + child.attr)  # of `self`
            collect(child, f"{child.name}." if isinstance(child, ast.ClassDef) else prefix)

    collect(ast.parse(path.read_text(encoding="utf-8")), "")
    return frozenset(found)


@cache
def texts() -> dict[Path, str]:
    """The text of each module."""
    paths = [path for folder in CODE for path in (ROOT / folder).rglob("*.py")]
    return {path: path.read_text(encoding="utf-8") for path in paths}


@cache
def is_defined(name: str) -> bool:
    """Whether a module defines this name, with or without its class.

    Only modules with the word are parsed, and those where it follows `class` or `def` before the
    others, since parsing all modules takes ten seconds.
    """
    last = name.rpartition(".")[2]
    word = re.compile(rf"\b{last}\b")
    paths = [path for path, text in texts().items() if last in text and word.search(text)]
    likely = re.compile(rf"\b(class|def) {last}\b")
    paths.sort(key=lambda path: likely.search(texts()[path]) is None)
    return any(
        name == found or name == found.partition(".")[2]
        for path in paths
        for found in defined(path)
    )


def is_symbol(span: str) -> bool:
    """Whether this looks like a class or a method of the code: `LiveCut`, `Arrivals.take`."""
    if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", span):
        return False
    return bool(re.search(r"[a-z][A-Z]", span)) or ("." in span and span[0].isupper())


def test_the_page_can_be_read_in_ten_minutes() -> None:
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_and_folder_that_is_named_exists(page: Path) -> None:
    paths = {span.rstrip("/") for span in spans(page) if span.split("/")[0] in TOP and "/" in span}
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def test_every_folder_of_the_list_exists() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("\n## Where things are\n")[2]
    listed = [line.split()[0] for line in section.split("```")[1].splitlines() if line.strip()]
    assert sorted(set(listed)) == sorted(listed)
    assert [folder for folder in listed if not (ROOT / folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_symbol_that_is_named_is_defined(page: Path) -> None:
    names = {span for span in spans(page) if is_symbol(span)}
    if page == PAGE:
        names |= {span for span in spans(page) if re.fullmatch(r"[a-z]+(_[a-z]+)+", span)}
    assert sorted(name for name in names - FOREIGN - PLAIN if not is_defined(name)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_symbol_is_in_the_file_that_is_named_with_it(page: Path) -> None:
    text = " ".join(prose(page).split())
    pairs = re.findall(r"`([A-Za-z_][\w.]*)` (?:in|of|with `\w+` in) `([\w/]+\.py)`", text)
    missing = [(name, file) for name, file in pairs if name not in defined(ROOT / file)]
    assert missing == []


def test_the_walks_name_a_file_in_nearly_every_step() -> None:
    walks = prose(PAGE).partition("\n## Three walks\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^\d+\. (.*?)(?=^\d+\. |^\*\*|\Z)", walks, re.MULTILINE | re.DOTALL)
    assert len(steps) == 36
    assert len([step for step in steps if ".py`" not in step]) <= 2
