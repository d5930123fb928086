"""The pictures in `screenshots/` are what the dashboard looks like now."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from screenshots.make import HERE, SCENES, TEXTS, as_svg, drawn


@pytest.mark.parametrize("scene", SCENES)
async def test_the_picture_shows_what_is_on_the_screen(scene: str) -> None:
    async with aclosing(drawn(scene)) as shots:
        async for _, _, texts in shots:
            for path, text in texts.items():
                kept = (TEXTS / path).read_text(encoding="utf-8")
                same = text == kept
                assert same, f"draw it anew with `python -m screenshots`:\n{text}\n{kept}"


async def test_a_picture_is_drawn_although_tests_draw_nothing_unasked() -> None:
    async for name, hand, texts in drawn("queue-hold"):
        svg = as_svg(hand, name)
        [text] = texts.values()
        for word in text.split():
            if word.isalnum():
                assert word in svg


def test_each_picture_has_its_text_and_none_is_left_over() -> None:
    names = {shot.name(scene) for scene, one in SCENES.items() for shot in one.shots}
    again = "`python -m screenshots` draws them; delete those that are left over"
    assert {path.stem for path in HERE.glob("*.png")} == names, again
    texts = {path.name.partition(".")[0] for path in TEXTS.glob("*.txt")}
    assert texts == names, again
