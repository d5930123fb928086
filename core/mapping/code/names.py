"""Collect the names in nodes of `ast`."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

# The builtins, methods and modules that the analysis of expressions recognises, by effect.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BUILTINS = frozenset(dir(builtins))
_EXCEPTIONS = frozenset(
    name
    for name in BUILTINS
    if isinstance(kind := getattr(builtins, name), type) and issubclass(kind, BaseException)
)
PURE = _EXCEPTIONS | _words(
    "abs all any ascii bin bool bytes callable chr complex dict divmod enumerate filter float "
    "format frozenset getattr hasattr hex int isinstance issubclass iter len list map max min next "
    "oct ord pow range repr reversed round set slice sorted str sum tuple type zip "
    "True False None NotImplemented Ellipsis"
)
# These iterate over their argument inside one step of the interpreter.
CONSUMERS = _words("all any dict frozenset list max min set sorted sum tuple")
LOOKS_AT_NAMESPACE = _words("globals locals vars dir exec eval")
RUNS_ANYTHING = _words("exec eval compile __import__ open super memoryview")

MUTATORS = _words(
    "add add_tag_override append clear difference_update discard drop extend insert "
    "intersection_update pop popitem put remove reverse setdefault shuffle sort "
    "symmetric_difference_update update __setattr__ __setitem__ __delattr__ __delitem__"
)
# Methods of rowtui's objects that the analysis reports as read attributes.
OF_OURS = _words("all_roles get_param_values get_state score")
# Methods of plain values, and of rowtui's objects, that are short and change nothing.
SHORT_METHODS = OF_OURS | _words(
    "all_tag_values as_integer_ratio bit_length capitalize casefold copy count decode difference "
    "encode endswith filter find format format_map fromkeys get hex index intersection is_integer "
    "isalnum isalpha isascii isdecimal isdigit isdisjoint isidentifier islower isnumeric isspace "
    "issubset issuperset istitle isupper items join keys lower lstrip partition removeprefix "
    "removesuffix replace rfind rindex rpartition rsplit rstrip split splitlines startswith strip "
    "swapcase symmetric_difference title union upper values"
)
LOG_METHODS = _words("debug info warning error critical exception log")
# Names that TPV provides and whose methods do more than read a value.
NOT_VALUES = _words("app ast functools job_wrapper log logging util")
# Functions of these modules do not change their arguments, except for the mutators above.
HARMLESS_MODULES = _words(
    "collections datetime decimal fractions galaxy itertools json logging math numbers os "
    "random re statistics string time tpv typing"
)


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
