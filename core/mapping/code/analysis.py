"""Find the names that a piece of Python reads, and whether it is plain and ends.

The input is a syntax tree; the output is `Findings`. Plain code is one expression of operators,
comprehensions, and the functions and methods listed here: it ends soon, changes nothing, and equal
values of its names give equal results. All other code is assumed to do anything.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from typing import NamedTuple

from rowtui.core.mapping.engine.helper_functions import PURE_HELPERS

# Detect code that would run for ever, or fill the memory, inside one step of the interpreter.
#
# No time limit can end such code, since the interpreter does nothing else during the step. Code
# that depends on the values of names is not detected. The bounds are far above any real need, and
# below a second's work.


_MOST_BITS = 10_000_000  # of a whole number: 3 million digits
_MOST_ITEMS = 10_000_000  # of a repeated list or text
_LONGEST_RANGE = 100_000_000  # steps
_WIDEST = 1_000_000  # characters of a padded field
_MANY_BITS = 4096  # of numbers that are computed here
_ASTRONOMICAL = 1 << _MANY_BITS


class Endless(Exception):  # a finding, and not an error of the program
    """The operation that would take for ever, and its place (from 1)."""

    def __init__(self, what: str, node: ast.AST) -> None:
        super().__init__(f"{what} would take for ever")
        self.line: int = getattr(node, "lineno", 1)
        self.column: int = getattr(node, "col_offset", 0) + 1  # in bytes


_CONSUMERS = frozenset(
    ["all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"]
)
"""These iterate over their argument inside one step of the interpreter."""


def refuse_bombs(nodes: Iterable[ast.AST]) -> None:
    """Check all nodes of some code. Raises: Endless for the first huge operation."""
    for node in nodes:
        if isinstance(node, ast.BinOp):
            _refuse_operation(node.left, node.op, node.right, node)
        elif isinstance(node, ast.AugAssign):
            _refuse_operation(node.target, node.op, node.value, node)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
            _refuse_to_count(node.generators[0].iter)
        elif isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            _refuse_width(node.format_spec)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "pow" and len(node.args) == 2:
                _refuse_operation(node.args[0], ast.Pow(), node.args[1], node)
            elif node.func.id in _CONSUMERS:
                for argument in node.args:
                    _refuse_to_count(argument)


def _refuse_operation(left: ast.expr, op: ast.operator, right: ast.expr, at: ast.AST) -> None:
    if isinstance(op, ast.Pow):
        exponent, base = whole_number(right), _bits(left)
        floating = isinstance(left, ast.Constant) and isinstance(left.value, float)
        bits = (exponent or 0) * (2 if base is None else base)
        if bits > _MOST_BITS and not floating:
            raise Endless("this power", at)
    elif isinstance(op, ast.LShift):
        if (whole_number(right) or 0) > _MOST_BITS:
            raise Endless("this shift", at)
    elif isinstance(op, ast.Mult) and (repeats(left) or repeats(right)):
        one, other = size(left), size(right)
        if one is not None and other is not None and max(one, 0) * other > _MOST_ITEMS:
            raise Endless("this repetition", at)


def _refuse_to_count(node: ast.expr) -> None:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return
    numbers = [whole_number(each) for each in node.args]
    known = [number for number in numbers if number is not None]
    if node.func.id != "range" or len(known) != len(numbers):
        return
    try:
        steps = len(range(*known))
    except (TypeError, ValueError):  # Python reports these errors when the code runs
        return
    except OverflowError:
        steps = _LONGEST_RANGE + 1
    if steps > _LONGEST_RANGE:
        raise Endless("counting this far", node)


def _refuse_width(spec: ast.expr) -> None:
    for part in ast.walk(spec):
        if isinstance(part, ast.Constant) and _widest(str(part.value)) > _WIDEST:
            raise Endless("a field of this width", spec)


def whole_number(node: ast.expr) -> int | None:
    """Return the value of a number that is written out, or `_ASTRONOMICAL` for a huge one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = whole_number(node.operand)
        return None if inner is None else -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        left, right = whole_number(node.left), whole_number(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            bits = left.bit_length() + right.bit_length()
            return left * right if bits < _MANY_BITS else _ASTRONOMICAL
        if isinstance(node.op, ast.Pow) and right >= 0:
            bits = right * left.bit_length()
            return int(left**right) if bits < _MANY_BITS else _ASTRONOMICAL
    return None


def _bits(node: ast.expr) -> int | None:
    """Return the largest number of bits of a written-out number; 0 if its powers do not grow."""
    number = whole_number(node)
    if number is not None:
        return 0 if abs(number) < 2 else number.bit_length()
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base, exponent = _bits(node.left), whole_number(node.right)
        return None if base is None or exponent is None else base * max(exponent, 0)
    return None


def repeats(node: ast.expr) -> bool:
    """Whether this is a written-out text or list, or a multiple of one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return repeats(node.left) or repeats(node.right)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (str, bytes))
    return isinstance(node, (ast.List, ast.Tuple, ast.JoinedStr))


def size(node: ast.expr) -> int | None:
    """Return the length of a written-out text or list, or of a multiple of one; None if unknown."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = size(node.left), size(node.right)
        return None if left is None or right is None else max(left, 0) * max(right, 0)
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
        return len(node.value)
    if isinstance(node, (ast.List, ast.Tuple)):
        return max(len(node.elts), 1)
    return whole_number(node)


def _widest(spec: str) -> int:
    digits = "".join(char if char.isdecimal() and char.isascii() else " " for char in spec)
    return max((int(each[:12]) for each in digits.split()), default=0)


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
