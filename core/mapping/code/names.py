"""Collect the names in nodes of `ast`."""

from __future__ import annotations

import ast
from collections.abc import Iterable


def defaults(arguments: ast.arguments) -> list[ast.expr]:
    """Return the default values of parameters."""
    return [each for each in (*arguments.defaults, *arguments.kw_defaults) if each is not None]


def is_fresh(value: ast.expr) -> bool:
    """Whether a name that is bound to this node has an immutable value."""
    return isinstance(value, (ast.Constant, ast.JoinedStr))


def stored_names(body: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """Return the names that a function binds, and the names it declares global or nonlocal."""
    own: set[str] = set()
    shared: set[str] = set()
    todo = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            own.add(node.id)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            shared.update(node.names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            own.add(node.name)
            continue
        elif isinstance(node, ast.Lambda):
            continue
        elif isinstance(node, ast.comprehension):  # the names of a comprehension are local to it
            todo += [node.iter, *node.ifs]
            continue
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            own.update((each.asname or each.name).partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            own.add(node.name)
        todo += ast.iter_child_nodes(node)
    return own, shared


def names_in(target: ast.AST) -> list[ast.Name]:
    """Return all names in a node, including the node itself."""
    return [node for node in ast.walk(target) if isinstance(node, ast.Name)]


def is_text(node: ast.expr) -> bool:
    """Whether the node is a text constant."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def path_of(node: ast.expr) -> list[str] | None:
    """Return ["a", "b", "c"] for a.b.c, and None for any other node."""
    steps: list[str] = []
    while isinstance(node, ast.Attribute):
        steps.append(node.attr)
        node = node.value
    return [node.id, *reversed(steps)] if isinstance(node, ast.Name) else None
