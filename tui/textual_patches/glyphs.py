"""Plain ASCII for terminals without rowtui's glyphs, one column for one column.

One table is applied where lines are about to be drawn or written; no other module handles ASCII. A
character that is in no table, for example in a name in another script, becomes a `?` for each
column that it takes. The module imports neither Textual nor rich unless something is drawn.
"""

from __future__ import annotations

import unicodedata

TABLE = {
    # states
    "✓": "v", "▶": ">", "✗": "x", "○": "o", "·": ".", "▲": "!", "●": "*", "◐": "~", "⊘": "-",
    "◌": ":", "◆": "#", "▼": "v", "•": "*", "◇": "o", "■": "#", "□": "o", "★": "*", "⚠": "!",
    # pointing
    "›": ">", "▸": ">", "→": ">", "←": "<", "↑": "^", "↓": "v", "⏎": "<", "◂": "<", "‹": "<",
    "»": ">", "«": "<", "↳": ">", "⇒": ">", "↔": "-", "▾": "v", "▴": "^", "◀": "<",
    # text
    "…": "~", "–": "-", "—": "-", "−": "-", "×": "x", "≥": ">", "≤": "<", "±": "+", "§": "S",
    "’": "'", "‘": "'", "“": '"', "”": '"', "⊃": ">", "⊂": "<", "∅": "0", "\u00a0": " ",
    "µ": "u", "μ": "u", "°": "o", "≈": "~", "√": "v", "✔": "v", "✘": "x", "⋯": "~", "⋮": ":",
    # bars, and the edges of buttons and scroll bars
    "█": "#", "▓": "#", "▒": "=", "░": "-", "▁": "_", "▂": "_", "▃": "_", "▄": "=", "▅": "=",
    "▆": "#", "▇": "#", "▏": "|", "▎": "|", "▍": "|", "▌": "|", "▋": "|", "▊": "#", "▉": "#",
    "▐": "|", "▕": "|", "▔": "-", "▀": "-", "⡇": "|", "⣀": "_",
}  # fmt: skip
"""Glyphs of rowtui and of Textual's widgets."""

_LINES = {
    "-": "─╌┄┈╴╶╼╾",
    "=": "━═╍┅┉╸╺",
    "|": "│┃║╎╏┆┇┊┋╵╷╹╻╽╿",
}
"""A heavy line is the frame of the pane with the keyboard focus, so its ASCII form must differ."""


def _lines() -> dict[str, str]:
    """Return the table of box drawing characters: all but the straight lines become "+"."""
    table = {chr(code): "+" for code in range(0x2500, 0x2580)}
    for plain, glyphs in _LINES.items():
        table.update(dict.fromkeys(glyphs, plain))
    table["╳"] = "x"
    return table


_PLAIN = {**_lines(), **TABLE}
_TRANSLATION = str.maketrans(_PLAIN)


def ascii_text(text: str) -> str:
    """Return the text in ASCII with the same number of columns."""
    if text.isascii():
        return text
    text = text.translate(_TRANSLATION)
    return text if text.isascii() else "".join(map(_plain, text))


def _plain(char: str) -> str:
    if char.isascii():
        return char
    from rich.cells import get_character_cell_size

    columns = get_character_cell_size(char)
    if columns == 1:  # An accent has no column of its own; it belongs to its letter.
        base = unicodedata.normalize("NFKD", char)[:1]
        if base.isascii() and base.isalpha():
            return base
    return "?" * columns


def of_ours(char: str) -> str:
    """Return the ASCII form of a glyph of rowtui, for the command line; "" for others."""
    return _PLAIN.get(char, "")
