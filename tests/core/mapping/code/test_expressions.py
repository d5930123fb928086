"""Expressions: compiled once, run as TPV runs them, and every failure explained."""

from __future__ import annotations

import ast
import threading
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rowtui.core.mapping.code.compiler import LONGEST_CODE
from rowtui.core.mapping.code.expressions import (
    ExpressionError,
    compile_block,
    compile_execute,
    compile_text,
    evaluate,
)
from rowtui.core.mapping.code.model import FLOW_EXCEPTIONS, Code, ExpressionKind
from rowtui.core.mapping.galaxy.modules import expression_builtins
from rowtui.core.mapping.galaxy.objects import App, NotInRowtui


def names(**more: Any) -> dict[str, Any]:
    return {"__builtins__": expression_builtins(), **more}


def failure(code: Code, **more: Any) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        evaluate(code, names(**more))
    return caught.value


# Blocks


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8), ("7.6", 7.6), ("1e3", 1000.0), ("-2", -2), ("+3", 3), ("0", 0), ("-0.0", -0.0),
        ("1.", 1.0), ("2E-3", 0.002), ("8\n", 8), ("8  ", 8), ("True", True), ("False", False),
        ("None", None), ("'abc'", "abc"), ('"it\'s"', "it's"), ("''", ""), ("0x10", 16),
        ("1_000", 1000), (".5", 0.5), ("# why\n8", 8), ("'a' 'b'", "ab"), (r"'a\tb'", "a\tb"),
    ],
)  # fmt: skip
def test_a_literal_is_a_constant_with_pythons_value(text: str, value: object) -> None:
    code = compile_block(text)

    assert code.constant
    assert (code.value, type(code.value)) == (value, type(value))
    assert code.run(names()) == value
    assert repr(code.value) == repr(eval(text.strip()))


@given(st.from_regex(r"[-+]?[0-9]{0,4}\.?[0-9]{0,3}([eE][-+]?[0-9]{0,3})?\n?", fullmatch=True))
@example("08")
@example("1e999")
@example("-")
def test_whatever_looks_like_a_number_is_what_python_says(text: str) -> None:
    code = compile_block(text)

    try:
        expected = eval(text)
    except SyntaxError:
        assert code.syntax_error is not None
    except NameError:  # "E": a name after all
        assert not code.constant
    else:
        assert repr(code.run(names())) == repr(expected)


@pytest.mark.parametrize("text", ["08", " 8", "8 8", "1e", "\t8"])
def test_what_only_looks_like_a_number_is_a_syntax_error(text: str) -> None:
    assert compile_block(text).syntax_error is not None


def test_a_block_gives_the_value_of_its_last_expression() -> None:
    code = compile_block(
        "import os\ntotal = 0\nfor n in (1, 2, size):\n  total += n\ntotal + len(os.sep)\n"
    )

    assert evaluate(code, names(size=4)) == 8
    assert code.form is ExpressionKind.BLOCK


def test_functions_and_comprehensions_see_the_names_of_their_block() -> None:
    code = compile_block(
        "def twice(x):\n  return x * factor\nfactor = 2 + cores\n[twice(n) for n in (1, 2)]"
    )

    assert evaluate(code, names(cores=1)) == [3, 6]


def test_locals_and_globals_are_the_one_namespace() -> None:
    code = compile_block("locals() is globals() and 'gpus' in locals()")

    assert evaluate(code, names(gpus=1)) is True
    assert evaluate(code, names()) is False


def test_execute_changes_what_it_is_given_and_its_value_is_ignored() -> None:
    params = {"a": 1}
    code = compile_execute("params['b'] = 2\nparams")

    assert evaluate(code, names(params=params)) is None
    assert params == {"a": 1, "b": 2}


def test_code_that_starts_a_future_or_has_a_coding_line_is_read_as_python_reads_it() -> None:
    assert evaluate(compile_block("# -*- coding: latin-1 -*-\n'é'"), names()) == "é"
    assert evaluate(compile_block("from __future__ import annotations\n3"), names()) == 3


# What cannot be run


def test_a_block_without_a_value_says_so_and_raises_as_in_tpv() -> None:
    code = compile_block("x = 1\ny = 2")

    assert code.syntax_error is not None
    assert (code.syntax_error.kind, code.syntax_error.line) == ("no_value", 2)
    with pytest.raises(AssertionError):
        code.run(names())
    error = failure(code)
    assert isinstance(error.cause, AssertionError)
    assert "last statement must be an expression" in error.message
    assert error.line == 2


@pytest.mark.parametrize("text", ["", "\n", "# only words"])
def test_an_empty_block_has_no_value(text: str) -> None:
    complaint = compile_block(text).syntax_error

    assert complaint is not None
    assert complaint.kind == "no_value"
    assert compile_execute(text).syntax_error is None


def test_a_syntax_error_is_found_when_compiling_and_raised_when_running() -> None:
    code = compile_block("a = 1\nb c")

    assert code.syntax_error == ("invalid syntax", 2, 3, "syntax")
    with pytest.raises(SyntaxError, match=r"invalid syntax \(<unknown>, line 2\)"):
        code.run(names())
    error = failure(code)
    assert (error.message, error.line, error.text) == ("invalid syntax", 2, "a = 1\nb c")
    assert isinstance(error.cause, SyntaxError)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000, "-" * 99_000 + "1", "not " * 24_000 + "1", "a" + ".b" * 49_000,
        "1+" * 49_000 + "1", "a" + "()" * 49_000, "lambda:" * 14_000 + "1", "2**" * 30_000 + "1",
        "1 if 1 else " * 8_000 + "1", "[" * 190 + "]" * 191, "a\0b", "'\ud800'", "\0",
        "if 1:\n 1\n" + "elif 1:\n 1\n" * 9_000, "return 3", "await x", "break", "8" * 5000,
        "x = " + "1," * LONGEST_CODE,
    ],
)  # fmt: skip
def test_monstrous_code_is_a_syntax_error(text: str) -> None:
    for code in (compile_block(text), compile_execute(text)):
        assert code.syntax_error is not None
        with pytest.raises(ExpressionError):
            evaluate(code, names())
    assert compile_text("{" + text + "}", as_tpv=False).syntax_error is not None


@given(st.one_of(st.text(), st.text("(){}[]'\"\\n=:. \n\0if", max_size=60)))
@settings(max_examples=120, deadline=None)
def test_no_text_crashes_a_compiler(text: str) -> None:
    for code in (
        compile_block(text),
        compile_execute(text),
        compile_text(text, as_tpv=True),
        compile_text(text, as_tpv=False),
    ):
        assert code.text == text
        if code.syntax_error is not None:
            lines = text.split("\n")
            assert 1 <= code.syntax_error.line <= len(lines) + 1
            assert code.syntax_error.column >= 1


def test_odd_code_compiles_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    assert evaluate(compile_block("cores is 4 or True"), names(cores=1)) is True
    assert evaluate(compile_text(r"\d{cores}", as_tpv=True), names(cores=1)) == r"\d1"
    assert not recwarn.list


def test_many_threads_can_compile_at_once() -> None:
    found: list[object] = []

    def compile_some(start: int) -> None:
        found.extend(
            evaluate(compile_block(f"n + {i} * 1"), names(n=1)) - i
            for i in range(start, start + 30)
        )

    threads = [threading.Thread(target=compile_some, args=(k * 20,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [1] * 120


# Text


@pytest.mark.parametrize("as_tpv", [True, False])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"), ("", ""), ("c={cores} m={mem}", "c=4 m=8"), ("it's", "it's"),
        ('dq "x"', 'dq "x"'), (r"back\\slash {{braces}}", r"back\slash {braces}"),
        ("{'a' if cores else 'b'}", "a"), (r"tab\tnew\n", "tab\tnew\n"), (r"C:\new", "C:\new"),
        ("a\r\nb\rc", "a\nb\nc"), ("{cores:>3}|{mem!r}|{cores=}", "  4|8|cores=4"), ("'x", "'x"),
        (r"\N{BULLET}", "•"), ("line\n{cores}\n", "line\n4\n"), ("#{cores}", "#4"),
        ("{cores:>{mem}}", "       4"), ("é{cores}", "é4"), (r"\'", "'"), ('"', '"'),
    ],
)  # fmt: skip
def test_a_text_is_an_f_string(as_tpv: bool, text: str, value: str) -> None:
    if as_tpv and text.endswith("'"):
        return
    assert evaluate(compile_text(text, as_tpv=as_tpv), names(cores=4, mem=8)) == value


@pytest.mark.parametrize("text", ["plain", "it's", "a\nb", "{{x}}", r"\t", 'say "so"'])
def test_a_text_without_expressions_is_a_constant(text: str) -> None:
    assert compile_text(text, as_tpv=True).constant
    assert compile_text(text, as_tpv=False).constant


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ends with '", "ends with '"), ("'''", "'''"), ("''''", "''''"), ("{cores}'", "4'"),
        ("a ''' b {cores}", "a ''' b 4"), (r"\'{cores}'", "'4'"), (r"\\'{cores}'", "\\'4'"),
        ("{'k'}'", "k'"), ("{cores:'>3}'", "''4'"), (r"\N{BULLET}{cores}'", "•4'"),
        ("{{'{cores}'}}'", "{'4'}'"), ("{dict(a=1)['a']}'", "1'"), ('{"}"}\'', "}'"),
        ("{[1, 2][0:1]}'", "[1]'"), ("\n'\n{cores}\n'", "\n'\n4\n'"),
    ],
)  # fmt: skip
def test_quotes_have_no_meaning_outside_braces_but_for_tpv(text: str, value: str) -> None:
    assert evaluate(compile_text(text, as_tpv=False), names(cores=4)) == value

    by_python = _as_tpv(text, names(cores=4))
    if by_python is SyntaxError:
        assert compile_text(text, as_tpv=True).syntax_error is not None
    else:
        assert evaluate(compile_text(text, as_tpv=True), names(cores=4)) == by_python


def _as_tpv(text: str, namespace: dict[str, Any]) -> Any:
    """As TPV: a text that ends its literal can be several statements, of which the last counts."""
    try:
        tree = ast.parse(f"f'''{text}'''")
    except SyntaxError:
        return SyntaxError
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(tree, "text", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), "text", "eval"), namespace)


@given(st.text("ab'\"\\\n\r t\u00e9N", max_size=12))
@settings(max_examples=150, deadline=None)
@example("a\\")
@example("\\'")
@example("'''")
@example("'''\r'N")
def test_a_text_without_braces_means_what_python_says_of_it(text: str) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            as_tpv = _as_tpv(text, {})
        except NameError:  # the text ended its literal, and letters are names
            return
        # The same text in a literal whose quotes it cannot end.
        quoted = "".join(
            f"\\{char}" if char == '"' and _backslashes(text, at) % 2 == 0 else char
            for at, char in enumerate(text)
        )
        try:
            ours = eval(f'f"""{quoted}"""', {})
        except SyntaxError:
            ours = SyntaxError

    assert _value(compile_text(text, as_tpv=True)) == as_tpv
    assert _value(compile_text(text, as_tpv=False)) == ours
    if as_tpv is not SyntaxError and not text.endswith("'") and "'''" not in text:
        assert ours == as_tpv


def _backslashes(text: str, at: int) -> int:
    count = 0
    while at > count and text[at - count - 1] == "\\":
        count += 1
    return count


def _value(code: Code) -> Any:
    return SyntaxError if code.syntax_error is not None else code.run(names())


@given(st.text("a{}'\"\\ :!n[]", max_size=14))
@settings(max_examples=200, deadline=None)
def test_every_text_that_tpv_can_read_means_the_same_without_its_traps(text: str) -> None:
    code = compile_text(text, as_tpv=True)
    if code.syntax_error is not None or text.endswith("'") or "'''" in text:
        return

    other = compile_text(text, as_tpv=False)

    assert other.syntax_error is None
    assert _outcome(other) == _outcome(code)


def _outcome(code: Code) -> object:
    try:
        return code.run(names(a=3, n="x"))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("{a b}", 1, 2), ("x\n {a b}", 2, 3), ("é é {a b}", 1, 6), ("'{a b}'", 1, 3), ("ab{", 1, 4)],
)
def test_a_syntax_error_in_a_text_has_its_place_in_the_text(
    text: str, line: int, column: int
) -> None:
    complaint = compile_text(text, as_tpv=False).syntax_error

    assert complaint is not None
    assert complaint.line == line
    assert abs(complaint.column - column) <= 2  # Pythons differ by what they point at
    assert not complaint.message.startswith("f-string")


# Failures


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("x", "NameError: name 'x' is not defined", 1),
        ("a = 1\n\na / 0", "ZeroDivisionError: division by zero", 3),
        ("def f():\n  raise ValueError('no')\nf()", "ValueError: no", 2),
        ("{}['k']", "KeyError: 'k'", 1),
        ("raise RuntimeError\n1", "RuntimeError", 1),
        ("import sys\nsys.exit(3)\n1", "SystemExit: 3", 2),
        ("f = lambda: f()\nf()", "RecursionError: maximum recursion depth exceeded", 1),
        ("[0] * n", "MemoryError", 1),
        ("raise GeneratorExit\n1", "GeneratorExit", 1),
        ("import json\njson.loads('{')", "JSONDecodeError: Expecting property name", 2),
        ("raise ValueError('a\\x1b[2J')\n1", r"ValueError: a\x1b[2J", 1),
    ],
)
def test_whatever_code_raises_is_named_with_its_line(text: str, message: str, line: int) -> None:
    error = failure(compile_block(text), n=1 << 60)

    assert error.message.startswith(message)
    assert error.line == line
    assert error.text == text
    assert error.cause is not None
    assert type(error.cause).__name__ == message.partition(":")[0]


def test_an_error_in_a_text_names_its_line() -> None:
    error = failure(compile_text("first\n{missing}", as_tpv=True))

    assert (error.message, error.line) == ("NameError: name 'missing' is not defined", 2)


def test_an_exception_that_cannot_be_printed_is_named_all_the_same() -> None:
    code = compile_block("class E(Exception):\n  def __str__(self): raise self\nraise E\n1")

    assert failure(code).message == "E"


def test_an_error_of_galaxys_objects_keeps_its_words_and_its_hint() -> None:
    error = failure(compile_block("app.model.context"), app=App())

    assert error.message == "app.model is part of Galaxy; rowtui does not have it"
    assert "docs/mapping.md" in error.hint
    assert isinstance(error.cause, NotInRowtui)


@pytest.mark.parametrize("kind", FLOW_EXCEPTIONS)
@pytest.mark.parametrize("long", [True, False])
def test_what_says_where_a_job_goes_passes_as_it_is(kind: type[Exception], long: bool) -> None:
    text = f"from galaxy.jobs.mapper import {kind.__name__} as Kind\nraise Kind('why')\n1"
    if not long:
        text = "raise kind('why')\n1"

    with pytest.raises(kind, match="why"):
        evaluate(compile_block(text), names(kind=kind))


def test_a_keyboard_interrupt_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        evaluate(compile_block("raise KeyboardInterrupt\n1"), names())


def test_a_text_is_compiled_once() -> None:
    assert compile_block("cores * 77") is compile_block("cores * 77")
    assert compile_text("{cores * 77}", as_tpv=True) is compile_text("{cores * 77}", as_tpv=True)
    assert compile_text("{cores * 77}", as_tpv=True) is not compile_block("cores * 77")


@pytest.mark.parametrize(
    "body",
    [
        "def __str__(self): raise SystemExit(3)",
        "def __str__(self): raise KeyError",
        "def __str__(self): return 5",
        "hint = property(lambda self: 1 / 0)",
        "hint = 5",
    ],
)
def test_an_exception_of_the_codes_own_kind_is_named_whatever_its_class_does(body: str) -> None:
    code = compile_block(f"class Odd(Exception):\n  {body}\nraise Odd()\n1")

    found = failure(code)

    assert (found.message, found.hint) == ("Odd", "")
