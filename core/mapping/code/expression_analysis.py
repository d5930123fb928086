"""Find the names that an expression reads, its effects and its cost.

This is the part of `code_analysis` for expressions, with the state that both parts share: which
names are bound, and to what.
"""

from __future__ import annotations

import ast

from rowtui.core.mapping.code.names import (
    BUILTINS,
    CONSUMERS,
    LOG_METHODS,
    LOOKS_AT_NAMESPACE,
    MUTATORS,
    NOT_VALUES,
    OF_OURS,
    PURE,
    RUNS_ANYTHING,
    SHORT_METHODS,
    defaults,
    names_in,
    path_of,
    stored_names,
)
from rowtui.core.mapping.code.resource_bombs import (
    refuse_operation,
    refuse_to_count,
    refuse_width,
    repeats,
    size,
    whole_number,
)
from rowtui.core.mapping.engine.helper_functions import HELPERS, PURE_HELPERS

_SHORT_RANGE = 10_000  # steps that need no time limit


class Expressions(ast.NodeVisitor):
    """Visits expressions in the order in which they are evaluated."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.whole: set[str] = set()
        self.own_namespace = False
        self.fixed = True
        self.may_run_long = False
        self.changes_things = False
        self._bound: set[str] = set()  # certainly bound by the code itself at this point
        self._fresh: set[str] = set()  # bound names whose value no other name shares
        self._modules: set[str] = set()  # names of harmless modules, or of their members
        self._depth = 0  # nesting depth of functions

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.may_run_long = True
        for each in defaults(node.args):
            self.visit(each)
        self._function(node.args, [node.body])

    def _function(self, arguments: ast.arguments, body: list[ast.stmt] | list[ast.expr]) -> None:
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        own = {each.arg for each in (*every, arguments.vararg, arguments.kwarg) if each}
        stored, shared = stored_names(body)
        own |= stored
        before = set(self._bound), set(self._fresh)
        self._bound |= own - shared
        self._fresh.clear()
        self._depth += 1
        for each in body:
            self.visit(each)
        self._depth -= 1
        self._bound, self._fresh = before

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
        # A method that changes things may be passed to other code that calls it.
        if not isinstance(node.ctx, ast.Load) or node.attr in MUTATORS:
            self.changes_things = True
        if node.attr.startswith("__"):
            self._leave_to_python()
        path = path_of(node)
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
        method, path = called.attr, path_of(called)
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
        # job.id.lower() reads job.id, but user.all_roles() reads user.all_roles.
        if method in SHORT_METHODS - OF_OURS or method in MUTATORS:
            self.visit(called.value)
        else:
            self.visit(called)

    def _comprehension(self, generators: list[ast.comprehension], *values: ast.expr) -> None:
        """Visit loops inside an expression, whose names are local."""
        if len(generators) > 1:
            self.may_run_long = True
        before = set(self._bound), set(self._fresh)
        for each in generators:
            self.visit(each.iter)
            if each.is_async:
                self._leave_to_python()
            own = {name.id for name in names_in(each.target)}
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

    # Nodes without a method of their own

    _PLAIN = (
        ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.keyword, ast.Pass,
        ast.Break, ast.Continue, ast.Assert, ast.Raise, ast.Return, ast.Constant, ast.JoinedStr,
        ast.BoolOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.List, ast.Tuple, ast.Dict, ast.Set,
        ast.Slice, ast.Starred,
    )  # fmt: skip

    def generic_visit(self, node: ast.AST) -> None:
        """Visit plain syntax; treat unknown syntax as code that may have any effect."""
        if isinstance(node, self._PLAIN):
            super().generic_visit(node)
            return
        self._leave_to_python()
        self.own_namespace = self.changes_things = True
        bound = set(self._bound)
        super().generic_visit(node)
        self._bound = bound  # parts of the node may not have been run

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
