"""What a piece of Python in a mapping file reads, changes, and may cost; found without running it.

Takes a syntax tree; gives `Findings`. The answers err on the safe side: `fixed` only where
everything in the code is known to depend on nothing else, `may_run_long` and `changes_things`
wherever the code does something that is not known to be short or harmless.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from typing import NamedTuple

from rowtui.core.mapping.helper_functions import HELPERS, PURE_HELPERS


class Findings(NamedTuple):
    """See `expressions.Code`."""

    names: frozenset[str]
    attributes: frozenset[str]
    whole: frozenset[str]
    own_namespace: bool
    fixed: bool
    may_run_long: bool
    changes_things: bool


class Endless(Exception):  # noqa: N818
    """Code that would run for ever, or fill the memory, inside one step of the interpreter."""

    def __init__(self, what: str, node: ast.AST) -> None:
        super().__init__(f"{what} would take for ever")
        self.line: int = getattr(node, "lineno", 1)
        self.column: int = getattr(node, "col_offset", 0) + 1


_BUILTINS = frozenset(dir(builtins))
_EXCEPTIONS = frozenset(
    name
    for name in _BUILTINS
    if isinstance(kind := getattr(builtins, name), type) and issubclass(kind, BaseException)
)
_PURE = _EXCEPTIONS | frozenset(
    "abs all any ascii bin bool bytes callable chr complex dict divmod enumerate filter float "
    "format frozenset getattr hasattr hex int isinstance issubclass iter len list map max min next "
    "oct ord pow range repr reversed round set slice sorted str sum tuple type zip "
    "True False None NotImplemented Ellipsis".split()
)
_CONSUMERS = frozenset("all any dict frozenset list max min set sorted sum tuple".split())
_LOOKS_AT_NAMESPACE = frozenset("globals locals vars dir exec eval".split())

_MUTATORS = frozenset(
    "add add_tag_override append clear difference_update discard drop extend insert "
    "intersection_update pop popitem put remove reverse setdefault sort "
    "symmetric_difference_update update __setattr__ __setitem__ __delattr__ __delitem__".split()
)
# Methods of values, and of what rowtui shows to expressions, that end soon and change nothing.
_SHORT_METHODS = frozenset(
    "all_roles all_tag_values as_integer_ratio bit_length capitalize casefold copy count decode "
    "difference encode endswith filter find format format_map fromkeys get get_param_values hex "
    "index intersection is_integer isalnum isalpha isascii isdecimal isdigit isdisjoint isidentifier "
    "islower isnumeric isspace issubset issuperset istitle isupper items join keys lower lstrip "
    "partition removeprefix removesuffix replace rfind rindex rpartition rsplit rstrip score split "
    "splitlines startswith strip swapcase symmetric_difference title union upper values".split()
)
_LOG_METHODS = frozenset("debug info warning error critical exception log".split())
# What TPV shows whose methods do more than read a value.
_NOT_VALUES = frozenset("app ast functools job_wrapper log logging util".split())
_HARMLESS_MODULES = frozenset(
    "collections datetime decimal fractions itertools json logging math numbers operator random re "
    "statistics string time typing".split()
)

_MOST_BITS = 10_000_000  # of a whole number, which is 3 million digits
_MOST_ITEMS = 10_000_000  # of a repeated list or text
_LONGEST_RANGE = 100_000_000  # counted through inside one call, a second or so
_SHORT_RANGE = 10_000
_WIDEST = 1_000_000  # characters of a padded field


def analyse(tree: ast.Module) -> Findings:
    """Look through a whole piece of code. Raises: Endless, RecursionError."""
    look = _Look()
    first = tree.body[0] if tree.body else None
    # A text alone at the start of several statements is stored as __doc__.
    if len(tree.body) > 1 and isinstance(first, ast.Expr) and _is_text(first.value):
        look.own_namespace = True
    look.statements(tree.body)
    changes = look.changes_things
    return Findings(
        frozenset(look.names),
        frozenset(look.attributes),
        frozenset(look.whole),
        look.own_namespace,
        look.fixed and not changes,
        look.may_run_long,
        changes,
    )


class _Look(ast.NodeVisitor):
    """Goes through code in the order in which it runs, so that it knows what is bound by then."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.whole: set[str] = set()
        self.own_namespace = False
        self.fixed = True
        self.may_run_long = False
        self.changes_things = False
        self._bound: set[str] = set()  # certainly bound by the code itself by now
        self._fresh: set[str] = set()  # of these, names of a value that nobody else has
        self._modules: set[str] = set()  # names of harmless modules, or of what is in them
        self._depth = 0  # of functions

    # Statements

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    def _branches(self, *bodies: Iterable[ast.AST]) -> None:
        """Ways of which one is gone: only what all of them bind is bound."""
        before, ends = set(self._bound), []
        for body in bodies:
            self._bound = set(before)
            for node in body:
                self.visit(node)
            ends.append(self._bound)
        self._bound = set.intersection(*ends)

    def visit_Expr(self, node: ast.Expr) -> None:
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)
            if isinstance(target, ast.Name):
                fresh = isinstance(node.value, (ast.Constant, ast.JoinedStr))
                (self._fresh.add if fresh else self._fresh.discard)(target.id)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
        self._leave_to_python()  # annotations are evaluated and kept under a name of their own
        self.own_namespace = True
        self.visit(node.annotation)
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._refuse_endless(ast.BinOp(node.target, node.op, node.value), node)
        target = node.target
        self.visit(node.value)
        if isinstance(target, ast.Name):
            self._read(target.id)
            if target.id not in self._fresh:
                self.changes_things = True  # a list that others have grows in place
        self.visit(target)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._branches(node.body, node.orelse)

    def visit_For(self, node: ast.For) -> None:
        self.may_run_long = True
        self._refuse_to_count(node.iter)
        self.visit(node.iter)
        before = set(self._bound)
        self._fresh.clear()
        self.visit(node.target)
        self.statements(node.body)
        self._bound = before
        self._branches(node.orelse, ())

    def visit_While(self, node: ast.While) -> None:
        self.may_run_long = True
        self.visit(node.test)
        self._branches(node.body, ())
        self._branches(node.orelse, ())

    def visit_Try(self, node: ast.Try) -> None:
        before = set(self._bound)
        self.statements(node.body)
        self.statements(node.orelse)
        after = self._bound
        for handler in node.handlers:
            self._bound = set(before)
            self.visit(handler)
            after = after & self._bound
        self._bound = set(before)
        self.statements(node.finalbody)
        self._bound |= after

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        if node.name:
            self._bind(node.name)
        self.statements(node.body)
        self._bound.discard(node.name or "")

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._read(target.id)
                self.own_namespace = True
                self._bound.discard(target.id)
            else:
                self.visit(target)

    def visit_Import(self, node: ast.Import) -> None:
        self._import((each.asname or each.name, each.name) for each in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._import((each.asname or each.name, node.module or "") for each in node.names)

    def _import(self, names: Iterable[tuple[str, str]]) -> None:
        self._leave_to_python()
        for name, module in names:
            first = name.partition(".")[0]
            self._bind(first)
            harmless = module.partition(".")[0] in _HARMLESS_MODULES
            (self._modules.add if harmless else self._modules.discard)(first)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._leave_to_python()
        for each in (*node.decorator_list, *_defaults(node.args)):
            self.visit(each)
        if self._depth == 0:
            self._bind(node.name)
        self._function(node.args, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._leave_to_python()
        self.changes_things = True  # its body may do anything when it is used
        for each in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(each)
        self._bind(node.name)
        bound = set(self._bound)
        self.statements(node.body)
        self._bound = bound

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.may_run_long = True
        for each in _defaults(node.args):
            self.visit(each)
        self._function(node.args, [node.body])

    def _function(self, arguments: ast.arguments, body: list[ast.stmt] | list[ast.expr]) -> None:
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        own = {each.arg for each in (*every, arguments.vararg, arguments.kwarg) if each}
        shared: set[str] = set()
        for node in (inner for each in body for inner in ast.walk(each)):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                own.add(node.id)
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                shared.update(node.names)
        before = set(self._bound), set(self._fresh)
        self._bound |= own - shared
        self._fresh.clear()
        self._depth += 1
        for each in body:
            self.visit(each)
        self._depth -= 1
        self._bound, self._fresh = before

    def visit_Global(self, node: ast.Global) -> None:
        self._leave_to_python()
        self.own_namespace = True

    visit_Nonlocal = visit_Global  # type: ignore[assignment]  # noqa: N815

    # Expressions

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._read(node.id)
        else:
            self._bind(node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)
        self.own_namespace = True

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.changes_things = True
        if node.attr.startswith("__") or node.attr in {"gi_frame", "f_globals", "f_locals"}:
            self._leave_to_python()
        path = _path(node)
        if path is None:
            self.visit(node.value)
        elif not self._is_bound(path[0]):
            self.names.add(path[0])
            self.attributes.add(".".join(path))
            if path[0] in _NOT_VALUES:
                self.fixed = False

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.changes_things = True
        self.visit(node.value)
        self.visit(node.slice)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        if isinstance(called, ast.Name):
            self._call_of_name(called.id, node)
        elif isinstance(called, ast.Attribute):
            self._call_of_method(called)
        else:
            self._unknown_call()
            self.visit(called)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.visit(argument)

    def _call_of_name(self, name: str, node: ast.Call) -> None:
        if self._is_bound(name):
            if name in self._modules:
                self._leave_to_python()
            else:
                self._unknown_call()
            return
        if name not in _BUILTINS:
            self.names.add(name)
            self.whole.add(name)
            self._unknown_call()
            return
        if name in _LOOKS_AT_NAMESPACE:
            self.own_namespace = True
        if name not in _PURE:
            self.fixed = False
        if name in {"setattr", "delattr"}:
            self.changes_things = True
        elif name in {"exec", "eval", "compile", "__import__", "open", "super", "memoryview"}:
            self._unknown_call()
        elif name == "range":
            short = all((_whole_number(each) or _SHORT_RANGE) < _SHORT_RANGE for each in node.args)
            self.may_run_long = self.may_run_long or not short
        elif name == "pow":
            self.may_run_long = True
            if len(node.args) == 2:
                self._refuse_endless(ast.BinOp(node.args[0], ast.Pow(), node.args[1]), node)
        if name in _CONSUMERS:
            for argument in node.args:
                self._refuse_to_count(argument)

    def _call_of_method(self, called: ast.Attribute) -> None:
        method, path = called.attr, _path(called)
        root = path[0] if path else ""
        if root == "helpers" and path and len(path) == 2 and not self._is_bound(root):
            self.names.add(root)
            self.attributes.add(f"helpers.{method}")
            if method not in PURE_HELPERS:
                self.fixed = False
            if method not in HELPERS:
                self._unknown_call()
            return
        if method in _MUTATORS:
            self.changes_things = True
        elif root in self._modules or (root in {"log", "logging"} and method in _LOG_METHODS):
            self._leave_to_python()
        elif method not in _SHORT_METHODS or root in _NOT_VALUES:
            self._unknown_call()
        # A method of an attribute tells of no further attribute: job.id.lower() reads job.id.
        if path and len(path) > 2 and (method in _SHORT_METHODS or method in _MUTATORS):
            self.visit(called.value)
        elif path and len(path) == 2 and method in (_SHORT_METHODS | _MUTATORS) - _OF_OURS:
            self.visit(called.value)
        else:
            self.visit(called)

    def visit_comprehension_in(
        self, generators: list[ast.comprehension], *values: ast.expr
    ) -> None:
        """Loops inside an expression; their names are their own."""
        if len(generators) > 1:
            self.may_run_long = True
        before = set(self._bound)
        for each in generators:
            self.visit(each.iter)
            if each.is_async:
                self._leave_to_python()
            own = {name.id for name in ast.walk(each.target) if isinstance(name, ast.Name)}
            self._bound |= own
            for inner in ast.walk(each.target):
                if isinstance(inner, (ast.Attribute, ast.Subscript)):
                    self.changes_things = True
            for condition in each.ifs:
                self.visit(condition)
        for value in values:
            self.visit(value)
        self._bound = before

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp) -> None:
        self._refuse_to_count(node.generators[0].iter)
        self.visit_comprehension_in(node.generators, node.elt)

    visit_SetComp = visit_ListComp  # noqa: N815

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self.visit_comprehension_in(node.generators, node.elt)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._refuse_to_count(node.generators[0].iter)
        self.visit_comprehension_in(node.generators, node.key, node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, (ast.Pow, ast.LShift)):
            self.may_run_long = True
        elif isinstance(node.op, ast.Mult) and _repeats(node):
            self.may_run_long = self.may_run_long or _size(node) is None
        self._refuse_endless(node, node)
        self.visit(node.left)
        self.visit(node.right)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        self.visit(node.value)
        if node.format_spec is not None:
            for part in ast.walk(node.format_spec):
                if isinstance(part, ast.Constant) and _widest(str(part.value)) > _WIDEST:
                    raise Endless("a field of this width", node)
            self.visit(node.format_spec)

    # What is in no list above

    _PLAIN = (
        ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.keyword, ast.Pass,
        ast.Break, ast.Continue, ast.Assert, ast.Raise, ast.Return, ast.Constant, ast.JoinedStr,
        ast.BoolOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.List, ast.Tuple, ast.Dict, ast.Set,
        ast.Slice, ast.Starred,
    )  # fmt: skip

    def generic_visit(self, node: ast.AST) -> None:
        """Syntax that needs no thought, and syntax that nobody thought of."""
        if not isinstance(node, self._PLAIN):
            self._leave_to_python()
            self.own_namespace = self.changes_things = True
        super().generic_visit(node)

    def _leave_to_python(self) -> None:
        self.fixed = False
        self.may_run_long = True

    def _unknown_call(self) -> None:
        self._leave_to_python()
        self.changes_things = True

    def _is_bound(self, name: str) -> bool:
        return name in self._bound

    def _bind(self, name: str) -> None:
        self._bound.add(name)
        self._modules.discard(name)
        if self._depth == 0:
            self.own_namespace = True

    def _read(self, name: str) -> None:
        if self._is_bound(name):
            return
        if name in _BUILTINS and name not in _PURE:
            self.fixed = False
            self.own_namespace = self.own_namespace or name in _LOOKS_AT_NAMESPACE
            self.may_run_long = True
        if name in _NOT_VALUES and name != "app":
            self.fixed = False
        self.names.add(name)
        self.whole.add(name)

    # What would not even stop at a time limit

    def _refuse_endless(self, node: ast.BinOp, at: ast.AST) -> None:
        if isinstance(node.op, ast.Pow):
            exponent = _whole_number(node.right)
            base = _bits(node.left)
            if exponent is not None and exponent * (2 if base is None else base) > _MOST_BITS:
                if not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, float)):
                    raise Endless("this power", at)
        elif isinstance(node.op, ast.LShift):
            if (_whole_number(node.right) or 0) > _MOST_BITS:
                raise Endless("this shift", at)
        elif isinstance(node.op, ast.Mult) and _repeats(node):
            if (_size(node) or 0) > _MOST_ITEMS:
                raise Endless("this repetition", at)

    def _refuse_to_count(self, node: ast.expr) -> None:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return
        if node.func.id == "range" and not self._is_bound("range"):
            numbers = [_whole_number(each) for each in node.args]
            if all(number is not None for number in numbers):
                try:
                    steps = len(range(*[n for n in numbers if n is not None]))
                except (TypeError, ValueError):  # Python says so when it runs
                    return
                except OverflowError:
                    steps = _LONGEST_RANGE + 1
                if steps > _LONGEST_RANGE:
                    raise Endless("counting this far", node)


# Methods of what rowtui shows whose name is worth knowing: user.all_roles
_OF_OURS = frozenset({"all_roles", "get_param_values", "score"})


def _defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [each for each in (*arguments.defaults, *arguments.kw_defaults) if each is not None]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _path(node: ast.expr) -> list[str] | None:
    """["a", "b", "c"] for a.b.c; None for anything else."""
    steps: list[str] = []
    while isinstance(node, ast.Attribute):
        steps.append(node.attr)
        node = node.value
    return [node.id, *reversed(steps)] if isinstance(node, ast.Name) else None


def _whole_number(node: ast.expr) -> int | None:
    """The value of a number that is written out; a bound for it where it is astronomical."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _whole_number(node.operand)
        return None if inner is None else -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        left, right = _whole_number(node.left), _whole_number(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult) and left.bit_length() + right.bit_length() < 4096:
            return left * right
        if isinstance(node.op, ast.Pow) and 0 <= right and right * left.bit_length() < 4096:
            return int(left**right)
    return None


def _bits(node: ast.expr) -> int | None:
    """How many bits a written-out number has, at most; 0 where powers of it do not grow."""
    number = _whole_number(node)
    if number is not None:
        return 0 if abs(number) < 2 else number.bit_length()
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base, exponent = _bits(node.left), _whole_number(node.right)
        return None if base is None or exponent is None else base * max(exponent, 0)
    return None


def _repeats(node: ast.expr) -> bool:
    """Whether this is a written-out text or list, or a multiple of one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _repeats(node.left) or _repeats(node.right)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (str, bytes))
    return isinstance(node, (ast.List, ast.Tuple, ast.JoinedStr))


def _size(node: ast.expr) -> int | None:
    """How long a written-out text or list, or a multiple of one, gets; None if unknown."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _size(node.left), _size(node.right)
        return None if left is None or right is None else max(left, 0) * max(right, 0)
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
        return len(node.value)
    if isinstance(node, (ast.List, ast.Tuple)):
        return max(len(node.elts), 1)
    return _whole_number(node)


def _widest(spec: str) -> int:
    digits = "".join(char if char.isdecimal() and char.isascii() else " " for char in spec)
    return max((int(each[:12]) for each in digits.split()), default=0)
