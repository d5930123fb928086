"""The figures of the code's structure that nothing may exceed (docs/architecture.md)."""

from __future__ import annotations

import ast
import gc
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("api", "core", "cli", "tui")
MOST_MODULES = 16  # of a folder
# A figure falls, or stays. Code that is hard to read does not become simpler when it is squeezed.
MOST_LINES = 157_250
MOST_MODULES_IN_ALL = 706
LONG, MOST_LONG = 400, 4  # lines of a long module, and how many there may be
SMALL, MOST_SMALL = 100, 13  # lines of a small module, and how many may have a single importer
MOST_INNER_IMPORTS = 239  # imports inside functions
MOST_BANNERS = 25  # titles of sections: such a module may be several
NO_CIRCLES_OF_TYPES = (
    "core",
    "cli",
    "tui",
)  # no circles, also where imports under TYPE_CHECKING count


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


@pytest.fixture(autouse=True)
def no_garbage_collection() -> Iterator[None]:
    """Keep finalisers of other tests from running within `ast.parse`, which then fails.

    Source: issue 106905 of CPython.
    """
    gc.collect()
    gc.disable()
    yield
    gc.enable()


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


@cache
def modules() -> dict[str, tuple[Path, str, ast.Module]]:
    """Every module by its name, with its path, its text and its tree."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            inside = parts[1:] if folder == "api" else parts
            name = ".".join(("rowtui", *inside)).removesuffix(".__init__")
            text = path.read_text(encoding="utf-8")
            found[name] = (path, text, ast.parse(text))
    return found


def longer_than_a_docstring() -> dict[str, int]:
    """The number of lines of each module; an `__init__.py` counts if it holds code."""
    return {
        name: text.count("\n")
        for name, (path, text, tree) in modules().items()
        if path.name != "__init__.py" or len(tree.body) > 1
    }


def statements(*bodies: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement in these bodies and below, without the expressions, which hold none."""
    for body in bodies:
        for statement in body:
            yield statement
            yield from statements(*bodies_of(statement))


def bodies_of(statement: ast.AST) -> list[list[ast.stmt]]:
    """The lists of statements that a statement holds, also those of its handlers and cases."""
    bodies = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    inner = [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]
    return [*bodies, *(each.body for each in inner)]


@cache
def imported_by(name: str, *, typing: bool = False) -> frozenset[str]:
    """The modules that a module imports when it runs, also inside its functions.

    `typing`: also those under TYPE_CHECKING, which one has to read as well.
    """
    found: set[str] = set()
    nodes: list[ast.stmt] = [*modules()[name][2].body]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            nodes += [*node.body, *node.orelse] if typing else node.orelse
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & modules().keys()) or {node.module}
        for body in bodies_of(node):
            nodes += body
    return frozenset((found & modules().keys()) - {name})


def test_the_product_does_not_grow_by_itself() -> None:
    assert sum(text.count("\n") for _, text, _ in modules().values()) <= MOST_LINES


def test_a_stranger_can_survey_the_modules() -> None:
    sizes = longer_than_a_docstring()
    assert len(sizes) <= MOST_MODULES_IN_ALL
    long = {name: size for name, size in sizes.items() if size > LONG}
    assert len(long) <= MOST_LONG, long


def test_a_module_is_about_one_thing() -> None:
    title = re.compile(r"^# [A-Z][^.:]{2,60}$\n\n", re.MULTILINE)
    found = {name: len(title.findall(text)) for name, (_, text, _) in modules().items()}
    assert sum(found.values()) <= MOST_BANNERS, {it: many for it, many in found.items() if many}


def test_a_small_module_that_one_module_imports_belongs_to_it() -> None:
    importers: dict[str, set[str]] = {}
    for name in modules():
        for other in imported_by(name):
            importers.setdefault(other, set()).add(name)
    sizes = longer_than_a_docstring()
    small = [it for it, size in sizes.items() if size < SMALL and len(importers.get(it, ())) == 1]
    assert len(small) <= MOST_SMALL, small


def test_a_public_type_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = {}
    for name, (path, _, tree) in modules().items():
        # The Python interface has the words of its users: Project, Plan, Status.
        for node in () if path.is_relative_to(ROOT / "api") else tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_module_needs_itself() -> None:
    refuse_circles({name: imported_by(name) for name in modules()})


@pytest.mark.parametrize("folder", NO_CIRCLES_OF_TYPES)
def test_no_module_needs_itself_for_its_types(folder: str) -> None:
    refuse_circles(
        {
            name: imported_by(name, typing=True)
            for name, (path, _, _) in modules().items()
            if path.is_relative_to(ROOT / folder)
        }
    )


def refuse_circles(graph: dict[str, frozenset[str]]) -> None:
    """Fail with the modules of a circle, if there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(error.args[1]) from None


def test_imports_inside_functions_are_few() -> None:
    inner = Counter(
        name
        for name, (_, _, tree) in modules().items()
        for outer in statements(tree.body)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in statements(outer.body)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    assert inner.total() <= MOST_INNER_IMPORTS, inner.most_common(10)
