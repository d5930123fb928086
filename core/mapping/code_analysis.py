"""What a piece of Python in a mapping file reads, changes, and may cost; found without running it.

Takes a syntax tree; gives `Findings`. The answers err on the safe side: `fixed` only where
everything in the code is known to depend on nothing else, `may_run_long` and `changes_things`
wherever the code does something that is not known to be short or harmless.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from rowtui.core.mapping.code_words import (
    BUILTINS,
    CONSUMERS,
    HARMLESS_MODULES,
    LOG_METHODS,
    LOOKS_AT_NAMESPACE,
    MUTATORS,
    NOT_VALUES,
    OF_OURS,
    PURE,
    RUNS_ANYTHING,
    SHORT_METHODS,
)
from rowtui.core.mapping.endless import (
    refuse_operation,
    refuse_to_count,
    refuse_width,
    repeats,
    size,
    whole_number,
)
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


_SHORT_RANGE = 10_000  # steps that need no time limit


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
        before = self._bound, self._fresh
        ends = []
        for body in bodies:
            self._bound, self._fresh = set(before[0]), set(before[1])
            for node in body:
                self.visit(node)
            ends.append((self._bound, self._fresh))
        self._bound = set.intersection(*(bound for bound, _ in ends))
        self._fresh = set.intersection(*(fresh for _, fresh in ends))

    def visit_Expr(self, node: ast.Expr) -> None:
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)
            if isinstance(target, ast.Name) and _is_fresh(node.value):
                self._fresh.add(target.id)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
        self._leave_to_python()  # annotations are evaluated and kept under a name of their own
        self.own_namespace = True
        self.visit(node.annotation)
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        refuse_operation(node.target, node.op, node.value, node)
        target = node.target
        if not isinstance(target, ast.Name):
            self.visit(target)
            self.visit(node.value)
            return
        self._read(target.id)
        self.visit(node.value)
        fresh = target.id in self._fresh
        if not fresh:
            self.changes_things = True  # a list that others have grows in place
        self._bind(target.id)
        if fresh:
            self._fresh.add(target.id)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._branches(node.body, node.orelse)

    def visit_For(self, node: ast.For) -> None:
        self.may_run_long = True
        self.visit(node.iter)
        self._enter_loop(node)
        self._branches([node.target, *node.body], ())
        self._branches(node.orelse, ())

    def visit_While(self, node: ast.While) -> None:
        self.may_run_long = True
        self._enter_loop(node)
        self.visit(node.test)
        self._branches(node.body, ())
        self._branches(node.orelse, ())

    def _enter_loop(self, loop: ast.AST) -> None:
        """What a loop binds anew may, the second time round, be anything."""
        for node in ast.walk(loop):
            if isinstance(node, ast.Assign) and not _is_fresh(node.value):
                for target in node.targets:
                    self._fresh -= {each.id for each in _names(target)}
            elif isinstance(node, (ast.For, ast.comprehension)):
                self._fresh -= {each.id for each in _names(node.target)}

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
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

    def visit_TryStar(self, node: ast.TryStar) -> None:
        self.visit_Try(node)

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
            harmless = module.partition(".")[0] in HARMLESS_MODULES
            (self._modules.add if harmless else self._modules.discard)(first)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._leave_to_python()
        for each in (*node.decorator_list, *_defaults(node.args)):
            self.visit(each)
        if self._depth == 0:
            self._bind(node.name)
        self._function(node.args, node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

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
        stored, shared = _stored(body)
        own |= stored
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
        # A method that changes things may be called by whoever it is passed to.
        if not isinstance(node.ctx, ast.Load) or node.attr in MUTATORS:
            self.changes_things = True
        if node.attr.startswith("__"):
            self._leave_to_python()
        path = _path(node)
        if path is None:
            self.visit(node.value)
        elif path[0] not in self._bound:
            self.names.add(path[0])
            self.attributes.add(".".join(path))
            if path[0] in NOT_VALUES:
                self.fixed = False
            elif path[0] == "helpers":
                self._use_helper(path[1])

    def _use_helper(self, name: str) -> None:
        if name not in PURE_HELPERS:
            self.fixed = False
        if name not in HELPERS:
            self._unknown_call()

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
        if name in self._bound:
            if name in self._modules:
                self._leave_to_python()
            else:
                self._unknown_call()
            return
        if name not in BUILTINS:
            self.names.add(name)
            self.whole.add(name)
            self._unknown_call()
            return
        if name in LOOKS_AT_NAMESPACE:
            self.own_namespace = True
        if name not in PURE:
            self.fixed = False
        if name in {"setattr", "delattr"}:
            self.changes_things = True
        elif name in RUNS_ANYTHING:
            self._unknown_call()
        elif name == "range":
            short = all((whole_number(each) or _SHORT_RANGE) < _SHORT_RANGE for each in node.args)
            self.may_run_long = self.may_run_long or not short
        elif name == "pow":
            self.may_run_long = True
            if len(node.args) == 2:
                refuse_operation(node.args[0], ast.Pow(), node.args[1], node)
        if name in CONSUMERS:
            for argument in node.args:
                refuse_to_count(argument)

    def _call_of_method(self, called: ast.Attribute) -> None:
        method, path = called.attr, _path(called)
        root = path[0] if path else ""
        if root == "helpers" and root not in self._bound:
            self.visit(called)
            return
        if method in MUTATORS:
            self.changes_things = True
        elif root in self._modules or (root in {"log", "logging"} and method in LOG_METHODS):
            self._leave_to_python()
        elif method not in SHORT_METHODS or root in NOT_VALUES:
            self._unknown_call()
        # job.id.lower() reads job.id, user.all_roles() reads user.all_roles.
        if method in SHORT_METHODS - OF_OURS or method in MUTATORS:
            self.visit(called.value)
        else:
            self.visit(called)

    def _comprehension(self, generators: list[ast.comprehension], *values: ast.expr) -> None:
        """Loops inside an expression; their names are their own."""
        if len(generators) > 1:
            self.may_run_long = True
        before = set(self._bound), set(self._fresh)
        for each in generators:
            self.visit(each.iter)
            if each.is_async:
                self._leave_to_python()
            own = {name.id for name in _names(each.target)}
            self._bound |= own
            self._fresh -= own
            for inner in ast.walk(each.target):
                if isinstance(inner, (ast.Attribute, ast.Subscript)):
                    self.changes_things = True
            for condition in each.ifs:
                self.visit(condition)
        for value in values:
            self.visit(value)
        self._bound, self._fresh = before

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp) -> None:
        refuse_to_count(node.generators[0].iter)
        self._comprehension(node.generators, node.elt)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self.visit_ListComp(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node.generators, node.elt)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        refuse_to_count(node.generators[0].iter)
        self._comprehension(node.generators, node.key, node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, (ast.Pow, ast.LShift)):
            self.may_run_long = True
        elif isinstance(node.op, ast.Mult) and repeats(node):
            self.may_run_long = self.may_run_long or size(node) is None
        refuse_operation(node.left, node.op, node.right, node)
        self.visit(node.left)
        self.visit(node.right)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        self.visit(node.value)
        if node.format_spec is not None:
            refuse_width(node.format_spec)
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
        if isinstance(node, self._PLAIN):
            super().generic_visit(node)
            return
        self._leave_to_python()
        self.own_namespace = self.changes_things = True
        bound = set(self._bound)
        super().generic_visit(node)
        self._bound = bound  # parts of it may not have been run

    def _leave_to_python(self) -> None:
        self.fixed = False
        self.may_run_long = True

    def _unknown_call(self) -> None:
        self._leave_to_python()
        self.changes_things = True

    def _bind(self, name: str) -> None:
        self._bound.add(name)
        self._fresh.discard(name)
        self._modules.discard(name)
        if self._depth == 0:
            self.own_namespace = True

    def _read(self, name: str) -> None:
        if name in self._bound:
            return
        if name in BUILTINS and name not in PURE:
            self.fixed = False
            self.own_namespace = self.own_namespace or name in LOOKS_AT_NAMESPACE
            self.may_run_long = True
        if name in NOT_VALUES and name != "app":
            self.fixed = False
        self.names.add(name)
        self.whole.add(name)


def _defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [each for each in (*arguments.defaults, *arguments.kw_defaults) if each is not None]


def _is_fresh(value: ast.expr) -> bool:
    """Whether a name that is bound to this has a value that nothing can change."""
    return isinstance(value, (ast.Constant, ast.JoinedStr))


def _stored(body: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """The names that a function binds itself, and those that it declares to be others'."""
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
        elif isinstance(node, ast.comprehension):  # whose own names are nobody else's
            todo += [node.iter, *node.ifs]
            continue
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            own.update((each.asname or each.name).partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            own.add(node.name)
        todo += ast.iter_child_nodes(node)
    return own, shared


def _names(target: ast.AST) -> list[ast.Name]:
    return [node for node in ast.walk(target) if isinstance(node, ast.Name)]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _path(node: ast.expr) -> list[str] | None:
    """["a", "b", "c"] for a.b.c; None for anything else."""
    steps: list[str] = []
    while isinstance(node, ast.Attribute):
        steps.append(node.attr)
        node = node.value
    return [node.id, *reversed(steps)] if isinstance(node, ast.Name) else None
