"""Looking for products without reading values."""

import os
from pathlib import Path

from rowtui.core.workspace.read import read_directories
from rowtui.core.workspace.workers import Workers

PRODUCTS = {"a": ("out",), "b": ("out", "sub/log"), "c": ()}


def test_products_are_found_without_any_value_file(tmp_path: Path) -> None:
    names = [b"%03d" % number for number in range(130)]
    for number, name in enumerate(names):
        folder = tmp_path / os.fsdecode(name)
        (folder / "sub").mkdir(parents=True)
        if number % 2:
            (folder / "out").write_text("")
        if number % 3 == 0:
            (folder / "sub" / "log").write_text("")

    for workers in (Workers(1, 1), Workers(2, 2)):
        found = read_directories(
            tmp_path, names, value_file=None, products=PRODUCTS, workers=workers
        ).completed

        assert found == {
            "a": sum(1 << number for number in range(130) if number % 2),
            "b": sum(1 << number for number in range(130) if number % 6 == 3),
            "c": 0,
        }


def test_whoever_takes_completions_back_learns_what_could_not_be_seen(tmp_path: Path) -> None:
    too_long = b"x" * 300

    found = read_directories(tmp_path, [b"gone", too_long], value_file=None, products=PRODUCTS)

    assert found.vanished == [0]
    assert list(found.bad) == [1]
    assert found.completed == {"a": 0, "b": 0, "c": 0}
