"""Pictures as half blocks, and files that only look like pictures."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from rowtui.core.base.errors import RowtuiError
from rowtui.tui.widgets import image
from rowtui.tui.widgets.image import ImageBlocks, load_image
from textual.app import App, ComposeResult

from tests.tui.test_files import bomb


def test_a_picture_is_reduced_and_what_is_transparent_is_white(tmp_path: Path) -> None:
    Image.new("RGBA", (3000, 100), (200, 0, 0, 0)).save(tmp_path / "a.png")
    loaded = load_image(str(tmp_path / "a.png"))
    assert loaded.size == (image.MOST_SIDE, 27)
    assert loaded.getpixel((9, 9)) == (255, 255, 255, 255)
    for mode, end in (("L", "png"), ("P", "gif"), ("CMYK", "jpg"), ("1", "bmp"), ("I;16", "tif")):
        Image.new(mode, (9, 9)).save(tmp_path / f"a.{end}")
        assert load_image(str(tmp_path / f"a.{end}")).mode == "RGBA"


@given(data=st.binary(max_size=300), start=st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"GIF89a"]))
def test_bytes_that_are_no_picture_are_refused(
    data: bytes, start: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "odd.png"
    path.write_bytes(start + data)
    with pytest.raises(RowtuiError, match=r"cannot be decoded|only"):
        load_image(str(path))


def test_too_many_pixels_or_bytes_are_refused_before_they_are_decoded(tmp_path: Path) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(bomb(7000))
    with pytest.raises(RowtuiError, match="7,000 x 7,000 pixels: only 40 million"):
        load_image(str(path))
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(RowtuiError, match=r"only pictures of up to 64\.0 MB"):
        load_image(str(path))
    with pytest.raises(RowtuiError, match="cannot be decoded"):
        load_image(str(tmp_path / "none.png"))


class OnePicture(App[None]):
    def compose(self) -> ComposeResult:
        yield ImageBlocks(name="picture")


async def test_a_picture_keeps_its_shape_and_its_colours() -> None:
    picture = Image.new("RGBA", (200, 100), (255, 0, 0, 255))
    picture.paste((0, 0, 255, 255), (0, 50, 200, 100))
    async with OnePicture().run_test(size=(40, 30)) as pilot:
        widget = pilot.app.query_one(ImageBlocks)
        widget.show_image(picture)
        width = widget.scrollable_content_region.width
        rows = [widget.render_line(y) for y in range(30)]
        drawn = [row for row in rows if "▀" in row.text]
        assert abs(len(drawn) - width / 4) <= 1
        assert {row.cell_length for row in rows} == {width}
        colours = [[part.style for part in row if "▀" in part.text and part.style] for row in drawn]
        assert colours[0][0].color is not None
        assert colours[0][0].color.name == "#ff0000"
        assert colours[-1][-1].bgcolor is not None
        assert colours[-1][-1].bgcolor.name == "#0000ff"
        widget.show_image(None)
        assert not widget.render_line(0).text.strip()
