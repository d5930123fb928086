from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator
from rowtui.core.base.errors import InvalidFileError
from rowtui.core.workflow.toml_file import TomlFile, did_you_mean
from rowtui.core.workflow.toml_keys import Key, TableKeys, file_schema


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


KINDS = TableKeys(
    {
        "name": Key("line", "The name.", "name it"),
        "on": Key("texts", form="[a-z]+"),
        "share": Key("number", least=1, most=5, wanted="from 1 to 5", hint="write 3"),
        "above": Key("number", most=2, wanted="more than 0", words={"exclusiveMinimum": 0}),
        "port": Key("integer", least=1, most=9),
        "parts": Key("tables", keys=TableKeys({"a": Key("integer")})),
    },
    subject="the thing",
    elsewhere={"other": "it is a key of another file"},
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('name = "x"\non = "a"\nshare = 2\nabove = 0.5\nport = 9\nparts = [{a = 1}]', []),
        ('name = "x"\non = ["a", "b"]\nshare = 1.0\nparts = []', []),
        ("", [(0, 0, "the thing is missing `name`", "name it")]),
        ('name = "a\\n"', [(1, 1, "`name` has control characters", "")]),
        ('name = "x"\non = 1', [(2, 1, "`on` must be an array of strings, not an integer", "")]),
        ('name = "x"\nshare = ""', [(2, 1, "`share` must be a number, not a string", "write 3")]),
        ('name = "x"\nshare = 0', [(2, 1, "`share` is 0 but must be from 1 to 5", "")]),
        ('name = "x"\nshare = nan', [(2, 1, "`share` is nan but must be from 1 to 5", "")]),
        ('name = "x"\nabove = 0.0', [(2, 1, "`above` is 0.0 but must be more than 0", "")]),
        ('name = "x"\nport = 10', [(2, 1, "`port` is 10 but must be at most 9", "")]),
        ('name = "x"\nport = 0', [(2, 1, "`port` is 0 but must be at least 1", "")]),
        (
            'name = "x"\nother = 1',
            [(2, 1, "unknown key `other`", "it is a key of another file")],
        ),
        (
            'name = "x"\nparts = [1]',
            [(2, 10, "element 0 of `parts` must be a table, not an integer", "")],
        ),
    ],
)
def test_a_table_and_its_schema_are_checked_by_one_declaration(
    text: str, found: list[tuple[int, int, str, str]]
) -> None:
    file = TomlFile(text.encode(), "f", KINDS)
    file.top.check()
    assert problems(file) == found
    if "nan" not in text:  # which JSON does not have
        assert Draft202012Validator(file_schema("f", KINDS)).is_valid(file.data) == (not found)


def test_an_unknown_key_of_a_lenient_table_is_a_warning() -> None:
    file = TomlFile(b"nmae = 1", "f", KINDS._replace(lenient=True, subject=""))
    file.top.check()
    (problem,) = file.problems
    assert (problem.severity, problem.hint) == ("warning", "did you mean 'name'?")
