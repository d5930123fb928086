"""YAML with places: what is read, where it stands, and how what cannot be read is explained."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import InvalidFileError, Problem
from rowtui.core.mapping.model.origin import FilePosition
from rowtui.core.mapping.yaml import text as yaml_text
from rowtui.core.mapping.yaml.decode import LONGEST_FILE, slow_parser
from rowtui.core.mapping.yaml.nodes import Items, Node, Scalar, YamlTable, plain, typed
from rowtui.core.mapping.yaml.text import DEEPEST, LONGEST_SCALAR, MOST_NODES, read_yaml


@pytest.fixture(params=["libyaml", "pure Python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both parsers read the same and complain at the same line."""
    if request.param == "pure Python":
        monkeypatch.setattr(yaml_text, "event_parser", slow_parser)
    return str(request.param)


def read(text: str) -> Any:
    return plain(read_yaml(text.encode(), "m.yml"))


def table(text: str) -> YamlTable:
    node = read_yaml(text.encode(), "m.yml")
    assert isinstance(node, YamlTable)
    return node


def problems(data: str | bytes) -> tuple[Problem, ...]:
    with pytest.raises(InvalidFileError) as caught:
        read_yaml(data if isinstance(data, bytes) else data.encode(), "m.yml")
    assert all(problem.file == "m.yml" and problem.hint for problem in caught.value.problems)
    return caught.value.problems


def problem(data: str | bytes) -> Problem:
    (only,) = problems(data)
    return only


def scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Items):
        for item in node.items:
            yield from scalars(item)
    else:
        for key, value in node.entries.values():
            yield key
            yield from scalars(value)


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, word) for word in ("yes", "no", "on", "off", "y", "tRue", "12:30:45", "1.5.2")),
        *((word, word) for word in ("0o8", "0x", "1e", "_1", "2020-01-01", "infinity", "=")),
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("false", "False", "FALSE")),
        *((word, None) for word in ("", "~", "null", "Null", "NULL")),
        *[("0o17", 15), ("017", 17), ("0x1F", 31), ("0b11", 3), ("+12", 12), ("-0o7", -7)],
        *[("1_000", 1000), ("00", 0), ("-0", 0), ("1_", 1), ("0xFF_F", 4095)],
        *[("1e3", 1000.0), ("1E5", 1e5), ("1e+3", 1000.0), ("5.", 5.0), (".5", 0.5), ("-.5", -0.5)],
        *[("+.5", 0.5), ("1.5e3", 1500.0), ("12e03", 12000.0), (".inf", math.inf)],
        *[("-.INF", -math.inf), ("+.inf", math.inf)],
        *[("'12'", "12"), ('"true"', "true"), ("!!str 12", "12"), ("! 12", "12")],
        *[("!!int '12'", 12), ("!!float 1", 1.0), ("!!null ''", None), ("!!bool 'true'", True)],
        *[("!!map {a: 1}", {"a": 1}), ("!!seq [1]", [1]), ("{}", {}), ("[]", [])],
    ],
)
def test_values_are_typed_as_yaml_1_2_has_it(text: str, value: object, parser: str) -> None:
    found = read(f"a: {text}\n")["a"]
    assert found == value
    assert type(found) is type(value)


def test_not_a_number_is_read() -> None:
    assert math.isnan(read("a: .nan")["a"])


@pytest.mark.parametrize("text", ["", "\n", "# only words\n", "---\n...\n", "\ufeff"])
def test_an_empty_document_is_none_or_null(text: str, parser: str) -> None:
    assert read(text) is None


def test_the_written_text_is_kept_beside_the_value() -> None:
    (value,) = (entry[1] for entry in table("a: 0o17").entries.values())
    assert isinstance(value, Scalar)
    assert (value.value, value.text) == (15, "0o17")


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    key, _ = table("\ufeffa: 1").entries["a"]
    assert key.place == FilePosition("m.yml", 1, 1)


def test_keys_that_are_numbers_or_truth_values_are_found_by_their_text(parser: str) -> None:
    node = table("1: a\ntrue: b\n~: c\n1.50: d\n0o17: e\n")
    assert list(node.entries) == ["1", "true", "~", "1.50", "0o17"]
    assert [key.value for key, _ in node.entries.values()] == [1, True, None, 1.5, 15]


# ---------------------------------------------------------------- places


def test_places_count_from_one_and_by_characters(parser: str) -> None:
    node = table("é: {ü: x}\nb:\n  - 1\n  -   'q'\n")
    inner = node.entries["é"][1]
    assert isinstance(inner, YamlTable)
    assert inner.place == FilePosition("m.yml", 1, 4)
    assert inner.entries["ü"][0].place == FilePosition("m.yml", 1, 5)
    assert inner.entries["ü"][1].place == FilePosition("m.yml", 1, 8)
    items = node.entries["b"][1]
    assert isinstance(items, Items)
    assert items.place == FilePosition("m.yml", 3, 3)
    assert [item.place for item in items.items] == [
        FilePosition("m.yml", 3, 5),
        FilePosition("m.yml", 4, 7),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: |\n  x\n", 2),
        ("a: >-\n  x\n", 2),
        ("a: |\n\n\n  x\n", 2),
        ("a: | # why\n  x\n", 2),
        ("a: &n |\n  x\n", 2),
        ("a: !!str\n  |\n  x\n", 3),
        ("a: &n\n  # why\n  !!str |2\n  x\n", 4),
        ("a: !!str\n  x\n", 2),
        ("a: &n 'x\n  y'\n", 1),
        ("a: x\n", 1),
        ("a:\n\n  x\n", 3),
    ],
)
def test_the_line_where_the_text_itself_begins(text: str, line: int, parser: str) -> None:
    (value,) = (entry[1] for entry in table(text).entries.values())
    assert isinstance(value, Scalar)
    assert value.text_line == line


WORDS = st.text(alphabet="abcxyz_é", min_size=1, max_size=8)
# PyYAML writes by YAML 1.1: it does not quote what only 1.2 takes for a number, as `0E0`.
TEXTS = WORDS | st.text(max_size=20).filter(
    lambda text: not set(text) & set("\x85\u2028\u2029") and isinstance(typed(text), str)
)
NUMBERS = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False)
VALUES = st.recursive(
    TEXTS | NUMBERS | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
STYLES = st.sampled_from([None, True, False])


def dump(data: object, flow: bool | None, wide: bool) -> str:
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(data, None, dumper, default_flow_style=flow, allow_unicode=wide))


@given(VALUES, STYLES, st.booleans())
def test_what_is_dumped_is_read_back_equal(data: object, flow: bool | None, wide: bool) -> None:
    dumped = dump(data, flow, wide)
    assert plain(read_yaml(dumped.encode(), "m.yml")) == data


@given(st.dictionaries(WORDS, st.lists(WORDS) | WORDS | st.dictionaries(WORDS, WORDS)), STYLES)
def test_every_place_points_at_its_text(data: dict[str, Any], flow: bool | None) -> None:
    dumped = dump(data, flow, True)
    lines = dumped.splitlines()
    node = read_yaml(dumped.encode(), "m.yml")
    assert node is not None
    for scalar in scalars(node):
        there = lines[scalar.place.line - 1][scalar.place.column - 1 :]
        assert there.lstrip("'\"").startswith(scalar.text)


# ---------------------------------------------------------------- anchors, aliases, merge keys


def test_aliases_share_a_node_and_plain_copies_it(parser: str) -> None:
    node = table("a: &x [1]\nb: *x\nc: &y 3\nd: *y\n*y : 4\n")
    assert node.entries["a"][1] is node.entries["b"][1]
    data = plain(node)
    assert data == {"a": [1], "b": [1], "c": 3, "d": 3, "3": 4}
    data["a"].append(2)
    assert data["b"] == [1]
    assert node.entries["3"][0].place == FilePosition("m.yml", 5, 1)


def test_an_anchor_may_be_given_again() -> None:
    assert read("a: &x 1\nb: &x 2\nc: *x") == {"a": 1, "b": 2, "c": 2}


def test_own_entries_win_over_merged_ones_and_earlier_sources_over_later(parser: str) -> None:
    text = "a: &x {p: 1, q: 3}\nb: &y {p: 7, s: 8}\nc:\n  q: 2\n  <<: [*x, *y]\n  r: 4\n"
    merged = read(text)["c"]
    assert list(merged.items()) == [("q", 2), ("r", 4), ("p", 1), ("s", 8)]


def test_a_merged_entry_keeps_the_place_where_it_was_written() -> None:
    node = table("a: &x\n  p: 1\nb: &y\n  <<: *x\nc: {<<: *y}\n").entries["c"][1]
    assert isinstance(node, YamlTable)
    assert node.entries["p"][0].place.line == 2


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    assert read("a: {'<<': 3}") == {"a": {"<<": 3}}


@pytest.mark.parametrize("source", ["3", "", "[1]", "[{a: 1}, x]"])
def test_a_merge_of_something_else_is_refused(source: str) -> None:
    assert "takes a map or a list of maps" in problem(f"b:\n  <<: {source}\n").message


def test_an_alias_of_nothing_and_a_recursive_one_are_refused(parser: str) -> None:
    nothing, inside = problems("a: *hisat2\nb: &x [*x]\n")
    assert (nothing.line, nothing.column) == (1, 4)
    assert "`*hisat2` refers to nothing" in nothing.message
    assert "quotes" in nothing.hint
    assert (inside.line, inside.column) == (2, 8)
    assert "stands inside its own anchor" in inside.message


# ---------------------------------------------------------------- what is wrong, and where


def test_all_duplicate_keys_are_reported_with_the_line_of_the_first(parser: str) -> None:
    found = problems("a: 1\nb: {c: 1, c: [2, {d: 1, d: 2}]}\na: {x: 1}\n'a': 2\n1: x\n'1': y\n")
    assert [(one.line, one.column) for one in found] == [(2, 11), (2, 25), (3, 1), (4, 1), (6, 1)]
    assert found[2].message == "the key `a` is already given on line 1"
    assert found[3].message == "the key `a` is already given on line 1"


def test_a_merge_key_given_twice_is_a_duplicate() -> None:
    assert "already given on line 3" in problem("x: &x {a: 1}\ny:\n  <<: *x\n  <<: *x\n").message


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "hint"),
    [
        ("a:\n\t- b", 2, 1, "a tab", "spaces"),
        ("\ta: b", 1, 1, "a tab", "spaces"),
        ("a: b\n\tc: d", 2, 1, "a tab", "spaces"),
        ("a: >\n\t x", 2, 1, "a tab", "spaces"),
        ("a: {b", 1, 6, "`{` on line 1 lacks its `}`", "quotes"),
        ("a: [1,\n 2\n", 2, 3, "`[` on line 1 lacks its `]`", "quotes"),
        ("a: {cores}*2", 1, 11, "text follows the `}`", "quotes"),
        ("a: {{ x }}", 1, 5, "a map cannot be a key", "quotes"),
        ("? [a]\n: b", 1, 3, "a list cannot be a key", "quotes"),
        ("x: &x [a]\n*x : b", 2, 1, "cannot be a key", "quotes"),
        ("a: b: c", 1, 5, "second `: `", "quotes"),
        ("a: *", 1, 5, "`*` begins an alias", "quotes"),
        ("*.txt: a", 1, 2, "`*` begins an alias", ".*"),
        ("a: & b", 1, 5, "`&` begins an anchor", "quotes"),
        ("a: @b", 1, 4, "cannot begin with `@`", "quotes"),
        ("a: `b`", 1, 4, "cannot begin with", "quotes"),
        ("a: %b", 1, 4, "cannot begin with `%`", "quotes"),
        ("a: !x!y z", 1, 4, "`!` begins a tag", "quotes"),
        ('a: "x\nb: 1\n', 2, 5, "opens on line 1 is never closed", "Close"),
        ("a: 'it's'", 1, 8, "text follows the '", "''"),
        ("a:\n  b: 1\n c: 2", 3, 2, "indentation fits nothing", "line 1"),
        ("a: b\nword\nc: d", 3, 1, "line 2 has no `:`", "key: value"),
        ("key\nb: c", 2, 2, "a key is not expected", "line above"),
        ("- a\nb: c", 2, 1, "the list does not go on", "- "),
        ("a: - b", 1, 4, "a list cannot begin here", "next line"),
        ("a: |x\n  b", 1, 5, "block of text", "line break"),
        ("a: 1\n---\nb: 2", 2, 1, "second document", "---"),
        ("  a: 1\nb: 2", 2, 1, "after the end of the document", "indented"),
        ("%YAML 1.1\n---\na: yes", 1, 1, "YAML 1.2", "`yes`"),
        ("%YAML 3.0\n---\na: 1", 1, 1, "`%`", "Remove"),
        ("a: " + "9" * 5000, 1, 4, "5,000 characters is too large", "quotes"),
        ("a: !!bool yes", 1, 4, "`yes` does not match its tag", "Remove"),
    ],
)
def test_a_fault_is_explained_in_words_at_its_place(
    text: str, line: int, column: int, message: str, hint: str, parser: str
) -> None:
    found = problem(text)
    assert (found.line, found.column) == (line, column)
    assert message in found.message
    assert hint in found.hint


def test_a_backslash_in_double_quotes_leads_to_single_quotes(parser: str) -> None:
    found = problem('a: "\\d+"')
    assert found.line == 1
    assert "single quotes" in found.hint


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("!!python/object/apply:os.system ['x']", "`!!python/object/apply:os.system`"),
        ("!!python/name:os.system x", "`!!python/name:os.system`"),
        ("!secret x", "`!secret`"),
        ("!!binary aGk=", "`!!binary`"),
        ("!!set {a}", "`!!set`"),
        ("!!seq {a: 1}", "`!!seq`"),
        ("!<tag:%1B> x", "`tag:\\x1b`"),
    ],
)
def test_tags_are_refused_by_name(tag: str, name: str) -> None:
    found = problem(f"a: {tag}")
    assert name in found.message
    assert (found.line, found.column) == (1, 4)


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        (b"a: 1\nb: \xff\n", 2, 4, "0xff is not UTF-8"),
        ("é: ".encode() + b"\xe9", 1, 4, "0xe9 is not UTF-8"),
        (b"a: \xed\xa0\x80", 1, 4, "not UTF-8"),
        (b"a\x00b", 1, 2, "U+0000"),
        (b"a: 1\r\nb: \x1b[31m", 2, 4, "U+001B"),
        (b"a: \x7f", 1, 4, "U+007F"),
        ("a: \x9b".encode(), 1, 4, "U+009B"),
        ("a: 1".encode("utf-16"), 0, 0, "UTF-16"),
    ],
)
def test_bytes_that_are_no_text_are_refused(
    data: bytes, line: int, column: int, message: str
) -> None:
    found = problem(data)
    assert (found.line, found.column) == (line, column)
    assert message in found.message


@given(st.binary(max_size=60) | st.text(alphabet="ab:-[]{}&*!|>'\"%@\n\t #<,?1", max_size=60))
def test_any_bytes_are_read_or_explained(data: bytes | str) -> None:
    data = data if isinstance(data, bytes) else data.encode()
    try:
        plain(read_yaml(data, "m.yml"))
        found: tuple[Problem, ...] = ()
    except InvalidFileError as error:
        found = error.problems
    last = data.decode("latin-1").count("\n") + data.count(b"\r") + 1
    for one in found:
        assert 0 <= one.line <= last + data.count("\x85".encode())
        assert one.message.isprintable()
        assert one.hint


# ---------------------------------------------------------------- limits


def bomb(levels: int, width: int) -> str:
    lines = ["l0: &l0 [x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * width)}]" for n in range(1, levels + 1)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        bomb(20, 9),
        bomb(20, 9).replace("[x, x]", "{a: x}").replace("[", "{<<: [").replace("]", "]}"),
        "a: &a [" + "x," * 9_000 + "]\n" + "\n".join(f"b{n}: *a" for n in range(30)),
    ],
    ids=["laughs", "merged laughs", "wide aliases"],
)
def test_what_aliases_expand_to_is_counted_and_never_made(text: str) -> None:
    found = problem(text)
    assert f"more than {MOST_NODES:,} values" in found.message
    assert found.line


@pytest.mark.parametrize(
    "text",
    [
        "[" + "1," * 2_000 + "]",
        "".join(f"k{n}: 1\n" for n in range(1_001)),
        "[" + "[]," * 2_000 + "]",
    ],
)
def test_too_many_values_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "MOST_NODES", 1_999)
    assert "more than 1,999 values" in problem(text).message


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[{a: "])
def test_deep_nesting_is_refused(opening: str) -> None:
    found = problems(opening * 100_000)[-1]
    assert "nested" in found.message or "cannot be a key" in found.message


def test_the_depth_counts_what_aliases_add(parser: str) -> None:
    def chain(length: int) -> str:
        return "\n".join(["- &a0 []", *(f"- &a{n} [*a{n - 1}]" for n in range(1, length))])

    assert len(read(chain(DEEPEST - 1))) == DEEPEST - 1
    assert "levels deep" in problem(chain(DEEPEST)).message
    assert read("[" * DEEPEST + "]" * DEEPEST)
    assert "levels deep" in problem("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)).message


def test_a_file_that_is_too_large_is_refused_unread() -> None:
    found = problem(b"x" * 50_000_000)
    assert found.line == 0
    assert "50.0 MB" in found.message


def test_the_longest_line_is_refused_for_its_length() -> None:
    assert "characters" in problem("x" * LONGEST_FILE).message


@pytest.mark.parametrize("text", ["a: {}", "a: '{}'", "a: &x {}", "a: |\n  {}"])
def test_a_text_that_is_too_long_is_refused_at_its_place(text: str) -> None:
    assert len(read(text.replace("{}", "x" * (LONGEST_SCALAR - 1)))["a"]) < LONGEST_SCALAR + 1
    found = problem(text.replace("{}", "x" * (LONGEST_SCALAR + 1)))
    assert "100,000 are allowed" in found.message
    assert (found.line, found.column) == (1, 4)


def test_the_list_of_problems_ends_somewhere() -> None:
    found = problems("a: 1\n" * 5_000)
    assert len(found) == 1_001
    assert "stopped" in found[-1].message


def test_hostile_names_are_visible_and_short_in_messages() -> None:
    key = '"\\e[31m' + "k" * 500 + '"'
    found = problem(f"? {key}\n: 1\n? {key}\n: 2\n")
    assert "\x1b" not in found.message
    assert len(found.message) < 200
