"""Compile the Python of mapping files once, with the names that each piece reads, and run it.

The input is text of entities; the output is `Code`, and the value of a code in a namespace. This is
no sandbox: files are trusted before any of their code runs (`trust`), and the caller sets the time
limit (`time_limit`).
"""

from __future__ import annotations

import functools
import math
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible
from rowtui.core.mapping.code.compiler import compiled
from rowtui.core.mapping.code.model import (
    CODE_FILE,
    FLOW_EXCEPTIONS,
    Code,
    ExpressionKind,
    constant,
)
from rowtui.core.mapping.code.text_source import TextSource, text_source

_CACHED = 65_536  # texts of each form; a large site has 3,000 rules, a generated one 20,000
_LONGEST_MESSAGE = 1000

# Most of a mapping file consists of constants, which are read without Python's parser.
_NOT_LITERAL = object()
_WORDS = {"True": True, "False": False, "None": None}
_NUMBER = pattern(r"[-+]?(?:0|[1-9][0-9]{0,17})(\.[0-9]{0,17})?([eE][-+]?[0-9]{1,3})?")
_QUOTED = pattern(r"'[ !#-&(-\[\]-~\"]*'|\"[ !#-\[\]-~]*\"")
_SPECIAL = pattern(r"[{}\\\0\ud800-\udfff]")


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


def _literal(text: str) -> Any:
    stripped = text.rstrip(" \n")
    if match := _NUMBER.fullmatch(stripped):
        return int(stripped) if match[1] is None and match[2] is None else float(stripped)
    if stripped in _WORDS:
        return _WORDS[stripped]
    if _QUOTED.fullmatch(stripped):
        return stripped[1:-1]
    return _NOT_LITERAL


def number(value: Any) -> float | None:
    """Return a constant amount as a number; None for expressions and for anything else."""
    if isinstance(value, str):
        code = compile_block(value)
        value = code.value if code.constant else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # a whole number beyond all floats
        return None


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
    if not _SPECIAL.search(text) and (not as_tpv or not (text.endswith("'") or "'''" in text)):
        # Line ends are normalised as in a Python literal.
        value = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
        return constant(text, ExpressionKind.TEXT, value)
    return compiled(text, ExpressionKind.TEXT, text_source(text, as_tpv=as_tpv))


@functools.lru_cache(_CACHED)
def compile_rank(text: str) -> Code:
    """Return a block; if its value is a function, this is called with the candidates."""
    code = compile_block(text)
    if code.constant:
        return code

    def run(namespace: dict[str, Any]) -> Any:
        value = code.run(namespace)
        return value(namespace["candidate_destinations"]) if callable(value) else value

    return Code(text, code.form, run, names=code.names, syntax_error=code.syntax_error)


def evaluate(code: Code, namespace: dict[str, Any]) -> Any:
    """Return the value of a code in a namespace, to which the code may add names.

    Raises: ExpressionError for any exception of the code, and unchanged the exceptions by which
    code chooses a destination (`routing.FLOW_EXCEPTIONS`).
    """
    try:
        return code.run(namespace)
    except (*FLOW_EXCEPTIONS, KeyboardInterrupt):
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
    """Return the text of an exception, or "" if its class raises an error."""
    try:
        return str(error)
    except (Exception, SystemExit, GeneratorExit):
        return ""
