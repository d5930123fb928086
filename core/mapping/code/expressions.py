"""Compile the Python of mapping files once, with the names that each piece reads, and run it.

The input is text of entities; the output is `Code`, and the value of a code in a namespace. Syntax
errors are part of the code and are found before any job needs it. This is no sandbox: files are
trusted before any of their code runs (`trust`).
"""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import threading
import warnings
from collections.abc import Iterator
from types import CodeType
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.mapping.code.analysis import Endless, analyse
from rowtui.core.mapping.code.model import (
    CODE_FILE,
    Code,
    ExpressionKind,
    Run,
    SyntaxComplaint,
    constant,
)
from rowtui.core.mapping.code.text_source import TextSource, text_source
from rowtui.core.mapping.code.time_limit import TimeLimit, TimeLimitError
from rowtui.core.mapping.engine.routing import FLOW_EXCEPTIONS

# Compile Python that is not constant, with the names that it reads.
#
# The input is a text as Python source; the output is `Code`. Syntax errors are part of the code;
# running such code raises the exception that Python would have raised.


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
            names, plain = analyse(tree)
            if form is ExpressionKind.EXECUTE:
                return Code(text, form, _run_statements(tree), names=names, plain=plain)
            if not tree.body or not isinstance(tree.body[-1], ast.Expr):
                return _without_value(text, form, tree, source)
            if len(tree.body) == 1:
                known, value = _constant_value(tree.body[0].value)  # type: ignore[attr-defined]
                if known:
                    return constant(text, form, value)
            return Code(text, form, _run_block(tree, plain=plain), names=names, plain=plain)
    except SyntaxError as error:
        line, column = source.place_in_text(error, text)
        message = (error.msg or "invalid syntax").removeprefix("f-string: ")
        return _refused(text, form, SyntaxComplaint(visible(message), line, column), error)
    except Endless as error:
        line, column = source.position_of_node(error.line, error.column)
        complaint = SyntaxComplaint(str(error), line, column)
        return _refused(text, form, complaint, SyntaxError(str(error)))
    except (RecursionError, MemoryError) as error:
        return _refused(text, form, SyntaxComplaint("the code is nested too deeply", 1, 1), error)
    except ValueError as error:  # null bytes in old Pythons, lone surrogates
        odd = "a null byte" if "\0" in text else "half a character (a lone surrogate)"
        return _refused(text, form, SyntaxComplaint(f"the code holds {odd}", 1, 1), error)


def _constant_value(node: Any) -> tuple[bool, Any]:
    if isinstance(node, ast.JoinedStr):
        parts = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
        return len(parts) == len(node.values), "".join(parts)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, type(None))):
        return True, node.value
    return False, None


def _run_block(tree: Any, *, plain: bool) -> Run:
    last = ast.Expression(tree.body.pop().value)
    value = compile(last, CODE_FILE, "eval", dont_inherit=True)
    if plain:
        return functools.partial(eval, value)  # without a Python frame of this module
    before = compile(tree, CODE_FILE, "exec", dont_inherit=True)

    def run(namespace: dict[str, Any]) -> Any:
        namespace = dict(namespace)
        exec(before, namespace)  # noqa: S102  # trusted: see the module's docstring
        return eval(value, namespace)  # noqa: S307

    return run


def _run_statements(tree: Any) -> Run:
    code: CodeType = compile(tree, CODE_FILE, "exec", dont_inherit=True)

    def run(namespace: dict[str, Any]) -> None:
        exec(code, dict(namespace))  # noqa: S102

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


_CACHED = 65_536  # texts of each form; a large site has 3,000 rules, a generated one 20,000
_LONGEST_MESSAGE = 1000


class ExpressionError(RowtuiError):
    """Code of a mapping file failed. `line`: the line in `text`, from 1; 0 if it is unknown."""

    def __init__(self, message: str, cause: BaseException | None, line: int, text: str) -> None:
        super().__init__(message, cause.hint if isinstance(cause, RowtuiError) else "")
        self.cause, self.line, self.text = cause, line, text


@functools.lru_cache(_CACHED)
def compile_block(text: str) -> Code:
    """Return code whose last statement gives the value."""
    literal = _literal(text)
    if literal is not _NOT_LITERAL:
        return constant(text, ExpressionKind.BLOCK, literal)
    return compiled(text, ExpressionKind.BLOCK, TextSource(text))


@functools.lru_cache(_CACHED)
def compile_execute(text: str) -> Code:
    """Return code that is run for its effect."""
    return compiled(text, ExpressionKind.EXECUTE, TextSource(text))


@functools.lru_cache(_CACHED)
def compile_text(text: str, *, as_tpv: bool) -> Code:
    """Return text with expressions in braces; backslash escapes are interpreted.

    `as_tpv`: read the text exactly as TPV does, so that a text that ends in ' is a syntax error,
    and three of them end it; otherwise quotes have no meaning outside braces.
    """
    if not _SPECIAL(text) and (not as_tpv or not (text.endswith("'") or "'''" in text)):
        # Line ends are normalised as in a Python literal.
        value = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
        return constant(text, ExpressionKind.TEXT, value)
    return compiled(text, ExpressionKind.TEXT, text_source(text, as_tpv=as_tpv))


def evaluate(code: Code, namespace: dict[str, Any], limit: TimeLimit) -> Any:
    """Return the value of a code in a namespace, under the limit unless the code is plain.

    Raises: ExpressionError for any exception of the code, TimeLimitError, and unchanged the
    exceptions by which code chooses a destination (`flow.FLOW_EXCEPTIONS`).
    """
    if code.constant:
        return code.value
    try:
        if code.plain:
            return code.run(namespace)
        return limit.run(functools.partial(code.run, namespace))
    except (*FLOW_EXCEPTIONS, TimeLimitError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit and GeneratorExit do not end the program here
        raise _explained(code, error) from error


def _explained(code: Code, error: BaseException) -> ExpressionError:
    complaint = code.syntax_error
    if complaint is not None:
        return ExpressionError(complaint.message, error, complaint.line, code.text)
    if isinstance(error, RowtuiError):
        message = error.message
    else:
        words = _words_of(error)
        name = type(error).__name__
        message = f"{name}: {words}" if words else name
    line = 0
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == CODE_FILE:
            line = step.tb_lineno
        step = step.tb_next
    return ExpressionError(visible(message[:_LONGEST_MESSAGE]), error, line, code.text)


def _words_of(error: BaseException) -> str:
    """Return the text of an exception, or "" if its class raises an error or never ends."""
    if type(error).__str__ in _KNOWN_WORDS:
        return str(error)
    try:
        return str(_FOR_WORDS.run(functools.partial(str, error)))
    except (Exception, SystemExit, GeneratorExit):
        return ""


_KNOWN_WORDS = frozenset({BaseException.__str__, OSError.__str__, SyntaxError.__str__})
_FOR_WORDS = TimeLimit(0.5)


# Constants, which most of a mapping file consists of, are read without Python's parser.

_NOT_LITERAL = object()
_WORDS = {"True": True, "False": False, "None": None}
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})(\.[0-9]{0,17})?([eE][-+]?[0-9]{1,3})?").fullmatch
_QUOTED = re.compile(r"'[ !#-&(-\[\]-~\"]*'|\"[ !#-\[\]-~]*\"").fullmatch
_SPECIAL = re.compile(r"[{}\\\0\ud800-\udfff]").search


def _literal(text: str) -> Any:
    stripped = text.rstrip(" \n")
    if match := _NUMBER(stripped):
        return int(stripped) if match[1] is None and match[2] is None else float(stripped)
    if stripped in _WORDS:
        return _WORDS[stripped]
    if _QUOTED(stripped):
        return stripped[1:-1]
    return _NOT_LITERAL
