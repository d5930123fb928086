"""Reading directories: values, stamps, what is bad, what vanished, what is complete."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.workspace.list import list_workspace
from rowtui.core.workspace.read import (
    NO_STAMP,
    Reader,
    WorkspaceReading,
    read_directories,
    stat_values,
)
from rowtui.core.workspace.workers import Workers, in_chunks

HOSTILE = [b"a'; rm -rf ~ #", b"two\nlines", b"-rf", b"esc\x1b[2J", b"caf\xe9\xff", b" ", b"a b"]


def directory(workspace: Path, name: str | bytes, value: str | bytes | None = "1") -> Path:
    path = Path(os.fsdecode(os.path.join(os.fsencode(workspace), os.fsencode(name))))
    path.mkdir()
    if value is not None:
        (path / "v.json").write_bytes(value if isinstance(value, bytes) else value.encode())
    return path


def read(workspace: Path, names: Sequence[bytes], **options: Any) -> WorkspaceReading:
    arguments: dict[str, Any] = {"value_file": "v.json", "products": {}} | options
    return read_directories(workspace, names, **arguments)


def test_values_stamps_and_products_are_aligned_to_the_names(tmp_path: Path) -> None:
    directory(tmp_path, "one", '{"b": 2, "a": 1.0}')
    two = directory(tmp_path, "two", " null ")
    (two / "out").write_text("")
    (two / "sub").mkdir()
    (two / "sub" / "out").symlink_to("nowhere")
    products = {"x": ("out",), "y": ("out", "sub/out"), "z": ("out", "no"), "none": ()}

    found = read(tmp_path, [b"two", b"one", b"two"], products=products)

    assert found.raw == [b"null", b'{"a":1.0,"b":2}', b"null"]
    status = (two / "v.json").stat()
    assert found.stamps[0] == found.stamps[2] == (status.st_mtime_ns, 6)
    assert found.completed == {"x": 0b101, "y": 0b101, "z": 0, "none": 0}
    assert (found.bad, found.vanished) == ({}, [])


def test_hostile_names_are_read_like_others(tmp_path: Path) -> None:
    for number, name in enumerate(HOSTILE):
        (directory(tmp_path, name, str(number)) / "out").write_text("")

    found = read(tmp_path, HOSTILE, products={"x": ("out",)})

    assert found.raw == [str(number).encode() for number in range(len(HOSTILE))]
    assert found.completed == {"x": 0b1111111}
    assert read_directories(
        tmp_path, HOSTILE, value_file=None, products={"x": ("out",)}
    ).completed == {"x": 0b1111111}


def test_products_with_hostile_names_are_found(tmp_path: Path) -> None:
    path = directory(tmp_path, "one")
    (path / "two\nlines").write_text("")
    (path / "é").write_text("")
    os.close(os.open(os.fsencode(path) + b"/\xff", os.O_CREAT))

    found = read(tmp_path, [b"one"], products={"x": ("two\nlines", "é")})

    assert found.completed == {"x": 1}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no value file v.json"),
        ("", "v.json is not valid JSON: it is empty"),
        ("[1,\n oops]", "v.json is not valid JSON: line 2, column 2"),
        ("NaN", "line 1, column 1"),
        (b'"\xff"', "byte 0xff is not UTF-8"),
        ("1e999", "line 1, column 1"),
        ("[" * 5000, "line 1"),
    ],
)
def test_a_bad_value_sets_its_directory_aside_and_no_other(
    tmp_path: Path, value: str | bytes | None, reason: str
) -> None:
    directory(tmp_path, "a")
    (directory(tmp_path, "b", value) / "out").write_text("")
    directory(tmp_path, "c")

    found = read(tmp_path, [b"a", b"b", b"c"], products={"x": ("out",)})

    assert found.raw == [b"1", None, b"1"]
    assert list(found.bad) == [1]
    assert reason in found.bad[1]
    assert found.completed == {"x": 0b010}
    assert found.vanished == []


def bytes_read() -> int:
    counters = Path("/proc/self/io").read_text().split()
    return int(counters[counters.index("rchar:") + 1])


def test_a_value_file_of_200_mb_is_not_read(tmp_path: Path) -> None:
    os.truncate(directory(tmp_path, "huge") / "v.json", 200 << 20)
    directory(tmp_path, "good")
    read(tmp_path, [b"good"])  # what is imported now is not read below
    before = bytes_read()

    found = read(tmp_path, [b"huge", b"good"])

    assert bytes_read() - before < 100_000
    assert "209,715,200 bytes, more than the 67,108,864 allowed" in found.bad[0]
    assert found.raw == [None, b"1"]
    assert found.stamps[0][1] == 200 << 20


def test_a_value_file_without_a_true_size_is_read_to_the_limit(tmp_path: Path) -> None:
    # Files of /proc say that they have no bytes, like a file that grows between stat and read.
    (directory(tmp_path, "proc", None) / "v.json").symlink_to("/proc/sys/kernel/pid_max")
    (directory(tmp_path, "long", None) / "v.json").symlink_to("/proc/self/status")

    found = read(tmp_path, [b"proc", b"long"], value_limit=100)

    assert found.raw[0] == Path("/proc/sys/kernel/pid_max").read_bytes().strip()
    assert "more than the 100 allowed" in found.bad[1]


def test_what_is_no_regular_file_is_bad_and_never_hangs(tmp_path: Path) -> None:
    os.mkfifo(directory(tmp_path, "fifo", None) / "v.json")
    (directory(tmp_path, "folder", None) / "v.json").mkdir()
    (directory(tmp_path, "device", None) / "v.json").symlink_to("/dev/zero")
    (directory(tmp_path, "loop", None) / "v.json").symlink_to("v.json")
    (directory(tmp_path, "broken", None) / "v.json").symlink_to("nowhere")
    names = [b"fifo", b"folder", b"device", b"loop", b"broken", b"socket"]
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(directory(tmp_path, "socket", None) / "v.json"))

        found = read(tmp_path, names)

    assert [found.bad[number].replace("v.json", "it") for number in range(6)] == [
        "it is not a regular file",
        "it is not a regular file",
        "it is not a regular file",
        "it cannot be read: Too many levels of symbolic links",
        "it has no value file it",
        "it is not a regular file",
    ]


def test_a_value_file_may_be_a_symlink_or_lie_in_a_subdirectory(tmp_path: Path) -> None:
    one = directory(tmp_path, "one", "[1]")
    (one / "sub").mkdir()
    (one / "sub" / "link").symlink_to("../v.json")

    assert read(tmp_path, [b"one"], value_file="sub/link").raw == [b"[1]"]
    stamp = (one / "v.json").stat().st_mtime_ns, 3
    assert stat_values(tmp_path, [b"one"], "sub/link") == [stamp]


def test_a_directory_without_value_file_setting_has_no_value(tmp_path: Path) -> None:
    directory(tmp_path, "one")
    assert read(tmp_path, [b"one"], value_file=None) == WorkspaceReading(
        [None], [NO_STAMP], {}, [], {}
    )


def test_directories_that_vanish_while_being_read_are_told_apart(tmp_path: Path) -> None:
    names = [b"%03d" % number for number in range(200)]
    for name in names:
        (directory(tmp_path, name) / "out").write_text("")

    def remove_the_last_two(done: int, total: int) -> None:
        if done >= 64 and (tmp_path / "198").exists():
            for name in ("198", "199"):
                os.rename(tmp_path / name, tmp_path.parent / f"{tmp_path.name}.{name}")
            (tmp_path / "199").symlink_to(f"../{tmp_path.name}.199")

    found = read(
        tmp_path,
        names,
        products={"x": ("out",)},
        workers=Workers(1, 1),
        progress=remove_the_last_two,
    )

    assert found.vanished == [198, 199]
    assert found.bad == {}
    assert found.raw == [b"1"] * 198 + [None] * 2
    assert found.completed == {"x": (1 << 198) - 1}


def test_a_directory_that_became_a_file_has_vanished(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("")
    assert read(tmp_path, [b"one", b"two"]).vanished == [0, 1]
    found = read_directories(tmp_path, [b"one"], value_file=None, products={"x": ("out",)})
    assert (found.vanished, found.completed) == ([0], {"x": 0})


def test_a_directory_that_cannot_be_opened_is_bad(tmp_path: Path) -> None:
    too_long = b"x" * 300

    found = read(tmp_path, [too_long])

    assert found.bad == {0: "the directory cannot be read: File name too long"}


def test_edited_value_files_are_noticed_by_their_stamps(tmp_path: Path) -> None:
    one, two, three = (directory(tmp_path, name) for name in ("1", "2", "3"))
    names = [b"1", b"2", b"3", b"4"]
    before = read(tmp_path, names).stamps

    (one / "v.json").write_text("12")
    os.utime(two / "v.json", ns=(1, 1))
    (three / "v.json").unlink()

    after = stat_values(tmp_path, names, "v.json")
    assert after[0] is not None
    assert after[0][1] == 2 != before[0][1]
    assert after[1:] == [(1, 1), None, None]


def test_progress_is_reported_to_the_end(tmp_path: Path) -> None:
    names = [b"%03d" % number for number in range(150)]
    for name in names:
        directory(tmp_path, name)
    calls: list[tuple[int, int]] = []

    read(tmp_path, names, workers=Workers(2, 2), progress=lambda *call: calls.append(call))

    assert calls[-1] == (150, 150)
    assert calls == sorted(calls)


@pytest.mark.parametrize("workers", [Workers(1, 1), Workers(2, 1), Workers(2, 1, "spawn")])
def test_a_missing_workspace_is_an_error(tmp_path: Path, workers: Workers) -> None:
    with pytest.raises(RowtuiError, match="does not exist"):
        read(tmp_path / "nowhere", [b"x"] * 100, workers=workers)


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_value_file_that_is_no_name_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(RowtuiError, match="value_file"):
        read(tmp_path, [b"x"], value_file=name)
    with pytest.raises(RowtuiError, match="value_file"):
        stat_values(tmp_path, [b"x"], name)


class SlowReader(Reader):
    """Waits like a network file system, so that threads are started."""

    def __call__(self, names: Sequence[bytes]) -> Any:
        for _ in names:
            time.sleep(1e-6)
        return super().__call__(names)


KINDS = ("good", "good", "good", "missing", "broken", "vanished", "fifo")
kinds = st.sampled_from(KINDS)


@settings(max_examples=4, deadline=None)
@given(st.lists(st.tuples(kinds, st.integers(0, 7)), min_size=1, max_size=20), st.integers(65, 300))
def test_threads_and_processes_agree_with_one_thread(
    pattern: list[tuple[str, int]], count: int
) -> None:
    agree(pattern, count, Workers(1, 4), Workers(3, 4))


def test_processes_that_begin_anew_agree_with_one_thread() -> None:
    # Each of them imports everything again: one project has to have all kinds.
    made = [(kind, bits) for kind in KINDS for bits in range(8)]
    agree(made, 120, Workers(2, 2, "spawn"))


def agree(pattern: list[tuple[str, int]], count: int, *several: Workers) -> None:
    """Read a workspace with one thread and with each of these workers; compare what they find."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        names = [b"n\xff%d" % number for number in range(count)]
        for number, name in enumerate(names):
            kind, made = pattern[number * 31 % len(pattern)]
            if kind == "vanished":
                continue
            value = {"good": f'{{"i": {number}}}', "broken": "{"}.get(kind)
            path = directory(workspace, name, value)
            if kind == "fifo":
                os.mkfifo(path / "v.json")
            for bit in range(3):
                if made >> bit & 1:
                    (path / f"p{bit}").mkdir()
        products = {"a": ("p0",), "b": ("p0", "p1"), "c": ("p2", "p1"), "d": ()}

        def with_workers(workers: Workers) -> WorkspaceReading:
            return read(workspace, names, products=products, workers=workers)

        alone = with_workers(Workers(1, 1))
        for workers in several:
            assert with_workers(workers) == alone
        found = read_directories(
            workspace, names, value_file=None, products=products, workers=Workers(2, 2)
        )
        assert found.completed == alone.completed
        stats = stat_values(workspace, names, "v.json", workers=Workers(1, 1))
        assert stat_values(workspace, names, "v.json", workers=Workers(2, 2)) == stats

        arguments = (os.fsencode(workspace), "v.json", products, 1000)
        one = sorted(in_chunks(Reader, arguments, names, Workers(1, 1)))
        assert sorted(in_chunks(SlowReader, arguments, names, Workers(1, 4))) == one
        assert sorted(in_chunks(SlowReader, arguments, names, Workers(2, 4))) == one


def test_ten_directories_start_nothing_and_import_little(tmp_path: Path) -> None:
    for number in range(10):
        directory(tmp_path, str(number))
    script = """
import sys
from pathlib import Path
from rowtui.core.workspace.list import list_workspace
from rowtui.core.workspace.read import read_directories
names = list_workspace(Path(sys.argv[1])).names
read_directories(Path(sys.argv[1]), names, value_file=None, products={"a": ("x",)})
print(*sorted({"orjson", "json", "uuid"} & set(sys.modules)))
found = read_directories(Path(sys.argv[1]), names, value_file="v.json", products={})
heavy = ["multiprocessing", "concurrent", "subprocess", "asyncio", "numpy", "watchfiles", "marshal"]
print(len(found.raw), *(set(heavy) & set(sys.modules) - {"marshal"}))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], check=True, capture_output=True, text=True
    )
    assert done.stdout == "\n10\n"


def test_the_names_of_a_listing_can_be_read(tmp_path: Path) -> None:
    for name in HOSTILE:
        directory(tmp_path, name)
    assert read(tmp_path, list_workspace(tmp_path).names).raw == [b"1"] * len(HOSTILE)
