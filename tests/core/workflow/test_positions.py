from __future__ import annotations

from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.workflow.positions import KeyPath, offsets
from rowtui.core.workflow.toml_file import TomlFile


def locate(text: str, path: KeyPath) -> tuple[int, int]:
    return TomlFile(text.encode(), "file.toml").locate(path)


DOCUMENT = '''\
# a comment with [brackets] = "x"
title = "a # no comment"
dotted . "quoted key" = 1
'lit.eral' = """
[not.a.table]
text = 1 \\""" still text
"""
array = [ # comment ]
    "one, two",
    [1, 2], # [
    { x = 1, y.z = [true,
        false] },
]

[table]
when = 1979-05-27T07:32:00Z
raw = \'\'\'
[[action]]\'\'\'\'
"esc\\u0061ped" = 1

[[action]]
name = "a"
[action.group]
sort_by = ["/x", "y"]
[[action]]
name = "b"
[[action.deep]]
k = 1
[[action.deep]]
k = 2
[action.deep.more]
k = 3
[ spaced . out ]
k = 4
'''


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("title",), (2, 1)),
        (("dotted",), (3, 1)),
        (("dotted", "quoted key"), (3, 10)),
        (("lit.eral",), (4, 1)),
        (("array",), (8, 1)),
        (("array", 0), (9, 5)),
        (("array", 1, 1), (10, 9)),
        (("array", 2), (11, 5)),
        (("array", 2, "y", "z", 1), (12, 9)),
        (("table",), (15, 2)),
        (("table", "raw"), (17, 1)),
        (("table", "escaped"), (19, 1)),
        (("action", 0), (21, 1)),
        (("action", 0, "name"), (22, 1)),
        (("action", 0, "group", "sort_by", 1), (24, 18)),
        (("action", 1, "name"), (26, 1)),
        (("action", 1, "deep", 0, "k"), (28, 1)),
        (("action", 1, "deep", 1, "k"), (30, 1)),
        (("action", 1, "deep", 1, "more", "k"), (32, 1)),
        (("spaced", "out", "k"), (34, 1)),
    ],
)
def test_every_kind_of_key_is_found_where_it_stands(
    path: tuple[str | int, ...], place: tuple[int, int]
) -> None:
    tomli.loads(DOCUMENT)
    assert locate(DOCUMENT, path) == place


def test_a_path_that_is_absent_gives_its_nearest_parent() -> None:
    assert locate(DOCUMENT, ("action", 1, "nope", "deeper")) == locate(DOCUMENT, ("action", 1))
    assert locate(DOCUMENT, ("nope",)) == (0, 0)
    assert locate(DOCUMENT, ()) == (0, 0)


@pytest.mark.parametrize("text", ["a = [1, ", "= 3", "[a", "a = {b", 'a = "', "[[", "a = [1 2]"])
def test_broken_text_never_raises(text: str) -> None:
    assert set(offsets(text).values()) <= {*range(len(text) + 1)}


# Documents for the property: every leaf key is unique, so that the line that holds it is known.
_TEXT = "ab ä\"'#[]{}=.,\\😀"
_names = st.text(_TEXT, max_size=6)
_scalars = st.one_of(
    st.integers(-5, 5).map(str),
    st.sampled_from(["true", "1979-05-27", "1.5e3", "inf", "'#]}'", "'''\n[x]\n'''"]),
    st.text(_TEXT, max_size=8).map(lambda text: _quoted(text)),
    st.just('"""a\n# [b]\n\\""" """'),
)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Writer:
    """Writes a nested structure as TOML in randomly chosen forms and notes each key's line."""

    def __init__(self, data: st.DataObject) -> None:
        self.draw = data.draw
        self.text = ""
        self.lines: dict[tuple[str | int, ...], int] = {}
        self.serial = 0

    def key(self) -> tuple[str, str]:
        self.serial += 1
        name = f"k{self.serial}"
        if self.draw(st.booleans()):
            return name, name
        name += self.draw(_names)
        return name, _quoted(name)

    def note(self, path: tuple[str | int, ...]) -> None:
        self.lines[path] = self.text.count("\n") + 1

    def value(self, path: tuple[str | int, ...], depth: int, inline: bool) -> None:
        kind = self.draw(st.sampled_from(["scalar", "array", "table"] if depth else ["scalar"]))
        if kind == "scalar":
            scalar = self.draw(_scalars)
            self.text += scalar
        elif kind == "array":
            self.text += "["
            for index in range(self.draw(st.integers(0, 3))):
                self.text += self.draw(st.sampled_from(["", " ", "\n  ", " # ]'\"\n"]))
                self.note((*path, index))
                self.value((*path, index), depth - 1, inline)
                self.text += self.draw(st.sampled_from([",", " ,", "\n,"]))
            self.text += "]"
        else:
            self.text += "{"
            for number in range(self.draw(st.integers(0, 3))):
                self.text += "," if number else ""
                self.pair(path, depth - 1, inline=True)
            self.text += "}"

    def pair(self, path: tuple[str | int, ...], depth: int, inline: bool) -> None:
        for _ in range(self.draw(st.integers(0, 1))):
            name, written = self.key()
            path = (*path, name)
            self.note(path)
            self.text += written + self.draw(st.sampled_from([".", " . "]))
        name, written = self.key()
        path = (*path, name)
        self.note(path)
        self.text += written + self.draw(st.sampled_from(["=", " = "]))
        self.value(path, depth, inline)

    def body(self, path: tuple[str | int, ...]) -> None:
        for _ in range(self.draw(st.integers(0, 3))):
            self.pair(path, 2, inline=False)
            self.text += self.draw(st.sampled_from(["\n", " # x = [1\n", "\n\n"]))

    def document(self) -> None:
        self.body(())
        for _ in range(self.draw(st.integers(0, 3))):
            name, written = self.key()
            if self.draw(st.booleans()):
                self.note((name,))
                self.text += f"[{written}]\n"
                self.body((name,))
                continue
            for index in range(self.draw(st.integers(1, 3))):
                self.note((name, index))
                self.text += f"[[ {written} ]] # \n"
                self.body((name, index))
                if self.draw(st.booleans()):
                    inner, inner_written = self.key()
                    self.note((name, index, inner))
                    self.text += f"[{written} . {inner_written}]\n"
                    self.body((name, index, inner))


def _get(data: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


@given(st.data())
def test_the_located_line_holds_the_key_in_any_document(data: st.DataObject) -> None:
    writer = _Writer(data)
    writer.document()
    parsed = tomli.loads(writer.text)
    for path, line in writer.lines.items():
        _get(parsed, path)  # the path is real
        assert locate(writer.text, path)[0] == line, (path, writer.text)
