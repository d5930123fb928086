"""Find the names that a piece of Python reads, its effects and its cost, without running the code.

The input is a syntax tree; the output is `Findings`. Uncertain results are conservative: `fixed` is
True only if all parts of the code are known to depend on nothing else, and `may_run_long` or
`changes_things` is True if any part is not known to be short or harmless.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from rowtui.core.mapping.code.expression_analysis import Expressions
from rowtui.core.mapping.code.names import HARMLESS_MODULES, defaults, is_fresh, is_text, names_in
from rowtui.core.mapping.code.resource_bombs import refuse_operation


class Findings(NamedTuple):
    """The results of the analysis; see `expressions.Code`."""

    names: frozenset[str]
    attributes: frozenset[str]
    whole: frozenset[str]
    own_namespace: bool
    fixed: bool
    may_run_long: bool
    changes_things: bool


def analyse(tree: ast.Module) -> Findings:
    """Analyse a whole piece of code. Raises: Endless, RecursionError."""
    look = _Look()
    first = tree.body[0] if tree.body else None
    # Python stores a text at the start of several statements as __doc__.
    if len(tree.body) > 1 and isinstance(first, ast.Expr) and is_text(first.value):
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


class _Look(Expressions, ast.NodeVisitor):
    """Visits code in the order in which it runs, and keeps track of the bound names."""

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    def _branches(self, *bodies: Iterable[ast.AST]) -> None:
        """Visit alternative branches; afterwards a name is bound if all branches bind it."""
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
            if isinstance(target, ast.Name) and is_fresh(node.value):
                self._fresh.add(target.id)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
        self._leave_to_python()  # annotations are evaluated and stored under a name of their own
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
            self.changes_things = True  # a list that other names share may grow in place
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
        """Remove names that a loop binds from the fresh names: a later pass may bind anything."""
        for node in ast.walk(loop):
            if isinstance(node, ast.Assign) and not is_fresh(node.value):
                for target in node.targets:
                    self._fresh -= {each.id for each in names_in(target)}
            elif isinstance(node, (ast.For, ast.comprehension)):
                self._fresh -= {each.id for each in names_in(node.target)}

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
        for each in (*node.decorator_list, *defaults(node.args)):
            self.visit(each)
        if self._depth == 0:
            self._bind(node.name)
        self._function(node.args, node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._leave_to_python()
        self.changes_things = True  # the body of a class may have any effect when it is used
        for each in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(each)
        self._bind(node.name)
        bound = set(self._bound)
        self.statements(node.body)
        self._bound = bound

    def visit_Global(self, node: ast.Global) -> None:
        self._leave_to_python()
        self.own_namespace = True
