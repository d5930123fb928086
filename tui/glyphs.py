"""Plain ASCII for terminals without our glyphs, one column for one column.

One table, applied where lines are about to be drawn or written: nothing else knows of it. What
stands in no table, a name in another script say, becomes a `?` for each column that it takes.
Imports neither Textual nor rich unless something is drawn.
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
"""Glyphs of ours and of Textual's widgets."""

_LINES = {
    "-": "─╌┄┈╴╶╼╾",
    "=": "━═╍┅┉╸╺",
    "|": "│┃║╎╏┆┇┊┋╵╷╹╻╽╿",
}
"""A heavy line is the frame of the pane that has the keys: it must stay another one."""


def _lines() -> dict[str, str]:
    """Box drawing: what is no straight line is a corner or a crossing."""
    table = {chr(code): "+" for code in range(0x2500, 0x2580)}
    for plain, glyphs in _LINES.items():
        table.update(dict.fromkeys(glyphs, plain))
    table["╳"] = "x"
    return table


_PLAIN = {**_lines(), **TABLE}
_TRANSLATION = str.maketrans(_PLAIN)


def ascii_text(text: str) -> str:
    """The text in as many columns, with nothing but ASCII in it."""
    if text.isascii():
        return text
    text = text.translate(_TRANSLATION)
    return text if text.isascii() else "".join(map(_plain, text))


def _plain(char: str) -> str:
    if char.isascii():
        return char
    from rich.cells import get_character_cell_size

    columns = get_character_cell_size(char)
    if columns == 1:  # an accent that belongs to its letter
        base = unicodedata.normalize("NFKD", char)[:1]
        if base.isascii() and base.isalpha():
            return base
    return "?" * columns


def of_ours(char: str) -> str:
    """What a glyph of ours is written as, for the command line; "" for anything else."""
    return _PLAIN.get(char, "")
