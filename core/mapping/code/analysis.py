"""Find the names that a piece of Python reads, and whether it is plain, without running the code.

The input is a syntax tree; the output is `Findings`. Plain code is one expression of operators,
comprehensions, and the functions and methods listed here: it ends soon, changes nothing, and equal
values of its names give equal results. All other code is assumed to do anything.
"""

from __future__ import annotations

import ast
import builtins
from typing import NamedTuple

from rowtui.core.mapping.code.resource_bombs import refuse_bombs, repeats, size, whole_number
from rowtui.core.mapping.engine.helper_functions import PURE_HELPERS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BUILTINS = frozenset(dir(builtins))
_PURE = _words(
    "abs all any ascii bin bool chr complex dict divmod enumerate float format frozenset getattr "
    "hasattr hex int isinstance issubclass len list max min oct ord range repr reversed round set "
    "sorted str sum tuple type zip True False None"
)
# Methods of plain values, and of rowtui's objects, that are short and change nothing.
_SHORT_METHODS = _words(
    "all_roles all_tag_values as_integer_ratio bit_length capitalize casefold copy count decode "
    "difference encode endswith find format format_map fromkeys get get_param_values get_state hex "
    "index intersection is_integer isalnum isalpha isascii isdecimal isdigit isdisjoint "
    "isidentifier islower isnumeric isspace issubset issuperset istitle isupper items join keys "
    "lower lstrip partition removeprefix removesuffix replace rfind rindex rpartition rsplit "
    "rstrip score split splitlines startswith strip swapcase symmetric_difference title union "
    "upper values"
)
# Names that TPV provides and whose methods do more than read a value.
_NOT_VALUES = _words("app ast functools job_wrapper log logging util")
_SHORT_RANGE = 10_000  # steps that need no time limit
_PLAIN = (
    ast.Module, ast.Expr, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
    ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.BoolOp, ast.UnaryOp, ast.Compare,
    ast.IfExp, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Slice, ast.Starred, ast.keyword,
    ast.Lambda, ast.arguments,
)  # fmt: skip
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Findings(NamedTuple):
    """The results of the analysis; see `model.Code`."""

    names: frozenset[str]
    plain: bool


def analyse(tree: ast.Module) -> Findings:
    """Analyse a whole piece of code. Raises: Endless, RecursionError."""
    nodes = list(ast.walk(tree))
    refuse_bombs(nodes)
    return Findings(
        frozenset(_names_read(nodes)), len(tree.body) == 1 and all(map(_is_plain, nodes))
    )


def _names_read(nodes: list[ast.AST]) -> set[str]:
    """Return all names that the code reads, also where it may have bound them itself."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.AugAssign):
            node = node.target  # noqa: PLW2901
        elif isinstance(getattr(node, "ctx", None), ast.Store):
            continue
        if isinstance(node, ast.Name):
            found.add(node.id)
    return found


def _is_plain(node: ast.AST) -> bool:
    """Whether a node is plain if the nodes in it are plain."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):  # the variable of a comprehension
            return _may_be_bound(node.id)
        return (node.id in _PURE or node.id not in _BUILTINS) and (
            node.id not in _NOT_VALUES or node.id == "app"
        )
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        if not isinstance(node.ctx, ast.Load):
            return False
        path = path_of(node)
        return path is None or (path[0] not in _NOT_VALUES and path[-1][0] != "_")
    if isinstance(node, ast.Call):
        return _is_plain_call(node)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Mult):
            return not repeats(node) or size(node) is not None
        return not isinstance(node.op, (ast.Pow, ast.LShift))
    if isinstance(node, _COMPREHENSIONS):
        return len(node.generators) == 1
    if isinstance(node, ast.arg):
        return _may_be_bound(node.arg)
    if isinstance(node, ast.comprehension):
        return not node.is_async
    return isinstance(node, _PLAIN)


def _may_be_bound(name: str) -> bool:
    """Whether calls in the code mean the same functions if the code binds this name."""
    return name not in _BUILTINS and name != "helpers"


def _is_plain_call(node: ast.Call) -> bool:
    called = node.func
    for keyword in node.keywords:
        # A function that is passed as `key` is called.
        is_function = keyword.arg == "key" and not isinstance(keyword.value, ast.Lambda)
        if is_function or keyword.arg is None:
            return False
    if isinstance(called, ast.Attribute):
        path = path_of(called)
        if path is not None and path[0] == "helpers":
            return len(path) == 2 and path[1] in PURE_HELPERS
        return called.attr in _SHORT_METHODS
    if not isinstance(called, ast.Name) or called.id not in _PURE:
        return False
    steps = node.args if called.id == "range" else ()
    return all((whole_number(each) or _SHORT_RANGE) < _SHORT_RANGE for each in steps)


def path_of(node: ast.expr) -> list[str] | None:
    """Return ["a", "b", "c"] for a.b.c, and None for any other node."""
    steps: list[str] = []
    while isinstance(node, ast.Attribute):
        steps.append(node.attr)
        node = node.value
    return [node.id, *reversed(steps)] if isinstance(node, ast.Name) else None
