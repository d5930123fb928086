from __future__ import annotations

import pytest
from rowtui.core.base.errors import InvalidFileError
from rowtui.core.workflow.toml_file import TomlFile, did_you_mean
from rowtui.core.workflow.toml_keys import Key, TableKeys


def problems(file: TomlFile) -> list[tuple[int, int, str, str]]:
    return [(p.line, p.column, p.message, p.hint) for p in file.problems]


@pytest.mark.parametrize(
    ("data", "line", "column", "words"),
    [
        (b"a = 1\nb = \n", 2, 5, "not valid TOML"),
        (b"a = 1\na = 2\n", 2, 6, "set twice"),
        (b'a = 1\nb = "\xff"\n', 2, 6, "0xff is not UTF-8"),
        (b"\xc3\xa4 = 1\n", 1, 1, "not valid TOML"),
        (b'a = "\x1b[31m"', 1, 6, "\\x1b"),
        (b"a = " + b"[" * 50_000, 0, 0, "nested too deeply"),
        (b"a = " + b"9" * 5_000, 0, 0, "4300 digits"),
    ],
)
def test_a_file_that_is_not_toml_is_refused_with_its_place(
    data: bytes, line: int, column: int, words: str
) -> None:
    with pytest.raises(InvalidFileError) as caught:
        TomlFile(data, "w.toml")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == ("w.toml", line)
    assert abs(problem.column - column) <= 2
    assert words in problem.message
    assert "\x1b" not in str(problem)


def test_a_byte_order_mark_and_windows_line_ends_are_accepted() -> None:
    assert TomlFile(b"\xef\xbb\xbfa = 1\r\nb = 2\r\n", "f").data == {"a": 1, "b": 2}


def test_getters_give_what_is_right_and_note_what_is_wrong_and_go_on() -> None:
    file = TomlFile(
        b'good = "x"\nbad = 1\nflag = "no"\nn = -1\nf = 1.5\nt = true\n'
        b"huge = 99999999999999999999\n"
        b'list = ["a", 2, "b"]\ntable = 3\nkind = "slrum"\nday = 2020-01-01\n',
        "f.toml",
        TableKeys(
            {
                "good": Key("string"),
                "bad": Key("string"),
                "flag": Key("boolean"),
                **dict.fromkeys(("n", "f", "t", "huge"), Key("integer")),
                "list": Key("strings"),
                "table": Key("table"),
                "kind": Key("string", choices=("bash", "slurm")),
                "day": Key("string"),
                "absent": Key("string"),
                "number": Key("integer"),
                "texts": Key("strings"),
                "tables": Key("tables"),
                "inner": Key("table"),
            }
        ),
    )
    top = file.top
    assert top.string("good") == "x"
    assert top.string("absent") is None
    assert top.integer("number") is None
    assert top.strings("texts") is None
    assert top.table("inner") is None
    assert top.tables("tables") is None
    assert top.string("bad") is None
    assert top.boolean("flag") is None
    assert top.integer("n") is None
    assert top.integer("f") is None
    assert top.integer("t") is None
    assert top.integer("huge") is None
    assert top.strings("list") == ("a", "b")
    assert top.table("table") is None
    assert top.string("kind") is None
    assert top.string("day") is None
    assert problems(file) == [
        (2, 1, "`bad` must be a string, not an integer", ""),
        (3, 1, "`flag` must be true or false, not a string", ""),
        (4, 1, "`n` is -1 but must be a non-negative integer", ""),
        (5, 1, "`f` must be an integer, not a float", ""),
        (6, 1, "`t` must be an integer, not a boolean", ""),
        (7, 1, "`huge` is 99999999999999999999 but must be at most 9223372036854775807", ""),
        (8, 14, "element 1 of `list` must be a string, not an integer", ""),
        (9, 1, "`table` must be a table, not an integer", ""),
        (10, 1, "`kind` cannot be 'slrum'", "did you mean 'slurm'?"),
        (11, 1, "`day` must be a string, not a date or time", ""),
    ]


def test_an_unknown_key_says_what_was_probably_meant() -> None:
    workspace = TableKeys({"path": Key("string"), "value_file": Key("string")})
    keys = TableKeys({"workspace": Key("table", keys=workspace)})
    file = TomlFile(b"[workspace]\nvalue_fil = 1\nzzz = 2\n", "f", keys)
    table = file.top.table("workspace")
    assert table is not None
    assert problems(file) == [
        (2, 1, "unknown key `value_fil` in `workspace`", "did you mean 'value_file'?"),
        (3, 1, "unknown key `zzz` in `workspace`", "expected one of `path`, `value_file`"),
    ]


def test_a_table_where_an_array_of_tables_is_wanted_says_how_to_write_it() -> None:
    keys = TableKeys({"action": Key("tables")})
    file = TomlFile(b"[action]\nname = 'a'\n", "f", keys)
    assert file.top.tables("action") is None
    message = "`action` must be an array of tables, not a table"
    assert problems(file) == [(1, 2, message, "write it as [[action]]")]


@pytest.mark.parametrize(
    ("text", "key", "noted"),
    [
        (b"t = {a = 1}", "a", 0),
        (b"t = {b = 1}", "b", 0),
        (b"t = {a = 1, b = 2}", None, 1),
        (b"t = {}", None, 1),
        (b"t = {a = 1, c = 2}", "a", 1),
        (b"t = {c = 2}", None, 2),
    ],
)
def test_exactly_one_key_of_several_is_wanted(text: bytes, key: str | None, noted: int) -> None:
    one = TableKeys({"a": Key("integer"), "b": Key("integer")}, one=True)
    file = TomlFile(text, "f", TableKeys({"t": Key("table", keys=one)}))
    table = file.top.table("t")
    assert table is not None
    assert table.only_key() == key
    assert len(file.problems) == noted


def test_warnings_do_not_make_a_file_unusable_but_errors_do() -> None:
    file = TomlFile(b"a = 1", "f")
    file.top.problem("a", "odd", severity="warning")
    file.raise_if_errors()
    file.top.problem("a", "wrong")
    with pytest.raises(InvalidFileError) as caught:
        file.raise_if_errors()
    assert [problem.message for problem in caught.value.problems] == ["odd", "wrong"]


def test_the_nearest_name_is_suggested() -> None:
    assert did_you_mean("Delta", ["delta", "anvil"]) == "did you mean 'delta'?"
    assert did_you_mean("dleta", ["delta", "anvil"]) == "did you mean 'delta'?"
    assert did_you_mean("xyz", ["delta", "anvil"]) == ""
