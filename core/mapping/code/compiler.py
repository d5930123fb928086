"""Compile Python of mapping files that is not constant, with the names that it reads.

The input is a text as Python source; the output is `Code`. Syntax errors are part of the code, and
are found before any job needs it; running such code raises the exception that Python would have
raised.
"""

from __future__ import annotations

import ast
import contextlib
import threading
import warnings
from collections.abc import Iterator
from types import CodeType
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.mapping.code.model import (
    CODE_FILE,
    Code,
    ExpressionKind,
    Run,
    SyntaxComplaint,
    constant,
)
from rowtui.core.mapping.code.text_source import TextSource

LONGEST_CODE = 100_000  # characters; compiling this much code takes a second if it is all brackets

_quiet = threading.Lock()


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress the warnings of Python about odd code (`is` with a literal) during parsing."""
    with _quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def compiled(text: str, form: ExpressionKind, source: TextSource) -> Code:
    """Return the code of a text, which has `source` as its Python."""
    if len(text) > LONGEST_CODE:
        message = f"the code is {len(text):,} characters long; {LONGEST_CODE:,} is the most"
        return _refused(text, form, SyntaxComplaint(message, 1, 1), SyntaxError(message))
    try:
        with without_warnings():
            tree = ast.parse(source.source)
            names = _names_read(tree)
            if form is ExpressionKind.EXECUTE:
                return Code(text, form, _run_statements(tree), names=names)
            if not tree.body or not isinstance(tree.body[-1], ast.Expr):
                return _without_value(text, form, tree, source)
            if len(tree.body) == 1:
                known, value = _constant_value(tree.body[0].value)  # type: ignore[attr-defined]
                if known:
                    return constant(text, form, value)
            return Code(text, form, _run_block(tree), names=names)
    except SyntaxError as error:
        line, column = source.place_in_text(error, text)
        message = (error.msg or "invalid syntax").removeprefix("f-string: ")
        return _refused(text, form, SyntaxComplaint(visible(message), line, column), error)
    except (RecursionError, MemoryError) as error:
        return _refused(text, form, SyntaxComplaint("the code is nested too deeply", 1, 1), error)
    except ValueError as error:  # null bytes in old Pythons, lone surrogates
        odd = "a null byte" if "\0" in text else "half a character (a lone surrogate)"
        return _refused(text, form, SyntaxComplaint(f"the code holds {odd}", 1, 1), error)


def _names_read(tree: ast.Module) -> frozenset[str]:
    """Return all names that the code reads, also where it may have bound them itself."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)


def _constant_value(node: Any) -> tuple[bool, Any]:
    if isinstance(node, ast.JoinedStr):
        parts = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
        return len(parts) == len(node.values), "".join(parts)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, type(None))):
        return True, node.value
    return False, None


def _run_block(tree: Any) -> Run:
    last = ast.Expression(tree.body.pop().value)
    value = compile(last, CODE_FILE, "eval", dont_inherit=True)
    if not tree.body:
        return lambda namespace: eval(value, namespace)  # noqa: S307  # trusted: see `expressions`
    before = compile(tree, CODE_FILE, "exec", dont_inherit=True)

    def run(namespace: dict[str, Any]) -> Any:
        exec(before, namespace)  # noqa: S102
        return eval(value, namespace)  # noqa: S307

    return run


def _run_statements(tree: Any) -> Run:
    code: CodeType = compile(tree, CODE_FILE, "exec", dont_inherit=True)

    def run(namespace: dict[str, Any]) -> None:
        exec(code, namespace)  # noqa: S102

    return run


def _without_value(text: str, form: ExpressionKind, tree: Any, source: TextSource) -> Code:
    line, column, error = 1, 1, IndexError("pop from empty list")
    message = "there is no code"
    if tree.body:
        last = tree.body[-1]
        line, column = source.position_of_node(last.lineno, last.col_offset + 1)
        message = "the last statement must be an expression, which gives the value"
        error = AssertionError()  # type: ignore[assignment]
    return _refused(text, form, SyntaxComplaint(message, line, column, "no_value"), error)


def _refused(
    text: str, form: ExpressionKind, complaint: SyntaxComplaint, error: BaseException
) -> Code:
    kind, arguments = type(error), error.args

    def run(_: dict[str, Any]) -> Any:
        raise kind(*arguments)

    return Code(text, form, run, syntax_error=complaint)
