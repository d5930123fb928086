"""Which code is plain, which names code reads, and that neither is ever claimed wrongly."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.mapping.code.expressions import compile_block, compile_execute, compile_text
from rowtui.core.mapping.code.model import Code
from rowtui.core.mapping.engine.helper_functions import HELPERS, PURE_HELPERS
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


@pytest.mark.parametrize(
    "text",
    [
        "cores * 2", "max(cores, 4) if mem > 3 else round(mem / 3)", "[0] * 5",
        "tool.id.startswith('a')", "any(r.name == 'x' for r in user.all_roles())",
        "sorted(d.items())[0]", "helpers.tool_version_gte(tool, '2')", "getattr(job, 'x', 3)",
        "helpers.wait('later')", "values[0]['T'] > 3", "'%s' % cores",
        "isinstance(x, dict) and 'k' in x", "tool.id.lower() in ('a', 'b')",
        "entity.params.get('x')", "range(100)", "helpers.job_args_match(job, app, {})",
        "f'{cores:>10}'", "sorted(ds, key=lambda d: (-d.score(entity), float(d.x or 0)))",
    ],
)  # fmt: skip
def test_an_expression_of_known_parts_is_plain(text: str) -> None:
    assert compile_block(text).plain


@pytest.mark.parametrize(
    "text",
    [
        # the result may depend on more than the names
        "import random\nrandom.random()", "open('x').read()", "globals()['x']", "unknown(3)",
        "print(3)", "id(x)", "helpers.weighted_choice(xs)", "helpers.free_cores(d)",
        "list(map(helpers.weighted_choice, xs))", "list(map(print, xs))", "app.model.x()",
        "log.info('x')", "functools.reduce(f, xs)", "__import__('os').getcwd()", "x.__class__",
        "eval('1')", "d.surprise()", "(lambda: 1)()", "def f(): return 1\nf()", "input()",
        "hash(x)",
        "helpers.concurrent_job_count_for_tool(app, tool)", "with a as b:\n  pass\n1",
        "match a:\n  case 1: pass\n1", "sorted(xs, key=ys.append)", "x[0]()",
        "exec('y = 1')\n1", "max(xs, **{'key': ys.append})", "[len(x) for len in xs]",
        "sorted(xs, key=lambda len: len(1))", "helpers.no_such_thing(a)", "d[app.x]",
        # it may take long
        "for x in xs: pass", "while a: b", "import math\nmath.ceil(a)", "a ** b", "sum(range(n))",
        "def f(): return f()", "'x' * n", "[0] * n", "1 << n", "[1 for x in xs for y in ys]",
        "app.model.context.query(x)", "pow(a, b)", "range(20_000)", "__builtins__['open'](x)",
        # it may change something
        "entity.cores = 3", "entity.params['x'] = 3", "del entity.params['x']", "xs.append(1)",
        "d.update(a=1)", "d.setdefault('x', 1)", "entity.tpv_tags.add_tag_override(t, 'x')",
        "setattr(entity, 'cores', 3)", "entity.cores += 1", "x += [1]", "x = xs\nx += [1]",
        "list(map(xs.append, ys))", "for entity.cores in (1, 2): pass",
        "[1 for entity.cores in (1, 2)]", "import random\nrandom.shuffle(xs)",
        "a, entity.cores = 1, 2", "with a as entity.x: pass", "(lambda d: d.pop())(xs)",
        "(n := cores) + n", "[1 for d['k'] in xs]",
    ],
)  # fmt: skip
def test_whatever_may_do_more_is_not_plain(text: str) -> None:
    assert not compile_execute(text).plain


def test_pure_helpers_are_plain() -> None:
    for name in HELPERS:
        assert compile_block(f"helpers.{name}(a, b)").plain == (name in PURE_HELPERS)


@pytest.mark.parametrize(
    "text",
    [
        "10**10**8", "10**(10**(10**5))", "2 ** 10 ** 9",
        "x ** 10**9", "(2**1000000)**1000000", "'a' * 10**10", "10**10 * [0]",
        "[0] * 10**4 * 10**4", "1 << 10**10", "pow(10, 10**9)", "sum(range(10**12))",
        "list(range(10**12))", "[x for x in range(10**11)]", "f'{x:>99999999999}'",
        "x **= 10**9", "max(range(0, 10**30))", "f'{x:{10}99999999}'",
    ],
)  # fmt: skip
def test_what_no_limit_could_stop_is_refused(text: str) -> None:
    complaint = compile_execute(text).syntax_error

    assert complaint is not None
    assert "would take for ever" in complaint.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2**62", 2**62), ("1e9 ** 2", 1e18), ("'-' * 20", "-" * 20), ("5 in range(10**15)", True),
        ("range(10**15)[3]", 3), ("10**9 * 10**9", 10**18), ("sum(range(1000))", 499500),
        ("10 ** -3", 0.001), ("1 << 40", 1 << 40), ("[0] * -3", []), ("f'{3:>6}'", "     3"),
        ("(-1) ** 10**9", 1), ("1.5 ** 2", 2.25), ("10**9 * 1.5", 1.5e9),
    ],
)  # fmt: skip
def test_ordinary_arithmetic_is_not_refused(text: str, value: object) -> None:
    assert compile_block(text).run({"__builtins__": expression_builtins()}) == value


def test_the_place_of_what_is_refused_is_given() -> None:
    assert compile_block("a = 1\n'é' + 'b' * 10**11").syntax_error == (
        "this repetition would take for ever", 2, 7, "syntax",
    )  # fmt: skip
    assert compile_text("é {10**10**8}", as_tpv=True).syntax_error is not None


# Generated code: what is claimed of it is true of it


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
def test_what_is_claimed_of_generated_code_is_true_of_it(text: str) -> None:
    code = compile_block(text)
    if code.syntax_error is not None:
        return
    everything = _fresh_names()
    before = copy.deepcopy(everything)

    value = _run(code, everything)

    # Its names are all that it reads.
    assert _run(code, {k: v for k, v in _fresh_names().items() if k in code.names}) == value
    if code.plain:
        assert everything == before
        assert _run(code, everything) == value
