"""What the optional package reads, compared with what rowtui reads by itself.

Without the package both sides are the same.
"""

import json
import os
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.workspace import list as listing
from rowtui.core.workspace import native
from rowtui.core.workspace.list import list_workspace
from rowtui.core.workspace.read import WorkspaceReading, read_directories
from rowtui.core.workspace.workers import Workers

DEEP = b"[" * 126 + b"]" * 126
UNUSUAL = [
    None,  # no value file
    b"",
    b" ",
    b"{",
    b'{"a":1} x',
    b"\xef\xbb\xbf1",
    b'"\xff"',
    rb'"\ud800"',
    b"1e400",
    b"-0",
    b"[-0, 1e5, 1e16, 1e-7, 5e-324, 123456789012345678901234567890]",
    b'{"b" : 1.0 , "a" : {"y":2,"x":1}, "a" : [ 3 , {"c":null} ]}\n',
    DEEP,
    DEEP[1:-1],
    b'{"a":' + b"[" * 200 + b"1" + b"]" * 200 + b"}",
    b'"' + b"x" * 5000 + b'"',
]
keys = st.sampled_from(["a", "b", "a/b", "~", "é"]) | st.text()
values = st.sampled_from(UNUSUAL) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "b", "a/b", "~", "é"]) | st.text(), inner, max_size=4
        )
    ),
    max_leaves=8,
).map(lambda value: json.dumps(value, allow_nan=True).encode())
products = st.sampled_from(["out", "log", "sub/out", "sub", "none", "/out", "sub/", "", "x" * 300])
directories = st.tuples(values, st.sets(st.sampled_from(["out", "log", "sub", "sub/out", "more"])))
POINTERS = ("", "/a", "/b", "/a/0", "/a~1b", "/a/1/c", "a", "/é")


def made(workspace: Path, all_of_them: list[tuple[bytes | None, set[str]]]) -> None:
    for number, (value, there) in enumerate(all_of_them):
        folder = workspace / f"{number:03}"
        folder.mkdir()
        if value is not None:
            (folder / "v.json").write_bytes(value)
        for product in there - {"sub/out"}:
            (folder / product).write_bytes(b"")
        if "sub/out" in there:
            (folder / "sub").unlink(missing_ok=True)
            (folder / "sub").mkdir()
            (folder / "sub/out").symlink_to("nowhere")


def compared(workspace: Path, names: list[bytes], **wanted: object) -> WorkspaceReading:
    """The reading, which is the same with and without the package, and in any order."""
    arguments = {"workers": Workers(1, 3), "value_limit": 4000, **wanted}
    ours = read_directories(workspace, names, **arguments)  # type: ignore[arg-type]
    mixed = {**arguments, "inodes": [at * 7919 % 101 for at in range(len(names))]}
    others = [read_directories(workspace, names, **mixed)]  # type: ignore[arg-type]
    with patch.object(native, "native_reader", lambda: None):
        others += [
            read_directories(workspace, names, **each)  # type: ignore[arg-type]
            for each in (arguments, mixed)
        ]
    for other in others:
        assert ours[:4] == other[:4]
        assert ours.completed == other.completed
        for pointer, column in other.pointed.items():
            assert cells(ours, pointer) == cells(other, pointer), column
    return ours


def cells(found: WorkspaceReading, pointer: str) -> list[str]:
    """The value of a pointer in each directory, as JSON."""
    column = found.pointed[pointer]
    known = [json.dumps(value, sort_keys=True) for value in column.distinct]
    return [known[code] if code < len(known) else "nothing" for code in column.codes]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(directories, min_size=1, max_size=12),
    st.dictionaries(st.sampled_from("abcde"), st.lists(products, max_size=3).map(tuple)),
    st.booleans(),
)
def test_readings_are_the_same(
    all_of_them: list[tuple[bytes | None, set[str]]],
    actions: dict[str, tuple[str, ...]],
    stamped: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        made(workspace, all_of_them)
        names = sorted(os.fsencode(entry) for entry in os.listdir(workspace))
        names.append(b"gone")

        for value_file in ("v.json", None):
            compared(
                workspace,
                names,
                value_file=value_file,
                products=actions,
                pointers=() if stamped or value_file is None else POINTERS,
                stamped=stamped,
            )


def test_hundreds_of_directories_with_a_few_unusual_ones(tmp_path: Path) -> None:
    made(tmp_path, [(b'{"a":%d}' % (number % 7), {"out"}) for number in range(500)])
    for number in (3, 64, 499):
        (tmp_path / f"{number:03}" / "v.json").write_text("{")
    (tmp_path / "100" / "v.json").unlink()
    os.mkfifo(tmp_path / "100" / "v.json")
    names = [b"%03d" % number for number in range(500)]
    products = {"one": ("out",), "two": ("out", "log"), "three": ("a", "b", "out")}

    found = compared(
        tmp_path, names, value_file="v.json", products=products, pointers=("/a",), value_limit=64
    )

    assert sorted(found.bad) == [3, 64, 100, 499]
    assert found.completed["one"] == (1 << 500) - 1


def test_more_actions_than_the_package_has_bits(tmp_path: Path) -> None:
    made(tmp_path, [(b"1", {"out"})] * 3)
    products = {f"a{number}": (f"out{number}", "out") for number in range(70)}

    compared(tmp_path, [b"000", b"001"], value_file="v.json", products=products)


def test_listings_are_the_same(tmp_path: Path) -> None:
    for name in (b"one", b"\xff\xfe", "é".encode(), b".hidden", b"\xf0\x9f\x98\x80", b"x" * 255):
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("one")

    ours = list_workspace(tmp_path)

    with patch.object(listing, "native_reader", lambda: None):
        plain = list_workspace(tmp_path)
    assert ours.names == plain.names == sorted(ours.names)
    assert ours.inodes == plain.inodes


def test_an_exception_in_the_progress_ends_the_reading(tmp_path: Path) -> None:
    made(tmp_path, [(b"1", set())] * 200)
    names = [b"%03d" % number for number in range(200)]

    def refuse(done: int, total: int) -> None:
        raise RowtuiError(f"{done} of {total}")

    with pytest.raises(RowtuiError, match="of 200"):
        read_directories(tmp_path, names, value_file="v.json", products={}, progress=refuse)
