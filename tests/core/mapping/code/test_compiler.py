"""Code lists all names that it reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.mapping.code.expressions import compile_block, compile_text
from rowtui.core.mapping.code.model import Code
from rowtui.core.mapping.galaxy.modules import expression_builtins


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cores * 2", "cores"),
        ("max(4, min(cores, 8))", "cores"),
        ("input_size > 3 and job.attempt < 2", "input_size job"),
        ("x = 1\nx + cores", "cores"),
        ("cores = cores * 2\ncores", "cores"),
        ("if a:\n  x = 1\nx", "a x"),
        ("if a:\n  x = 1\nelse:\n  x = 2\nx", "a"),
        ("for x in xs: y = x\ny", "xs y"),
        ("while a:\n  z = 1\nz", "a z"),
        ("try:\n  z = 1\nexcept KeyError:\n  pass\nz", "KeyError z"),
        ("try:\n  z = 1\nfinally:\n  q\nz", "q"),
        ("[x for x in xs if x > y]", "xs y"),
        ("{k: v for k, v in d.items()}", "d"),
        ("[x for x in x]", "x"),
        ("sorted(xs, key=lambda d: d.size + offset)", "xs offset"),
        ("def f(a, b=c):\n  q = a + g\n  return q\nf(1)", "c g"),
        ("min * 2", "min"),
        ("import os\nos.sep + tail", "tail"),
        ("from math import ceil as up\nup(cores)", "cores"),
        ("helpers.tool_version_gte(tool, '2')", "helpers tool"),
        ("(n := cores) + n", "cores"),
        ("del a\n1", "a"),
        ("unknown(3)", "unknown"),
        ("with open(p) as f:\n  pass\n1", "p"),
        ("list(map(int, xs))", "int xs"),
        ("x += 1\nx", "x"),
    ],
)
def test_no_name_is_missing_that_it_reads(text: str, names: str) -> None:
    assert compile_block(text).names >= frozenset(names.split())


def test_a_text_reads_the_names_of_all_its_fields() -> None:
    assert compile_text("{a}-{b:{c}}-{{d}}", as_tpv=True).names == {"a", "b", "c"}


# Generated code

_names = st.sampled_from(["a", "b", "xs", "d", "obj", "t"])
_atoms = st.one_of(
    _names, st.sampled_from(["1", "'k'", "True", "None", "obj.n", "obj.xs", "d['k']", "xs[0]"])
)


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    return st.one_of(
        two.map(lambda p: f"({p[0]} + {p[1]})"),
        two.map(lambda p: f"({p[0]} == {p[1]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
        inner.map(lambda e: f"str({e})"),
        inner.map(lambda e: f"len(xs + [{e}])"),
        st.tuples(_names, inner).map(lambda p: f"[{p[0]} for {p[0]} in [{p[1]}]]"),
        st.tuples(_names, inner).map(lambda p: f"sorted([1, 2], key=lambda {p[0]}: str({p[1]}))"),
        st.tuples(_names, inner).map(lambda p: f"({p[0]} := {p[1]})"),
        inner.map(lambda e: f"xs.append({e})"),
        inner.map(lambda e: f"d.get({e}, 0)"),
        inner.map(lambda e: f"f'{{{e}}}'".replace("'", '"""')),
        inner.map(lambda e: f"getattr(obj, 'n', {e})"),
    )


_expressions = st.recursive(_atoms, _grow, max_leaves=6)


def _statement(body: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def indent(text: str) -> str:
        return "\n".join("  " + line for line in text.split("\n"))

    return st.one_of(
        st.tuples(_names, _expressions).map(lambda p: f"{p[0]} = {p[1]}"),
        st.tuples(_names, _expressions).map(lambda p: f"{p[0]} += {p[1]}"),
        _expressions.map(lambda e: f"obj.n = {e}"),
        _expressions.map(lambda e: f"d['k'] = {e}"),
        st.tuples(_expressions, body, body).map(
            lambda p: f"if {p[0]}:\n{indent(p[1])}\nelse:\n{indent(p[2])}"
        ),
        st.tuples(_names, body).map(lambda p: f"for {p[0]} in [1, 2]:\n{indent(p[1])}"),
        st.tuples(body, body).map(
            lambda p: f"try:\n{indent(p[0])}\nexcept Exception as t:\n{indent(p[1])}"
        ),
        _expressions,
    )


_blocks = st.tuples(
    st.lists(st.recursive(_expressions, _statement, max_leaves=5), max_size=4), _expressions
).map(lambda p: "\n".join([*p[0], p[1]]))


class Thing:
    def __init__(self) -> None:
        self.n: Any = 3
        self.xs = [5]

    def __repr__(self) -> str:
        return f"Thing({self.__dict__})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing) and repr(self) == repr(other)

    __hash__ = None  # type: ignore[assignment]


def _fresh_names() -> dict[str, Any]:
    return {"a": 2, "b": "q", "xs": [1, 2], "d": {"k": [7]}, "obj": Thing(), "t": 0.5}


def _run(code: Code, given: dict[str, Any]) -> str:
    try:
        return repr(code.run({"__builtins__": expression_builtins(), **given}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@given(_blocks)
def test_generated_code_reads_no_other_names_than_are_listed(text: str) -> None:
    code = compile_block(text)
    if code.syntax_error is not None:
        return

    value = _run(code, _fresh_names())

    assert _run(code, {k: v for k, v in _fresh_names().items() if k in code.names}) == value
