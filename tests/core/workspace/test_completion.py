"""Which actions are complete in a directory."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.workspace.completion import Products


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "file").write_text("")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner").write_text("")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "sub" / "broken").symlink_to("nowhere")
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.mark.parametrize(
    ("products", "complete"),
    [
        (("file",), True),
        (("sub",), True),
        (("broken",), True),
        (("sub/inner",), True),
        (("sub/broken",), True),
        (("file", "sub/inner", "broken"), True),
        (("file", "other"), False),
        (("sub/other", "file"), False),
        (("file/inner",), False),
        ((), False),
        (("",), False),
        (("sub/",), False),
        (("file/",), False),
        (("fi*",), False),
        (("fi\0le",), False),
    ],
)
def test_an_action_is_complete_where_every_product_exists(
    folder: int, products: tuple[str, ...], complete: bool
) -> None:
    entries = map(os.fsencode, os.listdir(folder))
    assert Products({"a": products}).complete_in(entries, folder, b"./") == complete


def test_each_action_has_its_bit(folder: int) -> None:
    table = Products({"a": ("other",), "b": ("file",), "c": (), "d": ("file", "sub")})
    entries = map(os.fsencode, os.listdir(folder))
    assert table.complete_in(entries, folder, b"./") == 0b1010
    assert not Products({"a": ()})


@given(st.lists(st.integers(0, 2**9 - 1), max_size=700))
def test_bit_sets_hold_each_positions_actions(found: list[int]) -> None:
    actions = [f"a{number}" for number in range(9)]
    sets = Products(dict.fromkeys(actions, ("x",))).bit_sets(found)

    for bit, action in enumerate(actions):
        expected = {position for position, kind in enumerate(found) if kind >> bit & 1}
        assert {p for p in range(len(found) + 8) if sets[action] >> p & 1} == expected
