from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.state.container import (
    ALIGNMENT,
    CHECKED_UP_TO,
    MAGIC,
    Container,
    CorruptCacheError,
    NewerCacheError,
    pack,
)


@given(st.dictionaries(st.text(max_size=5), st.binary(max_size=200), max_size=6))
def test_sections_come_back(sections: dict[str, bytes]) -> None:
    packed = pack({"a": [1, None]}, sections)
    container = Container(packed)
    assert container.meta == {"a": [1, None]}
    assert {name: bytes(container.section(name)) for name in container.names()} == sections
    assert pack({"a": [1, None]}, sections) == packed


def test_sections_begin_at_multiples_of_64_bytes() -> None:
    packed = pack({}, {"one": b"x" * 65, "two": b"y" * 8})
    assert packed.index(b"x" * 65) % ALIGNMENT == 0
    assert packed.index(b"y" * 8) % ALIGNMENT == 0


def test_every_changed_byte_of_a_small_file_is_noticed(tmp_path: Path) -> None:
    packed = pack({"n": 1}, {"names": b"abc" * 50})
    for at in range(len(packed)):
        damaged = bytearray(packed)
        damaged[at] ^= 0x41
        try:
            container = Container(bytes(damaged))
            container.verify()
        except (CorruptCacheError, NewerCacheError):
            continue
        # Only padding is free to change.
        assert container.section("names") == b"abc" * 50
        assert packed[at] == 0


@pytest.mark.parametrize("opened", [Container.open, Container.map])
def test_a_file_cut_short_anywhere_is_noticed(tmp_path: Path, opened: object) -> None:
    packed = pack({"n": 1}, {"names": b"abc" * 50})
    path = tmp_path / "x.rtc"
    for size in range(0, len(packed), 7):
        path.write_bytes(packed[:size])
        with pytest.raises(CorruptCacheError):
            opened(path).verify()  # type: ignore[operator]


def test_a_newer_version_is_a_clear_error_and_an_older_one_is_rebuilt() -> None:
    header = b'{"meta":{},"sections":{}}'
    newer = struct.pack("<8sIII", MAGIC, 2, len(header), crc32(header)) + header
    with pytest.raises(NewerCacheError, match="version 2") as caught:
        Container(newer, "some.rtc")
    assert "update rowtui" in caught.value.hint
    older = struct.pack("<8sIII", MAGIC, 0, len(header), crc32(header)) + header
    with pytest.raises(CorruptCacheError, match="old format version"):
        Container(older)


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b"{}",
        b'{"meta":[1],"sections":{}}',
        b'{"meta":{},"sections":{"a":[1]}}',
        b'{"meta":{},"sections":{"a":[0,-1,0]}}',
        b'{"meta":{},"sections":{"a":[0,1000,0]}}',
        b'{"meta":{},"sections":3}',
        b"not json",
        b"\xff\xff",
    ],
)
def test_a_header_of_a_strange_form_is_damage(header: bytes) -> None:
    data = struct.pack("<8sIII", MAGIC, 1, len(header), crc32(header)) + header
    with pytest.raises(CorruptCacheError):
        Container(data)


def test_a_large_section_is_checked_when_asked_for() -> None:
    packed = bytearray(pack({}, {"big": bytes(CHECKED_UP_TO + 1)}))
    packed[-5] ^= 1
    container = Container(bytes(packed))
    assert len(container.section("big")) == CHECKED_UP_TO + 1
    with pytest.raises(CorruptCacheError, match="checksum"):
        container.verify()


def test_reading_needs_no_numpy(tmp_path: Path) -> None:
    path = tmp_path / "x.rtc"
    path.write_bytes(pack({}, {"a": b"123"}))
    code = (
        "import sys; from pathlib import Path; from rowtui.core.state.container import Container;"
        f"print(bytes(Container.open(Path({str(path)!r})).section('a')));"
        "print([m for m in ('numpy', 'orjson', 'asyncio') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "b'123'\n[]\n"
