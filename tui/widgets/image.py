"""A picture from a file, drawn with half blocks: two pixels in each cell.

Pillow, an optional package (extra `rowtui[images]`), reads the file, which may have been made to do
harm: the bytes, the formats and the number of pixels are limited before anything is decoded.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import file_size
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.text_lines import TextLines
from textual.strip import Strip

MOST_BYTES = 64_000_000
"""Bytes of a file that is decoded."""

MOST_PIXELS = 40_000_000
"""Pixels of a picture that is decoded: 120 MB for a second, and at most 2 MB after that."""

MOST_SIDE = 800
"""Pixels of the longer side that are kept: more than any terminal has half blocks."""

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
"""Formats that are decoded; Pillow knows others, and runs programs for some of them."""


def load_image(path: str) -> Any:
    """Return the picture of a file, reduced, without transparency. Raises: RowtuiError."""
    try:
        from PIL import Image
    except ImportError:
        raise RowtuiError(
            "pictures need the package Pillow", "pip install 'rowtui[images]' installs it"
        ) from None
    Image.MAX_IMAGE_PIXELS = None  # Pillow would print its warning onto the screen.
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > MOST_BYTES:
                raise RowtuiError(f"only pictures of up to {file_size(MOST_BYTES)} are shown")
            image: Image.Image = Image.open(file, formats=FORMATS)
            width, height = image.size
            if width * height > MOST_PIXELS:
                most = f"{MOST_PIXELS // 1_000_000} million pixels"
                raise RowtuiError(f"{width:,} x {height:,} pixels: only {most} are shown")
            image.draft("RGB", (MOST_SIDE, MOST_SIDE))
            image.thumbnail((MOST_SIDE, MOST_SIDE))
            # Plots are made for paper, so what is transparent becomes white.
            image = image.convert("RGBA")
            return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    except RowtuiError:
        raise
    except Exception as error:  # Each format of Pillow raises errors of its own.
        raise RowtuiError(f"the picture cannot be decoded: {error}") from None


class ImageBlocks(TextLines[str]):
    """A picture as large as the widget allows."""

    def __init__(self, *, name: str) -> None:
        super().__init__(line, name=name)
        self._image: Any = None
        self._rows: list[Strip] = []
        self._rows_at: object = None

    def show_image(self, image: Any) -> None:
        """Show a picture that `load_image` returned; None for none."""
        self._image, self._rows_at = image, None
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one line of the picture."""
        width, height = self.scrollable_content_region.size
        at = (width, height, self.rich_style)
        if at != self._rows_at:
            self._rows_at = at
            self._rows = self._drawn(width, height)
        base = self.rich_style
        strip = self._rows[y] if y < len(self._rows) else Strip.blank(width, base)
        return strip.adjust_cell_length(width, base)

    def _drawn(self, width: int, height: int) -> list[Strip]:
        if self._image is None:
            return []
        base = self.rich_style
        scale = min(width / self._image.width, 2 * height / self._image.height)
        columns = max(1, min(width, round(self._image.width * scale)))
        rows = max(2, min(2 * height, round(self._image.height * scale)) & ~1)
        pixels = self._image.resize((columns, rows)).convert("RGB").tobytes()
        strips = []
        for upper in range(0, rows * columns * 3, columns * 6):
            row = [
                _block(pixels[at : at + 3], pixels[at + columns * 3 : at + columns * 3 + 3])
                for at in range(upper, upper + columns * 3, 3)
            ]
            left = Segment(" " * ((width - columns) // 2), base)
            strips.append(Strip([left, *row]))
        return strips


def _block(upper: bytes, lower: bytes) -> Segment:
    return Segment("▀", Style.from_color(Color.from_rgb(*upper), Color.from_rgb(*lower)))
