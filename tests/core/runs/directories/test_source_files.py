"""Sources read from real files and directories: all there is, or an error with its place."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.definition.spec import (
    Existing,
    FileSource,
    Source,
    SourceRows,
    TableSource,
    Values,
)
from rowtui.core.network.samples.model import SourceError
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.directories import source_files, source_tables
from rowtui.core.runs.directories.source_files import (
    Read,
    TooManyFilesError,
    find_files,
    read_files,
    read_source,
)
from rowtui.core.runs.directories.source_tables import read_table


def table(folder: Path, content: bytes | str, *dimensions: str) -> SourceRows:
    """The samples of a file with this content; JSON if it looks like it."""
    data = content.encode() if isinstance(content, str) else content
    kind: Any = "json" if data.startswith((b"[", b"{")) else "csv"
    (folder / f"t.{kind}").write_bytes(data)
    return read_table(folder, "s", TableSource(f"t.{kind}", kind, dimensions))


def files(folder: Path, pattern: str) -> Read:
    return read_files(folder, "s", FileSource(pattern, "file"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_a_table_is_read_as_spreadsheets_write_it(
    tmp_path: Path, delimiter: str, newline: str, bom: str
) -> None:
    lines = [["scan", "age", "wörds"], ["a", "30", '"x,;\ty ""z"""'], [], ["b", "41", ""], [""]]
    content = (bom + newline.join(delimiter.join(line) for line in lines)).encode()

    rows = table(tmp_path, content)

    assert rows.values == (("a", "b"),)
    assert list(rows.more) == [
        {"age": 30, "wörds": 'x,;\ty "z"'},
        {"age": 41, "wörds": None},
    ]
    assert rows.digest == sha256(content).hexdigest()


def test_the_delimiter_is_that_of_the_header_outside_of_quotes(tmp_path: Path) -> None:
    rows = table(tmp_path, '"a,b,c";x\n1;2,5\n')

    assert rows.dimensions == ("a,b,c",)
    assert list(rows.more) == [{"x": "2,5"}]


def test_a_table_of_one_column_needs_no_delimiter(tmp_path: Path) -> None:
    assert table(tmp_path, "scan\na b\nc\n").values == (("a b", "c"),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n1,2\n3\n", "t.csv:3: 1 cell, but 2 columns"),
        (b'a,b\n"1\n2",2\n3,4,5\n', "t.csv:4: 3 cells, but 2 columns"),
        (b'a,b\n1,"2\n', "t.csv:2: "),
        (b'a,b\n1,"2"x\n', "t.csv:2: "),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "t.csv:2: field larger"),
        (b"a,b\n1,2\n\xff,4\n", "t.csv:3: byte 0xff is not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        (b"", "t.csv is empty"),
        (b"\n \n", "t.csv is empty"),
        (b'a,b\n"1\n",2\n"1\n",3\n', "t.csv:4 has the same a as line 2"),
        (b"[{}, 3]", "t.json: entry 2 is no object"),
        (b'{"a": 1}', "should be a list"),
        (b'[{"a": 1},\n {"a" 2}]', "t.json:2:7: "),
        (b'[{"a": NaN}]', "t.json:1:8: "),
        (b'[{"a": 1}, {"b": 1}]', "t.json: entry 2 has no `a`"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_with_its_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(SourceError) as error:
        table(tmp_path, content)

    assert message in error.value.message
    assert error.value.message.startswith("source 's': ")


def test_objects_of_json_have_values_of_any_kind(tmp_path: Path) -> None:
    rows = table(tmp_path, '[{"id": "1", "x": {"y": null}}, {"x": 2, "id": 1, "missing": true}]')

    assert rows.values == (("1", 1),)
    assert list(rows.more) == [{"x": {"y": None}}, {"x": 2}]
    assert rows.missing == {1}


cells = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)


@given(st.lists(st.tuples(cells, cells), max_size=6, unique_by=lambda row: row[0].strip()))
def test_texts_survive_a_table(
    tmp_path_factory: pytest.TempPathFactory, written: list[tuple[str, str]]
) -> None:
    # Given every cell quoted, so that it holds just what it says, and one that is clearly a text
    folder = tmp_path_factory.mktemp("t")
    lines = [("id", "x"), ("text", "text"), *written]
    quoted = ('"' + '","'.join(cell.replace('"', '""') for cell in line) + '"' for line in lines)

    rows = table(folder, "\r\n".join(quoted))

    def read(cell: str) -> str | None:
        return cell if cell.strip() else None

    assert rows.values == (tuple(read(cell) for cell, _ in lines[1:]),)
    assert [more["x"] for more in rows.more] == [read(cell) for _, cell in lines[1:]]


@pytest.mark.parametrize("path", ["../t.csv", "/etc/passwd", "", "a\x1b"])
def test_a_table_outside_of_the_project_is_not_read(tmp_path: Path, path: str) -> None:
    with pytest.raises(SourceError, match="the path"):
        read_table(tmp_path, "s", TableSource(path, "csv"))
    with pytest.raises(SourceError, match="the path"):
        read_files(tmp_path, "s", FileSource(path, "f"))


def test_what_is_no_file_of_reasonable_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "large.csv").write_text("a\n" * 100)
    monkeypatch.setattr(source_tables, "LARGEST_TABLE", 100)

    for name, reason in (
        ("pipe.csv", "not a regular file"),
        ("folder.csv", "not a regular file"),
        ("large.csv", "200 bytes, more than the 100"),
        ("none.csv", "No such file"),
    ):
        with pytest.raises(SourceError, match=reason):
            read_table(tmp_path, "s", TableSource(name, "csv"))


def tree(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.nii", ["a.nii"]),
        ("data/*.nii", ["data/b.nii", "data/c.nii"]),
        ("**/*.nii", ["a.nii", "data/b.nii", "data/c.nii", "data/deep/d.nii"]),
        ("data/**", ["data/.hidden", "data/b.nii", "data/c.nii", "data/deep/d.nii"]),
        ("./data//deep/*", ["data/deep/d.nii"]),
        ("**/deep/**/*.nii", ["data/deep/d.nii"]),
        ("data/[bx].nii", ["data/b.nii"]),
        ("data/?.nii", ["data/b.nii", "data/c.nii"]),
        ("data", []),
        ("*.txt", []),
    ],
)
def test_a_pattern_finds_files_in_order_of_their_paths(
    tmp_path: Path, pattern: str, found: list[str]
) -> None:
    tree(tmp_path, "data/c.nii", "a.nii", "data/b.nii", "data/deep/d.nii", "data/.hidden")
    (tmp_path / "folder.nii").mkdir()
    tree(tmp_path, ".row/own.nii")

    read = files(tmp_path, pattern)

    assert read.rows.dimensions == ("file",)
    assert read.rows.values == (tuple(found),)
    assert read.notices == ()


names = st.sampled_from(["a", "b", "ab", ".h", "x.y"])
patterns = st.lists(st.sampled_from(["**", "*", "a", "?b", "*.y", "[ab]"]), min_size=1, max_size=4)


@given(st.sets(st.lists(names, min_size=1, max_size=3).map("/".join), max_size=8), patterns)
def test_a_pattern_means_what_pathlib_means(
    tmp_path_factory: pytest.TempPathFactory, paths: set[str], parts: list[str]
) -> None:
    # Given a tree; a path that is both a file and a folder is a folder
    root = tmp_path_factory.mktemp("g")
    for path in sorted(paths, key=len, reverse=True):
        if not (root / path).exists() and not any(
            (root / up).is_file() for up in Path(path).parents
        ):
            tree(root, path)
    if parts[-1] == "**":  # folders alone, until Python 3.13
        parts = [*parts, "*"]
    pattern = "/".join(parts)

    found = find_files(str(root), pattern, 100, lambda *told: pytest.fail(str(told)))

    expected = {str(path.relative_to(root)) for path in root.glob(pattern) if path.is_file()}
    assert found == sorted(expected)


def test_links_that_a_pattern_names_are_followed_and_loops_end(tmp_path: Path) -> None:
    root = tmp_path / "project"
    tree(root, "data/a.nii")
    tree(tmp_path, "storage/b.nii")
    (root / "big").symlink_to(tmp_path / "storage")
    (root / "data" / "up").symlink_to(root)
    (root / "data" / "c.nii").symlink_to(tmp_path / "storage" / "b.nii")
    (root / "data" / "self.nii").symlink_to("self.nii")
    (root / "data" / "gone.nii").symlink_to("nowhere")

    assert files(root, "big/*.nii").rows.values == (("big/b.nii",),)
    everywhere = files(root, "**/*.nii")
    assert everywhere.rows.values == (("data/a.nii", "data/c.nii"),)
    assert sorted(notice.split(":")[0] for notice in everywhere.notices) == [
        "cannot read data/gone.nii",
        "cannot read data/self.nii",
    ]


def test_names_that_no_value_file_can_hold_are_set_aside_and_told(tmp_path: Path) -> None:
    tree(tmp_path, "a.nii", "\udcff\x1b.nii", "é\n.nii")

    read = files(tmp_path, "*.nii")

    assert read.rows.values == (("a.nii", "é\n.nii"),)
    assert read.notices == (r"file \xff\x1b.nii is not counted: its name is not UTF-8",)


def test_a_new_file_changes_the_digest_of_a_listing(tmp_path: Path) -> None:
    tree(tmp_path, "a.nii")
    before = files(tmp_path, "*.nii").rows.digest
    assert files(tmp_path, "*.nii").rows.digest == before

    tree(tmp_path, "b.nii")

    assert files(tmp_path, "*.nii").rows.digest not in ("", before)


def test_more_files_than_are_allowed_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path, "a", "b", "c")
    assert len(find_files(str(tmp_path), "*", 3, lambda *_: None)) == 3
    with pytest.raises(TooManyFilesError):
        find_files(str(tmp_path), "*", 2, lambda *_: None)

    monkeypatch.setattr(source_files, "MOST_FILES", 2)
    with pytest.raises(SourceError, match="more than the 2 files that are allowed"):
        files(tmp_path, "*")


@pytest.fixture
def project(tmp_path: Path) -> OpenProject:
    """Directories of a person, of a network, and one whose value cannot be read."""
    (tmp_path / "workflow.toml").write_text(
        '[workspace]\nvalue_file = "v.json"\n'
        '[[action]]\nname = "one"\ncommand = "true {directory}"\n'
    )
    values = {
        "mine0": '{"x": 0}',
        "mine1": '{"x": 1}',
        "other": '{"y": 1}',
        "broken": "{",
        "state,x=5": '{"node": "state", "x": 5}',
    }
    for name, text in values.items():
        (tmp_path / "workspace" / name).mkdir(parents=True)
        (tmp_path / "workspace" / name / "v.json").write_text(text)
    opened = OpenProject.open(tmp_path, environment={"HOME": str(tmp_path)})
    opened.synchronise()
    return opened


def test_directories_of_the_workspace_are_samples_but_those_of_networks(
    project: OpenProject,
) -> None:
    read = read_source(project, Source("old", Existing()))

    assert read.rows.names == ("mine0", "mine1", "other")
    assert read.rows.values == (("mine0", "mine1", "other"),)
    (notice,) = read.notices
    assert notice.startswith("directory broken is not counted: ")


def test_directories_that_are_not_included_are_not_told_of(project: OpenProject) -> None:
    read = read_source(project, Source("old", Existing(("x",), ("m*", "o*"))))

    assert read.rows.names == ("mine0", "mine1")
    assert read.rows.values == ((0, 1),)
    assert len(read.notices) == 1
    assert "other" in read.notices[0]


def test_every_kind_of_source_is_read(project: OpenProject) -> None:
    (project.root / "t.csv").write_text("a\n1\n")
    (project.root / "t.json").write_text(json.dumps([{"a": 1}]))

    kinds = {
        "values": (Values({"a": [1]}), (1,)),
        "csv": (TableSource("t.csv", "csv"), (1,)),
        "json": (TableSource("t.json", "json"), (1,)),
        "files": (FileSource("t.*", "a"), ("t.csv", "t.json")),
    }
    for name, (data, values) in kinds.items():
        read = read_source(project, Source(name, data))
        assert (read.rows.source, read.rows.dimensions) == (name, ("a",))
        assert read.rows.values == (values,)
        assert read.notices == ()
    with pytest.raises(RowtuiError, match=r"source 'gone': cannot read no\.csv"):
        read_source(project, Source("gone", TableSource("no.csv", "csv")))
